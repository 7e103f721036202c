"""Deployments for the suite in test_contract.py: each starts with one query, `first`, that has enough to do.

A new kind of deployment joins by one function in CASES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.deployment import (
    Action,
    AddMachine,
    Alter,
    Deploy,
    Deployment,
    Move,
    MoveGroups,
    RemoveMachine,
    Replan,
    Retire,
    Scale,
)
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex, Vm
from cepheid.simulation.scenarios.application_scenario import scenario_of_application
from cepheid.simulation.simulated_deployment import SimulatedDeployment

if TYPE_CHECKING:
    from cepheid.deployment import QueryForm

FIRST = "SELECT line, avg(delay) AS delay FROM buses [RANGE 1 SECOND SLIDE 1 SECOND] WHERE delay > 0 GROUP BY line"
APPLICATION = """
[source.buses]
schema = { ts = "timestamp", bus = "int", line = "int", delay = "double" }
rate_per_s = 1000.0
keys = { bus = 100, line = 10 }

[query.first]
sql = "{FIRST}"

[simulation]
duration_s = 60.0
"""
SECOND = "SELECT bus, max(delay) AS delay FROM buses [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY bus"
CHANGED = "SELECT line, max(delay) AS delay FROM buses [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY line"

KEYED = CHANGED.replace("[RANGE", "[PARTITION BY line RANGE")


@dataclass(frozen=True)
class Case:
    """advance_to: lets its clock reach a time; 30 s at least are possible.  second: a query to be deployed; changed:
    what `first` may be altered into.  machine: one that is there, empty: it knows of no machines.  refuses: the actions
    that it does not carry out, each a declared gap."""

    deployment: Deployment
    advance_to: Callable[[float], None]
    second: QueryForm
    changed: QueryForm
    vertex: str
    machine: str = ""
    refuses: frozenset[type[Action]] = field(default_factory=frozenset)

    def examples(self) -> list[Action]:
        """One of each kind, in an order in which all can be carried out."""
        return [
            Deploy(name="second", query=self.second),
            Alter(name="first", query=self.changed),
            Replan(),
            Scale(machine=self.machine, engines=2),
            MoveGroups(query="first", vertex=self.vertex, groups=(0, 1), engine=1),
            AddMachine(name="more", cores=2, speed=1.5, price_per_hour=0.1),
            Move(query="second", machine="more"),
            RemoveMachine(name="more"),
            Retire(name="second"),
        ]


GAPS_OF_SIMULATIONS: frozenset[type[Action]] = frozenset({Replan, MoveGroups})  # no key groups, nothing measured anew


def make_graph(name: str, *ipes: float) -> Query:
    vertices = (
        ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Uniform(1000.0)),
        *(ScenarioVertex(id=f"work{ipe:.0f}", kind="operator", ipe=ipe, queue=1000.0) for ipe in ipes),
        ScenarioVertex(id="end", kind="consumer", ipe=1.0, queue=1000.0),
    )
    edges = tuple(ScenarioEdge(one.id, other.id) for one, other in pairwise(vertices))
    return Query(name=name, vertices=vertices, edges=edges, placement={vertex.id: "vm1" for vertex in vertices})


def simulate_graphs(engine: EngineName) -> Case:
    queries = (make_graph("first", 100_000.0),)
    deployment = SimulatedDeployment(
        Scenario(queries=queries, vms=(Vm(name="vm1"),), duration_s=60.0, fidelity="corrected"), engine
    )
    return Case(
        deployment,
        deployment.advance_to,
        second=make_graph("anything", 50_000.0),
        changed=make_graph("first", 100_000.0, 1000.0),
        vertex="work100000",
        machine="vm1",
        refuses=GAPS_OF_SIMULATIONS,
    )


def simulate_sql(folder: Path) -> Case:
    path = folder / "app.toml"
    path.write_text(APPLICATION.replace("{FIRST}", FIRST))
    deployment = SimulatedDeployment(scenario_of_application(path, describe_sql, ENDPOINTS), "reference")
    return Case(
        deployment,
        deployment.advance_to,
        second=SECOND,
        changed=CHANGED,
        vertex="window_aggregate_1",
        machine="cluster",
        refuses=GAPS_OF_SIMULATIONS,
    )


def run_live(folder: Path) -> Case:  # noqa: ARG001 (as the others)
    """A session in this process, on a clock that is moved by hand; every second of it brings a thousand events."""
    now_s = [0.0]
    session = cep.Session(clock=lambda: now_s[0])
    session.source("buses", {"ts": "timestamp", "bus": "int", "line": "int", "delay": "double"})
    session.deploy("first", FIRST)

    def advance_to(time_s: float) -> None:
        while now_s[0] < time_s:
            numbers = np.arange(250)
            times = pa.array(numbers * 1000 + int(now_s[0] * 1e6), pa.timestamp("us"))
            keys = {name: pa.array(numbers % count, pa.int32()) for name, count in (("bus", 100), ("line", 10))}
            session.push(buses=pa.table({"ts": times, **keys, "delay": numbers.astype(np.float64)}))
            now_s[0] += 0.25

    return Case(
        session,
        advance_to,
        second=SECOND,
        changed=KEYED,
        vertex="window_aggregate_3",  # behind those of the first and the second query
        refuses=frozenset({AddMachine, Move, RemoveMachine}),  # there is one machine
    )


CASES: dict[str, Callable[[Path], Case]] = {
    "simulated graphs, reference": lambda _: simulate_graphs("reference"),
    "simulated graphs, compiled": lambda _: simulate_graphs("compiled"),
    "simulated SQL": simulate_sql,
    "live session": run_live,
}
