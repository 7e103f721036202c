"""The events of a window operator, kept once however many programs read them.

    WindowEvents of a batch  ->  append  ->  times, keys, groups, columns, from index 0

If some program goes back to events (something leaves a window, or a percentile is begun anew after a restore), all
events since the operator began or was restored stay; else only those of the batch at hand, and `base` says how many
came before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s
from cepheid.kernel.window import WindowEvents

_FIRST_ROOM = 1024


class GrowingArray:
    """Doubled when full; `data` shows all of it, also what is not yet used."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.data: npt.NDArray[Any] = np.empty(_FIRST_ROOM, dtype=dtype)

    def write(self, begin: int, values: npt.NDArray[Any] | int, count: int) -> None:
        """Put `count` values (or the same one so often) at `begin`."""
        self.make_room(begin, count)
        self.data[begin : begin + count] = values

    def make_room(self, used: int, count: int) -> None:
        """For `count` values behind those that are used."""
        end = used + count
        if end > len(self.data):
            wider = np.empty(max(end, 2 * len(self.data)), dtype=self.data.dtype)
            wider[:used] = self.data[:used]
            self.data = wider


class EventStore:
    """times, keys: int64[>= count]; count: how many events are here; base: how many were here before and are not
    kept."""

    def __init__(self, programs: int, *, keeps: bool) -> None:
        self._keeps = keeps
        self._programs = programs
        self.base = 0
        self.count = 0
        self._times = GrowingArray(np.int64)
        self._keys = GrowingArray(np.int64)
        self._groups: list[GrowingArray] = []
        self._group_places: tuple[int, ...] = (0,) * programs
        self._values: dict[str, GrowingArray] = {}
        self._valid: dict[str, GrowingArray] = {}

    @property
    def times(self) -> Int64s:
        return self._times.data

    @property
    def keys(self) -> Int64s:
        return self._keys.data

    def groups(self, program: int) -> Int64s:
        """int64[>= count]: the groups that a program sees."""
        found: Int64s = self._groups[self._group_places[program]].data
        return found

    def column(self, name: str) -> Column:
        """Arrays of at least `count` values; they are those of the store, not copies."""
        valid = self._valid.get(name)
        return Column(self._values[name].data, None if valid is None else valid.data)

    # --- a few events at a time, written by address (window_lane.py) -----------------------------------------
    def open_columns(self, dtypes: dict[str, Any]) -> None:
        """Arrays for these columns and their validity, even if nothing has come so far."""
        self._groups = self._groups or [GrowingArray(np.int64)]
        for name, dtype in dtypes.items():
            if name not in self._values:
                self._values[name] = GrowingArray(dtype)
            if name not in self._valid:
                self._valid[name] = GrowingArray(np.uint8)
                self._valid[name].write(0, 1, self.count)

    def make_room(self, count: int) -> None:
        """For `count` more events."""
        for array in (self._times, self._keys, *self._groups, *self._values.values(), *self._valid.values()):
            array.make_room(self.count, count)

    @property
    def room(self) -> int:
        arrays = (self._times, self._keys, *self._groups, *self._values.values(), *self._valid.values())
        return min(len(array.data) for array in arrays)

    def append(self, events: WindowEvents) -> None:
        if not self._keeps:
            self.base += self.count
            self.count = 0
        begin, count = self.count, len(events)
        self._times.write(begin, events.times, count)
        self._keys.write(begin, events.keys, count)
        self._append_groups(events.groups, begin, count)
        for name, column in events.columns.items():
            self._append_column(name, column, begin, count)
        self.count += count

    def _append_groups(self, groups: tuple[Int64s, ...], begin: int, count: int) -> None:
        """Programs that share an array share a copy, until a batch parts them."""
        if count == 0:  # nothing that could part them
            self._groups = self._groups or [GrowingArray(np.int64)]
            return
        seen: list[tuple[int, Int64s]] = []  # the place where a program had its groups so far, and what it gets now
        places = []
        copies = []
        for program, array in enumerate(groups):
            place = self._group_places[program]
            for known, (old, other) in enumerate(seen):
                if old == place and other is array:
                    places.append(known)
                    break
            else:
                places.append(len(seen))
                copies.append((place, [old for old, _ in seen].count(place) > 0))
                seen.append((place, array))
        grown = []
        for place, is_shared in copies:
            if not self._groups:
                grown.append(GrowingArray(np.int64))
            elif is_shared:
                copy = GrowingArray(np.int64)
                copy.data = self._groups[place].data.copy()
                grown.append(copy)
            else:
                grown.append(self._groups[place])
        self._groups, self._group_places = grown, tuple(places)
        for growing, (_, array) in zip(grown, seen, strict=True):
            growing.write(begin, array, count)

    def _append_column(self, name: str, column: Column, begin: int, count: int) -> None:
        if name not in self._values:
            self._values[name] = GrowingArray(column.values.dtype)
        self._values[name].write(begin, column.values, count)
        if column.valid is not None and name not in self._valid:
            self._valid[name] = GrowingArray(np.uint8)
            self._valid[name].write(0, 1, begin)
        if name in self._valid:
            self._valid[name].write(begin, 1 if column.valid is None else column.valid, count)


def read_flags(store: EventStore, name: str | None, begin: int) -> Flags:
    """uint8[events from `begin` on]: does a condition hold?  Null does not.  None: no condition, no flags."""
    if name is None:
        return np.zeros(0, dtype=np.uint8)
    column = store.column(name)
    holds = column.values[begin : store.count] != 0
    if column.valid is not None:
        holds &= column.valid[begin : store.count] != 0
    return holds.astype(np.uint8)
