"""The one graph that many queries make up while they come and go: who needs which vertex.

Vertices that compute the same from the same are one vertex.  One that remembers events is shared only with queries that
began at the same moment: a query gives the rows that it would give alone, whoever else is there.  For the same reason
a pattern whose rows another pattern or window reads, and which therefore wait for their order, is not shared with a
query that gives its rows out at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from cepheid.execution.embedded.engine_feed import is_read_by_engines
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import RowPattern, Sequence, Sink
from cepheid.graph.query_graph import Edge, QueryGraph
from cepheid.placement.placed_graph import PlacedGraph

Key = tuple[Hashable, ...]


@dataclass
class SharedGraph:
    """labels: of vertices that are there, by what they are; needed: by label, how many queries need it; of: by query,
    its labels."""

    labels: dict[Key, str] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    needed: Counter[str] = field(default_factory=Counter)
    of: dict[str, list[str]] = field(default_factory=dict)
    _made: Counter[str] = field(default_factory=Counter)  # how many of each kind there ever were

    def find_place(
        self, placed: PlacedGraph, began: Mapping[str, Hashable]
    ) -> tuple[PlacedGraph, dict[str, Key], dict[str, str]]:
        """A query under the labels that its vertices have here, or would have; what each of those is; and the labels by
        vertex.  Nothing changes.  began: by vertex that remembers, the moment it began."""
        graph = placed.graph
        renamed: dict[str, str] = {}
        keys: dict[str, Key] = {}
        moments: dict[str, frozenset[Hashable]] = {}
        made = self._made.copy()
        for vertex in graph.order:
            node = graph.vertices[vertex]
            own = frozenset([began[vertex]]) if isinstance(node, EngineNode) else frozenset()
            moments[vertex] = own.union(*(moments[source] for source in graph.inputs(vertex)))
            waits = isinstance(node, RowPattern | Sequence) and is_read_by_engines(graph, vertex)
            below = tuple(renamed[source] for source in graph.inputs(vertex))
            key = (graph.exact[vertex], moments[vertex], waits, below)
            label = None if isinstance(node, Sink) else self.labels.get(key)
            if label is None:
                made[node.implementation] += 1
                label = f"{node.implementation}_{made[node.implementation]}"
            renamed[vertex], keys[label] = label, key
        edges = tuple(Edge(renamed[edge.source], renamed[edge.target], edge.port) for edge in graph.edges)
        there = QueryGraph({renamed[vertex]: node for vertex, node in graph.vertices.items()}, edges)
        places = {renamed[vertex]: place for vertex, place in placed.places.items()}
        return PlacedGraph(there, places), keys, renamed

    def add(self, query: str, placed: PlacedGraph, keys: Mapping[str, Key]) -> None:
        """The query is there; placed, keys: as `find_place` gave them."""
        labels = [vertex for vertex, node in placed.graph.vertices.items() if not isinstance(node, Sink)]
        for label in labels:
            if label not in self.keys:
                self.labels[keys[label]] = label
                self.keys[label] = keys[label]
                self._made[placed.graph.vertices[label].implementation] += 1
        self.needed.update(labels)
        self.of[query] = labels

    def release(self, labels: list[str]) -> list[str]:
        """A query does not need these any more; gives those that nobody needs."""
        gone = []
        for label in labels:
            self.needed[label] -= 1
            if not self.needed[label]:
                del self.needed[label]
                del self.labels[self.keys.pop(label)]
                gone.append(label)
        return gone
