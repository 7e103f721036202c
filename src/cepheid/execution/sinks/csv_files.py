"""CSV: a line of names, then the rows as they come (growing_files.py).

Times are written as 2026-01-01 00:00:00.000000, with Z if they have a zone; then they are those of UTC.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow.csv import CSVWriter

from cepheid.errors import InvalidInput
from cepheid.execution.sinks.growing_files import kind_of_growing_files


def _check_schema(path: Path, schema: pa.Schema) -> None:
    for column in schema:
        if pa.types.is_nested(column.type):
            told = f'"{path}" cannot be written: CSV has no place for "{column.name}", a {column.type}'
            raise InvalidInput(told, hint="leave it out of the query, or write .jsonl or .parquet")


KIND = kind_of_growing_files("CSV", (".csv",), CSVWriter, _check_schema)
