"""The window operator, compiled: one or more programs over one stream.

    WindowEvents -> store -> policy of each program -> buffers of steps -> banks -> WindowRows

Snapshots are the events that are needed (`needed`) and arrays (`keep`).  A program whose functions can be had from
parts keeps what its slots hold, the others compute it again from the events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.instances_policy import InstancesPolicy
from cepheid.kernel.compiled.panes_policy import PanesPolicy
from cepheid.kernel.compiled.sliding_policy import Chain, SlidingPolicy
from cepheid.kernel.compiled.step_buffer import EVENT, ROOM, make_step_buffer
from cepheid.kernel.compiled.window_choice import is_sliding, pane_length
from cepheid.kernel.compiled.window_parts import Owners, merge_policy, split_policy
from cepheid.kernel.compiled.window_policy import Policy, State, rank_of
from cepheid.kernel.compiled.window_rows import RowMaker, replace_numbers, write_rows
from cepheid.kernel.compiled.window_store import EventStore
from cepheid.kernel.window import WindowEvents, WindowProgram, WindowRows


class CompiledWindows:
    def __init__(self, programs: tuple[WindowProgram, ...], interner: Interner) -> None:
        self._programs = programs
        self._policies = [_choose_policy(program, number) for number, program in enumerate(programs)]
        buffer = make_step_buffer(ROOM, ROOM, np.zeros(5, dtype=np.int64))  # one after another they write on the same
        self._makers = [
            RowMaker(program, policy, interner, buffer)
            for program, policy in zip(programs, self._policies, strict=True)
        ]
        chain = Chain()
        for policy in self._policies:
            if isinstance(policy, SlidingPolicy):
                policy.share_chain(chain)
        self.keeps_events = any(policy.keeps_events for policy in self._policies)
        self._store = EventStore(len(programs), keeps=self.keeps_events)

    def step(self, events: WindowEvents, horizon: int, final: bool = False) -> list[WindowRows]:
        """Rows of each program: all that is settled when no event before the horizon can come any more; all, if it is
        the end."""
        return list(self.step_each(events, horizon, final))

    def step_each(self, events: WindowEvents, horizon: int, final: bool = False) -> Iterator[WindowRows]:
        """The same, program by program: all of them must be taken."""
        self._store.append(events)
        begin = self._store.count - len(events)
        self._make_room(events)
        for policy, maker in zip(self._policies, self._makers, strict=True):
            write_rows(maker, policy, self._store, begin, rank_of(horizon, final=final), final=final)
            yield maker.take(self._store)

    def _make_room(self, events: WindowEvents) -> None:
        keys = int(events.keys.max()) + 1 if len(events) else 0
        known: dict[int, int] = {}
        for policy, array in zip(self._policies, events.groups, strict=True):
            if id(array) not in known:
                known[id(array)] = int(array.max()) + 1 if len(events) else 0
            policy.make_room(keys, known[id(array)])

    @property
    def only(self) -> tuple[Policy, RowMaker, EventStore] | None:
        """Of a single program that keeps its events: its parts (window_lane.py)."""
        if len(self._programs) != 1 or not self.keeps_events:
            return None
        return self._policies[0], self._makers[0], self._store

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        return any(policy.emits_in_time and policy.waiting > 0 for policy in self._policies)

    def floor(self, horizon: int) -> int:
        """No row still to come has a smaller moment."""
        return min(policy.floor(horizon) for policy in self._policies)

    def needed(self, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[events since the beginning, or the restore]: must a snapshot contain it?"""
        if not self.keeps_events:
            return np.zeros(self._store.base + self._store.count, dtype=np.bool_)
        found = np.zeros(self._store.count, dtype=np.bool_)
        for program, policy, maker in zip(self._programs, self._policies, self._makers, strict=True):
            found |= policy.members(self._store, horizon)
            if program.members:
                found[maker.held[EVENT]] = True
        return found

    def keep(self, horizon: int) -> dict[str, npt.NDArray[Any]]:
        """All that is not in the needed events."""
        state = self._keep_tables(horizon)
        for number, (policy, maker) in enumerate(zip(self._policies, self._makers, strict=True)):
            if policy.keeps_cells:
                cells = maker.banks.keep(policy.kept_slots())
                state |= {f"{number}.cells.{name}": array for name, array in cells.items()}
        return state

    def _keep_tables(self, horizon: int) -> State:
        needed = np.flatnonzero(self.needed(horizon))
        state: State = {}
        for number, (policy, maker) in enumerate(zip(self._policies, self._makers, strict=True)):
            parts = [("policy", policy.keep(needed)), ("maker", maker.keep(needed))]
            state |= {f"{number}.{part}.{name}": array for part, arrays in parts for name, array in arrays.items()}
        return state

    def known_keys(self) -> Int64s:
        """Numbers of keys that occur in what is kept."""
        return _find_numbers(self._keep_tables(0), [f"{number}." for number in range(len(self._programs))], "keys")

    def known_groups(self, program: int) -> Int64s:
        """Numbers of groups that occur in what is kept of a program."""
        return _find_numbers(self._keep_tables(0), [f"{program}."], "groups")

    def restore(
        self,
        events: WindowEvents,
        state: dict[str, npt.NDArray[Any]],
        keys: Int64s,
        groups: tuple[Int64s, ...],
    ) -> None:
        """In a new object: the needed events, with new numbers, and for what is kept keys[old] and
        groups[program][old] = new."""
        self._store.append(events)
        self._make_room(events)
        for number, (policy, maker) in enumerate(zip(self._policies, self._makers, strict=True)):
            parts = {part: _pick(state, f"{number}.{part}.") for part in ("policy", "maker", "cells")}
            kept, rows = (replace_numbers(parts[part], keys, groups[number]) for part in ("policy", "maker"))
            numbers = [
                max(
                    (
                        int(array.max()) + 1
                        for name, array in (kept | rows).items()
                        if name.endswith(end) and len(array)
                    ),
                    default=0,
                )
                for end in ("keys", "groups")
            ]
            policy.make_room(*numbers)
            policy.restore(self._store, kept)
            maker.restore(rows)
            if policy.keeps_cells:
                maker.banks.restore(policy.restored_slots(kept), parts["cells"])
            maker.replay(self._store, kept)

    # --- snapshots taken apart -----------------------------------------------------------------------------
    def split(self, state: State, count: int, keys: Int64s, groups: tuple[Int64s, ...], events: Int64s) -> list[State]:
        """What each of `count` parts has of what `keep` gave; keys[number], groups[program][number], events[needed]:
        the part that they belong to."""
        parts: list[State] = [{} for _ in range(count)]
        for number, (policy, maker) in enumerate(zip(self._policies, self._makers, strict=True)):
            told = {part: _pick(state, f"{number}.{part}.") for part in ("policy", "maker", "cells")}
            owners = Owners(count, keys, groups[number], events)
            split = {
                "policy": split_policy(policy, told["policy"], owners),
                "maker": maker.split(told["maker"], owners),
            }
            if policy.keeps_cells:
                slots = owners.rows_of(told["policy"], "slot_groups")
                split["cells"] = [maker.banks.take_kept(told["cells"], rows) for rows in slots]
            for kind, states in split.items():
                for part, of_part in zip(parts, states, strict=True):
                    part |= {f"{number}.{kind}.{name}": array for name, array in of_part.items()}
        return parts

    def merge(
        self, states: list[State], keys: list[Int64s], groups: list[tuple[Int64s, ...]], places: list[Int64s]
    ) -> State:
        """What `keep` would have given of one; for each part: keys[old] = new and groups[program][old] = new, and where
        its events are among all of them."""
        merged: State = {}
        for number, (policy, maker) in enumerate(zip(self._policies, self._makers, strict=True)):
            told = {
                kind: [
                    replace_numbers(_pick(state, f"{number}.{kind}."), of_keys, of_groups[number])
                    for state, of_keys, of_groups in zip(states, keys, groups, strict=True)
                ]
                for kind in ("policy", "maker")
            }
            united = {
                "policy": merge_policy(policy, told["policy"], places),
                "maker": maker.merge(told["maker"], places),
            }
            if policy.keeps_cells:
                united["cells"] = maker.banks.join_kept([_pick(state, f"{number}.cells.") for state in states])
            for kind, arrays in united.items():
                merged |= {f"{number}.{kind}.{name}": array for name, array in arrays.items()}
        return merged


def _choose_policy(program: WindowProgram, number: int) -> Policy:
    if pane_length(program):
        return PanesPolicy(program, number)
    return SlidingPolicy(program, number) if is_sliding(program) else InstancesPolicy(program, number)


def _pick(state: State, start: str) -> State:
    return {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}


def _find_numbers(state: State, starts: list[str], end: str) -> Int64s:
    found = [
        array for name, array in state.items() if name.endswith(end) and any(name.startswith(start) for start in starts)
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
