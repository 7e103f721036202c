"""A running simulation: it advances by ticks; between them it takes actions, and machines fail."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import Literal, Protocol

import numpy as np

from cepheid.deployment import Action
from cepheid.errors import InvalidInput
from cepheid.simulation.clock import Tick, ticks_of
from cepheid.simulation.effects import decide_effects, first_situation
from cepheid.simulation.hosting import find_unhosted
from cepheid.simulation.layout import Layout, lay_out
from cepheid.simulation.query_versions import Situation
from cepheid.simulation.reference.engine import ReferenceEngine
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.scenario import Failure, Scenario
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
    """tick: the next one to run.  alive_s: for how long each machine was there.  agenda: what the scenario has planned
    and has not happened yet, by time; failures come before actions of the same time."""

    def __init__(self, scenario: Scenario, engine: EngineName = "compiled") -> None:
        if scenario.placements != "vm" and (scenario.actions or scenario.failures):
            raise InvalidInput('actions need placements = "vm"', hint="leave placements out of [simulation]")
        self.ticks = list(ticks_of(scenario.duration_s, scenario.tick_s))
        self.tick = 0
        self.situation = first_situation(scenario)
        self.agenda = make_agenda(scenario)
        self.layout = self._lay_out(self.situation)
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

    def advance_to(self, at_s: float, until: int | None = None) -> None:
        """To the first tick that begins at that time or later, at most to the tick `until`.  What is planned happens
        at the first tick that begins at its time or later."""
        goal = min(self._find_tick(at_s), len(self.ticks) if until is None else until)
        while True:
            while self.agenda and self.agenda[0][0] <= self.now_s and not self.is_over:
                self.apply(self.agenda.pop(0)[1])
            stop = min(goal, self._find_tick(self.agenda[0][0])) if self.agenda else goal
            self.advance(stop)
            if stop >= goal or self.is_over:
                return

    def _find_tick(self, at_s: float) -> int:
        return bisect_left(self.ticks, at_s, key=lambda tick: tick.start_s)

    def apply(self, what: Action | Failure) -> None:
        """At the beginning of the next tick."""
        if self.is_over:
            raise InvalidInput("the simulation is over", hint=f"let it run for more than {self.now_s:g} s: duration_s")
        if self.situation.scenario.placements != "vm":
            raise InvalidInput('actions need placements = "vm"', hint="leave placements out of [simulation]")
        effects = decide_effects(what, self.situation, self.layout)
        after = effects.situation
        layout = self._lay_out(after) if after != self.situation else self.layout
        ended = np.flatnonzero(self.layout.deployed & ~layout.deployed[: len(self.layout.deployed)])
        now_ms = self.now_s * 1000.0
        self.engine.discard(tuple(sorted({*effects.discard, *map(int, ended)})))
        for vertex, ms in effects.block:
            self.engine.block(vertex, now_ms + ms)
        for vm, ms in effects.halt:
            self.engine.halt(vm, now_ms + ms)
        if after != self.situation:
            more = len(after.scenario.vms) - len(self.alive_s)
            self.alive_s = np.concatenate([self.alive_s, np.zeros(more)])
            self.situation, self.layout = after, layout
            self.engine.adopt(after.scenario, layout, self.tick)
        self.situation = after  # also what is not compared: what its planner knows now

    @property
    def absent(self) -> frozenset[str]:
        """Machines that are not there, also those that no host has room for."""
        return find_absent(self.situation)

    def _lay_out(self, situation: Situation) -> Layout:
        return lay_out(situation.scenario, situation.undeployed, find_absent(situation))


def find_absent(situation: Situation) -> frozenset[str]:
    return situation.absent | find_unhosted(situation.scenario, situation.absent)


def make_agenda(scenario: Scenario) -> list[tuple[float, Action | Failure]]:
    failures: list[tuple[float, Action | Failure]] = [(each.at_s, each) for each in scenario.failures]
    return sorted([*failures, *((each.at_s, each.action) for each in scenario.actions)], key=itemgetter(0))


def choose_engine(asked: EngineName, scenario: Scenario) -> EngineName:
    """A scheduler without a compiled twin, such as those of users, runs on the reference engine."""
    scheduler = find_scheduler(scenario.scheduler, scenario.fidelity)
    return asked if scenario.fidelity in scheduler.kernels else "reference"


def make_engine(name: EngineName, scenario: Scenario, layout: Layout, ticks: list[Tick]) -> SimulationEngine:
    if name == "reference":
        return ReferenceEngine(scenario, layout, ticks)
    from cepheid.simulation.compiled.engine import CompiledEngine

    return CompiledEngine(scenario, layout, ticks)
