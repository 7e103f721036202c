"""Queries that are no more than a filter and a projection of one table.

    SELECT m.bus, d * 2 AS twice FROM <item> AS m WHERE d > 5
    =>  Filter("d" > 5), Project("bus", "d" * 2 AS twice)

These run row by row, so that a continuous query can have them; everything else stays whole and is left to
the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

import pyarrow as pa
from sqlglot import exp

from cepheid.language.relations.sql_values import read_value
from cepheid.scalars.value import Scalar

SELECT_PARTS = {"expressions", "from_", "where", "with_"}
ITEM_PARTS = {"this", "alias", "db", "catalog"}
OVER_SEVERAL_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.Unnest, exp.Exists, exp.Star, exp.List)


@dataclass(frozen=True, slots=True)
class SimpleSelect:
    """columns: (name, value), empty for SELECT *."""

    predicate: Scalar | None
    columns: tuple[tuple[str, Scalar], ...]


def only_item(query: exp.Expr) -> exp.Table | exp.Subquery | None:
    """The one table or subquery of SELECT ... FROM item [WHERE ...]; None if there is more to the query."""
    if not isinstance(query, exp.Select) or _has_more(query, SELECT_PARTS) or not query.args.get("from_"):
        return None
    item = query.args["from_"].this
    return item if is_plain_item(item) else None


def renamed_item(query: exp.Expr) -> exp.Table | exp.Subquery | None:
    """The same, where the item gives its columns new names: SELECT ... FROM t AS k(a, b)."""
    if not isinstance(query, exp.Select) or _has_more(query, SELECT_PARTS) or not query.args.get("from_"):
        return None
    item = query.args["from_"].this
    return item if new_names(item) and _is_alone(item) else None


def new_names(item: exp.Expr) -> list[str]:
    """The a and b of t AS k(a, b)."""
    alias = item.args.get("alias")
    return [name.name for name in (alias.args.get("columns") or [])] if alias is not None else []


def is_plain_item(item: exp.Expr) -> TypeGuard[exp.Table | exp.Subquery]:
    """A named table or a subquery, without joins, new names for its columns, samples and the like."""
    return _is_alone(item) and not new_names(item)


def _is_alone(item: exp.Expr) -> TypeGuard[exp.Table | exp.Subquery]:
    if _has_more(item, ITEM_PARTS):
        return False
    return isinstance(item, exp.Subquery) or (isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier))


def split_select(query: exp.Select, item: exp.Table | exp.Subquery, schema: pa.Schema) -> SimpleSelect | None:
    """The parts of the query over unqualified columns of the item; None if it is no simple one."""
    where = query.args.get("where")
    outputs = [] if _is_star(query, item) else expand_stars(query.expressions, item.alias_or_name, schema)
    parts = [*outputs, *([where.this] if where else [])]
    names = [output.alias_or_name or f"_col{number}" for number, output in enumerate(outputs)]
    if len({name.lower() for name in names}) < len(names):
        return None  # the host says what is wrong
    if not all(_is_row_wise(part, item, schema) for part in parts):
        return None
    return SimpleSelect(
        _plain_value(where.this, schema) if where else None,
        tuple((name, _plain_value(each.unalias(), schema)) for name, each in zip(names, outputs, strict=True)),
    )


def expand_stars(outputs: list[exp.Expr], name: str, schema: pa.Schema) -> list[exp.Expr]:
    """The outputs with the columns of the item, which is called `name`, where * or m.* stands."""
    found: list[exp.Expr] = []
    for output in outputs:
        star = output.this if isinstance(output, exp.Column) and output.table.lower() == name.lower() else output
        if not isinstance(star, exp.Star) or any(value for part, value in star.args.items() if part != "except_"):
            found.append(output)
            continue
        left_out = {column.name.lower() for column in star.args.get("except_") or ()}
        found += [exp.column(each, quoted=True) for each in schema.names if each.lower() not in left_out]
    return found


def find_items(select: exp.Select) -> Iterator[exp.Expr]:
    """The tables and subqueries in FROM and its joins."""
    waiting = [*([select.args["from_"]] if select.args.get("from_") else []), *(select.args.get("joins") or [])]
    while waiting:
        item = waiting.pop().this
        yield item
        waiting += item.args.get("joins") or []


def _has_more(node: exp.Expr, parts: set[str]) -> bool:
    return any(value for part, value in node.args.items() if part not in parts)


def _is_star(query: exp.Select, item: exp.Table | exp.Subquery) -> bool:
    """SELECT * or SELECT m.* of the item m, without EXCEPT and the like."""
    (first, *others) = query.expressions
    is_of_item = isinstance(first, exp.Column) and first.table.lower() == item.alias_or_name.lower()
    star = first.this if is_of_item else first
    return not others and isinstance(star, exp.Star) and not any(star.args.values())


def _is_row_wise(part: exp.Expr, item: exp.Table | exp.Subquery, schema: pa.Schema) -> bool:
    known = {name.lower() for name in schema.names}
    qualifiers = ("", item.alias_or_name.lower())
    return part.find(*OVER_SEVERAL_ROWS) is None and all(
        column.name.lower() in known and column.table.lower() in qualifiers and not column.db
        for column in part.find_all(exp.Column)
    )


def _plain_value(expression: exp.Expr, schema: pa.Schema) -> Scalar:
    """Its columns are unqualified and spelt as the input spells them."""
    names = {name.lower(): name for name in schema.names}

    def spell(node: exp.Expr) -> exp.Expr:
        return exp.column(names[node.name.lower()], quoted=True) if isinstance(node, exp.Column) else node

    return read_value(expression.transform(spell))
