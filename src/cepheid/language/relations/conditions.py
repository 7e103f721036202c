"""The items of FROM and the conditions of joins, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from sqlglot import exp

from cepheid.errors import InvalidQuery, Span


def list_joins(query: exp.Select) -> list[exp.Expr]:
    """The joins of FROM, in the order in which they are written."""
    source = query.args["from_"].this
    return [*(source.args.get("joins") or []), *(query.args.get("joins") or [])]


def split_conditions(condition: exp.Expr) -> list[exp.Expr]:
    """The parts that must all hold."""
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition.unnest()]


def refuse_double_items(names: list[str], span: Span | None) -> None:
    """Two items of FROM under one name: no column of either could be told from the other's."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidQuery(f'FROM has two items called "{name}"', span=span, hint=f"rename one: ... AS {name}_2")
        seen.add(name.lower())


def suffix_name(name: str) -> Iterator[str]:
    """name, name_1, name_2, ...: SELECT * over several tables tells equal names apart like this."""
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def list_items(query: exp.Select) -> list[exp.Expr]:
    """The items of FROM as they are written."""
    return [query.args["from_"].this, *(join.this for join in list_joins(query))]


def without_joins(item: exp.Expr) -> exp.Table | exp.Subquery:
    """The item alone; joins may hang on it."""
    assert isinstance(item, exp.Table | exp.Subquery), "an item of FROM"
    if not item.args.get("joins"):
        return item
    alone = item.copy()
    alone.set("joins", None)
    alone.parent = item.parent
    return alone
