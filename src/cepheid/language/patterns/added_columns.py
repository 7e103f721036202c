"""Columns that a row pattern needs of its input besides those that it has: answers of subqueries, and an order.

    DEFINE b AS b.x > (SELECT avg(x) FROM t)      "_added_constant_1" = (SELECT avg(x) FROM t), the same in every row
    DEFINE b AS b.k IN (SELECT k FROM t)          b."_added_2" = k IN (SELECT k FROM t); the same with = ANY, > ALL
    DEFINE b AS b.k > ALL (VALUES 1, 2)           (b.k > 1 AND b.k > 2)
    ORDER BY day, name DESC                       ORDER BY day, "_added_3", which is a rank
    ORDER BY ts, n DESC                           on a stream: ORDER BY ts, "_added_4", "_added_5": is n null, -1 - n

A subquery without tables is its value.  What a subquery says about other tables, and an order that is not that of time,
is known for whole tables only: a stream would have to wait for ever.  Events of one time it can order by whole numbers
that descend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar, cast

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.event_time import can_order
from cepheid.language.expressions.navigation import PHYSICAL, owner_of
from cepheid.language.expressions.scope import ADDED, CONSTANT
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import MatchRecognizeClause, OrderTerm, PatternWindowClause

C = TypeVar("C", MatchRecognizeClause, PatternWindowClause)
IN_HINT = "compute it as a column in a subquery of FROM: SELECT *, x IN (SELECT ...) AS known FROM t"
PLAIN_SELECT = ("expressions", "kind", "hint", "distinct", "operation_modifiers")


@dataclass
class AddedColumns:
    """What is to be computed beside the columns of the input, by name."""

    values: dict[str, exp.Expr] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def add(self, value: exp.Expr, owner: exp.Expr | None = None, *, constant: bool = False) -> exp.Column:
        name = f"{CONSTANT if constant else ADDED}{next(self.numbers)}"
        self.values[name] = value
        column = exp.column(name, quoted=True)
        column.set("table", None if owner is None else owner.copy())
        place = span_of(value)
        if place is not None:
            column.this.meta.update(start=place.start, end=place.end - 1)
        return column


def take_out_subqueries(clause: C, added: AddedColumns) -> C:
    """The clause with columns in the place of subqueries."""

    def read(tree: exp.Expression) -> exp.Expression:
        return cast(exp.Expression, _replace_subqueries(tree, added))

    changed = replace(
        clause,
        measures=tuple(replace(measure, expression=read(measure.expression)) for measure in clause.measures),
        definitions=tuple(replace(given, condition=read(given.condition)) for given in clause.definitions),
    )
    if isinstance(changed, PatternWindowClause):
        functions = tuple(replace(each, expression=read(each.expression)) for each in changed.functions)
        changed = replace(changed, functions=functions)
    return changed


def _replace_subqueries(tree: exp.Expr, added: AddedColumns) -> exp.Expr:
    if not any(isinstance(node, exp.Query | exp.Exists | exp.Values) for node in tree.walk()):
        return tree
    return _rebuild(tree.copy(), lambda node: _replace_subquery(node, added))


def _rebuild(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """The outermost nodes that are changed, changed."""
    found = change(tree)
    if found is not None:
        return found
    for child in list(tree.iter_expressions()):
        new = _rebuild(child, change)
        if new is not child:
            child.replace(new)
    return tree


def _replace_subquery(node: exp.Expr, added: AddedColumns) -> exp.Expr | None:
    match node:
        case exp.Exists():
            if _value_of(node.this) is not None:
                return exp.true()
            return added.add(node.copy(), constant=True)
        case exp.In() if node.args.get("query") is not None:
            value = _value_of(node.args["query"])
            if value is not None:
                left = _replace_subqueries(node.this.copy(), added)
                return exp.Paren(this=exp.EQ(this=left, expression=value))
            return _add_membership(node, added)
        case exp.In(expressions=[exp.Values() as written]):
            listed = _list_values(written)
            left = _replace_subqueries(node.this.copy(), added)
            return exp.In(this=left, expressions=listed) if listed is not None else None
        case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return _replace_quantified(node, added)
        case exp.Subquery() | exp.Select() | exp.SetOperation():
            value = _value_of(node)
            return exp.Paren(this=value) if value is not None else added.add(_in_parentheses(node), constant=True)
    return None


def _replace_quantified(node: exp.Binary, added: AddedColumns) -> exp.Expr | None:
    """x > ALL (...), x = ANY (...): a comparison with each value that is written, or what the host says of each row."""
    right = node.expression
    word = right.name.upper() if isinstance(right, exp.Anonymous) else right.key.upper()
    if word not in ("ALL", "ANY", "SOME"):
        return None
    (query, *_) = right.expressions if isinstance(right, exp.Anonymous) and right.expressions else [right.this]
    if not isinstance(query, exp.Query | exp.Values):
        return None
    listed = _list_values(query)
    if listed is None:
        return _add_membership(node, added)
    left = _replace_subqueries(node.this.copy(), added)
    compared = [exp.Paren(this=type(node)(this=left.copy(), expression=value)) for value in listed]
    return exp.Paren(this=exp.and_(*compared) if word == "ALL" else exp.or_(*compared))


def _list_values(query: exp.Expr) -> list[exp.Expr] | None:
    """What VALUES 1, 2 or SELECT 1 without tables gives; None for others."""
    inner = query.unnest()
    if not isinstance(inner, exp.Values):
        value = _value_of(query)
        return None if value is None else [value]
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in inner.expressions]
    is_plain = all(len(row) == 1 and not row[0].find(exp.Column, exp.Query, exp.Anonymous) for row in rows)
    return [row[0].copy() for row in rows] if is_plain else None


def _in_parentheses(node: exp.Expr) -> exp.Expr:
    return node.copy() if isinstance(node, exp.Subquery) else exp.Subquery(this=node.copy())


def _value_of(query: exp.Expr) -> exp.Expr | None:
    """What SELECT x without tables gives: x; None for others."""
    inner = query.unnest()
    said = {name for name, value in inner.args.items() if value} if isinstance(inner, exp.Select) else {"from_"}
    if not said <= set(PLAIN_SELECT) or len(inner.expressions) != 1:
        return None
    (value,) = (item.unalias() for item in inner.expressions)
    is_plain = not value.find(exp.Column, exp.AggFunc, exp.Star, exp.Query, exp.Anonymous)
    return value.copy() if is_plain else None


def _add_membership(node: exp.In | exp.Binary, added: AddedColumns) -> exp.Expr:
    """x IN (SELECT ...) or x > ALL (SELECT ...) of one row: the host says it of every row."""
    value = node.this
    owners = {owner_of(column): column.args.get("table") for column in value.find_all(exp.Column)}
    moves = value.find(exp.First, exp.Last, exp.AggFunc, exp.Query) or any(
        call.name.upper() in (*PHYSICAL, "CLASSIFIER", "MATCH_NUMBER", "RUNNING", "FINAL")
        for call in value.find_all(exp.Anonymous)
    )
    if moves or len(owners) > 1:
        raise NotSupportedYet(
            f'IN (SELECT ...) of "{value.sql()}", which is not of one row', span=span_of(node), hint=IN_HINT
        )
    plain = node.copy()
    for column in plain.this.find_all(exp.Column):
        column.set("table", None)
    return added.add(plain, next(iter(owners.values()), None), constant=not owners)


# --- the order of rows ------------------------------------------------------------------------------------


def add_order(clause: C, schema: pa.Schema, added: AddedColumns, arrival: str | None) -> C:
    """The clause whose order is by columns that ascend; from the first term on that does not, by a rank.

    arrival: the column by which rows with equal terms are told apart.
    """
    others = [at for at, term in enumerate(clause.order_by) if not _is_plain(term, schema)]
    if not others:
        return clause
    kept: int = others[0]
    terms = [_write_term(term) for term in clause.order_by[kept:]]
    if arrival is not None:
        terms.append(exp.Ordered(this=exp.column(arrival, quoted=True), nulls_first=False))
    rank = exp.Window(
        this=exp.Anonymous(this="rank"),
        partition_by=[key.copy() for key in clause.partition_by],
        order=exp.Order(expressions=terms),
    )
    column = added.add(rank)
    place = clause.order_by[kept].span
    return replace(clause, order_by=(*clause.order_by[:kept], OrderTerm(column, span=place)))


def turn_order(clause: C, schema: pa.Schema, added: AddedColumns) -> C:
    """The clause of a stream, ordered by columns that ascend, where time is first and what follows whole numbers.

    From the first term on that does not ascend, rows without a value take part, as they do in a whole table.
    """
    others = [at for at, term in enumerate(clause.order_by) if not _is_plain(term, schema)]
    kept: int = others[0] if others else 0
    turned: tuple[OrderTerm, ...] = clause.order_by[kept:]
    if not kept or not all(_is_integer(term, schema) for term in turned):
        return clause
    ascending: list[OrderTerm] = [
        OrderTerm(added.add(value), span=term.span) for term in turned for value in _write_ascending(term)
    ]
    return replace(clause, order_by=(*clause.order_by[:kept], *ascending))


def _is_integer(term: OrderTerm, schema: pa.Schema) -> bool:
    column = term.expression.unnest()
    names = {name.lower(): name for name in schema.names}
    name = names.get(column.name.lower()) if isinstance(column, exp.Column) and not column.table else None
    return name is not None and pa.types.is_integer(schema.field(name).type)


def _write_ascending(term: OrderTerm) -> tuple[exp.Expr, exp.Expr]:
    """Where the row stands that has no value, and a number that ascends as the term is ordered."""
    value = term.expression.unnest()
    absent, present = ("0", "1") if term.nulls_first else ("1", "0")
    is_null = exp.Is(this=value.copy(), expression=exp.Null())
    place = exp.Case(ifs=[exp.If(this=is_null, true=exp.Literal.number(absent))], default=exp.Literal.number(present))
    number: exp.Expr = exp.Cast(this=value.copy(), to=exp.DataType.build("bigint"))
    number = exp.Coalesce(this=number, expressions=[exp.Literal.number(0)])
    minus_one = exp.Neg(this=exp.Literal.number(1))  # of the least number, -n would be none
    return place, exp.Sub(this=minus_one, expression=number) if term.descending else number


def needs_rank(clause: MatchRecognizeClause | PatternWindowClause, schema: pa.Schema) -> bool:
    return any(not _is_plain(term, schema) for term in clause.order_by)


def _is_plain(term: OrderTerm, schema: pa.Schema) -> bool:
    """A column that orders events by itself: it ascends, and rows without it take no part."""
    column = term.expression.unnest()
    if term.descending or term.nulls_first is not None:
        return False
    if not isinstance(column, exp.Column):
        return isinstance(column, exp.Literal)  # a mistake, which is told elsewhere
    names: Mapping[str, str] = {name.lower(): name for name in schema.names}
    name = names.get(column.name.lower())
    return bool(column.table) or name is None or can_order(schema.field(name).type)


def _write_term(term: OrderTerm) -> exp.Ordered:
    """Nulls are last, whatever the host thinks, unless it is written otherwise."""
    return exp.Ordered(this=term.expression.copy(), desc=term.descending, nulls_first=bool(term.nulls_first))
