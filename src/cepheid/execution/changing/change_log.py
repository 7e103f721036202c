"""The events that an engine may still have to look at again: in order, and found by scope and time.

events in order ─▶ [ tables, one behind another ]     all there is, as long as nothing comes late
                                │ the first late event
                                ▼
late ones ──────────────▶ [ shelf ] ─▶ the events of some scopes in some spans;  all of them in order, when asked
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.event_time import BEGINNING, order_values
from cepheid.execution.changing.change_rows import Int64s
from cepheid.execution.changing.row_identity import TELLING, tell_events
from cepheid.execution.changing.scopes import Scopes
from cepheid.execution.changing.shelf import Shelf
from cepheid.execution.changing.spans import Spans

Sort = Callable[[pa.Table], pa.Table]
FEW = 1024  # events of a table that is put together with those before it,
MANY_TABLES = 64  # once so many of them follow one another


class ChangeLog:
    def __init__(self, layout: pa.Schema, sort: Sort) -> None:
        self._layout, self._sort = layout, sort
        self._tables: list[pa.Table] = []  # in order, and behind all others
        self._shelf: Shelf | None = None
        self._whole: pa.Table | None = layout.empty_table()  # all of it in order, if that is known
        self._count = 0
        self._times: list[Int64s] = []  # of the events that came in order, table by table
        self._newest: list[int] = []  # of each of these tables
        self._ends: list[int] = []  # events up to each of them
        self._small = 0  # tables of few events at the end
        self.newest = BEGINNING  # time of the last event

    def __len__(self) -> int:
        return self._count

    @property
    def events(self) -> pa.Table:
        """All of them, in order."""
        if self._whole is None:
            parts = [self._layout.empty_table(), *self._tables]
            if self._shelf is not None:
                parts.insert(1, self._shelf.take_all())
            whole = pa.concat_tables(parts).combine_chunks()
            self._whole = whole if self._shelf is None else self._sort(whole)
            if self._shelf is None:
                self._become([self._whole] if len(self._whole) else [])
        return self._whole

    @events.setter
    def events(self, events: pa.Table) -> None:
        self._shelf, self.newest = None, BEGINNING
        self._become([events] if len(events) else [])
        self._whole, self._count = events, len(events)

    def append(self, events: pa.Table, times: Int64s) -> None:
        """Events in order, behind all others."""
        self._tables.append(events)
        self._whole = None
        self._count += len(events)
        self._note(times)
        self._small = self._small + 1 if len(events) < FEW else 0
        if self._small == MANY_TABLES:
            last = self._small
            self._tables[-last:] = [pa.concat_tables(self._tables[-last:]).combine_chunks()]
            self._times[-last:] = [np.concatenate(self._times[-last:])]
            self._newest[-last:], self._ends[-last:] = self._newest[-1:], self._ends[-1:]
            self._small = int(len(self._tables[-1]) < FEW)

    def take_before(self, time: int) -> pa.Table:
        """Forget the events that are older: these, in order."""
        if self._shelf is not None:
            self.events = self.events
        first = bisect_left(self._newest, time)
        taken, tables, times = self._tables[:first], self._tables[first:], self._times[first:]
        count = int(np.searchsorted(times[0], time)) if tables else 0
        if count:
            taken.append(tables[0].slice(0, count))
            tables[0], times[0] = tables[0].slice(count), times[0][count:]
        self._become(tables, times)
        self._whole, self._count = None, sum(map(len, tables))
        return pa.concat_tables([self._layout.empty_table(), *taken])

    def list_since(self, time: int) -> pa.Table:
        """The events that are not older, in order."""
        if self._whole is None and self._shelf is not None:
            fresh = [table.filter(pc.greater_equal(_read_times(table), time)) for table in self._tables]
            return self._sort(pa.concat_tables([self._shelf.take(self._shelf.list_since(time)), *fresh]))
        if self._shelf is None:
            first = bisect_left(self._newest, time)
            events = pa.concat_tables([self._layout.empty_table(), *self._tables[first:]])
        else:
            events = self.events
        return events.slice(int(np.searchsorted(order_values(events.column("_time"))[0], time)))

    def has_half_before(self, time: int) -> bool:
        """Are at least half of the events older?  Late ones are not counted."""
        first = bisect_left(self._newest, time)
        count = self._ends[first - 1] if first else 0
        if first < len(self._times):
            count += int(np.searchsorted(self._times[first], time))
        return 0 < self._count <= 2 * count

    def _become(self, tables: list[pa.Table], times: list[Int64s] | None = None) -> None:
        """These are the tables, none of them empty."""
        if times is None:
            times = [order_values(table.column("_time"))[0] for table in tables]
        self._tables, self._times, self._newest = tables, times, [int(each[-1]) for each in times]
        self._ends, self._small = list(accumulate(map(len, tables))), 0
        self.newest = max([self.newest, *self._newest[-1:]])

    def _note(self, times: Int64s) -> None:
        self.newest = int(times[-1])
        self._times.append(times)
        self._newest.append(self.newest)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(times))

    # --- by scope and time -------------------------------------------------------------------------------
    def find(self, spans: Spans, scopes: Scopes, stretch_us: int) -> Int64s:
        """int64[n]: numbers of the events in these spans."""
        return self.shelve(scopes, stretch_us).find(spans)

    def take(self, numbers: Int64s) -> tuple[pa.Table, Int64s]:
        """Some of the events, and their scopes."""
        assert self._shelf is not None, "numbers are those of the shelf"
        return self._shelf.take(numbers), self._shelf.where(numbers)[0]

    def insert(self, events: pa.Table, whose: Int64s, times: Int64s) -> None:
        """Events that come late."""
        assert self._shelf is not None, "their neighbours have been looked up"
        self._shelf.append(events, whose, times)
        self._whole = None
        self._count += len(events)

    def remove(self, retracted: pa.Table, scopes: Scopes, stretch_us: int) -> tuple[Int64s, Int64s]:
        """Take events out, as far as they are there: int64[n] each, their scopes and times."""
        shelf = self.shelve(scopes, stretch_us)
        whose, (times, _) = scopes.of_events(retracted), order_values(retracted.column("_time"))
        numbers = shelf.find(Spans.unite(whose, times, times + 1))
        names = [name for name in TELLING if name in self._layout.names]
        known = tell_events(pa.table({name: shelf.read(name, numbers) for name in names}))
        wanted = tell_events(retracted)
        gone = numbers[np.isin(known, wanted)]
        shelf.remove(gone)
        self._whole = None
        self._count -= len(gone)
        is_gone = np.isin(wanted, known)
        return whose[is_gone], times[is_gone]

    def shelve(self, scopes: Scopes, stretch_us: int) -> Shelf:
        """All events, by scope and time."""
        if self._shelf is None:
            self._shelf = Shelf(self._layout, stretch_us)
        fresh = [table for table in self._tables if len(table)]
        if fresh:
            events = pa.concat_tables(fresh).combine_chunks()
            times, _ = order_values(events.column("_time"))
            self._shelf.append(events, scopes.of_events(events), times)
        self._tables, self._small = [], 0
        return self._shelf


def _read_times(events: pa.Table) -> pa.Array:
    return pa.array(order_values(events.column("_time"))[0])
