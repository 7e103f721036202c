"""Several graphs as one: what is equal is there once.

Each query is compiled by itself, so what becomes of it does not depend on the others; here they meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.graph.node import PlanNode
from cepheid.graph.query_graph import Edge, QueryGraph


def merge_graphs(graphs: Iterable[QueryGraph]) -> tuple[QueryGraph, list[dict[str, str]]]:
    """One graph, and for each of the given ones what its labels became."""
    first, *others = graphs
    if not others:
        return first, [{vertex: vertex for vertex in first.vertices}]
    merging = _Merging()
    renamed = [merging.take(graph) for graph in (first, *others)]
    return merging.finish(), renamed


def add_graph(whole: QueryGraph, graph: QueryGraph) -> tuple[QueryGraph, dict[str, str]]:
    """The whole with one graph more."""
    merging = _Merging(
        dict(whole.vertices), list(whole.edges), {digest: vertex for vertex, digest in whole.exact.items()}
    )
    renamed = merging.take(graph)
    return merging.finish(), renamed


@dataclass
class _Merging:
    vertices: dict[str, PlanNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)  # by exact digest

    def __post_init__(self) -> None:
        self.counts = Counter(node.implementation for node in self.vertices.values())

    def take(self, graph: QueryGraph) -> dict[str, str]:
        renamed: dict[str, str] = {}
        for vertex in graph.order:
            digest = graph.exact[vertex]
            known = self.labels.get(digest)
            if known is None:
                node = graph.vertices[vertex]
                known = self._fresh_label(node.implementation)
                self.vertices[known] = node
                self.labels[digest] = known
                self.edges += [Edge(renamed[source], known, port) for port, source in enumerate(graph.inputs(vertex))]
            renamed[vertex] = known
        return renamed

    def finish(self) -> QueryGraph:
        graph = QueryGraph(self.vertices, tuple(self.edges))
        graph.__dict__["exact"] = {vertex: digest for digest, vertex in self.labels.items()}
        return graph

    def _fresh_label(self, kind: str) -> str:
        self.counts[kind] += 1
        while f"{kind}_{self.counts[kind]}" in self.vertices:
            self.counts[kind] += 1
        return f"{kind}_{self.counts[kind]}"
