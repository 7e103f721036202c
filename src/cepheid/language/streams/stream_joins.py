"""Joins of streams without windows: with tables that are looked up, and with streams whose times are bounded."""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import InvalidQuery, InvalidWindow, NotSupportedYet
from cepheid.graph.operators import Filter, Project, Relation, Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.expressions.worker_sql import check_worker_sql
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import list_items, refuse_double_items, without_joins
from cepheid.language.relations.output_names import refuse_double_names
from cepheid.language.relations.row_wise_query import is_row_wise_query
from cepheid.language.relations.sql_values import read_value
from cepheid.language.streams.bind_table_join import TableJoinSelect
from cepheid.language.streams.bind_window_join import JoinSide, WindowJoinSelect
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_layout import StreamLayout, name_inputs
from cepheid.language.streams.window_queries import add_join, describe_parts
from cepheid.processing_time import base_name


def find_lookup(binder: QueryBinder, item: exp.Expr) -> str | None:
    """The table that the item names, if events are looked up in it."""
    if not isinstance(item, exp.Table) or item.name.lower() in binder.visible_ctes(item):
        return None
    return next((name for name in binder.known.lookups if name.lower() == item.name.lower()), None)


def add_table_join(binder: QueryBinder, query: exp.Select) -> BoundTable:
    first, *others = list_items(query)
    if find_lookup(binder, first) is not None or not isinstance(first, exp.Table | exp.Subquery):
        raise InvalidQuery(
            "FROM begins with a table, not with a stream", span=span_of(first), hint="name the stream first"
        )
    stream = binder.find_item(without_joins(first))
    sides = [StreamLayout(stream.label, first.alias or stream.label, stream.schema, binder.describe)]
    for item in others:
        name = find_lookup(binder, item)
        if name is None:
            raise NotSupportedYet(
                f'"{item.alias_or_name}" beside a table that is looked up',
                span=span_of(item),
                hint="join the streams in a subquery",
            )
        sides.append(StreamLayout(name, item.alias or name, binder.known.schemas[name], binder.describe))
    refuse_double_items([side.name for side in sides], span_of(others[-1]))
    bound = TableJoinSelect(query, sides, binder.known.validity)
    nodes = bound.bind()
    given = bound.cell_schema()
    if bound.post_filter is not None:
        describe_parts(binder, [("condition", bound.post_filter)], given, None)
    rules = binder.describe.rules
    for condition in [node.condition for node in nodes if isinstance(node, TableJoin)] if rules else ():
        assert rules is not None, "it is Spark's dialect"
        check_worker_sql(condition, given, "the condition of a join", rules.ansi, span_of(others[-1]))
    schema = describe_parts(binder, bound.outputs, given, None)
    refuse_double_names(schema.names, span_of(query.expressions[-1]))
    vertex = stream.vertex
    if bound.pre_filter is not None:
        vertex = binder.add(Filter(predicate=bound.pre_filter), vertex)
    for node in nodes:
        vertex = binder.add(node, vertex)
    if bound.post_filter is not None:
        vertex = binder.add(Filter(predicate=read_value(bound.post_filter)), vertex)
    columns = tuple((name, read_value(tree)) for name, tree in bound.outputs)
    return BoundTable(binder.add(Project(columns=columns), vertex), schema, "the query")


def count_streams(binder: QueryBinder, query: exp.Select) -> int:
    """How many items of FROM are made of streams: of two, the host would have to keep all events of both."""
    graph = binder.graph
    try:
        items = [item for item in list_items(query) if isinstance(item, exp.Table | exp.Subquery)]
        vertices = [binder.find_item(without_joins(item)).vertex for item in items]
        below = [binder.graph.reach(vertex, binder.graph.inputs) for vertex in vertices]
        nodes = [[binder.graph.vertices[name] for name in names] for names in below]
        return sum(
            any(
                isinstance(node, Source) and (base_name(node.name) or node.name) in binder.known.streams
                for node in each
            )
            for each in nodes
        )
    finally:
        binder.graph = graph


def _may_change(graph: QueryGraph, vertex: str) -> bool:
    """Is it made of rows that are kept up to date?  How far time has come says nothing of them."""
    below = (graph.vertices[name] for name in graph.reach(vertex, graph.inputs))
    return any(isinstance(node, Relation) and not is_row_wise_query(node.query, node.inputs) for node in below)


def add_interval_join(binder: QueryBinder, query: exp.Select, timed: bool) -> BoundTable:
    if len(list_items(query)) > 2:
        raise InvalidWindow(
            "a join of more than two inputs without windows, several of them streams",
            span=span_of(query.args["from_"]),
            hint="give each stream a window, FROM a [ROWS 500] AS x, b [RANGE 1 HOUR] AS y, or join two in a subquery",
        )
    items = list_items(query)
    tables = [binder.find_timed(without_joins(item)) for item in items]
    vertices = [table.vertex for table in tables]
    if any(_may_change(binder.graph, vertex) for vertex in vertices):
        raise NotSupportedYet(
            "a join bounded in time of rows that may always change",
            span=span_of(query.args["from_"]),
            hint="group and sort the rows of windows: FROM s [RANGE 1 HOUR SLIDE 1 HOUR]",
        )
    sides = [
        JoinSide(
            StreamLayout(table.label, item.alias or table.label, table.schema, binder.describe, prefix=f"{prefix}."),
            None,
        )
        for item, table, prefix in zip(items, tables, name_inputs(binder.graph, vertices), strict=True)
    ]
    bound = WindowJoinSelect(query, sides, "leaving", span_of(query.args["from_"]))
    bound.find_interval()
    return add_join(binder, bound, vertices, timed)
