"""A simulation that is steered like a live pipeline: observe, apply an action, let time pass.

deployment = SimulatedDeployment(scenario)
deployment.advance(60.0)
deployment.observe().machines[0].utilisation
deployment.apply(AddMachine(name="vm2"))
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Literal

import numpy as np

from cepheid.deployment import Action, AddMachine, Deploy, Move, RemoveMachine, Resize, Retire
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.measurement import MachineMeasurement, Observation, QueryMeasurement, VertexMeasurement
from cepheid.simulation.layout import CONSUMER
from cepheid.simulation.run import EngineName, SimulationRun
from cepheid.simulation.scenario import Query, Scenario, ScenarioChange, Vm
from cepheid.simulation.tally import Floats


class SimulatedDeployment:
    """The duration of the scenario is how long it can go on at most."""

    def __init__(self, scenario: Scenario, engine: EngineName = "compiled") -> None:
        if scenario.fidelity != "corrected":
            raise InvalidInput("CEPSim cannot change while it runs", hint='set fidelity = "corrected"')
        self.run = SimulationRun(scenario, engine)
        self._changes = sorted(scenario.changes, key=lambda change: change.at_s)
        self._seen: dict[str, Floats] = {}
        self._seen_at = self.run.now_s

    @property
    def now_s(self) -> float:
        return self.run.now_s

    @property
    def is_over(self) -> bool:
        return self.run.is_over

    def advance(self, seconds: float) -> None:
        """Let so much time pass, in whole ticks; what the scenario has planned for that time happens."""
        starts = [tick.start_s for tick in self.run.ticks]
        goal = bisect_left(starts, self.now_s + seconds - self.run.situation.scenario.tick_s / 2.0)
        while True:
            while self._changes and self._changes[0].at_s <= self.now_s:
                self.run.change(self._changes.pop(0))
            stop = min(goal, bisect_left(starts, self._changes[0].at_s)) if self._changes else goal
            self.run.advance(stop)
            if stop >= goal or self.run.is_over:
                return

    def apply(self, action: Action) -> None:
        scenario = self.run.situation.scenario
        match action:
            case Deploy(query=query):
                self._deploy(query)
            case AddMachine(name=name):
                vm = Vm(name=name, pes=action.pes, mips=action.mips, price_per_hour=action.price_per_hour)
                if all(each.name != name for each in scenario.vms):
                    self._adopt(replace(scenario, vms=(*scenario.vms, vm)))
                else:
                    self._change("add_vm", vm=name)
            case Retire(query=query):
                self._change("retire", query=query)
            case Move():
                self._change(
                    "move", query=action.query, vertex=action.vertex, vm=action.machine, pause_s=action.pause_s
                )
            case RemoveMachine(name=name):
                self._change("remove_vm", vm=name, loses="queues" if action.loses else "nothing")
            case Resize(name=name, pes=pes):
                self._change("resize", vm=name, pes=pes)

    def _change(
        self,
        action: Literal["deploy", "retire", "move", "add_vm", "remove_vm", "resize"],
        *,
        query: str = "",
        vertex: str = "",
        vm: str = "",
        pes: int = 0,
        pause_s: float = 0.0,
        loses: Literal["queues", "nothing"] = "queues",
    ) -> None:
        self.run.change(
            ScenarioChange(
                at_s=self.now_s,
                action=action,
                query=query,
                vertex=vertex,
                vm=vm,
                pes=pes,
                pause_s=pause_s,
                loses=loses,
            )
        )

    def _deploy(self, query: object) -> None:
        if not isinstance(query, Query):
            told = f"a simulated deployment runs queries of scenarios, not {type(query).__name__}"
            raise InvalidInput(told, hint="give a Query, as in scenario.queries")
        scenario, own = self.run.situation.scenario, {vertex.id for vertex in query.vertices}
        if any(end not in own for edge in query.edges for end in (edge.source, edge.target)):
            told = "deploying a query that shares vertices of another while it runs"
            raise NotSupportedYet(told, hint="put it into the scenario from the start, or give it vertices of its own")
        if any(each.name == query.name for each in scenario.queries):
            self._change("deploy", query=query.name)  # it was retired, or planned for later
        else:
            self._adopt(replace(scenario, queries=(*scenario.queries, query)))

    def _adopt(self, scenario: Scenario) -> None:
        self.run.adopt(replace(self.run.situation, scenario=scenario))

    def observe(self) -> Observation:
        run, tally, layout = self.run, self.run.engine.tally, self.run.layout
        seconds = max(self.now_s - self._seen_at, run.situation.scenario.tick_s)
        processed, dropped = self._since("processed"), self._since("dropped")
        used, offered = self._since("used"), self._since("offered")
        consumed, latency, origins = (self._since(name) for name in ("consumed", "latency", "origins"))
        waiting = run.engine.waiting()
        vertices = []
        for number, instance in enumerate(layout.instances):
            place = int(layout.placement[number])
            vertices.append(
                VertexMeasurement(
                    query=instance.query,
                    vertex=instance.name,
                    machine=run.situation.scenario.vms[layout.vm[place]].name if place >= 0 else "",
                    processed_per_s=float(processed[number]) / seconds,
                    waiting=float(waiting[number]),
                    dropped=float(dropped[number]),
                )
            )
        absent = run.absent
        machines = tuple(
            MachineMeasurement(
                name=vm.name,
                is_there=vm.name not in absent,
                pes=vm.pes,
                utilisation=float(used[number] / offered[number]) if offered[number] > 0.0 else 0.0,
            )
            for number, vm in enumerate(run.situation.scenario.vms)
        )
        queries = []
        for query in run.situation.scenario.queries:
            rows = [
                tally.consumer_of[number]
                for number, instance in enumerate(layout.instances)
                if instance.query == query.name and layout.kind[number] == CONSUMER
            ]
            events = float(consumed[rows].sum())
            queries.append(
                QueryMeasurement(
                    query=query.name,
                    throughput_per_s=float(origins[rows].sum()) / seconds,
                    latency_ms=float(latency[rows].sum()) / events if events else None,
                )
            )
        observation = Observation(
            at_s=self.now_s,
            since_s=self._seen_at,
            queries=tuple(queries),
            vertices=tuple(vertices),
            machines=machines,
        )
        self._seen_at = self.now_s
        return observation

    def _since(self, name: str) -> Floats:
        """How much a count has grown since the last observation."""
        counts = getattr(self.run.engine.tally, name)
        now = counts.sum(axis=1) if counts.ndim == 2 else counts.copy()
        before = self._seen.get(name, np.zeros(0))
        self._seen[name] = now
        return now - np.concatenate([before, np.zeros(len(now) - len(before))])


class SimulationRunner:
    """A `Runner` for scenarios."""

    def start(self, subject: Scenario) -> SimulatedDeployment:
        return SimulatedDeployment(subject)
