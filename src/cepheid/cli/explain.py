"""cepheid explain: how a query is compiled, step by step."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.failures import report_failures
from cepheid.cli.inputs import DialectOption, read_query, read_schemas


def explain(
    query: Annotated[str, typer.Argument(help="The query, or a file that ends in .sql")],
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="NAME=FILE, once for each stream")] = None,
    step: Annotated[str, typer.Option(help="parsed, bound, rewritten or placed")] = "rewritten",
    as_format: Annotated[str, typer.Option("--format", help="text, mermaid or json")] = "text",
    dialect: DialectOption = None,
) -> None:
    """Show what becomes of a query: parsed, bound, rewritten or placed."""
    with report_failures():
        import cepheid

        # files are whole tables, as for `cepheid sql`: of their rows nothing is needed
        tables = {name: schema.empty_table() for name, schema in read_schemas(table or []).items()}
        typer.echo(cepheid.explain(read_query(query, dialect), step=step, format=as_format, **tables))
