"""The interpreter of placed graphs: one walk from producers to consumers, the same on every host.

    placed graph ─▶ interpret(…, host) ─▶ what is given out, by query

A host says what the rows of each kind of vertex are made of: Arrow tables (embedded/batch_host.py), DataFrames
(spark/host.py), or, for a stream in this process, schemas: the walk prepares every vertex once, and each push goes
through what was prepared (embedded/stream_host.py).
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Sink, Source, TableJoin
from cepheid.placement.placed_graph import PlacedGraph

Rows = TypeVar("Rows")


class Host(Protocol[Rows]):
    """Makes the rows of vertices, of the rows of those that feed them."""

    def runs_whole(self, vertex: str) -> bool:
        """Does it run the vertex together with all that feeds it?  Then it is asked for its rows by `run_whole`."""
        ...

    def run_whole(self, vertex: str) -> Rows: ...

    def read_source(self, vertex: str, node: Source) -> Rows: ...

    def run_engine(self, vertices: list[str], inputs: list[Rows]) -> list[Rows]:
        """The rows of each of the vertices, which share an engine."""
        ...

    def look_up(self, vertex: str, node: TableJoin, rows: Rows) -> Rows: ...

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[Rows]) -> Rows: ...


def interpret(
    placed: PlacedGraph, host: Host[Rows], groups: list[list[str]], made: dict[str, Rows] | None = None
) -> dict[str, Rows]:
    """What is given out, by the name of each query.  groups: the vertices in engines, those that share one together;
    made: rows of vertices that are there already, and, in the end, of all that were needed."""
    graph = placed.graph
    made = {} if made is None else made
    together = {vertex: group for group in groups for vertex in group}
    results: dict[str, Rows] = {}
    for vertex in _list_needed(placed, host):
        node = graph.vertices[vertex]
        if vertex in made:
            continue
        if host.runs_whole(vertex):
            made[vertex] = host.run_whole(vertex)
            continue
        inputs = [made[source] for source in graph.inputs(vertex)]
        match node:
            case Source():
                made[vertex] = host.read_source(vertex, node)
            case EngineNode():
                group = together[vertex]
                made.update(zip(group, host.run_engine(group, inputs), strict=True))
            case TableJoin():
                made[vertex] = host.look_up(vertex, node, inputs[0])
            case Sink(query=query):
                results[query] = inputs[0]
            case _:
                made[vertex] = host.run_relational(vertex, node, inputs)
    return results


def _list_needed(placed: PlacedGraph, host: Host[Rows]) -> list[str]:
    """The vertices that lead to consumers, in order; what a host runs as a whole hides what feeds it."""
    graph = placed.graph
    needed: set[str] = set()
    for vertex in reversed(graph.order):
        if graph.vertices[vertex].role == "consumer" or any(
            reader in needed and not host.runs_whole(reader) for reader in graph.outputs(vertex)
        ):
            needed.add(vertex)
    return [vertex for vertex in graph.order if vertex in needed]
