"""JSON lines: an object for each row, as they come (growing_files.py), and the same on the terminal.

What JSON has no word for, times and decimals above all, is written as text, as Python shows it; NaN as NaN.  Rows are
made one by one in Python, one or two hundred thousand a second: for more, choose Parquet.
"""

from __future__ import annotations

import json
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.sinks.growing_files import kind_of_growing_files

encode_row = json.JSONEncoder(default=str).encode


def show_lines(table: pa.Table) -> str:
    """With a line break after each."""
    return "".join(f"{encode_row(row)}\n" for row in _show_times(table).to_pylist())


def _show_times(table: pa.Table) -> pa.Table:
    """Times without a zone as text, as `str` would show them, by whole columns: one by one they cost most of all."""
    for number, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is None and column.type.unit != "ns":
            texts = table.column(number).cast(pa.timestamp("us")).cast(pa.string())
            short = pc.replace_substring(texts, ".000000", "")
            table = table.set_column(number, column.name, short)
    return table


class JsonLines:
    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:  # noqa: ARG002 (each row names its columns)
        self.file = file

    def write_table(self, table: pa.Table, /) -> None:
        self.file.write(show_lines(table).encode())

    def close(self) -> None:
        """There is no last line."""


KIND = kind_of_growing_files("JSON lines", (".jsonl", ".ndjson", ".json"), JsonLines)
