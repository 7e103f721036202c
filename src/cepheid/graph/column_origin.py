"""Where a column comes from: through filters and plain projections, down to a producer."""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project, Source
from cepheid.graph.query_graph import QueryGraph


def trace_column(graph: QueryGraph, vertex: str, column: str) -> tuple[Source, str] | None:
    """The producer and its column that `column` of a vertex is a copy of; None if it is computed."""
    node = graph.vertices[vertex]
    match node:
        case Source():
            return node, column
        case Filter():
            return trace_column(graph, graph.inputs(vertex)[0], column)
        case Project(columns=columns):
            sql = dict(columns)[column]
            if not (sql.startswith('"') and sql.endswith('"')) or sql.count('"') % 2:
                return None
            inner = sql[1:-1].replace('""', '"')
            below = graph.inputs(vertex)[0]
            return trace_column(graph, below, inner) if sql == '"' + inner.replace('"', '""') + '"' else None
    return None


def name_columns(graph: QueryGraph, pattern: str) -> dict[str, str]:
    """What producers call the columns of a pattern's layout; those that are computed have no name."""
    names: dict[str, str] = {}
    for feed in graph.inputs(pattern):
        node = graph.vertices[feed]
        assert isinstance(node, Project), "a pattern is fed by projections"
        for layout, _ in node.columns:
            origin = trace_column(graph, feed, layout)
            if origin is not None and layout not in names and origin[1] not in names.values():
                names[layout] = origin[1]
    return names
