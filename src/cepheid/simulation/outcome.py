"""The results of a simulation, for people: per consumer, per vertex, per machine, per minute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cepheid.simulation.hosting import find_unhosted
from cepheid.simulation.layout import Layout
from cepheid.simulation.network import build_network
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.tally import Floats, Tally, bin_edges


@dataclass(frozen=True, slots=True)
class Minute:
    """minute: 0 is the first."""

    minute: int
    latency_ms: float
    throughput_per_s: float


@dataclass(frozen=True, slots=True)
class ConsumerOutcome:
    """Throughput is in events of producers, not in results.  Percentiles are over event sets, by their
    size."""

    query: str
    copy: int
    consumer: str
    minutes: tuple[Minute, ...]
    latency_ms: float | None  # None: nothing was consumed
    throughput_per_s: float
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None


@dataclass(frozen=True, slots=True)
class VertexOutcome:
    """waiting: mean queue length in each minute, and the most that was seen."""

    query: str
    copy: int
    vertex: str
    vm: str
    processed: float
    dropped: float
    waiting: tuple[float, ...]
    most_waiting: float


@dataclass(frozen=True, slots=True)
class VmOutcome:
    vm: str
    utilisation: tuple[float, ...]  # by minute, 0 to 1
    cost: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """ran: how many machines were really simulated; others were recognised as equal to one of them."""

    scenario: Scenario
    layout: Layout
    tally: Tally
    engine: str
    ran: int
    elapsed_s: float
    peak_memory_mb: float
    alive_s: Floats  # for how long each machine was there

    def consumers(self) -> Iterator[ConsumerOutcome]:
        whole_minutes = self.scenario.fidelity == "cepsim"
        covered = self._seconds_covered()
        edges = bin_edges()
        for row, vertex in enumerate(self.layout.consumers()):
            instance, tally = self.layout.instances[vertex], self.tally
            consumed, origins = tally.consumed[row], tally.origins[row]
            minutes = tuple(
                Minute(
                    int(minute),
                    float(tally.latency[row, minute] / consumed[minute]),
                    float(origins[minute] / (60.0 if whole_minutes else covered[minute])),
                )
                for minute in np.flatnonzero(consumed)
            )
            events = float(consumed.sum())
            # CEPSim divides by the seconds in which something was consumed, not by how long the query ran
            seconds = float(tally.seconds[row].sum()) if whole_minutes else self.scenario.duration_s
            yield ConsumerOutcome(
                instance.query,
                instance.copy,
                instance.vertex.id,
                minutes,
                float(tally.latency[row].sum()) / events if events else None,
                float(origins.sum()) / seconds if seconds else 0.0,
                *(_percentile(tally.bins[row], edges, share) for share in (0.5, 0.95, 0.99)),
            )

    def vertices(self) -> Iterator[VertexOutcome]:
        looks = np.maximum(self.tally.looks, 1)
        minutes = self._minutes()
        for number, instance in enumerate(self.layout.instances):
            place = int(self.layout.placement[number])
            yield VertexOutcome(
                instance.query,
                instance.copy,
                instance.vertex.id,
                self.scenario.vms[self.layout.vm[place]].name if place >= 0 else "",
                float(self.tally.processed[number].sum()),
                float(self.tally.dropped[number]),
                tuple(map(float, (self.tally.waiting[number] / looks)[:minutes])),
                float(self.tally.most_waiting[number].max()),
            )

    def vms(self) -> Iterator[VmOutcome]:
        minutes = self._minutes()
        places_of: list[list[int]] = [[] for _ in self.scenario.vms]
        for place, number in enumerate(self.layout.vm):
            places_of[number].append(place)
        for number, vm in enumerate(self.scenario.vms):
            places = places_of[number]
            used = self.tally.used[places].sum(axis=0)[:minutes]
            offered = self.tally.offered[places].sum(axis=0)[:minutes]
            # a slice counts where it ends, which may be the next minute: the last one may get more than it has
            share = np.minimum(np.divide(used, offered, out=np.zeros_like(used), where=offered > 0.0), 1.0)
            yield VmOutcome(vm.name, tuple(map(float, share)), vm.price_per_hour * float(self.alive_s[number]) / 3600.0)

    def transfer_cost(self) -> float:
        """What went over links that ask for money."""
        if not any(link.price_per_gb for link in self.scenario.links):
            return 0.0
        network, layout, cost = build_network(self.scenario), self.layout, 0.0
        for edge in np.flatnonzero(self.tally.sent):
            source, target = int(layout.source[edge]), int(layout.target[edge])
            places = int(layout.placement[source]), int(layout.placement[target])
            if min(places) >= 0:
                link = int(network.link[layout.vm[places[0]], layout.vm[places[1]]])
                size = float(self.tally.sent[edge]) * layout.instances[source].vertex.bytes
                cost += size * float(network.price_per_byte[link])
        return cost

    def cost(self) -> float:
        """Machines and transfers."""
        return sum(vm.cost for vm in self.vms()) + self.transfer_cost()

    def unhosted(self) -> list[str]:
        """Machines that no server has room for: what is placed on them did not run."""
        return sorted(find_unhosted(self.scenario))

    def as_json(self) -> dict[str, Any]:
        """What `cepheid simulate --json` prints."""
        return {
            "consumers": [asdict(consumer) for consumer in self.consumers()],
            "vertices": [asdict(vertex) for vertex in self.vertices()],
            "machines": [asdict(vm) for vm in self.vms()],
            "unhosted": self.unhosted(),
            "cost": self.cost(),
            "fidelity": self.scenario.fidelity,
            "engine": self.engine,
            "machines_simulated": self.ran,
            "elapsed_s": self.elapsed_s,
            "peak_memory_mb": self.peak_memory_mb,
        }

    def _minutes(self) -> int:
        return int((self.scenario.duration_s + self.scenario.tick_s) / 60.0) + 1

    def _seconds_covered(self) -> Floats:
        """How much of each minute was simulated."""
        begin, end = self.scenario.tick_s, self.scenario.tick_s + self.scenario.duration_s
        starts = 60.0 * np.arange(self.tally.consumed.shape[1])
        return np.clip(np.minimum(starts + 60.0, end) - np.maximum(starts, begin), self.scenario.tick_s, 60.0)


def _percentile(bins: Floats, edges: Floats, share: float) -> float | None:
    """Within a bin, as if spread evenly."""
    total = float(bins.sum(dtype=np.float64))
    if total <= 0.0:
        return None
    sums = np.cumsum(bins, dtype=np.float64)
    place = min(int(np.searchsorted(sums, share * total)), len(bins) - 1)
    before = float(sums[place - 1]) if place else 0.0
    inside = (share * total - before) / float(bins[place]) if bins[place] > 0.0 else 0.0
    return float(edges[place] + min(max(inside, 0.0), 1.0) * (edges[place + 1] - edges[place]))
