"""cepheid sql: run a query over files, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.failures import report_failures
from cepheid.cli.inputs import DialectOption, read_query, read_tables
from cepheid.errors import InvalidInput

if TYPE_CHECKING:
    from cepheid.execution.sinks.sink import Sink


def sql(
    query: Annotated[str, typer.Argument(help="The query, or a file that ends in .sql")],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", "-t", help="NAME=FILE, once for each table; a folder or a pattern will do as well"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per row")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "--sink", "-o", metavar="FILE", help="Write rows to .parquet, .csv, .jsonl or .arrow"),
    ] = None,
    dialect: DialectOption = None,
) -> None:
    """Run a query over Parquet, CSV, JSON or Arrow files, in this process."""
    with report_failures():
        import cepheid

        sink = _open_sink(output, as_json)
        rows = cepheid.sql(read_query(query, dialect), **read_tables(table or []))
        sink.write(rows)
        sink.close()
    if output is not None:
        typer.echo(f"written: {output}, {len(rows)} {'row' if len(rows) == 1 else 'rows'}", err=True)


def _open_sink(output: str | None, as_json: bool) -> Sink:
    """Before the query runs: what cannot be written is told at once."""
    from cepheid.execution.sinks.kinds import open_sink
    from cepheid.execution.sinks.terminal import LINES, TerminalTable

    if output is not None and as_json:
        raise InvalidInput("rows go to a file or to stdout, not to both", hint="leave out --json, or write .jsonl")
    if output is not None:
        return open_sink(output, name="query")
    return open_sink(LINES, name="query") if as_json else TerminalTable(more="--json gives all")
