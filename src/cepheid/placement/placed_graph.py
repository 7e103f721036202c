"""A query graph of which every vertex has a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cepheid.graph.query_graph import QueryGraph

Site = Literal["user", "host", "engines"]


@dataclass(frozen=True, slots=True)
class Place:
    """user: given or taken by the user; host: the host's SQL engine (Spark SQL, DuckDB); engines: our kernel.

    `parallel_by` names the columns whose values may be handled apart; empty at engines: one engine for all.
    """

    site: Site
    parallel_by: tuple[str, ...] = ()

    def show(self) -> str:
        if self.site != "engines":
            return self.site
        return f"engines, by {', '.join(self.parallel_by)}" if self.parallel_by else "one engine"


@dataclass(frozen=True)
class PlacedGraph:
    graph: QueryGraph
    places: Mapping[str, Place]

    def notes(self) -> dict[str, str]:
        return {vertex: place.show() for vertex, place in self.places.items()}

    def at_engines(self) -> list[str]:
        return [vertex for vertex in self.graph.order if self.places[vertex].site == "engines"]
