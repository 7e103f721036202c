"""SELECT over windows: one window is aggregated, several are joined.

WindowSelect, WindowJoinSelect        what the SELECT means
add_window_query, add_join            its vertices
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span
from cepheid.graph.operators import Changes, Filter, Project
from cepheid.language.expressions.worker_sql import check_worker_sql
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import ChangeStream, StreamWindowClause
from cepheid.language.relations.conditions import list_items, refuse_double_items
from cepheid.language.relations.output_names import refuse_double_names
from cepheid.language.relations.sql_values import read_value
from cepheid.language.streams.bind_window_join import JoinSide, WindowJoinSelect
from cepheid.language.streams.bind_window_select import WindowSelect
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_layout import MOMENT, StreamLayout, name_inputs
from cepheid.scalars.value import Column


def add_window_query(binder: QueryBinder, query: exp.Select, items: list[exp.Expr], timed: bool) -> BoundTable:
    if len(items) > 1:
        return add_window_join(binder, query, items, timed)
    (item,) = items
    clause = binder.windows[item.name]
    table = binder.find_timed(clause.source)
    name = item.alias or clause.source.alias or table.label
    layout = StreamLayout(table.label, name, table.schema, binder.describe)
    bound = WindowSelect(query, clause, layout, binder.known.python)
    bound.bind()
    node = bound.node(timed)
    vertex = table.vertex
    if bound.kept_before is not None:
        vertex = binder.add(Filter(predicate=layout.value(bound.kept_before)), vertex)
    vertex = binder.add(node, binder.add(layout.project(), vertex))
    if bound.having is not None:
        describe_window(binder, bound, [("having", bound.having)])
        vertex = binder.add(Filter(predicate=read_value(bound.having)), vertex)
    outputs = [*bound.outputs, *((MOMENT, exp.column(MOMENT, quoted=True)) for _ in range(timed))]
    schema = describe_window(binder, bound, outputs)
    hidden = bound.hidden
    columns = tuple((name, read_value(tree)) for name, tree in outputs)
    vertex = binder.add(Project(columns=(*columns, *((name, Column(name)) for name in hidden))), vertex)
    if hidden and bound.changes is not None and bound.changes.kind != "rstream":
        refuse_lists(bound.changes, schema)
        keys = tuple(name for name in hidden if name not in ("_sign", "_evaluation"))
        changes = Changes(kind=bound.changes.kind, columns=tuple(schema.names), keys=keys)
        vertex = binder.add(changes, vertex)
    return BoundTable(vertex, schema, "the query")


def refuse_lists(changes: ChangeStream, schema: pa.Schema) -> None:
    """ISTREAM and DSTREAM compare rows with one another."""
    nested = next((column for column in schema if pa.types.is_nested(column.type)), None)
    if nested is not None:
        raise NotSupportedYet(
            f'{changes.kind.upper()} of rows with lists ("{nested.name}")',
            span=changes.span,
            hint="leave the list out, or use RSTREAM",
        )


def add_window_join(binder: QueryBinder, query: exp.Select, items: list[exp.Expr], timed: bool) -> BoundTable:
    found: list[tuple[StreamWindowClause, BoundTable, str]] = []
    for item in list_items(query):
        clause = binder.windows.get(item.name)
        if clause is None:
            raise InvalidQuery(
                f'"{item.alias_or_name}" has no window',
                span=span_of(item),
                hint="give every stream of the join a window; join a table in a subquery first",
            )
        table = binder.find_timed(clause.source)
        found.append((clause, table, item.alias or clause.source.alias or table.label))
    vertices = [table.vertex for _, table, _ in found]
    sides = [
        JoinSide(StreamLayout(table.label, name, table.schema, binder.describe, prefix=f"{prefix}."), clause)
        for (clause, table, name), prefix in zip(found, name_inputs(binder.graph, vertices), strict=True)
    ]
    at = binder.windows[items[0].name].span if items[0].name in binder.windows else None
    return add_join(binder, WindowJoinSelect(query, sides, "arrival", at), vertices, timed)


def add_join(binder: QueryBinder, bound: WindowJoinSelect, vertices: list[str], timed: bool) -> BoundTable:
    refuse_double_items([side.layout.name for side in bound.sides], bound.at)
    bound.bind()
    node = bound.node(timed)
    feeds = []
    for number in bound.engine_order or range(len(bound.sides)):
        layout, vertex = bound.sides[number].layout, vertices[number]
        if number in bound.filters:
            vertex = binder.add(Filter(predicate=layout.value(bound.filters[number])), vertex)
        feeds.append(binder.add(layout.project(), vertex))
    outputs = [*bound.outputs, *((MOMENT, exp.column(MOMENT, quoted=True)) for _ in range(timed))]
    given = bound.cell_schema()
    for condition in (bound.condition, bound.post_filter):
        if condition is not None:
            describe_parts(binder, [("condition", condition)], given, bound.at)
    rules = binder.describe.rules
    if rules is not None and bound.condition is not None:
        place = span_of(bound.condition) or bound.at
        check_worker_sql(node.condition, given, "the condition of a join", rules.ansi, place)
    schema = describe_parts(binder, outputs, given, bound.at)
    refuse_double_names(schema.names, bound.at)
    vertex = binder.add(node, *feeds)
    if bound.post_filter is not None:
        vertex = binder.add(Filter(predicate=read_value(bound.post_filter)), vertex)
    columns = tuple((name, read_value(tree)) for name, tree in outputs)
    return BoundTable(binder.add(Project(columns=columns), vertex), schema, "the query")


def describe_window(binder: QueryBinder, bound: WindowSelect, outputs: list[tuple[str, exp.Expr]]) -> pa.Schema:
    schema = describe_parts(binder, outputs, bound.cell_schema(), bound.clause.span)
    refuse_double_names(schema.names, bound.clause.span)
    return schema


def describe_parts(
    binder: QueryBinder, outputs: list[tuple[str, exp.Expr]], given: pa.Schema, otherwise: Span | None
) -> pa.Schema:
    """The schema of outputs over cells; what the host refuses is told with its place."""
    try:
        return binder.describe.of_columns([(name, read_value(tree)) for name, tree in outputs], given)
    except InvalidQuery as whole:
        for _, tree in outputs:
            try:
                binder.describe.of_value(read_value(tree), given)
            except InvalidQuery as problem:
                raise InvalidQuery(problem.message, span=span_of(tree) or otherwise, hint=problem.hint) from None
        raise whole from None
