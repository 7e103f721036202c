"""Place each vertex where its nature puts it: relations at the host, patterns, windows and their joins at our engines.

A stateful vertex with keys runs on as many engines as there are, split by those keys; without keys, on one.
"""

from __future__ import annotations

from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import HostWindow, OverRows, Relation, WindowAggregate, WindowJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.placement.placed_graph import Place, PlacedGraph


def place_by_nature(graph: QueryGraph, native: tuple[type[PlanNode], ...]) -> PlacedGraph:
    """native: what the host runs itself."""
    return PlacedGraph(graph, {vertex: _place_of(node, native) for vertex, node in graph.vertices.items()})


def _place_of(node: PlanNode, native: tuple[type[PlanNode], ...]) -> Place:
    if isinstance(node, EngineNode):
        return Place("engines", tuple(f"_key{number}" for number in range(node.split)), _explain(node))
    if node.role != "operator":
        return Place("user")
    assert isinstance(node, native), f"hosts.py: the host has no way to run a {type(node).__name__}"
    return Place("host", why=_explain(node))


def _explain(node: PlanNode) -> str:
    """Why a window or a join is where it is."""
    match node:
        case WindowAggregate(keys=keys):
            return "each key has windows of its own" if keys else "the window is of the whole stream"
        case WindowJoin(keys=keys, split=split):
            if split:
                return "only events of equal keys join"
            return "a window that counts must see every event" if keys else "events of any keys may join"
        case OverRows(keys=keys):
            return "each key has rows of its own" if keys else "rows are those of the whole stream"
        case HostWindow():
            return "windows told by time alone are a GROUP BY over whole tables"
        case Relation(inputs=inputs) if len(inputs) > 1:
            return "no windows are joined, the rest is SQL"
    return ""
