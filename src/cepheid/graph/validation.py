"""What must hold of a query graph at each stage; a breach is a fault of ours, not of the user.

bound      -> producers have no inputs, consumers no outputs, no cycle, ports without gaps
rewritten  -> the same, and every pattern is fed in the event layout
placed     -> the same, and every vertex has a place
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Project
from cepheid.graph.query_graph import QueryGraph

Stage = Literal["bound", "rewritten", "placed"]


def validate_graph(graph: QueryGraph, stage: Stage, places: Mapping[str, object] | None = None) -> None:
    """Raise AssertionError naming the invariant that does not hold."""
    _check_structure(graph)
    if stage != "bound":
        _check_event_layout(graph)
    if stage == "placed":
        missing = [vertex for vertex in graph.vertices if places is None or vertex not in places]
        assert not missing, f"vertices without a place: {missing}"


def _check_structure(graph: QueryGraph) -> None:
    roles = {node.role for node in graph.vertices.values()}
    assert roles & {"producer", "operator"}, "a graph has something that makes rows"
    assert "consumer" in roles, "a graph has a consumer"
    for edge in graph.edges:
        assert edge.source in graph.vertices, f"edge {edge.id} starts nowhere"
        assert edge.target in graph.vertices, f"edge {edge.id} ends nowhere"
    numbered: dict[str, list[int]] = {vertex: [] for vertex in graph.vertices}
    for edge in graph.edges:
        numbered[edge.target].append(edge.port)
    for vertex, node in graph.vertices.items():
        ports = sorted(numbered[vertex])
        assert ports == list(range(len(ports))), f"inputs of {vertex} are numbered {ports}"
        if node.role == "producer":
            assert not ports, f"producer {vertex} has inputs"
        if node.role == "consumer":
            assert len(ports) == 1, f"consumer {vertex} has {len(ports)} inputs"
            assert not graph.outputs(vertex), f"consumer {vertex} has outputs"
    assert len(graph.order) == len(graph.vertices), "the graph has no cycle"


def _check_event_layout(graph: QueryGraph) -> None:
    """A pattern reads columns by name: the projections that feed it must give them."""
    for vertex, node in graph.vertices.items():
        if not isinstance(node, EngineNode):
            continue
        given: set[str] = set()
        for source in graph.inputs(vertex):
            feeding = graph.vertices[source]
            assert isinstance(feeding, Project), f"{vertex} is fed by {source}, which is not a projection"
            names = [name for name, _ in feeding.columns]
            assert "_time" in names, f"{source} gives {vertex} no _time"
            given.update(names)
        needed = {f"_key{number}" for number in range(node.keys)} | set(node.read_columns())
        assert needed <= given, f"{vertex} reads {sorted(needed - given)}, which nothing gives"
