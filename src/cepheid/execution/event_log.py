"""The events an engine keeps: Arrow tables one behind the other, addressed by index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MOST_CHUNKS = 64


class EventLog:
    """Grows by tables; gives out cells by event index."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._tables: list[pa.Table] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, table: pa.Table) -> None:
        if not len(table):
            return
        self._tables.append(table)
        self._count += len(table)
        if len(self._tables) > MOST_CHUNKS:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]

    @property
    def table(self) -> pa.Table:
        if not self._tables:
            return self._schema.empty_table()
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables)]
        return self._tables[0]

    def take(self, column: str, events: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        """The column at these events; null where the index is negative."""
        missing = events < 0
        indices = pa.array(events, mask=missing) if missing.any() else pa.array(events)
        return self.table.column(column).take(indices)

    def take_rows(self, kept: npt.NDArray[np.bool_]) -> pa.Table:
        return self.table.filter(pa.array(kept))
