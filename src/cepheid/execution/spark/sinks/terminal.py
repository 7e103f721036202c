"""Standard output: rows as they come, as a table for people or as JSON lines for programs.

A batch that is run again after a failure is shown again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.execution.sinks.terminal import LINES, TABLE, TerminalLines
from cepheid.execution.spark.sinks.sink import BatchId, Rows, SparkSinkKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONSOLE = "console"
MOST_SHOWN = 20  # of a batch


class TerminalSink:
    def __init__(self, as_lines: bool) -> None:
        self._as_lines = as_lines

    def prepare(self, frame: DataFrame) -> DataFrame:
        return frame

    def write(self, rows: Rows, batch: BatchId) -> None:
        if self._as_lines:
            lines = TerminalLines()
            for part in rows:
                lines.write(pa.Table.from_batches([part]))
        else:
            _show(rows, batch)


def _show(rows: Rows, batch: BatchId) -> None:
    from rich.console import Console
    from rich.table import Table

    count, shown = 0, Table(*rows.schema.names, title=f"{batch.query}, batch {batch.number}", title_justify="left")
    for part in rows:
        for row in part.slice(0, max(0, MOST_SHOWN - count)).to_pylist():
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        count += len(part)
    console = Console()
    console.print(shown)
    if count > MOST_SHOWN:
        console.print(f"{count} rows ({MOST_SHOWN} shown, {LINES} gives all)")


def _open(text: str, query: str, folder: Path) -> TerminalSink:  # noqa: ARG001 (rows bear the name)
    return TerminalSink(as_lines=text in (LINES, "-"))


KIND = SparkSinkKind("terminal", f"{CONSOLE}, {TABLE} or {LINES}", {CONSOLE, TABLE, LINES, "-"}.__contains__, _open)
