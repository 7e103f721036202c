"""The same scenario many times, with one or several things varied: every combination is a point.

--sweep rate=1000:30000:1000       from, to (which is included), step
--sweep engines=1:64               step 1
--sweep rate=1000:64000:x2         each twice the one before
--sweep scheduler=simple,dynamic   these
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.errors import InvalidInput
from cepheid.simulation.exploration.steady_part import SteadyPart, find_steady_part
from cepheid.simulation.outcome import ConsumerOutcome, Outcome
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.scenarios.variations import Value, Variation, find_variation, vary
from cepheid.simulation.simulate import Progress, simulate

MOST_POINTS = 100_000


@dataclass(frozen=True, slots=True)
class Axis:
    """name: one of VARIATIONS."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Latencies are of the consumer that has the longest, None: one got nothing.  Throughput is that of the steady
    part of the run, see steady_part.py.  utilisation: of the busiest machine, 0 to 1.  most_waiting: in the longest
    queue.  behind: in what way it did not keep up with what came in; empty if it did."""

    values: dict[str, Any]
    latency_ms: float | None
    latency_p99_ms: float | None
    throughput_per_s: float
    offered_per_s: float
    utilisation: float
    most_waiting: float
    dropped: float
    cost_per_hour: float
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    behind: str = ""

    def as_json(self) -> dict[str, Any]:
        """Flat: the varied values, then the results."""
        figures = {name: getattr(self, name) for name in self.__slots__ if name != "values"}
        return {**self.values, **figures}


@dataclass(frozen=True, slots=True)
class Sweep:
    axes: tuple[Axis, ...]
    points: tuple[SweepPoint, ...]

    def as_json(self) -> dict[str, Any]:
        return {"sweep": [point.as_json() for point in self.points]}


def parse_axis(text: str) -> Axis:
    name, equals, written = text.partition("=")
    name = name.strip()
    if not equals or not name or not written.strip():
        raise InvalidInput(
            f'"{text}" is not of the form NAME=VALUES', hint="rate=1000:30000:1000, scheduler=simple,dynamic"
        )
    variation = find_variation(name)
    if ":" in written:
        return Axis(name, _parse_range(name, written, variation))
    values = tuple(variation.read(name, part.strip()) for part in written.split(",") if part.strip())
    return Axis(name, tuple(dict.fromkeys(values)))


def _parse_range(name: str, written: str, variation: Variation) -> tuple[Value, ...]:
    parts = [part.strip() for part in written.split(":")]
    if variation.kind is str or len(parts) not in (2, 3):
        raise InvalidInput(
            f'"{name}={written}" is no range',
            hint=f"{name}={','.join(variation.known())}" if variation.kind is str else f"{name}=FROM:TO:STEP",
        )
    first, last = (float(variation.read(name, part)) for part in parts[:2])
    if last < first:
        turned = ":".join([parts[1], parts[0], *parts[2:]])
        raise InvalidInput(f'"{name}={written}" ends before it begins', hint=f"did you mean {name}={turned}?")
    step = parts[2] if len(parts) == 3 else "1"
    by_factor = step[:1] in ("x", "*")
    try:
        size = float(step[1:] if by_factor else step)
    except ValueError:
        raise InvalidInput(f'"{step}" is no step', hint="a number, or x2 for twice as much each time") from None
    if not math.isfinite(size) or size <= (1.0 if by_factor else 0.0) or (by_factor and first <= 0.0):
        raise InvalidInput(f'"{name}={written}" would never end', hint="a step above 0, or a factor above 1")
    slack = 1e-9  # 0.1:1:0.1 has ten values, whatever the rounding
    steps = math.log(last / first) / math.log(size) if by_factor else (last - first) / size
    if steps > MOST_POINTS:
        raise InvalidInput(f'"{name}={written}" has more than {MOST_POINTS:,} values', hint="take a larger step")
    values = [first * size**number if by_factor else first + number * size for number in range(int(steps + slack) + 1)]
    return tuple(dict.fromkeys(variation.read(name, f"{value:.12g}") for value in values))


def run_sweep(
    scenario: Scenario,
    axes: Iterable[Axis],
    progress: Progress | None = None,
    engine: EngineName = "compiled",
    merges_equal: bool = True,
) -> Sweep:
    """All combinations, the last axis fastest."""
    axes = tuple(axes)
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f'"{name}" is swept twice', hint=f"one --sweep {name}=...")
    total = math.prod(len(axis.values) for axis in axes)
    if total > MOST_POINTS:
        raise InvalidInput(f"{total:,} combinations are more than {MOST_POINTS:,}", hint="take larger steps")
    points = []
    for done, values in enumerate(itertools.product(*(axis.values for axis in axes))):
        chosen = dict(zip(names, values, strict=True))
        points.append(measure_point(scenario, chosen, share_progress(progress, done, total), engine, merges_equal))
    return Sweep(axes, tuple(points))


def share_progress(progress: Progress | None, done: int, total: int) -> Callable[[float], None] | None:
    """For one run of several: its own progress as part of the whole."""
    if progress is None:
        return None
    return lambda share: progress((done + share) / total)


def measure_point(
    scenario: Scenario,
    values: Mapping[str, Value],
    progress: Progress | None = None,
    engine: EngineName = "compiled",
    merges_equal: bool = True,
) -> SweepPoint:
    varied = vary(scenario, values)
    return replace(summarise(simulate(varied, engine, progress, merges_equal)), values=dict(values))


def summarise(outcome: Outcome) -> SweepPoint:
    """A whole simulation in a few numbers."""
    consumers = list(outcome.consumers())
    steady = find_steady_part(outcome)
    return SweepPoint(
        values={},
        latency_ms=_longest(consumers, "latency_ms"),
        latency_p99_ms=_longest(consumers, "latency_p99_ms"),
        throughput_per_s=steady.throughput_per_s,
        offered_per_s=steady.offered_per_s,
        utilisation=_busiest(outcome, steady),
        most_waiting=float(outcome.tally.most_waiting.max(initial=0.0)),
        dropped=float(outcome.tally.dropped.sum()),
        cost_per_hour=round(outcome.cost() / outcome.scenario.duration_s * 3600.0, 9),
        latency_p50_ms=_longest(consumers, "latency_p50_ms"),
        latency_p95_ms=_longest(consumers, "latency_p95_ms"),
        behind=steady.behind,
    )


def _longest(consumers: list[ConsumerOutcome], name: str) -> float | None:
    latencies = [getattr(consumer, name) for consumer in consumers]
    return None if None in latencies else max(latencies, default=None)


def _busiest(outcome: Outcome, steady: SteadyPart) -> float:
    used = outcome.tally.used[:, steady.minutes].sum(axis=1)
    offered = outcome.tally.offered[:, steady.minutes].sum(axis=1)
    machines = np.array(outcome.layout.vm, np.int64)
    count = len(outcome.scenario.vms)
    used, offered = (np.bincount(machines, each, count) for each in (used, offered))
    return float(np.divide(used, offered, out=np.zeros(count), where=offered > 0.0).max(initial=0.0))
