"""A list, to which tables are added as they come.  If none has rows, `close` adds an empty one, for its schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.execution.sinks.sink import SinkKind


class ListSink:
    def __init__(self, tables: list[pa.Table], schema: pa.Schema | None) -> None:
        self.tables, self.schema = tables, schema
        self._empty = True

    def write(self, table: pa.Table, /) -> None:
        self.schema = table.schema
        if len(table):
            self.tables.append(table)
            self._empty = False

    def close(self) -> None:
        if self._empty and self.schema is not None:
            self.tables.append(self.schema.empty_table())
        self._empty = False


def _open(given: Any, name: str, schema: pa.Schema | None) -> ListSink:  # noqa: ARG001 (it has none)
    return ListSink(given, schema)


KIND = SinkKind("list", "a list that collects tables", lambda given: isinstance(given, list), _open)
