"""JSON lines: an object for each row, as they come (growing_files.py), and the same on the terminal.

What JSON has no word for, times and decimals above all, is written as text, as Python shows it; NaN as NaN.  Rows are
made one by one in Python, some hundred thousand a second: for more, choose Parquet.
"""

from __future__ import annotations

import json
from typing import IO

import pyarrow as pa

from cepheid.execution.sinks.growing_files import kind_of_growing_files


def show_lines(table: pa.Table) -> str:
    """With a line break after each."""
    return "".join(f"{json.dumps(row, default=str)}\n" for row in table.to_pylist())


class JsonLines:
    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:  # noqa: ARG002 (each row names its columns)
        self.file = file

    def write_table(self, table: pa.Table, /) -> None:
        self.file.write(show_lines(table).encode())

    def close(self) -> None:
        """There is no last line."""


KIND = kind_of_growing_files("JSON lines", (".jsonl", ".ndjson", ".json"), JsonLines)
