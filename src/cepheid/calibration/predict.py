"""What the simulator says about a calibrated query: its throughput at a rate, and the rate at which it overloads.

Overload: more arrives than is processed, for good.  Batches grow with the rate until they reach their limit; from
`most / (overhead + most * cost)` events per second on, the backlog grows.  That is found by simulating, not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cepheid.application import Cluster
from cepheid.cost.profile import Profile
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import MicroBatch, Scenario
from cepheid.simulation.scenarios.graph_scenario import scenario_of_graph
from cepheid.simulation.simulate import simulate

TICKS_PER_TRIGGER = 2
TICKS = 20_000  # of one simulation: enough batches that the last one, half done, does not show
KEEPS_UP = 0.995  # of what is offered: a run that keeps up loses less than that at its end
PRECISION = 0.002


@dataclass(frozen=True, slots=True)
class HostShape:
    """How a host takes batches: at every trigger, or as soon as the one before is done; most_events: of one batch."""

    pes: int
    trigger_s: float
    most_events: int


@dataclass(frozen=True, slots=True)
class PredictedRun:
    offered_per_s: float
    throughput_per_s: float
    busy: float

    @property
    def keeps_up(self) -> bool:
        return self.throughput_per_s >= KEEPS_UP * self.offered_per_s


@dataclass(frozen=True)
class Predictor:
    """shares: of what comes in, by source."""

    placed: PlacedGraph
    profile: Profile
    shape: HostShape
    shares: Mapping[str, float]
    engine: EngineName = "compiled"

    def predict_run(self, rate_per_s: float) -> PredictedRun:
        outcome = simulate(self.make_scenario(rate_per_s), self.engine)
        (consumer,) = outcome.consumers()
        (vm,) = outcome.vms()
        return PredictedRun(rate_per_s, consumer.throughput_per_s, vm.utilisation[0])

    def make_scenario(self, rate_per_s: float) -> Scenario:
        shape, tick_s = self.shape, self.shape.trigger_s / TICKS_PER_TRIGGER
        batches = MicroBatch(
            interval_s=shape.trigger_s,
            overhead_s=self.profile.overhead_s,
            max_events=float(shape.most_events) / len(self.shares),
        )
        return scenario_of_graph(
            self.placed,
            {name: Uniform(rate_per_s * share) for name, share in self.shares.items()},
            self.profile,
            Cluster(pes=shape.pes, host=self.profile.host, trigger_s=shape.trigger_s),
            {"tick_s": tick_s, "duration_s": TICKS * tick_s + 0.5, "micro_batch": batches},
        )

    def predict_overload(self) -> float:
        """The rate from which on more comes than is done, by halving."""
        (query,) = self.profile.queries.values()
        return find_overload(lambda rate: self.predict_run(rate).keeps_up, 0.5 / query.throughput_s)


def find_overload(keeps_up: Callable[[float], bool], guess: float) -> float:
    low = high = guess
    while not keeps_up(low):
        assert low > guess * 1e-6, "at some rate every host keeps up"
        low, high = low / 2.0, low
    while high == low or keeps_up(high):
        assert high < guess * 1e6, "at some rate every host overloads"
        low, high = high, high * 2.0
    while high - low > PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if keeps_up(middle) else (low, middle)
    return (low + high) / 2.0
