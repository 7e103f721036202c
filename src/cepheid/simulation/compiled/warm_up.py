"""Compile every kernel once, or load it from Numba's cache, before time matters."""

from __future__ import annotations

from functools import cache

from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.clock import ticks_of
from cepheid.simulation.compiled.engine import CompiledEngine
from cepheid.simulation.layout import lay_out
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.scenario import Fidelity, Query, Scenario, ScenarioEdge, ScenarioVertex, Vm


def compile_engine() -> None:
    """Every way to run that has a kernel: those are generic, so that is all of them."""
    for name, scheduler in SCHEDULERS.items():
        for fidelity in scheduler.kernels:
            load_kernel(fidelity, name)


@cache
def load_kernel(fidelity: Fidelity, scheduler: str) -> None:
    """Two ticks of this way to run."""
    scenario = _make_scenario(fidelity, scheduler)
    ticks = list(ticks_of(scenario.duration_s, scenario.tick_s))
    layout = lay_out(scenario)
    engine = CompiledEngine(scenario, layout, ticks)
    engine.run(0, 1)
    engine.discard((0,))
    engine.adopt(scenario, layout, 1)
    engine.run(1, len(ticks))


def _make_scenario(fidelity: Fidelity, scheduler: str) -> Scenario:
    vertices = (
        ScenarioVertex(id="source", kind="producer", ipe=1.0, arrivals=Uniform(10.0)),
        ScenarioVertex(id="end", kind="consumer", ipe=1.0),
    )
    query = Query(
        name="q", vertices=vertices, edges=(ScenarioEdge("source", "end"),), placement={"source": "a", "end": "b"}
    )
    machines = (Vm(name="a", mips=1.0), Vm(name="b", mips=1.0))
    return Scenario(queries=(query,), vms=machines, duration_s=2.0, tick_s=1.0, fidelity=fidelity, scheduler=scheduler)
