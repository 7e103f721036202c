"""What a graph costs by what is believed: rates, selectivities and instructions per event, vertex by vertex.

Beliefs come first; what nobody believes anything about, the vertex guesses itself.
"""

from __future__ import annotations

from cepheid.graph.attributes import Beliefs
from cepheid.graph.query_graph import QueryGraph

GUESSED_RATE = 1000.0  # events per second, of a source


class Estimate:
    """Of one graph; beliefs: by digest."""

    def __init__(self, graph: QueryGraph, beliefs: Beliefs) -> None:
        self.graph, self.beliefs = graph, beliefs
        self._rates: dict[str, float] = {}

    def rate(self, vertex: str) -> float:
        """Events per second that leave the vertex."""
        if vertex not in self._rates:
            believed = self.beliefs.of(self.graph, vertex).rate_per_s
            self._rates[vertex] = self._guess_rate(vertex) if believed is None else believed
        return self._rates[vertex]

    def arriving(self, vertex: str) -> float:
        """Events per second that come in."""
        return sum(self.rate(source) for source in self.graph.inputs(vertex))

    def selectivity(self, vertex: str) -> float:
        """Events out for each event in."""
        believed = self.beliefs.of(self.graph, vertex).selectivity
        return self.graph.vertices[vertex].guess_selectivity() if believed is None else believed

    def ipe(self, vertex: str) -> float:
        """Instructions per event that comes in."""
        believed = self.beliefs.of(self.graph, vertex).ipe
        return self.graph.vertices[vertex].guess_ipe() if believed is None else believed

    def cost(self) -> float:
        """Instructions per second of the whole graph."""
        return sum(self.arriving(vertex) * self.ipe(vertex) for vertex in self.graph.vertices)

    def _guess_rate(self, vertex: str) -> float:
        if not self.graph.inputs(vertex):
            return GUESSED_RATE
        return self.arriving(vertex) * self.selectivity(vertex)
