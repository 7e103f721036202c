"""A table in memory that events are joined with: an Arrow table and a hash index over its key columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepheid.errors import UnknownColumn
from cepheid.execution.lookup.found import Found
from cepheid.execution.lookup.key_types import fit_keys, key_type
from cepheid.kernel.compiled.row_index import RowIndex
from cepheid.lookups import Table
from cepheid.schema import fit_schema


@dataclass(frozen=True, slots=True)
class _Content:
    """What belongs together: positions that the index tells are those of this table."""

    table: pa.Table
    index: RowIndex


class MemoryTable:
    """Answers from the table as it is when it is asked.

    `refresh` builds the new index aside and then changes one reference: who asks meanwhile gets the old table or the
    new one, never something of both, and never waits.
    """

    def __init__(self, table: pa.Table, keys: Sequence[str], name: str = "table") -> None:
        assert keys, "a table is joined by at least one key"
        for key in keys:
            if key not in table.column_names:
                raise UnknownColumn(key, name, table.column_names)
        self._name = name
        self._keys = tuple(keys)
        self._key_types = [key_type(f"{name}.{key}", table.schema.field(key).type) for key in keys]
        self._schema = table.schema
        self._content = self._index_table(table)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def __len__(self) -> int:
        return self._content.table.num_rows

    def refresh(self, table: pa.Table) -> None:
        """Take the rows of another table of the same columns."""
        self._content = self._index_table(fit_schema(self._name, table, self._schema))

    def find(self, keys: list[pa.ChunkedArray]) -> Found:
        content = self._content  # read once: a refresh may come between any two lines
        events, rows = content.index.find(self._fit(keys))
        return Found(events, rows, content.table)

    def close(self) -> None:
        """Nothing is held open."""

    def _index_table(self, table: pa.Table) -> _Content:
        table = table.combine_chunks()  # rows are taken by position, which many chunks make slow
        return _Content(table, RowIndex(self._fit([table.column(key) for key in self._keys])))

    def _fit(self, keys: list[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
        named = zip(self._keys, keys, self._key_types, strict=True)
        return [fit_keys(f"{self._name}.{name}", column, wanted) for name, column, wanted in named]


def open_memory_table(table: Table, keys: Sequence[str], name: str = "table") -> MemoryTable:
    """The table indexed by `keys`, and indexed anew whenever the user refreshes it."""
    return table.follow(lambda data: MemoryTable(data, keys, name))
