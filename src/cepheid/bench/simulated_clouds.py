"""The clouds of CEPSim's own experiments: its two queries, many of them, on many machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex, Vm

QUEUE = 2048.0
FIVE_MINUTES_S = 301.0


def q1(name: str, rate_per_s: float, vm: str, copies: int = 1, work: float = 1.0) -> Query:
    """Outliers out, means of 15 s into a database.  work: how many times as costly as in the paper."""
    sensors = rate_per_s / 10.0
    vertices = (
        ScenarioVertex(id="spout", kind="producer", ipe=1000.0 * work, arrivals=Uniform(rate_per_s)),
        ScenarioVertex(id="outlier", kind="operator", ipe=18000.0 * work, queue=QUEUE),
        ScenarioVertex(
            id="average",
            kind="window",
            ipe=18000.0 * work,
            queue=QUEUE,
            window_s=15.0,
            advance_s=15.0,
            output=sensors,
        ),
        ScenarioVertex(id="db", kind="operator", ipe=11e6 * work, queue=QUEUE),
        ScenarioVertex(id="end", kind="consumer", ipe=1000.0 * work, queue=QUEUE),
    )
    return _chain(name, vertices, (1.0, 0.95, 1.0, 1.0), vm, copies)


def q2(name: str, rate_per_s: float, vm: str, copies: int = 1, work: float = 1.0) -> Query:
    """JSON to XML, event by event."""
    costs = {"jsonParser": 41250.0, "validate": 25000.0, "xmlOutput": 31250.0, "measurer": 17000.0}
    vertices = (
        ScenarioVertex(id="spout", kind="producer", ipe=1000.0 * work, arrivals=Uniform(rate_per_s)),
        *(ScenarioVertex(id=each, kind="operator", ipe=ipe * work, queue=QUEUE) for each, ipe in costs.items()),
        ScenarioVertex(id="end", kind="consumer", ipe=1000.0 * work, queue=QUEUE),
    )
    return _chain(name, vertices, (1.0, 1.0, 0.95, 1.0, 1.0), vm, copies)


def _chain(
    name: str, vertices: tuple[ScenarioVertex, ...], selectivities: tuple[float, ...], vm: str, copies: int
) -> Query:
    pairs = zip(vertices, vertices[1:], selectivities, strict=False)
    return Query(
        name=name,
        vertices=vertices,
        edges=tuple(ScenarioEdge(source.id, target.id, selectivity) for source, target, selectivity in pairs),
        placement={vertex.id: vm for vertex in vertices},
        copies=copies,
    )


def one_machine(copies: int) -> Scenario:
    """So many copies of q2, 100 events/s each."""
    return Scenario(queries=(q2("q2", 100.0, "vm", copies),), vms=(Vm(name="vm"),), duration_s=FIVE_MINUTES_S)


def many_machines(vms: int, queries: int, are_equal: bool, rate_per_s: float = 100.0) -> Scenario:
    """So many queries on each of so many machines; different ones have other rates and costs, half of them are q1."""
    random = np.random.default_rng(1)
    rates = np.full(vms * queries, rate_per_s) if are_equal else rate_per_s * random.uniform(0.5, 1.5, vms * queries)
    work = np.ones(vms * queries) if are_equal else random.uniform(0.5, 1.5, vms * queries)
    made = []
    for number in range(vms * queries):
        make = q1 if number % 2 else q2
        made.append(make(f"q{number}", float(rates[number]), f"vm{number // queries}", work=float(work[number])))
    return Scenario(
        queries=tuple(made), vms=tuple(Vm(name=f"vm{number}") for number in range(vms)), duration_s=FIVE_MINUTES_S
    )


def networked(pairs: int) -> Scenario:
    """q1 with its database on a second machine, 10,000 events/s, 1 ms between them, ticks of 10 ms."""
    made = []
    for number in range(pairs):
        query = q1(f"q{number}", 10_000.0, f"vm{number}a", work=1.0 + number / 1000.0)
        made.append(replace(query, placement={**query.placement, "db": f"vm{number}b"}))
    vms = tuple(Vm(name=f"vm{number}{side}", pes=2) for number in range(pairs) for side in "ab")
    return Scenario(queries=tuple(made), vms=vms, duration_s=FIVE_MINUTES_S, tick_s=0.01)
