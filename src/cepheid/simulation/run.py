"""A running simulation: it advances by ticks, and changes between them."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from cepheid.errors import InvalidInput
from cepheid.simulation.changes import Situation, decide_effects, first_situation
from cepheid.simulation.clock import Tick, ticks_of
from cepheid.simulation.hosting import find_unhosted
from cepheid.simulation.layout import Layout, lay_out
from cepheid.simulation.reference.engine import ReferenceEngine
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.scenario import Scenario, ScenarioChange
from cepheid.simulation.tally import Floats, Tally

EngineName = Literal["compiled", "reference"]


class SimulationEngine(Protocol):
    """What both engines offer; ticks and vertices are passed as numbers."""

    tally: Tally

    def run(self, first: int, last: int) -> None: ...
    def adopt(self, scenario: Scenario, layout: Layout, tick: int) -> None: ...
    def discard(self, vertices: tuple[int, ...]) -> None: ...
    def block(self, vertex: int, until_ms: float) -> None: ...
    def halt(self, vm: int, until_ms: float) -> None: ...
    def waiting(self) -> Floats: ...


class SimulationRun:
    """tick: the next one to run.  alive_s: for how long each machine was there."""

    def __init__(self, scenario: Scenario, engine: EngineName = "compiled") -> None:
        if scenario.changes and scenario.placements != "vm":
            raise InvalidInput('changes need placements = "vm"', hint="leave placements out of [simulation]")
        self.ticks = list(ticks_of(scenario.duration_s, scenario.tick_s))
        self.tick = 0
        self.situation = first_situation(scenario)
        self.layout = self._lay_out()
        self.engine_name = choose_engine(engine, scenario)
        self.engine: SimulationEngine = make_engine(self.engine_name, scenario, self.layout, self.ticks)
        self.alive_s: Floats = np.zeros(len(scenario.vms))

    @property
    def now_s(self) -> float:
        return self.ticks[self.tick].start_s if self.tick < len(self.ticks) else self.ticks[-1].end_s

    @property
    def is_over(self) -> bool:
        return self.tick >= len(self.ticks)

    def advance(self, until: int) -> None:
        """Run the ticks up to that number."""
        until = min(until, len(self.ticks))
        if until <= self.tick:
            return
        self.engine.run(self.tick, until)
        gone = self.ticks[until - 1].end_s - self.ticks[self.tick].start_s
        absent = self.absent
        self.alive_s[[vm.name not in absent for vm in self.situation.scenario.vms]] += gone
        self.tick = until

    def change(self, change: ScenarioChange) -> None:
        """At the beginning of the next tick."""
        if self.is_over:
            return
        effects = decide_effects(change, self.situation, self.layout)
        now_ms = self.now_s * 1000.0
        self.engine.discard(effects.discard)
        for vertex, ms in effects.block:
            self.engine.block(vertex, now_ms + ms)
        for vm, ms in effects.halt:
            self.engine.halt(vm, now_ms + ms)
        self.adopt(effects.situation)

    def adopt(self, situation: Situation) -> None:
        """Go on in another situation: more queries and machines may follow those that are there."""
        if situation != self.situation:
            self.situation = situation
            more = len(situation.scenario.vms) - len(self.alive_s)
            self.alive_s = np.concatenate([self.alive_s, np.zeros(more)])
            self.layout = self._lay_out()
            self.engine.adopt(situation.scenario, self.layout, self.tick)

    @property
    def absent(self) -> frozenset[str]:
        """Machines that are not there, also those that no host has room for."""
        return self.situation.absent | find_unhosted(self.situation.scenario, self.situation.absent)

    def _lay_out(self) -> Layout:
        return lay_out(self.situation.scenario, self.situation.undeployed, self.absent)


def choose_engine(asked: EngineName, scenario: Scenario) -> EngineName:
    """A scheduler without a compiled twin, such as those of users, runs on the reference engine."""
    scheduler = find_scheduler(scenario.scheduler, scenario.fidelity)
    return asked if scenario.fidelity in scheduler.kernels else "reference"


def make_engine(name: EngineName, scenario: Scenario, layout: Layout, ticks: list[Tick]) -> SimulationEngine:
    if name == "reference":
        return ReferenceEngine(scenario, layout, ticks)
    from cepheid.simulation.compiled.engine import CompiledEngine

    return CompiledEngine(scenario, layout, ticks)
