"""The events an engine keeps: columns that grow by tables and are addressed by index.

Most columns are asked for a few values, or never (`_arrival` is for snapshots): a column takes in the tables that came
when it is asked for many, not before.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.log_column import NumberColumn, ValueColumn, find_stored, make_column, take_values
from cepheid.kernel.columns import Interner

MOST_WAITING = 64  # tables that some column has not taken in
FEW = 3  # if a third of the events that wait, or less, are asked for, a column need not take them in


class EventLog:
    """Grows by tables; gives out cells by event index."""

    def __init__(self, schema: pa.Schema, interner: Interner | None = None) -> None:
        """interner: strings are kept as its numbers, so that the log can be written to by address."""
        self._schema = schema
        self._columns = {field.name: make_column(field.type, interner) for field in schema}
        arrays = {name: column for name, column in self._columns.items() if isinstance(column, NumberColumn)}
        self._arrays = arrays if len(arrays) == len(self._columns) else None
        self._stored = {field.name: find_stored(field.type) for field in schema}
        self._taken = dict.fromkeys(self._columns, 0)  # tables of those that wait
        self._waiting: list[tuple[pa.Table, npt.NDArray[np.int64] | None]] = []
        self._expected = 0
        self._begins: list[int] = []  # events before each table that waits
        self._count = 0
        self._is_told = True  # do the columns know how many events there are?

    def __len__(self) -> int:
        return self._count

    def expect(self, count: int) -> None:
        """So many more events will come: room for all of them is made at once."""
        self._expected = self._count + count

    def append(self, table: pa.Table, events: npt.NDArray[np.int64] | None = None) -> None:
        """`events`: those of the table that are to be kept, None: all."""
        count = len(table) if events is None else len(events)
        if not count:
            return
        self._tell_columns()
        self._begins.append(self._count)
        self._count += count
        self._waiting.append((table, events))
        if len(self._waiting) > MOST_WAITING:
            self._fill_all()

    def take(self, column: str, events: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        """The column at these events; null where the index is negative."""
        found = self._read_few(column, events)
        if found is not None:
            return found
        missing = events < 0
        return self._fill(column).take(events, missing if missing.any() else None)

    def _read_few(self, column: str, events: npt.NDArray[np.int64]) -> pa.ChunkedArray | None:
        """A few plain numbers out of tables that wait, from where they lie; None: this is something else."""
        begin, stored = self._taken[column], self._stored[column]
        if begin == len(self._waiting) or stored is None or not len(events):
            return None
        if FEW * len(events) > self._count - self._begins[begin] or int(events.min()) < self._begins[begin]:
            return None
        found = np.empty(len(events), dtype=stored.to_pandas_dtype())
        first = int(np.searchsorted(self._begins, int(events.min()), side="right")) - 1
        for home in range(first, len(self._waiting)):
            table, chosen = self._waiting[home]
            values = table.column(column)
            if values.null_count or values.num_chunks != 1:
                return None
            here = events >= self._begins[home]
            if home + 1 < len(self._waiting):
                here &= events < self._begins[home + 1]
            places = (events if here.all() else events[here]) - self._begins[home]
            read = values.chunk(0).view(stored).to_numpy()[places if chosen is None else chosen[places]]
            found[here] = read
        arrow_type = self._schema.field(column).type
        array = pa.Array.from_buffers(arrow_type, len(found), [None, pa.py_buffer(found)])
        return pa.chunked_array([array])

    def take_rows(self, kept: npt.NDArray[np.bool_]) -> pa.Table:
        columns = [self._fill(name).filter(kept) for name in self._columns]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def take_at(self, events: npt.NDArray[np.int64]) -> pa.Table:
        """Whole events by their indices."""
        return pa.Table.from_arrays([self.take(name, events) for name in self._schema.names], schema=self._schema)

    def _fill(self, name: str) -> NumberColumn | ValueColumn:
        """A column with all that came."""
        self._tell_columns()
        column = self._columns[name]
        if self._taken[name] < len(self._waiting):
            column.expect(self._expected)
            for table, events in self._waiting[self._taken[name] :]:
                values = table.column(name)
                column.append(values if events is None else _as_chunked(take_values(values, events)))
            self._taken[name] = len(self._waiting)
        return column

    def _fill_all(self) -> None:
        for name in self._columns:
            self._fill(name)
        self._waiting, self._begins = [], []
        self._taken = dict.fromkeys(self._columns, 0)

    # --- a few events at a time, written by address (execution/lane) --------------------------------------
    @property
    def columns(self) -> dict[str, NumberColumn] | None:
        """All columns, if each is an array; they must be told how many events there are (`make_room`)."""
        return self._arrays

    def make_room(self, count: int, nulls: Container[str]) -> None:
        """For `count` more events; nulls: columns that may be null in them."""
        self._fill_all()
        for name, column in (self._arrays or {}).items():
            column.make_room(count, nulls=name in nulls)

    def count_up(self, count: int) -> None:
        """So many events have been written; the columns hear of it when somebody asks them."""
        assert not self._waiting, "room was made for them"
        self._count += count
        self._is_told = False

    def _tell_columns(self) -> None:
        if not self._is_told:
            for column in self._columns.values():
                assert isinstance(column, NumberColumn), "events are written by address to arrays only"
                column.count_up_to(self._count)
            self._is_told = True


def _as_chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
