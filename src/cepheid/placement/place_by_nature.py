"""Place each vertex where its nature puts it: relations at the host, patterns at our engines.

A pattern with keys runs on as many engines as there are, split by those keys; without keys, on one.
"""

from __future__ import annotations

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.placement.placed_graph import Place, PlacedGraph


def place_by_nature(graph: QueryGraph) -> PlacedGraph:
    return PlacedGraph(graph, {vertex: _place_of(node) for vertex, node in graph.vertices.items()})


def _place_of(node: PlanNode) -> Place:
    if isinstance(node, RowPattern | Sequence):
        return Place("engines", tuple(f"_key{number}" for number in range(node.keys)))
    return Place("host" if node.role == "operator" else "user")
