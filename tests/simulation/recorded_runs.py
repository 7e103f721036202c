"""The reference engine with a list of all that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.clock import ticks_of
from cepheid.simulation.layout import lay_out
from cepheid.simulation.reference.engine import ReferenceEngine
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.placement import Member
from cepheid.simulation.reference.slices import Slice
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex, Vm


@dataclass(frozen=True)
class Ran:
    vertex: str
    start: float
    end: float
    events: EventSet


class RecordingEngine(ReferenceEngine):
    def __init__(self, scenario: Scenario) -> None:
        self.ran: list[Ran] = []
        layout = lay_out(scenario)
        super().__init__(scenario, layout, list(ticks_of(scenario.duration_s, scenario.tick_s)))

    def _observe(self, member: Member, events: EventSet, piece: Slice) -> None:
        self.ran.append(Ran(self.layout.instances[member.number].name, piece.start, piece.end, events.copy()))
        super()._observe(member, events, piece)

    def member(self, name: str) -> Member:
        return next(each for each in self.members if self.layout.instances[each.number].name == name)

    def let_events_come(self, amount: float) -> None:
        """As many in each iteration, the first included, in which integrated runs have none."""
        for number in self.layout.producers():
            self.members[number].came = [amount] * 100


def make_query(
    name: str, vertices: list[ScenarioVertex], edges: list[tuple[str, str, float]], **placement: str
) -> Query:
    """placement: vertices that are not on vm1."""
    return Query(
        name=name,
        vertices=tuple(vertices),
        edges=tuple(ScenarioEdge(*edge) for edge in edges),
        placement={vertex.id: placement.get(vertex.id, "vm1") for vertex in vertices},
    )


def producer(name: str, ipe: float, limited: bool = False) -> ScenarioVertex:
    return ScenarioVertex(id=name, kind="producer", ipe=ipe, arrivals=Uniform(100_000.0), limited=limited)


def operator(name: str, ipe: float, queue: float = 0.0) -> ScenarioVertex:
    return ScenarioVertex(id=name, kind="operator", ipe=ipe, queue=queue)


def consumer(name: str, ipe: float) -> ScenarioVertex:
    return ScenarioVertex(id=name, kind="consumer", ipe=ipe)


def make_engine(*queries: Query, **settings: Any) -> RecordingEngine:
    """Machines of 1000 MIPS, ticks of 10 ms: ten million instructions each; the first begins at 10 ms."""
    vms = tuple(Vm(name=name, mips=1000.0) for name in ("vm1", "vm2"))
    plain = {"duration_s": 1.0, "tick_s": 0.01, "scheduler": "simple", "allocation": "weighted"}
    used = {vm for query in queries for vm in query.placement.values()}
    return RecordingEngine(
        Scenario(queries=queries, vms=tuple(vm for vm in vms if vm.name in used), **{**plain, **settings})
    )
