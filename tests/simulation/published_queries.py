"""The two queries of the published experiments, and the machines they ran on."""

from __future__ import annotations

from typing import Any

from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import Query, Scenario, ScenarioEdge, ScenarioVertex, Vm


def make_q1(rate: float, db_vm: str = "vm1", copies: int = 1) -> Query:
    """Average of sensors over 15 s, written to a database.  One sensor gives ten readings a second."""
    names = ("spout", "outlierDetector", "average", "db", "end")
    return Query(
        name="q1",
        vertices=(
            ScenarioVertex(id="spout", kind="producer", ipe=1000.0, arrivals=Uniform(rate)),
            ScenarioVertex(id="outlierDetector", kind="operator", ipe=18000.0, queue=2048.0),
            ScenarioVertex(
                id="average",
                kind="window",
                ipe=18000.0,
                queue=2048.0,
                window_s=15.0,
                advance_s=15.0,
                output=rate / 10.0,
            ),
            ScenarioVertex(id="db", kind="operator", ipe=11e6, queue=2048.0),
            ScenarioVertex(id="end", kind="consumer", ipe=1000.0, queue=2048.0),
        ),
        edges=tuple(ScenarioEdge(a, b, s) for a, b, s in zip(names, names[1:], (1.0, 0.95, 1.0, 1.0), strict=False)),
        placement={name: db_vm if name == "db" else "vm1" for name in names},
        copies=copies,
    )


def make_q2(rate: float, copies: int = 1) -> Query:
    """Sensor readings from JSON to XML."""
    names = ("spout", "jsonParser", "validate", "xmlOutput", "measurer", "end")
    ipes = (1000.0, 41250.0, 25000.0, 31250.0, 17000.0, 1000.0)
    vertices = [ScenarioVertex(id=names[0], kind="producer", ipe=ipes[0], arrivals=Uniform(rate))]
    for name, ipe in zip(names[1:-1], ipes[1:-1], strict=True):
        vertices.append(ScenarioVertex(id=name, kind="operator", ipe=ipe, queue=2048.0))
    vertices.append(ScenarioVertex(id=names[-1], kind="consumer", ipe=ipes[-1], queue=2048.0))
    selectivities = (1.0, 1.0, 0.95, 1.0, 1.0)
    return Query(
        name="q2",
        vertices=tuple(vertices),
        edges=tuple(ScenarioEdge(a, b, s) for a, b, s in zip(names, names[1:], selectivities, strict=False)),
        placement=dict.fromkeys(names, "vm1"),
        copies=copies,
    )


def run_local(query: Query, **settings: Any) -> Scenario:
    return Scenario(queries=(query,), vms=(Vm(name="vm1"),), **{"duration_s": 301.0, **settings})


def run_networked(rate: float, **settings: Any) -> Scenario:
    vms = (Vm(name="vm1", pes=2), Vm(name="vm2", pes=2))
    return Scenario(queries=(make_q1(rate, db_vm="vm2"),), vms=vms, **{"duration_s": 301.0, "tick_s": 0.01, **settings})
