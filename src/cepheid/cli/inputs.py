"""Text of queries, and sources by name, as given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from cepheid.errors import InvalidInput

DialectOption = Annotated[
    str | None, typer.Option(help="Whose SQL it is written in: trino, flink, spark, risingwave or duckdb")
]


def read_query(text: str, dialect: str | None = None) -> str:
    """The text itself, or the content of a file that ends in .sql; in a dialect, if one is said."""
    if dialect is not None:
        from cepheid.language.parsing.written_text import WrittenText
        from cepheid.session_inputs import check_dialect
        from cepheid.settings import WrittenDialect

        check_dialect(cast(WrittenDialect, dialect), "trino")
        return WrittenText(read_query(text), cast(WrittenDialect, dialect))
    if not text.rstrip().lower().endswith(".sql"):
        return text
    path = Path(text)
    if not path.exists():
        raise InvalidInput(f'the file "{text}" does not exist', hint=f"paths start from {Path.cwd()}")
    return path.read_text()


def read_tables(given: list[str]) -> dict[str, Any]:
    """NAME=FILE pairs as Arrow tables."""
    from cepheid.execution.sources.kinds import open_source, read_whole

    return {name: read_whole(open_source(text, name=name), name) for name, text in _pairs(given)}


def read_schemas(given: list[str]) -> dict[str, Any]:
    """NAME=FILE pairs as schemas, for what needs no rows."""
    from cepheid.execution.sources.kinds import open_source

    return {name: open_source(text, name=name).schema for name, text in _pairs(given)}


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f'"{pair}" is not of the form NAME=FILE', hint="for instance buses=feed.parquet")
        pairs.append((name, text))
    return pairs
