"""Which engines of a query read one stream: where nothing is taken back, an event has to be late for all, or for none.

s ─▶ windows of 1 s  ─┐
└──▶ windows of 10 s ─┴▶ UNION ALL      an event that comes late may be in time for one of them only
"""

from __future__ import annotations

from collections.abc import Collection

from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Sink, Source
from cepheid.graph.query_graph import QueryGraph


def meet_others(graph: QueryGraph, vertices: Collection[str]) -> bool:
    """Do others of the same query remember events of a stream that these remember events of?"""
    own = {stream for vertex in vertices for stream in _find_streams(graph, vertex)}
    above = {name for vertex in vertices for name in graph.reach(vertex, graph.outputs)}
    sinks = [name for name in above if isinstance(graph.vertices[name], Sink)]
    below = {name for sink in sinks for name in graph.reach(sink, graph.inputs)}
    others = [name for name in below.difference(vertices) if isinstance(graph.vertices[name], EngineNode)]
    return any(not own.isdisjoint(_find_streams(graph, other)) for other in others)


def _find_streams(graph: QueryGraph, vertex: str) -> set[str]:
    """Those that it reads itself, and not the rows of another one that reads them."""

    def step(name: str) -> list[str]:
        return graph.inputs(name) if name == vertex or not isinstance(graph.vertices[name], EngineNode) else []

    below = (graph.vertices[name] for name in graph.reach(vertex, step))
    return {node.name for node in below if isinstance(node, Source)}
