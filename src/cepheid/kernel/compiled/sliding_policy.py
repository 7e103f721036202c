"""Windows that move with their events: the tables of `window_sliding`, and what a snapshot holds of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled import window_sliding as kernel
from cepheid.kernel.compiled.step_buffer import DONE, StepBuffer
from cepheid.kernel.compiled.window_choice import SHOWS, WHEN, is_mergeable
from cepheid.kernel.compiled.window_policy import EVENTS, NO_KEYS, Policy, State
from cepheid.kernel.compiled.window_sliding import NONE, OUTSIDE, UNTOUCHED, Sliding
from cepheid.kernel.compiled.window_steps import ADD, ENTER
from cepheid.kernel.compiled.window_store import EventStore, read_flags
from cepheid.kernel.window import WindowProgram

_KEPT = [kernel.SEEN, kernel.LAST_TIME, kernel.NEXT, kernel.LIMIT, kernel.BEGAN, kernel.WAS_START, kernel.WAS_END]
_LIMIT = _KEPT.index(kernel.LIMIT)


class Chain:
    """For each event the next one of its key; programs over the same events share one."""

    def __init__(self) -> None:
        self.nexts: Int64s = np.full(1024, OUTSIDE, dtype=np.int64)

    def make_room(self, count: int) -> None:
        if count > len(self.nexts):
            wider = np.empty(max(count, 2 * len(self.nexts)), dtype=np.int64)
            wider[: len(self.nexts)] = self.nexts
            self.nexts = wider


class SlidingPolicy(Policy):
    pending = kernel.PENDING
    busy = (kernel.COUNT, 0)
    told_by: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("keys", "key_rows", "firsts", "counts"), "keys"),
        **dict.fromkeys(("touched_keys", "touched_groups"), "touched_keys"),
        **dict.fromkeys(("live_keys", "live_groups"), "live_keys"),
        **dict.fromkeys(("slot_groups", "group_counts"), "slot_groups"),
        "joins": EVENTS,
    }

    def __init__(self, program: WindowProgram, number: int) -> None:
        window, evaluation = program.window, program.evaluation
        when, changes, members = evaluation.when, program.shows == "changes", program.members
        by_time, slide = window.kind == "time", window.slide or 0
        landmark = window.is_landmark
        own = when == "event" and program.shows == "concerned"
        touches = changes or (when == "expiry" and program.shows == "concerned")
        cells = landmark and is_mergeable(program)
        waits = window.peers and when == "event"
        clocked = (
            when == "time"
            or waits
            or (by_time and not landmark and (slide == 0) == (when == "expiry") and when in ("expiry", "close"))
        )
        closes_at_end = when == "close" and (landmark or slide == 0 or not by_time)
        evaluates_late = when == "time" or (when == "expiry" and by_time and not landmark) or closes_at_end
        super().__init__(
            [-1, -1, 0, 0, NONE, NONE, -1, 0, NONE, -1, 0, -1, 0, -1, 0, 0], [0, -1, -1, UNTOUCHED],
            keeps_events=not cells or waits, keeps_cells=cells, holds_rows=changes or (touches and members),
        )  # fmt: skip
        plan = dict.fromkeys(range(kernel.ORDERED + 1), 0)
        plan |= {
            kernel.KIND: kernel.LANDMARK if landmark else kernel.BY_TIME if by_time else kernel.BY_COUNT,
            kernel.STAY: (window.size or 0) + window.inclusive,
            kernel.SIZE: window.size or 0,
            kernel.SLIDE: slide,
            kernel.WHEN: WHEN[when],
            kernel.EVERY: evaluation.every,
            kernel.SHOWS: SHOWS[program.shows],
            kernel.MEMBERS: members,
            kernel.STEP: ADD if landmark else ENTER,
            kernel.LISTS: cells or not (own or (members and touches)),
            kernel.TOUCHES: touches,
            kernel.SCRIPTED: not members or not (own or touches),
            kernel.CHAINED: 1 if not cells else 2 if waits else 0,
            kernel.PEERS: window.peers,
            kernel.OPENS: window.kind == "semantic",
            kernel.CLOCKED: clocked,
            kernel.OWN: own,
            kernel.ORDERED: evaluates_late,
        }
        self._plan = np.array([int(plan[place]) for place in sorted(plan)], dtype=np.int64)
        self._numbers = np.zeros(6, dtype=np.int64)
        self._chain = Chain()
        self._number = number
        self._opens_column = window.opens
        self._opens: Flags = np.zeros(0, dtype=np.uint8)
        self._closes_at_end = closes_at_end
        self._end: Int64s | None = None
        self._keys = NO_KEYS
        self._state = self._gather(None)
        self._window = window
        self._when = when
        self.emits_in_time = clocked
        self.evaluates_late = evaluates_late
        self._drops_old = by_time and window.is_sliding and when in ("event", "count") and not changes

    def _gather(self, store: EventStore | None) -> Sliding:
        times = NO_KEYS if store is None else store.times
        groups = NO_KEYS if store is None else store.groups(self._number)
        return Sliding(
            self._plan, self._numbers, times, groups, self._chain.nexts, self.key_table, self.group_table, self._heap,
            self._order,
        )  # fmt: skip

    def share_chain(self, chain: Chain) -> None:
        """Use a chain together with other programs: in all of them every event follows the one before it of its key."""
        if self._plan[kernel.CHAINED] == 1:
            self._chain = chain

    def _make_nexts(self, count: int) -> None:
        if self._plan[kernel.CHAINED]:
            self._chain.make_room(count)

    def begin(self, store: EventStore, begin: int) -> None:
        self._opens = read_flags(store, self._opens_column, begin)
        self._keys = store.keys
        self._make_nexts(store.count)
        self._numbers[kernel.CURSOR] = begin
        self._end = None
        self._state = self._gather(store)

    # --- a few events at a time (window_lane.py) -------------------------------------------------------------
    @property
    def can_be_laid_out(self) -> bool:
        """Does it need nothing but its tables?"""
        return self._opens_column is None

    def lay_tables(self, store: EventStore, count: int) -> Sliding:
        """The tables, with room for `count` more events."""
        self._make_nexts(store.count + count)
        self._keys = store.keys
        self._end = None
        self._state = self._gather(store)
        return self._state

    @property
    def room(self) -> int:
        return len(self._chain.nexts) if self._plan[kernel.CHAINED] else int(np.iinfo(np.int64).max)

    def write(self, store: EventStore, begin: int, now: int, buffer: StepBuffer) -> int:
        return int(kernel.slide_events(self._state, store.keys, self._opens, begin, store.count, now, buffer))

    def write_end(self, buffer: StepBuffer) -> int:
        if not self._closes_at_end:
            return DONE
        if self._end is None:
            keys = np.flatnonzero(self.key_table[:, kernel.COUNT] > 0)
            self._end = self.order_by_last(keys, self.key_table[keys, kernel.LAST_TIME])
            self._numbers[kernel.CURSOR] = 0
        return int(kernel.close_at_end(self._state, self._end, buffer))

    @property
    def slot_count(self) -> int:
        return len(self.group_table)

    @property
    def waiting(self) -> int:
        return int(self._numbers[kernel.HEAP])

    def next_evaluation(self, key: int) -> int:
        if self._when == "time":
            return int(self.key_table[key, kernel.NEXT])
        return int(self.key_table[key, kernel.LAST_TIME]) + (self._when == "expiry")

    def members(self, store: EventStore, horizon: int) -> npt.NDArray[np.bool_]:
        if not self._plan[kernel.CHAINED]:
            return np.zeros(store.count, dtype=np.bool_)
        found = self._find_members(np.arange(store.count))
        if self._drops_old:
            found &= store.times[: store.count] + int(self._plan[kernel.STAY]) > horizon
        return found

    def keep(self, needed: Int64s) -> State:
        keys = self._known_keys()
        rows = self.key_table[keys][:, _KEPT]
        if self._plan[kernel.PEERS]:
            first = rows[:, _LIMIT]
            first[first >= 0] = np.searchsorted(needed, first[first >= 0])
        state: State = {"keys": keys, "key_rows": rows}
        if self._plan[kernel.CHAINED] == 1:
            first = self.key_table[keys, kernel.FIRST]
            state["firsts"] = np.where(first >= 0, np.searchsorted(needed, first), len(needed))
        else:
            state["joins"] = self._find_members(needed)
        state |= {f"touched_{name}": array for name, array in self._list_groups(keys, touched=True).items()}
        if self._plan[kernel.LISTS]:
            state |= {f"live_{name}": array for name, array in self._list_groups(keys, touched=False).items()}
        if self.keeps_cells:
            state["counts"] = self.key_table[keys, kernel.COUNT]
            state["group_counts"] = self.group_table[self.kept_slots(), kernel.G_COUNT]
            state["slot_groups"] = self.kept_slots()
        return state

    def places_in(self, name: str) -> list[int | None]:
        if name == "firsts":
            return [None]
        return [_LIMIT] if name == "key_rows" and self._plan[kernel.PEERS] else []

    def _find_members(self, events: Int64s) -> npt.NDArray[np.bool_]:
        """bool[events]: is it in the window?  Events leave in order, so that all behind the first of a key are."""
        chained = int(self._plan[kernel.CHAINED])
        if chained != 1:
            waits: npt.NDArray[np.bool_] = self._chain.nexts[events] != OUTSIDE
            return waits if chained else np.zeros(len(events), dtype=np.bool_)
        if len(self.key_table) == 1:  # no PARTITION BY
            first = np.full(len(events), self.key_table[0, kernel.FIRST])
        else:
            first = self.key_table[self._keys[events], kernel.FIRST]
        found: npt.NDArray[np.bool_] = (first >= 0) & (events >= first)
        return found

    def _known_keys(self) -> Int64s:
        """Those of which more is to be known than that they are new."""
        table = self.key_table
        known = table[:, kernel.SEEN] > 0
        if self._when != "count":
            known &= (table[:, kernel.COUNT] > 0) | (table[:, kernel.TOUCHED] >= 0) | (table[:, kernel.QUEUED] > 0)
        return np.flatnonzero(known)

    def _list_groups(self, keys: Int64s, *, touched: bool) -> State:
        field = kernel.TOUCHED_COUNT if touched else kernel.LIVE_COUNT
        count = int(self.key_table[keys, field].sum())
        found_keys, found_groups = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        kernel.list_groups(self._state, keys, touched, found_keys, found_groups)
        return {"keys": found_keys, "groups": found_groups}

    def kept_slots(self) -> Int64s:
        """Landmarks: all groups that ever had an event."""
        return np.flatnonzero(self.group_table[:, kernel.G_COUNT] > 0)

    def restore(self, store: EventStore, state: State) -> None:
        keys = state["keys"]
        self._keys = store.keys
        self._make_nexts(store.count)
        self.key_table[keys[:, None], np.array(_KEPT)] = state["key_rows"]
        self._state = self._gather(store)
        if self.keeps_cells:
            self.key_table[keys, kernel.COUNT] = state["counts"]
            self.group_table[state["slot_groups"], kernel.G_COUNT] = state["group_counts"]
            kernel.chain_groups(self._state, state["live_keys"], state["live_groups"], False)

    def _read_joins(self, store: EventStore, state: State) -> npt.NDArray[np.bool_]:
        """bool[events]: was it a member?"""
        if self._plan[kernel.CHAINED] != 1:
            return np.ascontiguousarray(state["joins"])
        firsts = np.full(len(self.key_table), store.count, dtype=np.int64)
        firsts[state["keys"]] = state["firsts"]
        joins: npt.NDArray[np.bool_] = np.arange(store.count) >= firsts[store.keys[: store.count]]
        return joins

    def restored_slots(self, state: State) -> Int64s:
        slots: Int64s = state["slot_groups"]
        return slots

    def replay(self, store: EventStore, buffer: StepBuffer, begin: int, state: State) -> int:
        joins = self._read_joins(store, state)
        went = int(kernel.rejoin(self._state, store.keys, joins, begin, buffer))
        if went < 0:
            if "live_keys" in state:  # snapshots of earlier versions do not tell
                kernel.order_live(self._state, state["live_keys"], state["live_groups"])
            kernel.chain_groups(self._state, state["touched_keys"], state["touched_groups"], True)
            keys = state["keys"]
            kernel.queue_keys(self._state, self.order_by_last(keys, self.key_table[keys, kernel.LAST_TIME]))
        return went
