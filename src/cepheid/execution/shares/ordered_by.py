"""By which column each stream of a query is ordered: how far time has come is known to whoever hands events out."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import NotSupportedYet
from cepheid.graph.column_origin import trace_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.query_graph import QueryGraph


def find_times(graph: QueryGraph) -> dict[str, str]:
    """By stream, of those that an engine reads."""
    found: dict[str, str] = {}
    for vertex, node in graph.vertices.items():
        for feed in graph.inputs(vertex) if isinstance(node, EngineNode) else ():
            for stream, column in _find_origins(graph, feed):
                if found.setdefault(stream, column) != column:
                    raise NotSupportedYet(
                        f'several engines where "{stream}" is ordered by {found[stream]} and by {column}',
                        hint="order both by the same column, or open the queries apart",
                    )
    return found


def _find_origins(graph: QueryGraph, feed: str) -> Iterable[tuple[str, str]]:
    if any(isinstance(graph.vertices[name], EngineNode) for name in graph.reach(feed, graph.inputs)):
        return ()  # rows of another, whose times are known there
    origins = trace_columns(graph, feed, "_time")
    if origins is None:
        raise NotSupportedYet(
            "several engines where ORDER BY is a computed value", hint="order by a column of the stream itself"
        )
    return [(source.name, column) for source, column in origins]
