"""A query graph of which every vertex has a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cepheid.graph.operators import WindowAggregate, WindowJoin
from cepheid.graph.query_graph import QueryGraph

Site = Literal["user", "host", "engines"]


@dataclass(frozen=True, slots=True)
class Place:
    """user: given or taken by the user; host: the host's SQL engine (Spark SQL, DuckDB); engines: our kernel.

    `parallel_by` names the columns whose values may be handled apart; empty at engines: one engine for all.
    `cores_by`: the same for the cores of the machine that an engine is on, where those can do more (core_split.py);
    None: as the engines.
    why: in a few words, where that is not plain.
    """

    site: Site
    parallel_by: tuple[str, ...] = ()
    why: str = ""
    cores_by: tuple[str, ...] | None = None

    def show(self) -> str:
        place: str = self.site if self.site != "engines" else "one engine"
        if self.parallel_by:
            place = f"engines, by {', '.join(self.parallel_by)}"
        if self.cores_by is not None and self.cores_by != self.parallel_by:
            place += f", its cores by {', '.join(self.cores_by)}" if self.cores_by else ", each on one core"
        return f"{place}: {self.why}" if self.why else place


@dataclass(frozen=True)
class PlacedGraph:
    graph: QueryGraph
    places: Mapping[str, Place]

    def notes(self) -> dict[str, str]:
        return {vertex: place.show() for vertex, place in self.places.items()}

    def engines(self) -> list[list[str]]:
        """The vertices that run in engines; windows over the same events share one, and keep those events once."""
        shared: dict[object, list[str]] = {}
        for vertex in self.at_engines():
            node = self.graph.vertices[vertex]
            if isinstance(node, WindowAggregate | WindowJoin):
                parts = node.parts if isinstance(node, WindowJoin) else ()
                alike = (type(node), tuple(self.graph.inputs(vertex)), node.keys, node.order, parts)
                shared.setdefault(alike, []).append(vertex)
            else:
                shared[vertex] = [vertex]
        return list(shared.values())

    def chained(self) -> set[str]:
        """The vertices in engines that read rows of others in engines."""
        over: set[str] = set()  # vertices with one in engines at or below them
        found: set[str] = set()
        for vertex in self.graph.order:
            reads = any(source in over for source in self.graph.inputs(vertex))
            is_engine = self.places[vertex].site == "engines"
            if is_engine and reads:
                found.add(vertex)
            if is_engine or reads:
                over.add(vertex)
        return found

    def at_engines(self) -> list[str]:
        return [vertex for vertex in self.graph.order if self.places[vertex].site == "engines"]
