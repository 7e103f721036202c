"""Windows made of panes: the tables of `window_panes`, and what a snapshot holds of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled import window_panes as kernel
from cepheid.kernel.compiled.step_buffer import DONE, NEEDS_SLOTS, StepBuffer
from cepheid.kernel.compiled.window_choice import pane_length
from cepheid.kernel.compiled.window_panes import NONE, UNTOUCHED, Panes
from cepheid.kernel.compiled.window_policy import Policy, State, grow_rows
from cepheid.kernel.compiled.window_store import EventStore
from cepheid.kernel.window import WindowProgram

_KEPT = [kernel.LAST_TIME, kernel.NEXT, kernel.LIMIT, kernel.WAS_START, kernel.WAS_END]


class PanesPolicy(Policy):
    pending = kernel.PENDING
    busy = (kernel.OLDEST, -1)
    emits_in_time = True
    told_by: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("keys", "key_rows", "entered"), "keys"),
        **dict.fromkeys(("pane_keys", "pane_begins", "slot_counts"), "pane_keys"),
        **dict.fromkeys(("touched_keys", "touched_groups"), "touched_keys"),
        **dict.fromkeys(("live_keys", "live_groups"), "live_keys"),
        "slot_groups": "slot_groups",
    }

    def __init__(self, program: WindowProgram, number: int) -> None:
        window, evaluation = program.window, program.evaluation
        changes = program.shows == "changes"
        super().__init__(
            [-1, -1, NONE, NONE, NONE, 0, -1, -1, 0, -1, 0, 0, 0, -1], [0, -1, -1, UNTOUCHED, -1, -1, NONE],
            keeps_events=False, keeps_cells=True, holds_rows=changes,
        )  # fmt: skip
        every = evaluation.every if evaluation.when == "time" else 0
        self._plan = np.array(
            [window.size or 0, window.slide or 0, every, changes, pane_length(program)], dtype=np.int64
        )
        self._numbers = np.zeros(9, dtype=np.int64)
        self._panes = np.zeros((16, kernel.P_ENTERED + 1), dtype=np.int64)
        self._slots = np.zeros((64, 2), dtype=np.int64)
        self._number = number
        self.evaluates_late = every > 0

    def _gather(self) -> Panes:
        return Panes(
            self._plan,
            self._numbers,
            self.key_table,
            self._panes,
            self._slots,
            self.group_table,
            self._heap,
            self._order,
        )

    def begin(self, store: EventStore, begin: int) -> None:  # noqa: ARG002 - as all policies
        self._numbers[kernel.CURSOR] = begin

    def write(self, store: EventStore, begin: int, now: int, buffer: StepBuffer) -> int:  # noqa: ARG002 - as all policies
        groups = store.groups(self._number)
        return int(kernel.fill_panes(self._gather(), store.times, store.keys, groups, store.count, now, buffer))

    def write_end(self, buffer: StepBuffer) -> int:  # noqa: ARG002 - time closes all of them
        return DONE

    def grow(self, stopped: int) -> None:
        if stopped == NEEDS_SLOTS:
            self._slots = grow_rows(self._slots, 2 * len(self._slots), np.zeros(2, dtype=np.int64))
        else:
            fill = np.zeros(self._panes.shape[1], dtype=np.int64)
            self._panes = grow_rows(self._panes, 2 * len(self._panes), fill)

    @property
    def slot_count(self) -> int:
        return len(self._slots)

    @property
    def waiting(self) -> int:
        return int(self._numbers[kernel.HEAP])

    def next_evaluation(self, key: int) -> int:
        return int(self.key_table[key, kernel.NEXT])

    def members(self, store: EventStore, horizon: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002 - as all policies
        return np.zeros(store.count, dtype=np.bool_)

    def _known_keys(self) -> Int64s:
        table = self.key_table
        known = (table[:, kernel.OLDEST] >= 0) | (table[:, kernel.TOUCHED] >= 0) | (table[:, kernel.QUEUED] > 0)
        return np.flatnonzero(known)

    def _list_panes(self, keys: Int64s) -> tuple[Int64s, Int64s]:
        state = self._gather()
        count, slot_count = kernel.count_panes(state, keys)
        panes, slots = np.zeros(count, dtype=np.int64), np.zeros(slot_count, dtype=np.int64)
        kernel.list_panes(state, keys, panes, slots)
        return panes, slots

    def kept_slots(self) -> Int64s:
        return self._list_panes(self._known_keys())[1]

    def keep(self, needed: Int64s) -> State:  # noqa: ARG002 - as all policies
        keys = self._known_keys()
        panes, slots = self._list_panes(keys)
        touched_keys, touched_groups = self._list_groups(keys, touched=True)
        live_keys, live_groups = self._list_groups(keys, touched=False)
        pane_keys = self._panes[panes, kernel.P_KEY]
        places = np.searchsorted(keys, pane_keys)
        entered = np.bincount(places, self._panes[panes, kernel.P_ENTERED], len(keys)).astype(np.int64)
        return {
            "keys": keys,
            "key_rows": self.key_table[keys][:, _KEPT],
            "pane_keys": pane_keys,
            "pane_begins": self._panes[panes, kernel.P_BEGIN],
            "slot_counts": self._panes[panes, kernel.P_SLOT_COUNT],
            "slot_groups": self._slots[slots, kernel.S_GROUP],
            "entered": entered,
            "touched_keys": touched_keys,
            "touched_groups": touched_groups,
            "live_keys": live_keys,
            "live_groups": live_groups,
        }

    def _list_groups(self, keys: Int64s, *, touched: bool) -> tuple[Int64s, Int64s]:
        """Keys and groups."""
        count = int(self.key_table[keys, kernel.TOUCHED_COUNT if touched else kernel.LIVE_COUNT].sum())
        found_keys, found_groups = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        kernel.list_groups(self._gather(), keys, touched, found_keys, found_groups)
        return found_keys, found_groups

    def restore(self, store: EventStore, state: State) -> None:  # noqa: ARG002 - as all policies
        keys = state["keys"]
        self.key_table[keys[:, None], np.array(_KEPT)] = state["key_rows"]
        fill = np.zeros(self._panes.shape[1], dtype=np.int64)
        self._panes = grow_rows(self._panes, len(state["pane_keys"]), fill)
        slots = 2 * len(state["slot_groups"])  # a group has one more in the window
        self._slots = grow_rows(self._slots, slots, np.zeros(2, dtype=np.int64))
        by_last = self.order_by_last(keys, self.key_table[keys, kernel.LAST_TIME])
        kernel.reopen_panes(
            self._gather(),
            state["pane_keys"],
            state["pane_begins"],
            state["slot_counts"],
            state["slot_groups"],
            by_last,
        )

    def restored_slots(self, state: State) -> Int64s:
        return np.arange(len(state["slot_groups"]))

    def replay(self, store: EventStore, buffer: StepBuffer, begin: int, state: State) -> int:  # noqa: ARG002
        if begin == 0:
            state["entered"] = state["entered"].copy()
        quiet = self._gather()._replace(plan=self._plan * (np.arange(len(self._plan)) != kernel.CHANGES))
        went = int(kernel.reenter_panes(quiet, state["keys"], state["entered"], begin, buffer))
        if went < 0:
            if "live_keys" in state:  # snapshots of earlier versions do not tell
                kernel.order_live(quiet, state["live_keys"], state["live_groups"])
            kernel.touch_again(quiet, state["touched_keys"], state["touched_groups"])
        return went
