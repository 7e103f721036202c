"""The input of a row pattern, with the columns that are added to it.

t  =>  SELECT *, (SELECT avg(x) FROM t) AS "_added_constant_1", rank() OVER (ORDER BY name DESC) AS "_added_2" FROM t
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from cepheid.language.expressions.scope import ADDED, EventInput
from cepheid.language.parsing.syntax import MatchRecognizeClause, PatternWindowClause
from cepheid.language.patterns.added_columns import AddedColumns, add_order, needs_rank, take_out_subqueries, turn_order
from cepheid.language.streams.query_binder import BoundTable, QueryBinder

C = TypeVar("C", MatchRecognizeClause, PatternWindowClause)
ARRIVAL = f"{ADDED}arrival"


def prepare_input(binder: QueryBinder, clause: C) -> tuple[C, BoundTable, EventInput]:
    """The clause that reads added columns, the table that has them, and the input as the pattern sees it."""
    item = clause.source
    assert isinstance(item, exp.Table | exp.Subquery), "_copy_clause made it one"
    table = binder.find_item(item)
    is_whole = not binder.known.streams
    order = None
    added = AddedColumns()
    changed = take_out_subqueries(clause, added)
    for value in added.values.values():
        _check_alone(binder, value, clause)
    arrival = None
    if is_whole and needs_rank(clause, table.schema):
        order = _list_columns(clause, table)
        arrival = ARRIVAL if binder.describe.dialect == "trino" else None
        changed = add_order(changed, table.schema, added, arrival)
    if not is_whole and needs_rank(clause, table.schema):
        order = _list_columns(clause, table)
        changed = turn_order(changed, table.schema, added)
    if added.values:
        table = replace(_add_columns(binder, changed, added, arrival), label=table.label)
    source = EventInput(
        table.label,
        table.schema,
        binder.describe,
        python=binder.known.python,
        whole=is_whole,
        order=order,
        added=frozenset(binder.added_columns),
    )
    return changed, table, source


def _list_columns(clause: C, table: BoundTable) -> tuple[str, ...]:
    """The columns that ORDER BY names, each once, as the table calls them."""
    names = {name.lower(): name for name in table.schema.names}
    written = [term.expression.unnest() for term in clause.order_by]
    found = [names.get(column.name.lower()) for column in written if isinstance(column, exp.Column)]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _check_alone(binder: QueryBinder, value: exp.Expr, clause: C) -> None:
    """A subquery reads no row of the pattern: it is a query by itself."""
    graph = binder.graph
    for query in value.find_all(exp.Query):
        if query.find_ancestor(exp.Query) is None or query is value:
            alone = query.unnest().copy()
            binder.roots.append((alone, binder.carriers.get(clause.placeholder)))
            binder.add_query(alone)
    binder.graph = graph


def _add_columns(binder: QueryBinder, clause: C, added: AddedColumns, arrival: str | None) -> BoundTable:
    item = clause.source.copy()
    if arrival is not None:
        number = exp.alias_(exp.Window(this=exp.RowNumber()), arrival, quoted=True)
        item = exp.select("*", number).from_(item, copy=False).subquery(item.alias_or_name or None, copy=False)
    values = [exp.alias_(value.copy(), name, quoted=True) for name, value in added.values.items()]
    query = exp.select("*", *values).from_(item, copy=False)
    binder.roots.append((query, binder.carriers.get(clause.placeholder)))
    return binder.add_query(query)
