"""QueryGraph: an attributed directed acyclic graph of producers, operators and consumers.

A graph is a value: a change gives a new graph.  Vertices are named; the node behind a name says what the
vertex means.  Attributes of AGeCEP's Tables I and II are derived here from nodes and structure, so that
they can never disagree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

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
    vertices: Mapping[str, PlanNode] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()

    def inputs(self, vertex: str) -> list[str]:
        """The vertices that feed it, by port."""
        edges = [edge for edge in self.edges if edge.target == vertex]
        return [edge.source for edge in sorted(edges, key=lambda edge: edge.port)]

    def outputs(self, vertex: str) -> list[str]:
        return [edge.target for edge in self.edges if edge.source == vertex]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Vertices so that each comes after those that feed it."""
        done: dict[str, None] = {}
        waiting = list(self.vertices)
        while waiting:
            ready = [vertex for vertex in waiting if all(source in done for source in self.inputs(vertex))]
            assert ready, f"the query graph has a cycle through {waiting}"
            done.update(dict.fromkeys(ready))
            waiting = [vertex for vertex in waiting if vertex not in done]
        return tuple(done)

    def of_role(self, role: str) -> list[str]:
        return [vertex for vertex in self.order if self.vertices[vertex].role == role]

    def fresh_name(self, kind: str) -> str:
        number = 1
        while f"{kind}_{number}" in self.vertices:
            number += 1
        return f"{kind}_{number}"

    def add(self, node: PlanNode, inputs: Iterable[str] = ()) -> tuple[QueryGraph, str]:
        """A graph with one more vertex, and its name.  An equal vertex with equal inputs is shared."""
        sources = list(inputs)
        for vertex, known in self.vertices.items():
            if known == node and self.inputs(vertex) == sources and not isinstance(node, Sink):
                return self, vertex
        name = self.fresh_name(node.implementation)
        edges = tuple(Edge(source, name, port) for port, source in enumerate(sources))
        return replace(self, vertices={**self.vertices, name: node}, edges=self.edges + edges), name

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

    def reach(self, vertex: str, step: Callable[[str], list[str]]) -> list[str]:
        """The vertex and all that `step` leads to, in the order of the graph."""
        found, waiting = {vertex}, [vertex]
        while waiting:
            fresh = [name for name in step(waiting.pop()) if name not in found]
            found.update(fresh)
            waiting += fresh
        return [name for name in self.order if name in found]


def join_conditions(parameters: list[list[str]]) -> list[str]:
    """Parameters of the one operator that replaces a run of combinable ones (Table I: combParam)."""
    return [" AND ".join(f"({condition})" for conditions in parameters for condition in conditions)]
