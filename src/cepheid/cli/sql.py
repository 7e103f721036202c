"""cepheid sql: run a query over files, in this process."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cepheid.cli.failures import report_failures
from cepheid.cli.inputs import read_query, read_tables

MOST_SHOWN = 40


def sql(
    query: Annotated[str, typer.Argument(help="The query, or a file that ends in .sql")],
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="NAME=FILE, once for each table")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per row")] = False,
) -> None:
    """Run a query over Parquet, CSV, JSON or Arrow files, in this process."""
    with report_failures():
        import cepheid

        rows = cepheid.sql(read_query(query), **read_tables(table or []))
    if as_json:
        for row in rows.to_pylist():
            typer.echo(json.dumps(row, default=str))
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(*rows.column_names)
    for row in rows.slice(0, MOST_SHOWN).to_pylist():
        shown.add_row(*("" if value is None else str(value) for value in row.values()))
    Console().print(shown)
    more = f" ({MOST_SHOWN} shown, --json gives all)" if len(rows) > MOST_SHOWN else ""
    typer.echo(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}{more}")
