"""Tables that are there already: Arrow, pandas, Polars, a mapping of columns, anything with Arrow's C stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from cepheid.execution.sources.cut_tables import cut_tables
from cepheid.execution.sources.source import BATCH_ROWS, SourceKind
from cepheid.schema import fit_schema, read_table


class TableSource:
    is_finite = True

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.schema = table.schema

    def read(self, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        return cut_tables([self.table], rows)


def _recognises(given: Any) -> bool:
    return isinstance(given, pa.Table | pa.RecordBatch | Mapping) or hasattr(given, "__arrow_c_stream__")


def _open(given: Any, name: str, schema: pa.Schema | None) -> TableSource:
    table = read_table(name, given)
    return TableSource(table if schema is None else fit_schema(name, table, schema))


KIND = SourceKind("table", "an Arrow, pandas or Polars table", _recognises, _open)
