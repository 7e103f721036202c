"""What a graph costs by what is believed: rates, selectivities and instructions per event, vertex by vertex.

Beliefs come first; what nobody believes anything about is guessed from the kind of vertex.
"""

from __future__ import annotations

from functools import singledispatch

from cepheid.graph.attributes import Beliefs
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import (
    Changes,
    Filter,
    HostWindow,
    Project,
    Relation,
    RowPattern,
    Sequence,
    Sink,
    Source,
    TableJoin,
    Union,
    WindowAggregate,
    WindowJoin,
)
from cepheid.graph.query_graph import QueryGraph
from cepheid.scalars.value import Operation, Scalar, walk

GUESSED_RATE = 1000.0  # events per second, of a source
COLUMN_IPE = 1.0  # to hand on one column of one event
OPERATION_IPE = 2.0  # to compute one operator or function of an expression


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
        return guess_selectivity(self.graph.vertices[vertex]) if believed is None else believed

    def ipe(self, vertex: str) -> float:
        """Instructions per event that comes in."""
        believed = self.beliefs.of(self.graph, vertex).ipe
        return guess_ipe(self.graph.vertices[vertex]) if believed is None else believed

    def cost(self) -> float:
        """Instructions per second of the whole graph."""
        return sum(self.arriving(vertex) * self.ipe(vertex) for vertex in self.graph.vertices)

    def _guess_rate(self, vertex: str) -> float:
        if not self.graph.inputs(vertex):
            return GUESSED_RATE
        return self.arriving(vertex) * self.selectivity(vertex)


def ipe_of_value(value: Scalar) -> float:
    """To compute a value for one event."""
    return COLUMN_IPE + OPERATION_IPE * sum(isinstance(part, Operation) for part in walk(value))


@singledispatch
def guess_ipe(node: PlanNode) -> float:
    raise AssertionError(f"cost/estimate.py: what does an event cost a {type(node).__name__}?")


@singledispatch
def guess_selectivity(node: PlanNode) -> float:
    raise AssertionError(f"cost/estimate.py: how many rows does a {type(node).__name__} give per event?")


@guess_ipe.register(Source)
@guess_ipe.register(Sink)
@guess_ipe.register(Union)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return COLUMN_IPE


@guess_ipe.register
def _(node: Filter) -> float:
    return ipe_of_value(node.predicate)


@guess_ipe.register
def _(node: Project) -> float:
    return sum(ipe_of_value(value) for _, value in node.columns)


@guess_ipe.register(Changes)
@guess_ipe.register(HostWindow)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 30.0


@guess_ipe.register(Relation)
@guess_ipe.register(TableJoin)
@guess_ipe.register(WindowAggregate)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 60.0


@guess_ipe.register(RowPattern)
@guess_ipe.register(Sequence)
@guess_ipe.register(WindowJoin)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 100.0


@guess_selectivity.register(Source)
@guess_selectivity.register(Sink)
@guess_selectivity.register(Union)
@guess_selectivity.register(Project)
@guess_selectivity.register(Relation)
@guess_selectivity.register(TableJoin)
@guess_selectivity.register(WindowAggregate)
@guess_selectivity.register(WindowJoin)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 1.0


@guess_selectivity.register(Filter)
@guess_selectivity.register(Changes)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 0.5


@guess_selectivity.register(RowPattern)
@guess_selectivity.register(Sequence)
def _(node: PlanNode) -> float:  # noqa: ARG001
    return 0.1


@guess_selectivity.register(HostWindow)
def _(node: HostWindow) -> float:  # noqa: ARG001
    return 0.01
