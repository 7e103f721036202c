"""What all policies have in common: tables with a row for each key and each group, a clock, and how they are kept in
a snapshot.

    plan (fixed)  +  tables  --kernel-->  buffer of steps and rows

A policy decides which event is when in which window; see window_sliding, window_instances, window_panes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.step_buffer import StepBuffer
from cepheid.kernel.compiled.window_clock import FAR, find_silent
from cepheid.kernel.compiled.window_steps import StepList
from cepheid.kernel.compiled.window_store import EventStore

State = dict[str, npt.NDArray[Any]]

NO_KEYS: Int64s = np.zeros(0, dtype=np.int64)

EVENTS = "events"
"""Of an array of a snapshot: it has a row for each event that is kept."""


def grow_rows(table: npt.NDArray[np.int64], rows: int, fill: Int64s) -> npt.NDArray[np.int64]:
    """The table with at least so many rows; new ones hold `fill`."""
    if rows <= len(table):
        return table
    wider = np.empty((max(rows, 2 * len(table), 16), len(fill)), dtype=np.int64)
    wider[: len(table)] = table
    wider[len(table) :] = fill
    return wider


class Policy:
    """The tables of one program.

    key_fill, group_fill: what is written of a key and a group that is not yet known.  pending: the field of a key on
    which rows hang.  keeps_events: does it go back to events of earlier batches?  keeps_cells: is what slots hold
    part of a snapshot (else it is computed again from events)?  holds_rows: may rows be begun before their evaluation
    is known?"""

    pending: int
    emits_in_time: bool
    """May rows come out when only time goes on?"""
    evaluates_late: bool
    """May evaluations come at moments before the horizon: brought about by the next event of a key, or by the end?"""
    busy: tuple[int, int]
    """The field of a key that is above this number if something is in its windows."""
    told_by: ClassVar[dict[str, str]]
    """For each array that `keep` gives, the one of them that says of which key or group its rows are; or EVENTS."""

    def __init__(
        self, key_fill: list[int], group_fill: list[int], *, keeps_events: bool, keeps_cells: bool, holds_rows: bool
    ) -> None:
        self._key_fill = np.array(key_fill, dtype=np.int64)
        self._group_fill = np.array(group_fill, dtype=np.int64)
        self._heap = np.zeros((0, 2), dtype=np.int64)
        self._order = np.zeros((1, 2), dtype=np.int64)
        self.key_table = np.zeros((0, len(key_fill)), dtype=np.int64)
        self.group_table = np.zeros((0, len(group_fill)), dtype=np.int64)
        self.keeps_events = keeps_events
        self.keeps_cells = keeps_cells
        self.holds_rows = holds_rows

    def make_room(self, keys: int, groups: int) -> None:
        """For keys and groups below these numbers."""
        self.key_table = grow_rows(self.key_table, keys, self._key_fill)
        self.group_table = grow_rows(self.group_table, groups, self._group_fill)
        self._heap = grow_rows(self._heap, len(self.key_table), np.zeros(2, dtype=np.int64))
        self._order = grow_rows(self._order, len(self.key_table) + 1, np.full(2, -1, dtype=np.int64))

    def begin(self, store: EventStore, begin: int) -> None:
        """Get ready to write about the events from `begin` on."""
        raise NotImplementedError

    def write(self, store: EventStore, begin: int, now: int, buffer: StepBuffer) -> int:
        """Write until the buffer is full or all is said up to the rank `now`; gives why it stopped."""
        raise NotImplementedError

    def write_end(self, buffer: StepBuffer) -> int:
        """Write what is to be said because the input has ended; gives why it stopped."""
        raise NotImplementedError

    def grow(self, stopped: int) -> None:
        """Make room for more slots or windows."""
        raise NotImplementedError

    @property
    def slot_count(self) -> int:
        raise NotImplementedError

    @property
    def waiting(self) -> int:
        """How many keys are on the clock."""
        raise NotImplementedError

    def floor(self, horizon: int) -> int:
        """No row still to come has a smaller moment."""
        if not self.evaluates_late:
            return horizon
        key = int(find_silent(self._order, self.key_table, *self.busy))
        return horizon if key < 0 else min(horizon, self.next_evaluation(key))

    def next_evaluation(self, key: int) -> int:
        """For the key that has been silent longest: the first moment at which an evaluation may be due."""
        raise NotImplementedError

    def members(self, store: EventStore, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[events]: which ones must be given again after a restore?"""
        raise NotImplementedError

    def keep(self, needed: Int64s) -> State:
        """needed: the indices of the events that will be there; numbers of keys under names that end with "keys", of
        groups with "groups"."""
        raise NotImplementedError

    def places_in(self, name: str) -> list[int | None]:  # noqa: ARG002 - as all policies
        """Which columns of an array that `keep` gives hold places among the needed events; None: it is one column."""
        return []

    def kept_slots(self) -> Int64s:
        """If cells are kept: the slots that were filled by ADD, in the order in which `restore` will number them."""
        raise NotImplementedError

    def restore(self, store: EventStore, state: State) -> None:
        """Fill the tables; numbers of keys and groups have been replaced."""
        raise NotImplementedError

    def restored_slots(self, state: State) -> Int64s:
        """The numbers that `kept_slots` have now."""
        raise NotImplementedError

    def replay(self, store: EventStore, buffer: StepBuffer, begin: int, state: State) -> int:
        """Write the steps that bring slots back to what they held; gives where to go on, -1 when all is written."""
        raise NotImplementedError

    def order_by_last(self, keys: Int64s, times: Int64s) -> Int64s:
        """Keys by the time of their last event."""
        sorted_keys: Int64s = keys[np.lexsort((keys, times))]
        return sorted_keys


def read_steps(buffer: StepBuffer, slot_count: int) -> StepList:
    """What is on the buffer."""
    steps, answers = int(buffer.sizes[0]), int(buffer.sizes[2])
    return StepList(buffer.steps[:steps], buffer.slots[:steps], buffer.items[:steps], slot_count, answers)


def rank_of(horizon: int, *, final: bool) -> int:
    return int(FAR) - 1 if final else 2 * horizon
