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
from cepheid.simulation.layout import CONSUMER
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
        run, tally, layout = self.run, self.run.engine.tally, self.run.layout
        seconds = max(self.now_s - self._seen_at, run.situation.scenario.tick_s)
        processed, dropped = self._since("processed"), self._since("dropped")
        used, offered = self._since("used"), self._since("offered")
        consumed, latency, origins = (self._since(name) for name in ("consumed", "latency", "origins"))
        waiting = run.engine.waiting()
        title = {query.name: query.title for query in run.situation.scenario.queries}
        latest = {query.title: query.name for query in run.situation.scenario.queries}
        vertices = []
        for number, instance in enumerate(layout.instances):
            place, known_as = int(layout.placement[number]), title[instance.query]
            if latest[known_as] != instance.query and not layout.deployed[number]:
                continue  # of a query as it was before it was altered
            vertices.append(
                VertexMeasurement(
                    query=known_as,
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
                cores=vm.pes,
                utilisation=float(used[number] / offered[number]) if offered[number] > 0.0 else 0.0,
            )
            for number, vm in enumerate(run.situation.scenario.vms)
        )
        queries = []
        for query in latest:
            rows = [
                tally.consumer_of[number]
                for number, instance in enumerate(layout.instances)
                if title[instance.query] == query and layout.kind[number] == CONSUMER
            ]
            events = float(consumed[rows].sum())
            queries.append(
                QueryMeasurement(
                    query=query,
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
