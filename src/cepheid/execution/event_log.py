"""The events an engine keeps: columns that grow by tables and are addressed by index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.log_column import make_column


class EventLog:
    """Grows by tables; gives out cells by event index."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns = {field.name: make_column(field.type) for field in schema}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, table: pa.Table) -> None:
        if not len(table):
            return
        self._count += len(table)
        for (_, column), values in zip(self._columns.items(), table.columns, strict=True):
            column.append(values)

    def take(self, column: str, events: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        """The column at these events; null where the index is negative."""
        missing = events < 0
        return self._columns[column].take(events, missing if missing.any() else None)

    def take_rows(self, kept: npt.NDArray[np.bool_]) -> pa.Table:
        columns = [column.filter(kept) for column in self._columns.values()]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def take_at(self, events: npt.NDArray[np.int64]) -> pa.Table:
        """Whole events by their indices."""
        return pa.Table.from_arrays([self.take(name, events) for name in self._schema.names], schema=self._schema)
