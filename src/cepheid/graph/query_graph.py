"""QueryGraph: an attributed directed acyclic graph of producers, operators and consumers.

A graph is a value: a change gives a new graph.  Vertices have labels; the node behind a label says what the
vertex means.  Attributes of AGeCEP's Tables I and II are derived here from nodes and structure, so that
they can never disagree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from cepheid.graph.identity import exact_digest, identify
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Sink, Source


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream of events from one vertex into the `port`-th input of another."""

    source: str
    target: str
    port: int = 0

    @property
    def id(self) -> str:
        return f"{self.source}->{self.target}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAttributes:
    """Table I of AGeCEP; producers and consumers have the first five."""

    id: str
    impl: str
    params: tuple[str, ...]
    in_degree: int
    out_degree: int
    type: str = "N/A"
    merge_type: str = "N/A"
    split_type: str = "N/A"
    shareable: bool = False
    sh_strategy: str = "N/A"
    combinable: bool = False
    comb_impl: str | None = None
    comb_param: Callable[[list[list[str]]], list[str]] | None = None
    duplicable: bool = False
    req_merge: str = "N/A"
    req_split: str = "N/A"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeAttributes:
    """Table II of AGeCEP, with the selectivity that placement and simulation want."""

    id: str
    sources: tuple[str, ...]
    queries: tuple[str, ...]
    attrs: tuple[str, ...]
    selectivity: float | None = None


@dataclass(frozen=True)
class QueryGraph:
    """vertices: nodes by label.  A label is for people; who a vertex is, `digests` says (identity.py)."""

    vertices: Mapping[str, PlanNode] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()

    # --- structure, indexed ------------------------------------------------------------------------------
    @cached_property
    def _feeds(self) -> dict[str, list[str]]:
        found: dict[str, list[tuple[int, str]]] = {vertex: [] for vertex in self.vertices}
        for edge in self.edges:
            found[edge.target].append((edge.port, edge.source))
        return {vertex: [source for _, source in sorted(pairs)] for vertex, pairs in found.items()}

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {vertex: [] for vertex in self.vertices}
        for edge in self.edges:
            found[edge.source].append(edge.target)
        return found

    def inputs(self, vertex: str) -> list[str]:
        """The vertices that feed it, by port."""
        return self._feeds[vertex]

    def outputs(self, vertex: str) -> list[str]:
        return self._readers[vertex]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Vertices so that each comes after those that feed it."""
        missing = {vertex: len(feeds) for vertex, feeds in self._feeds.items()}
        done: list[str] = []
        ready = [vertex for vertex, count in missing.items() if not count]
        while ready:
            done += ready
            opened = []
            for vertex in ready:
                for reader in self._readers[vertex]:
                    missing[reader] -= 1
                    if not missing[reader]:
                        opened.append(reader)
            ready = opened
        assert len(done) == len(self.vertices), f"the query graph has a cycle through {set(self.vertices) - set(done)}"
        return tuple(done)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {vertex: place for place, vertex in enumerate(self.order)}

    def of_role(self, role: str) -> list[str]:
        return [vertex for vertex in self.order if self.vertices[vertex].role == role]

    def reach(self, vertex: str, step: Callable[[str], list[str]]) -> list[str]:
        """The vertex and all that `step` leads to, in the order of the graph."""
        found, waiting = {vertex}, [vertex]
        while waiting:
            fresh = [name for name in step(waiting.pop()) if name not in found]
            found.update(fresh)
            waiting += fresh
        return sorted(found, key=self._places.__getitem__)

    # --- identity ----------------------------------------------------------------------------------------
    @cached_property
    def exact(self) -> dict[str, str]:
        """By label: vertices with equal ones may be one vertex."""
        found: dict[str, str] = {}
        for vertex in self.order:
            found[vertex] = exact_digest(self.vertices[vertex], [found[source] for source in self._feeds[vertex]])
        return found

    @cached_property
    def digests(self) -> dict[str, str]:
        """By label: what is learned about a vertex is kept under its digest."""
        found: dict[str, str] = {}
        for vertex in self.order:
            found[vertex] = identify(self, vertex, found)
        return found

    # --- changes: each gives a new graph -----------------------------------------------------------------
    def fresh_name(self, kind: str) -> str:
        number = 1
        while f"{kind}_{number}" in self.vertices:
            number += 1
        return f"{kind}_{number}"

    def add(self, node: PlanNode, inputs: Iterable[str] = ()) -> tuple[QueryGraph, str]:
        """A graph with one more vertex, and its label.  An equal vertex with equal inputs is shared."""
        sources = list(inputs)
        digest = exact_digest(node, [self.exact[source] for source in sources])
        for vertex, known in self.exact.items():
            if known == digest:
                return self, vertex
        name = self.fresh_name(node.implementation)
        edges = tuple(Edge(source, name, port) for port, source in enumerate(sources))
        graph = QueryGraph({**self.vertices, name: node}, self.edges + edges)
        graph.__dict__["exact"] = {**self.exact, name: digest}  # the others are as they were
        return graph, name

    def with_node(self, vertex: str, node: PlanNode) -> QueryGraph:
        """The same graph with another node at a vertex."""
        assert vertex in self.vertices, f"no vertex {vertex!r}"
        return replace(self, vertices={**self.vertices, vertex: node})

    def insert_above(self, vertex: str, node: PlanNode, only_for: str | None = None) -> QueryGraph:
        """Put a new vertex behind `vertex`, before all that it feeds, or before one of them."""
        name = self.fresh_name(node.implementation)
        edges = tuple(
            replace(edge, source=name) if edge.source == vertex and only_for in (None, edge.target) else edge
            for edge in self.edges
        )
        return QueryGraph({**self.vertices, name: node}, (*edges, Edge(vertex, name)))

    def copy_for(self, vertex: str, reader: str) -> tuple[QueryGraph, str]:
        """A vertex that only `reader` reads: the vertex itself, or a copy if others read it too."""
        if self.outputs(vertex) == [reader]:
            return self, vertex
        node = self.vertices[vertex]
        name = self.fresh_name(node.implementation)
        moved = [
            replace(edge, source=name) if (edge.source, edge.target) == (vertex, reader) else edge
            for edge in self.edges
        ]
        copied = [replace(edge, target=name) for edge in self.edges if edge.target == vertex]
        return QueryGraph({**self.vertices, name: node}, (*moved, *copied)), name

    def remove(self, vertex: str) -> QueryGraph:
        """Take out a vertex with one input; what it fed is fed by that input."""
        (source,) = self.inputs(vertex)
        edges = tuple(
            replace(edge, source=source) if edge.source == vertex else edge
            for edge in self.edges
            if edge.target != vertex
        )
        return QueryGraph({name: node for name, node in self.vertices.items() if name != vertex}, edges)

    def swap_with_input(self, vertex: str) -> QueryGraph:
        """Move a vertex below the one vertex that feeds it; both have one input, the lower one output."""
        (below,) = self.inputs(vertex)
        (source,) = self.inputs(below)
        turned = {(source, below): (source, vertex), (below, vertex): (vertex, below)}

        def turn(edge: Edge) -> Edge:
            if (edge.source, edge.target) in turned:
                new_source, new_target = turned[edge.source, edge.target]
                return replace(edge, source=new_source, target=new_target, port=0)
            return replace(edge, source=below) if edge.source == vertex else edge

        return replace(self, edges=tuple(turn(edge) for edge in self.edges))

    # --- attributes of AGeCEP ----------------------------------------------------------------------------
    def operator_attributes(self, vertex: str) -> OperatorAttributes:
        node = self.vertices[vertex]
        shared = {
            "id": vertex,
            "impl": node.implementation,
            "params": tuple(node.parameters()),
            "in_degree": len(self.inputs(vertex)),
            "out_degree": len(self.outputs(vertex)),
        }
        if node.role != "operator":
            return OperatorAttributes(**shared)  # type: ignore[arg-type]
        classified = node.classification()
        return OperatorAttributes(
            **shared,  # type: ignore[arg-type]
            type=classified.type,
            merge_type=classified.merge_type,
            split_type=classified.split_type,
            shareable=classified.shareable,
            sh_strategy=classified.sharing,
            combinable=classified.combinable,
            comb_impl=classified.combined_by,
            comb_param=join_conditions if classified.combinable else None,
            duplicable=classified.duplicable,
            req_merge=classified.required_merge,
            req_split=classified.required_split,
        )

    def edge_attributes(self, edge: Edge) -> EdgeAttributes:
        target = self.vertices[edge.target]
        upstream = self.reach(edge.source, self.inputs)
        downstream = self.reach(edge.target, self.outputs)
        return EdgeAttributes(
            id=edge.id,
            sources=tuple(name for name in upstream if isinstance(self.vertices[name], Source)),
            queries=tuple(node.query for name in downstream if isinstance(node := self.vertices[name], Sink)),
            attrs=tuple(f"_key{number}" for number in range(target.split if isinstance(target, EngineNode) else 0)),
        )


def join_conditions(parameters: list[list[str]]) -> list[str]:
    """Parameters of the one operator that replaces a run of combinable ones (Table I: combParam)."""
    return [" AND ".join(f"({condition})" for conditions in parameters for condition in conditions)]
