"""A simulation that is steered like a live pipeline: observe, apply an action, let time pass.

deployment = SimulatedDeployment(scenario)
deployment.advance(60.0)
deployment.observe().machines[0].utilisation
deployment.apply(cep.AddMachine(name="vm2"))
cep.replay(actions, deployment, deployment.advance_to)
"""

from __future__ import annotations

import numpy as np

from cepheid.deployment import Action
from cepheid.errors import InvalidInput
from cepheid.measurement import MachineMeasurement, Observation, QueryMeasurement, VertexMeasurement
from cepheid.simulation.run import EngineName, SimulationRun
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.tally import Floats


class SimulatedDeployment:
    """The duration of the scenario is how long it can go on at most."""

    def __init__(self, scenario: Scenario, engine: EngineName = "compiled") -> None:
        if scenario.fidelity != "corrected":
            raise InvalidInput("CEPSim cannot change while it runs", hint='set fidelity = "corrected"')
        self.run = SimulationRun(scenario, engine)
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
        self.run.advance_to(self.now_s + seconds - self.run.situation.scenario.tick_s / 2.0)

    def advance_to(self, at_s: float) -> None:
        """Let time pass until the first tick that begins at that time or later."""
        self.run.advance_to(at_s)

    def apply(self, action: Action) -> None:
        """At the beginning of the next tick; effects.py says what each action does here."""
        self.run.apply(action)

    def observe(self) -> Observation:
        seconds = max(self.now_s - self._seen_at, self.run.situation.scenario.tick_s)
        observation = Observation(
            at_s=self.now_s,
            since_s=self._seen_at,
            queries=self._observe_queries(seconds),
            vertices=self._observe_vertices(seconds),
            machines=self._observe_machines(),
        )
        self._seen_at = self.now_s
        return observation

    def _observe_queries(self, seconds: float) -> tuple[QueryMeasurement, ...]:
        """Also those that do not run; an altered one is told once, with what its earlier versions consumed."""
        consumed, latency, origins = (self._since(name) for name in ("consumed", "latency", "origins"))
        rows: dict[str, list[int]] = {title: [] for title in self.run.situation.titles}
        title = {query.name: query.title for query in self.run.situation.scenario.queries}
        for number in self.run.layout.consumers():
            rows[title[self.run.layout.instances[number].query]].append(self.run.engine.tally.consumer_of[number])
        return tuple(
            QueryMeasurement(
                query=name,
                throughput_per_s=float(origins[own].sum()) / seconds,
                latency_ms=float(latency[own].sum()) / events if (events := float(consumed[own].sum())) else None,
            )
            for name, own in rows.items()
        )

    def _observe_vertices(self, seconds: float) -> tuple[VertexMeasurement, ...]:
        """But those of earlier versions of a query that it did not keep."""
        layout, scenario = self.run.layout, self.run.situation.scenario
        processed, dropped, waiting = self._since("processed"), self._since("dropped"), self.run.engine.waiting()
        title = {query.name: query.title for query in scenario.queries}
        latest = {query.title: query.name for query in scenario.queries}
        return tuple(
            VertexMeasurement(
                query=title[instance.query],
                vertex=instance.name,
                machine=scenario.vms[layout.vm[place]].name if (place := int(layout.placement[number])) >= 0 else "",
                processed_per_s=float(processed[number]) / seconds,
                waiting=float(waiting[number]),
                dropped=float(dropped[number]),
            )
            for number, instance in enumerate(layout.instances)
            if layout.deployed[number] or latest[title[instance.query]] == instance.query
        )

    def _observe_machines(self) -> tuple[MachineMeasurement, ...]:
        used, offered, absent = self._since("used"), self._since("offered"), self.run.absent
        return tuple(
            MachineMeasurement(
                name=vm.name,
                is_there=vm.name not in absent,
                cores=vm.pes,
                utilisation=float(used[number] / offered[number]) if offered[number] > 0.0 else 0.0,
            )
            for number, vm in enumerate(self.run.situation.scenario.vms)
        )

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
