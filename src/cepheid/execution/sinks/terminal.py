"""Standard output: "stdout:table" for people, at the end; "stdout:jsonl" (or "-") for programs, as rows come."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from cepheid.execution.sinks.json_lines import show_lines
from cepheid.execution.sinks.sink import Sink, SinkKind

MOST_SHOWN = 40
TABLE, LINES = "stdout:table", "stdout:jsonl"


class TerminalTable:
    """more: what to do to see all rows."""

    def __init__(self, schema: pa.Schema | None = None, more: str = f"{LINES} gives all") -> None:
        self.more = more
        self.names: list[str] = [] if schema is None else schema.names
        self.count = 0
        self._shown: list[dict[str, Any]] = []

    def write(self, table: pa.Table, /) -> None:
        self.names = table.column_names
        self._shown += table.slice(0, max(0, MOST_SHOWN - self.count)).to_pylist()
        self.count += len(table)

    def close(self) -> None:
        from rich.console import Console
        from rich.table import Table

        shown = Table(*self.names)
        for row in self._shown:
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        Console().print(shown)
        more = f" ({MOST_SHOWN} shown, {self.more})" if self.count > MOST_SHOWN else ""
        sys.stdout.write(f"{self.count} {'row' if self.count == 1 else 'rows'}{more}\n")


class TerminalLines:
    def write(self, table: pa.Table, /) -> None:
        sys.stdout.write(show_lines(table))
        sys.stdout.flush()

    def close(self) -> None:
        """Standard output is not ours to close."""


def _recognises(given: Any) -> bool:
    return isinstance(given, str) and given in (TABLE, LINES, "-")


def _open(given: Any, name: str, schema: pa.Schema | None) -> Sink:  # noqa: ARG001 (it is not shown)
    return TerminalTable(schema) if given == TABLE else TerminalLines()


KIND = SinkKind("terminal", f"{TABLE} or {LINES}", _recognises, _open)
