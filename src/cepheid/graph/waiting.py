"""Which streams a vertex waits for: events of several streams are put in order, so the slowest of them decides."""

from __future__ import annotations

from collections.abc import Collection

from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.processing_time import base_name


def find_awaited(graph: QueryGraph, vertex: str) -> list[str]:
    """The streams whose events a vertex puts in order, by name; those with stamps all have one clock, and wait for
    none."""
    below = (graph.vertices[name] for name in graph.reach(vertex, graph.inputs))
    return sorted({node.name for node in below if isinstance(node, Source) and base_name(node.name) is None})


def report_waiting(graph: QueryGraph, idle: Collection[str] = ()) -> str:
    """For people: the vertices that wait for more than one stream.  idle: those that may be silent without holding up
    the others."""
    lines = []
    for vertex, node in graph.vertices.items():
        awaited = find_awaited(graph, vertex) if isinstance(node, EngineNode) else []
        if len(awaited) > 1:
            shown = [f"{name} (not while it is idle)" if name in idle else name for name in awaited]
            lines.append(f"  {vertex}: {', '.join(shown)}")
    hint = "" if idle else " (idle_after: not for silent ones)"
    return "\n".join([f"waits for the slowest{hint}:", *lines]) if lines else ""
