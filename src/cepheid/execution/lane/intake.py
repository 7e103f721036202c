"""The table of addresses by which events get from their sources into all arrays of an operator (take_in.py)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cepheid.execution.event_log import EventLog
from cepheid.execution.lane.sources import Source, point_to_array
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import lay_out
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.memory import CODES
from cepheid.kernel.compiled.take_in import (
    ARRIVED,
    COUNT,
    DELAY,
    FOLLOWS,
    HORIZON,
    LIMIT,
    LOCAL,
    NEEDS_KEYS,
    REACHED,
    STATE,
    STORED,
    TIME_SOURCE,
    WAITS,
)
from cepheid.kernel.compiled.tests_alone import Target

ROOM = 512
"""Events that are taken in at once, at most."""


class KernelLane(Protocol):
    """The arrays of a kernel, and what it does with events that have been written there."""

    @property
    def room(self) -> int:
        """How many events there is room for in all."""
        ...

    @property
    def is_stale(self) -> bool:
        """Must its tables be laid out anew, though nothing has grown?"""
        ...

    def make_room(self, keys: int, count: int) -> bool:
        """For keys below a number and `count` more events; True: arrays have changed."""
        ...

    def catch_up(self) -> None:
        """Events came another way."""
        ...

    def stored_targets(self) -> list[Target]: ...

    def local_targets(self) -> list[Target]: ...

    def lay_out(self) -> None: ...

    def push(self, intake: Int64s, begin: int, count: int) -> int: ...

    state: Int64s  # of the intake


@dataclass(frozen=True)
class KeyNumbers:
    """Keys that are numbered: their columns; their index; where numbers of the events at hand go; does a null mean that
    there is none (-1)?  rows: where the values behind numbers are kept, if they are."""

    columns: list[str]
    index: KeyIndex
    numbers: Int64s
    skips_null: bool = False
    rows: EventLog | None = None


class Intake:
    """columns: of the layout, in order; `_arrival` is numbered here."""

    def __init__(self, columns: Sequence[str], log: EventLog, keys: list[KeyNumbers], kernel: KernelLane) -> None:
        self._columns = list(columns)
        self._log = log
        self._keys = keys
        self._kernel = kernel
        self.sources = np.zeros((len(columns), 6), dtype=np.int64)
        self._memory = self.sources.data.cast("B")
        self._packing = struct.Struct(f"{6 * len(columns)}q")
        self.state = np.zeros(COUNT + 1, dtype=np.int64)
        self.inputs: npt.NDArray[np.int64] = np.zeros((0, DELAY + 1), dtype=np.int64)  # if events may have to wait
        kernel.state = self.state
        self.state[TIME_SOURCE] = self._columns.index("_time")
        self._arrivals = np.zeros(ROOM, dtype=np.int64)
        self._place_of_arrival = self._columns.index("_arrival")
        self._arrival_source = point_to_array(self._arrivals)
        self._row = np.zeros(2 + max([0, *(len(each.columns) for each in keys)]), dtype=np.int64)
        self._key_columns = np.array(
            [self._columns.index(name) for each in keys for name in each.columns] or [0], dtype=np.int64
        )
        self._numbered = [(each.index, each.rows) for each in keys if each.rows is not None]
        self._room = -1  # nothing is laid out
        self._nullable: Sequence[str] = ()  # columns that may be null, as they were last told
        self.seen = len(log)  # events in the log, also those that it has not been told of
        self._held: list[Any] = []
        self.table: Int64s = np.zeros(0, dtype=np.int64)

    def point(self, sources: list[Source]) -> None:
        """Read the events at hand from here; one for each column but `_arrival`, which is the last."""
        flat = [number for source in sources for number in source]
        self._packing.pack_into(self._memory, 0, *flat, *self._arrival_source)

    def point_all(self, sources: list[Source]) -> None:
        """Read the events at hand from here, numbers of arrival included."""
        self._packing.pack_into(self._memory, 0, *(number for source in sources for number in source))

    def make_ready(self, count: int, nulls: Sequence[str] = ()) -> None:
        """Room for `count` more events; nulls: columns that have some."""
        lacks = nulls and nulls is not self._nullable and self._lacks_validity(nulls)
        if lacks or self.seen + count > self._room or self._kernel.is_stale:
            self.settle()
            self.lay_out(count, nulls)

    def catch_up(self) -> None:
        """Events came another way: nothing is where it was."""
        self._kernel.catch_up()
        self.seen = len(self._log)
        self._room = -1  # nothing is laid out
        self._nullable = ()

    def _lacks_validity(self, names: Sequence[str]) -> bool:
        columns = self._log.columns
        assert columns is not None, "a lane has a log of arrays"
        rows = [each.rows.columns or {} for each in self._keys if each.rows is not None]
        found = [known[name] for known in (columns, *rows) for name in names if name in known]
        return any(column.arrays[1] is None for column in found)

    def lay_out(self, count: int, nulls: Sequence[str] = ()) -> None:
        """Make room in all arrays, and note where they are."""
        columns = self._log.columns
        assert columns is not None, "a lane has a log of arrays"
        count = max(count, 2 * ROOM)
        for each in self._keys:
            each.index.reserve(count)
        most_keys = max([1, *(2 * len(each.index) + count for each in self._keys)])
        self._kernel.make_room(most_keys, count)
        self._log.make_room(count, nulls)
        of_keys = [self._list_rows(each, nulls) for each in self._keys]
        self._kernel.lay_out()
        stored = [Target(name, *column.arrays) for name, column in columns.items()] + self._kernel.stored_targets()
        local = self._kernel.local_targets()
        bounds = np.cumsum([len(stored) + len(local), *map(len, of_keys)]).tolist()
        self.state[STORED], self.state[LOCAL] = len(stored), len(stored) + len(local)
        targets = [*stored, *local, *(target for rows in of_keys for target in rows)]
        self._held = [
            self.sources, self._tabulate(targets), self._key_columns, self._number_keys(bounds, most_keys), self._row,
            self._arrivals, self.state, self.inputs, targets,
        ]  # fmt: skip
        self.table = lay_out(self._held[:-1])
        self._nullable = nulls
        self._room = min([self._kernel.room, *(len(column.arrays[0]) for column in columns.values())])

    def _list_rows(self, keys: KeyNumbers, nulls: Sequence[str]) -> list[Target]:
        """Where the values of new keys go."""
        if keys.rows is None:
            return []
        columns = keys.rows.columns
        assert columns is not None, "a lane has numberings of arrays"
        keys.rows.make_room(len(keys.index) + 2 * ROOM, nulls)
        return [Target(name, *column.arrays) for name, column in columns.items()]

    def _tabulate(self, targets: list[Target]) -> npt.NDArray[np.int64]:
        rows = [
            (
                self._columns.index(target.column),
                CODES[target.values.dtype],
                target.values.ctypes.data,
                0 if target.valid is None else target.valid.ctypes.data,
            )
            for target in targets
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def _number_keys(self, bounds: list[int], most: int) -> npt.NDArray[np.int64]:
        rows, first = [], 0
        for each, begin, end in zip(self._keys, bounds[:-1], bounds[1:], strict=True):
            slots, keys = each.index.table
            rows.append(
                (
                    first, first + len(each.columns), slots.ctypes.data, len(slots), keys.ctypes.data,
                    min(len(keys), most),
                    each.index.tally.ctypes.data, each.numbers.ctypes.data, each.skips_null, begin, end,
                )
            )  # fmt: skip
            first += len(each.columns)
        return np.array(rows, dtype=np.int64).reshape(-1, 11)

    def push(self, count: int) -> int:
        """Take in the events that the sources point to; what came of it (take_in.py)."""
        outcome = self._kernel.push(self.table, self.seen, count)
        if outcome == NEEDS_KEYS:
            self.settle()
            self.lay_out(count)
            outcome = self._kernel.push(self.table, self.seen, count)
        if outcome > 0:
            self.seen += int(self.state[COUNT])
        return outcome

    def settle(self) -> None:
        """Let the log and the numberings know of the events that have been written there."""
        new = self.seen - len(self._log)
        if new:
            self._log.count_up(new)
            for index, rows in self._numbered:
                rows.count_up(len(index) - len(rows))

    def set_time(self, horizon: int, reached: int, arrived: int, follows: bool) -> None:
        """horizon: older events are not taken in; reached: neither are newer ones, unless time follows the events."""
        state = self.state
        state[HORIZON], state[REACHED], state[ARRIVED], state[FOLLOWS] = horizon, reached, arrived, follows
        state[LIMIT], state[WAITS] = reached, 0


__all__ = ["ROOM", "STATE", "Intake", "KernelLane", "KeyNumbers"]
