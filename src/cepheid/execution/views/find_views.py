"""Which vertices of a graph are views: relational queries that look at more than one row at a time."""

from __future__ import annotations

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Relation
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.relations.row_wise_query import is_row_wise_query


def is_view(node: PlanNode) -> bool:
    return isinstance(node, Relation) and not is_row_wise_query(node.query, node.inputs)


def find_views(graph: QueryGraph) -> frozenset[str]:
    return frozenset(vertex for vertex, node in graph.vertices.items() if is_view(node))
