"""Questions about, and small changes to, the SQL that vertices carry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sqlglot
from sqlglot import exp


@lru_cache(maxsize=4096)
def _parse(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="trino")


def columns_of(sql: str) -> set[str]:
    return {column.name for column in _parse(sql).find_all(exp.Column)}


def is_plain_column(sql: str) -> bool:
    return isinstance(_parse(sql), exp.Column)


def substitute_columns(sql: str, meanings: Mapping[str, str]) -> str:
    """The SQL with each column replaced by what it means."""

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in meanings:
            meaning = _parse(meanings[node.name]).copy()
            return meaning if isinstance(meaning, exp.Column) else exp.Paren(this=meaning)
        return node

    return _parse(sql).copy().transform(replace).sql(dialect="trino")


def split_conjunction(sql: str) -> list[str]:
    parsed = _parse(sql)
    while isinstance(parsed, exp.Paren):
        parsed = parsed.this
    if isinstance(parsed, exp.And):
        return [part for side in (parsed.left, parsed.right) for part in split_conjunction(side.sql(dialect="trino"))]
    return [parsed.sql(dialect="trino")]


def join_conjunction(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else " AND ".join(f"({part})" for part in parts)


def join_disjunction(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else " OR ".join(f"({part})" for part in parts)
