"""A query's text together with whose SQL it is written in.

It is a text like any other for those who keep and show queries; the compiler asks for its dialect.  A text without one
is in the default dialect: Trino's functions, and every spelling that has one meaning only.
"""

from __future__ import annotations

from typing import Any

from cepheid.settings import DialectName, WrittenDialect


class WrittenText(str):  # noqa: SLOT000 (it keeps its dialect)
    """The text, in a dialect."""

    dialect: WrittenDialect

    def __new__(cls, text: str, dialect: WrittenDialect) -> WrittenText:
        made = super().__new__(cls, text)
        made.dialect = dialect
        return made

    def __reduce__(self) -> tuple[type[WrittenText], tuple[str, str]]:
        return WrittenText, (str(self), self.dialect)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and dialect_of(other) == self.dialect

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.dialect))


def dialect_of(query: object) -> WrittenDialect | None:
    return query.dialect if isinstance(query, WrittenText) else None


def plan_dialect(written: WrittenDialect | None, host: DialectName) -> DialectName:
    """The dialect of a plan for queries in this one; `host`: that of the host which runs it."""
    return host if written in (None, host) else "trino"


def write_in(query: Any, dialect: WrittenDialect | None) -> Any:
    """Every text of a query, or of queries by name, in this dialect; patterns have none."""
    if dialect is None:
        return query
    if isinstance(query, str):
        return WrittenText(query, dialect)
    if hasattr(query, "items"):
        return {name: write_in(each, dialect) for name, each in query.items()}
    return query
