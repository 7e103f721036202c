"""The events an engine keeps: columns that grow by tables and are addressed by index.

Most columns are asked for a few values, or never (`_arrival` is for snapshots): a column takes in the tables that came
when it is asked, not before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.log_column import NumberColumn, ValueColumn, make_column, take_values

MOST_WAITING = 64  # tables that some column has not taken in


class EventLog:
    """Grows by tables; gives out cells by event index."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns = {field.name: make_column(field.type) for field in schema}
        self._taken = dict.fromkeys(self._columns, 0)  # tables of those that wait
        self._waiting: list[tuple[pa.Table, npt.NDArray[np.int64] | None]] = []
        self._expected = 0
        self._count = 0

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
        self._count += count
        self._waiting.append((table, events))
        if len(self._waiting) > MOST_WAITING:
            for name in self._columns:
                self._fill(name)
            self._waiting = []
            self._taken = dict.fromkeys(self._columns, 0)

    def take(self, column: str, events: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        """The column at these events; null where the index is negative."""
        missing = events < 0
        return self._fill(column).take(events, missing if missing.any() else None)

    def take_rows(self, kept: npt.NDArray[np.bool_]) -> pa.Table:
        columns = [self._fill(name).filter(kept) for name in self._columns]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _fill(self, name: str) -> NumberColumn | ValueColumn:
        """A column with all that came."""
        column = self._columns[name]
        if self._taken[name] < len(self._waiting):
            column.expect(self._expected)
            for table, events in self._waiting[self._taken[name] :]:
                values = table.column(name)
                column.append(values if events is None else _as_chunked(take_values(values, events)))
            self._taken[name] = len(self._waiting)
        return column


def _as_chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
