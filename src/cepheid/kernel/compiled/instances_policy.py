"""Windows that open and close: the tables of `window_instances`, and what a snapshot holds of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled import window_instances as kernel
from cepheid.kernel.compiled.step_buffer import DONE, NEEDS_SLOTS, StepBuffer
from cepheid.kernel.compiled.window_choice import SHOWS, WHEN, is_mergeable
from cepheid.kernel.compiled.window_instances import NONE, Instances
from cepheid.kernel.compiled.window_policy import Policy, State, grow_rows
from cepheid.kernel.compiled.window_store import EventStore, read_flags
from cepheid.kernel.window import WindowProgram

_KINDS = {"time": kernel.BY_TIME, "count": kernel.BY_COUNT, "session": kernel.SESSION, "semantic": kernel.SEMANTIC}
_KEPT = [kernel.SEEN, kernel.LAST_TIME, kernel.NEXT, kernel.LIMIT, kernel.OPENINGS]
_KEPT_OF_WINDOW = [kernel.W_START, kernel.W_END, kernel.W_FIRST, kernel.W_WAS_END, kernel.W_NUMBER]
_FIRST = _KEPT_OF_WINDOW.index(kernel.W_FIRST)


class InstancesPolicy(Policy):
    pending = kernel.PENDING
    busy = (kernel.OPEN, 0)
    told_by: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("keys", "key_rows"), "keys"),
        **dict.fromkeys(("window_keys", "window_rows", "slot_counts"), "window_keys"),
        **dict.fromkeys(("slot_groups", "touched"), "slot_groups"),
    }

    def __init__(self, program: WindowProgram, number: int) -> None:
        window, when = program.window, program.evaluation.when
        changes, cells = program.shows == "changes", is_mergeable(program)
        super().__init__(
            [-1, -1, 0, 0, NONE, NONE, NONE, 0, -1, 0, 0], [-1],
            keeps_events=not cells, keeps_cells=cells, holds_rows=changes,
        )  # fmt: skip
        own = when == "event" and program.shows == "concerned"
        in_time = window.kind in ("time", "session")
        closes_at_end = when == "close" and not in_time
        evaluates_late = when == "time" or (when == "expiry" and in_time) or closes_at_end
        self._plan = np.array(
            [_KINDS[window.kind], window.size or 0, window.slide or 0, WHEN[when], program.evaluation.every,
             SHOWS[program.shows], program.members, not (program.members and own), window.closes is not None,
             evaluates_late],
            dtype=np.int64,
        )  # fmt: skip
        self._numbers = np.zeros(8, dtype=np.int64)
        self._windows = np.zeros((16, kernel.W_NUMBER + 1), dtype=np.int64)
        self._slots = np.zeros((64, kernel.S_TOUCHED + 1), dtype=np.int64)
        self._number = number
        self._window = window
        self._when = when
        self._flags: tuple[Flags, Flags] = (np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.uint8))
        self._end: Int64s | None = None
        self._closes_at_end = closes_at_end
        self.emits_in_time = when == "time" or (when == "close" and in_time)
        self.evaluates_late = evaluates_late

    def _gather(self) -> Instances:
        oldest_slots = self.group_table.reshape(-1)
        return Instances(
            self._plan, self._numbers, self.key_table, self._windows, self._slots, oldest_slots, self._heap, self._order
        )

    def begin(self, store: EventStore, begin: int) -> None:
        self._flags = read_flags(store, self._window.opens, begin), read_flags(store, self._window.closes, begin)
        self._numbers[kernel.CURSOR] = begin
        self._end = None

    def write(self, store: EventStore, begin: int, now: int, buffer: StepBuffer) -> int:
        opens, closes = self._flags
        groups = store.groups(self._number)
        state = self._gather()
        return int(
            kernel.fill_windows(state, store.times, store.keys, groups, opens, closes, begin, store.count, now, buffer)
        )

    def write_end(self, buffer: StepBuffer) -> int:
        if not self._closes_at_end:
            return DONE
        if self._end is None:
            keys = np.flatnonzero(self.key_table[:, kernel.OPEN] > 0)
            self._end = self.order_by_last(keys, self.key_table[keys, kernel.LAST_TIME])
            self._numbers[kernel.CURSOR] = 0
        return int(kernel.close_at_end(self._gather(), self._end, buffer))

    def grow(self, stopped: int) -> None:
        if stopped == NEEDS_SLOTS:
            self._slots = grow_rows(self._slots, 2 * len(self._slots), np.zeros(self._slots.shape[1], dtype=np.int64))
        else:
            fill = np.zeros(self._windows.shape[1], dtype=np.int64)
            self._windows = grow_rows(self._windows, 2 * len(self._windows), fill)

    @property
    def slot_count(self) -> int:
        return len(self._slots)

    @property
    def waiting(self) -> int:
        return int(self._numbers[kernel.HEAP])

    def next_evaluation(self, key: int) -> int:
        if self._when == "time":
            return int(self.key_table[key, kernel.NEXT])
        return int(self.key_table[key, kernel.LAST_TIME]) + (self._when == "expiry")

    def members(self, store: EventStore, horizon: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002 - as all policies
        """Those from the first event of the oldest open window of their key on."""
        if not self.keeps_events:
            return np.zeros(store.count, dtype=np.bool_)
        begins = np.full(len(self.key_table), store.count, dtype=np.int64)
        is_open = self.key_table[:, kernel.OPEN] > 0
        begins[is_open] = self._windows[self.key_table[is_open, kernel.OLDEST], kernel.W_FIRST]
        found: npt.NDArray[np.bool_] = np.arange(store.count) >= begins[store.keys[: store.count]]
        return found

    def _known_keys(self) -> Int64s:
        """Those of which more is to be known than that they are new."""
        table = self.key_table
        if self._when == "count" or (self._window.kind == "semantic" and self._window.slide is not None):
            return np.flatnonzero(table[:, kernel.SEEN] > 0)
        return np.flatnonzero((table[:, kernel.OPEN] > 0) | (table[:, kernel.QUEUED] > 0))

    def _list_windows(self) -> tuple[Int64s, Int64s, Int64s]:
        """Windows, key by key and oldest first; the number of each one's slots; all slots in this order."""
        keys = self._known_keys()
        windows = np.zeros(int(self.key_table[keys, kernel.OPEN].sum()), dtype=np.int64)
        slots = np.zeros(int(self.key_table[keys, kernel.SLOTS].sum()), dtype=np.int64)
        kernel.list_windows(self._gather(), keys, windows, slots)
        return windows, self._windows[windows, kernel.W_SLOT_COUNT], slots

    def kept_slots(self) -> Int64s:
        return self._list_windows()[2]

    def keep(self, needed: Int64s) -> State:
        keys = self._known_keys()
        windows, counts, slots = self._list_windows()
        window_rows = self._windows[windows][:, _KEPT_OF_WINDOW]
        window_rows[:, _FIRST] = np.searchsorted(needed, window_rows[:, _FIRST]) if self.keeps_events else 0
        ranks = np.zeros(len(self._slots), dtype=np.int64)
        kernel.rank_touched(self._gather(), windows, ranks)
        return {
            "keys": keys,
            "key_rows": self.key_table[keys][:, _KEPT],
            "window_keys": self._windows[windows, kernel.W_KEY],
            "window_rows": window_rows,
            "slot_counts": counts,
            "slot_groups": self._slots[slots, kernel.S_GROUP],
            "touched": ranks[slots],
        }

    def places_in(self, name: str) -> list[int | None]:
        return [_FIRST] if name == "window_rows" and self.keeps_events else []

    def restore(self, store: EventStore, state: State) -> None:  # noqa: ARG002 - as all policies
        keys, slots = state["keys"], len(state["slot_groups"])
        self.key_table[keys[:, None], np.array(_KEPT)] = state["key_rows"]
        self._windows = grow_rows(
            self._windows, len(state["window_keys"]), np.zeros(self._windows.shape[1], dtype=np.int64)
        )
        self._slots = grow_rows(self._slots, slots, np.zeros(self._slots.shape[1], dtype=np.int64))
        by_last = self.order_by_last(keys, self.key_table[keys, kernel.LAST_TIME])
        window_rows, slot_counts = np.ascontiguousarray(state["window_rows"]), state["slot_counts"]
        kernel.reopen_windows(
            self._gather(),
            state["window_keys"],
            window_rows,
            slot_counts,
            state["slot_groups"],
            by_last,
        )
        windows = np.repeat(np.arange(len(slot_counts)), slot_counts)
        first = np.lexsort((-state["touched"].astype(np.int64), windows))  # of each window the one touched first
        touched = first[state["touched"][first] > 0]
        kernel.touch_slots(self._gather(), windows[touched], touched)

    def restored_slots(self, state: State) -> Int64s:
        return np.arange(len(state["slot_groups"]))

    def replay(self, store: EventStore, buffer: StepBuffer, begin: int, state: State) -> int:  # noqa: ARG002
        if self.keeps_cells or not self._plan[kernel.SCRIPTED]:
            return -1
        return int(kernel.readd(self._gather(), store.keys, store.groups(self._number), begin, store.count, buffer))
