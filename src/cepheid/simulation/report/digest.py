"""What is shown of an outcome when there is too much to show it all.

    up to MOST_ROWS        each by itself
    more, copies           those of one query together, with their spread
    still more             the worst ones, and one row for all others

A run of ten thousand queries so gives a table that fits on a screen, and what is wrong in it is on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from cepheid.simulation.outcome import ConsumerOutcome, Outcome, VertexOutcome, VmOutcome
from cepheid.simulation.report.quantities import clean_name
from cepheid.simulation.scenario import Scenario

MOST_ROWS = 20
Row = TypeVar("Row", bound="Consumers | Vertices | Machines")


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the median and the greatest of some values."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Consumers:
    """Consumers shown as one.  offered_per_s: what the producers that lead to each of them give, together."""

    name: str
    members: tuple[ConsumerOutcome, ...]
    offered_per_s: float

    def latency(self) -> Spread | None:
        return spread_of(each.latency_ms for each in self.members)

    def percentiles(self) -> tuple[float | None, float | None, float | None]:
        """p50, p95, p99: the worst of the members."""
        return (
            _greatest(each.latency_p50_ms for each in self.members),
            _greatest(each.latency_p95_ms for each in self.members),
            _greatest(each.latency_p99_ms for each in self.members),
        )

    def throughput(self) -> float:
        return sum(each.throughput_per_s for each in self.members)

    def latency_in(self, minute: int) -> Spread | None:
        return spread_of(each.latency_ms for member in self.members for each in member.minutes if each.minute == minute)

    def throughput_in(self, minute: int) -> float:
        return sum(each.throughput_per_s for member in self.members for each in member.minutes if each.minute == minute)


@dataclass(frozen=True, slots=True)
class Vertices:
    """Vertices shown as one: what waits is the mean of the members."""

    name: str
    members: tuple[VertexOutcome, ...]

    def vm(self) -> str:
        names = {each.vm for each in self.members}
        return clean_name(names.pop(), 24) if len(names) == 1 else f"{len(names):,} machines"

    def waiting(self) -> tuple[float, ...]:
        return _mean_by_minute(each.waiting for each in self.members)

    def most_waiting(self) -> float:
        return max(each.most_waiting for each in self.members)

    def dropped(self) -> float:
        return sum(each.dropped for each in self.members)

    def processed(self) -> float:
        return sum(each.processed for each in self.members)


@dataclass(frozen=True, slots=True)
class Machines:
    """Machines shown as one: utilisation is the mean of the members."""

    name: str
    members: tuple[VmOutcome, ...]

    def utilisation(self) -> tuple[float, ...]:
        return _mean_by_minute(each.utilisation for each in self.members)

    def cost(self) -> float:
        return sum(each.cost for each in self.members)


@dataclass(frozen=True, slots=True)
class Digest:
    """minutes: those that were simulated for at least half of it; a shorter one would draw a fall that is none.

    taken_in: events of producers.  handled: events, counted at every vertex.  busiest: the highest utilisation of a
    machine over the run.  cost: of machines and transfers.  unhosted: machines that no server has room for.  Vertices
    and machines are in the order of the scenario, or the worst first.
    """

    consumers: tuple[Consumers, ...]
    everyone: Consumers
    vertices: tuple[Vertices, ...]
    machines: tuple[Machines, ...]
    minutes: tuple[int, ...]
    covered: tuple[float, ...]
    latency_ms: float | None
    busiest: float
    most_waiting: float
    dropped: float
    taken_in: float
    handled: float
    cost: float
    transfer_cost: float
    unhosted: tuple[str, ...]

    def average(self, by_minute: Sequence[float]) -> float:
        """Over the run, a minute counting by how much of it was simulated."""
        return average_minutes(by_minute, self.covered)


def digest_outcome(outcome: Outcome, most: int = MOST_ROWS) -> Digest:
    offered = _offered_to_consumers(outcome)
    consumers, vertices = tuple(outcome.consumers()), list(outcome.vertices())
    machines = [Machines(clean_name(each.vm), (each,)) for each in outcome.vms()]
    covered = seconds_covered(outcome.scenario)
    events, transfers = float(outcome.tally.consumed.sum()), outcome.transfer_cost()
    return Digest(
        consumers=_group_consumers(consumers, offered, most),
        everyone=Consumers("all consumers", consumers, sum(offered)),
        vertices=_group_vertices(vertices, most),
        machines=_keep_worst(machines, lambda each: average_minutes(each.utilisation(), covered), most),
        minutes=tuple(choose_minutes(covered)),
        covered=tuple(covered),
        latency_ms=float(outcome.tally.latency.sum()) / events if events else None,
        busiest=max((average_minutes(each.utilisation(), covered) for each in machines), default=0.0),
        most_waiting=max((each.most_waiting for each in vertices), default=0.0),
        dropped=sum(each.dropped for each in vertices),
        taken_in=sum(vertices[producer].processed for producer in outcome.layout.producers()),
        handled=sum(each.processed for each in vertices),
        cost=sum(each.cost() for each in machines) + transfers,
        transfer_cost=transfers,
        unhosted=tuple(outcome.unhosted()),
    )


def seconds_covered(scenario: Scenario) -> list[float]:
    """How much of each minute was simulated: a run begins one tick after zero."""
    begin, end = scenario.tick_s, scenario.tick_s + scenario.duration_s
    return [max(min(60.0 * (m + 1), end) - max(60.0 * m, begin), 0.0) for m in range(int(end / 60.0) + 1)]


def choose_minutes(covered: Sequence[float]) -> list[int]:
    halves = [minute for minute, seconds in enumerate(covered) if seconds >= 30.0]
    return halves or [minute for minute, seconds in enumerate(covered) if seconds > 0.0]


def average_minutes(by_minute: Sequence[float], covered: Sequence[float]) -> float:
    pairs = list(zip(by_minute, covered, strict=False))
    seconds = sum(each for _, each in pairs)
    return sum(value * each for value, each in pairs) / seconds if seconds > 0.0 else 0.0


def spread_of(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return Spread(min(known), float(np.median(known)), max(known)) if known else None


def _group_consumers(
    consumers: Sequence[ConsumerOutcome], offered: Sequence[float], most: int
) -> tuple[Consumers, ...]:
    named = [(each.query, each.copy, each.consumer) for each in consumers]
    rows = [
        Consumers(name, tuple(consumers[place] for place in places), sum(offered[place] for place in places))
        for name, places in _group_copies(named, most)
    ]
    return _keep_worst(rows, lambda row: row.percentiles()[2] or float("inf"), most)


def _group_vertices(vertices: Sequence[VertexOutcome], most: int) -> tuple[Vertices, ...]:
    named = [(each.query, each.copy, each.vertex) for each in vertices]
    rows = [Vertices(name, tuple(vertices[place] for place in places)) for name, places in _group_copies(named, most)]
    return _keep_worst(rows, lambda row: row.most_waiting(), most)


def _group_copies(named: Sequence[tuple[str, int, str]], most: int) -> list[tuple[str, list[int]]]:
    """Names, and which belong to each: copies of a query together if there are more than `most` in all.

    Grouped by what they are, not by what is shown: two long names may be shortened to the same.
    """
    copied = {query for query, copy, _ in named if copy > 0}
    grouped: dict[tuple[str, int, str], list[int]] = {}
    for place, (query, copy, vertex) in enumerate(named):
        grouped.setdefault((query, copy if len(named) <= most else -1, vertex), []).append(place)
    return [
        (_name_group(query, f" #{copy}" if query in copied and copy >= 0 else "", vertex, len(places)), places)
        for (query, copy, vertex), places in grouped.items()
    ]


def _name_group(query: str, copy: str, vertex: str, members: int) -> str:
    name = f"{clean_name(query)}{copy} › {clean_name(vertex)}"  # noqa: RUF001
    return f"{name} (× {members:,})" if members > 1 else name  # noqa: RUF001


def _keep_worst(rows: list[Row], badness: Callable[[Row], float], most: int) -> tuple[Row, ...]:
    """All of them as they are, or the worst first and the others as one row."""
    if len(rows) <= most:
        return tuple(rows)
    ranked = sorted(rows, key=badness, reverse=True)
    others = ranked[most - 1 :]
    merged: Any = {"name": f"{len(others):,} others", "members": tuple(each for row in others for each in row.members)}
    if isinstance(others[0], Consumers):
        merged["offered_per_s"] = sum(row.offered_per_s for row in others if isinstance(row, Consumers))
    return (*ranked[: most - 1], type(others[0])(**merged))


def _offered_to_consumers(outcome: Outcome) -> list[float]:
    """Events per second of the producers upstream of each consumer."""
    layout, duration = outcome.layout, outcome.scenario.duration_s
    rate = {producer: layout.arrivals(producer).mean_rate(duration) for producer in layout.producers()}
    return [
        sum(rate.get(vertex, 0.0) for vertex in sorted(layout.upstream(consumer))) for consumer in layout.consumers()
    ]


def _greatest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean_by_minute(rows: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(float, np.mean(list(rows), axis=0)))
