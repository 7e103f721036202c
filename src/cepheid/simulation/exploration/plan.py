"""How many engines are needed for a rate, at a latency?

    cepheid simulate q1.toml --plan latency_p99=2s rate=200000

An engine is everything in the scenario, machines and queries; n of them share the events.  Their number is doubled
until it is enough, then halved in between: with more engines each has less to do, so the fewest are found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.exploration.sweep import Axis, Sweep, SweepPoint, measure_point, share_progress
from cepheid.simulation.run import EngineName
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.scenarios.variations import rate_into, with_rate
from cepheid.simulation.simulate import Progress

MOST_ENGINES = 1024
MS = {"ms": 1.0, "s": 1000.0, "min": 60_000.0}
GOALS = {
    "latency": "latency_ms",
    "latency_p50": "latency_p50_ms",
    "latency_p95": "latency_p95_ms",
    "latency_p99": "latency_p99_ms",
    "cost": "cost_per_hour",
}
EXAMPLE = "--plan latency_p99=2s rate=200000"


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """goals: the most that each may be; latencies in ms, cost per hour.  rate: events per second into each query.

    engines: the fewest that are enough, None: no number that was tried.  enough: its results; too_few: those
    of one less, or of the most that were tried.  reason: why not fewer, or why none.
    """

    goals: dict[str, float]
    rate: float
    engines: int | None
    enough: SweepPoint | None
    too_few: SweepPoint | None
    tried: tuple[SweepPoint, ...]
    reason: str

    def as_sweep(self) -> Sweep:
        """What was tried, for pictures and reports."""
        return Sweep((Axis("engines", tuple(point.values["engines"] for point in self.tried)),), self.tried)

    def as_json(self) -> dict[str, Any]:
        def show(point: SweepPoint | None) -> dict[str, Any] | None:
            return None if point is None else point.as_json()

        return {
            "plan": {
                "goals": self.goals,
                "rate": self.rate,
                "engines": self.engines,
                "cost_per_hour": None if self.enough is None else self.enough.cost_per_hour,
                "enough": show(self.enough),
                "too_few": show(self.too_few),
                "tried": [point.as_json() for point in self.tried],
                "reason": self.reason,
            }
        }


def parse_goals(words: Iterable[str]) -> tuple[dict[str, float], float | None]:
    """Goals, and the rate if one is given: latency_p99=2s rate=200000."""
    goals: dict[str, float] = {}
    rate: float | None = None
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InvalidInput(f'"{word}" is not of the form NAME=VALUE', hint=EXAMPLE)
        if name in goals or (name == "rate" and rate is not None):
            raise InvalidInput(f'"{name}" is planned twice', hint=f"leave out one {name}=...")
        if name == "rate":
            rate = _parse_number(name, value)
        elif name == "cost":
            goals[name] = _parse_number(name, value)
        elif name in GOALS:
            goals[name] = _parse_duration_ms(name, value)
        else:
            raise InvalidInput(f'"{name}" is no goal', hint=suggest_name(name, [*GOALS, "rate"]))
    if not goals:
        raise InvalidInput("a plan needs a goal", hint=EXAMPLE)
    return goals, rate


def _parse_number(name: str, text: str) -> float:
    try:
        number = float(text.removesuffix("/s") if name == "rate" else text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0.0:
        raise InvalidInput(f'"{name}={text}" needs a number above 0', hint=f"for instance {name}=200000")
    return number


def _parse_duration_ms(name: str, text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*(ms|s|min)", text.strip())
    if found is None or float(found[1]) <= 0.0:
        raise InvalidInput(f'"{name}={text}" needs a duration above 0', hint=f"{name}=500ms, {name}=2s or {name}=1min")
    return float(found[1]) * MS[found[2]]


def make_plan(
    scenario: Scenario,
    goals: dict[str, float],
    rate: float | None = None,
    most_engines: int = MOST_ENGINES,
    progress: Progress | None = None,
    engine: EngineName = "compiled",
    merges_equal: bool = True,
) -> CapacityPlan:
    """rate: events per second into each query, over all engines; None: as the scenario says."""
    if rate is not None:
        scenario = with_rate(scenario, rate)
    else:
        rate = max(rate_into(scenario, query) for query in scenario.queries)
    others = {name: most for name, most in goals.items() if name != "cost"}
    tried: dict[int, SweepPoint] = {}
    expected = 1 + 2 * math.ceil(math.log2(max(most_engines, 2)))

    def is_enough(engines: int) -> bool:
        if engines not in tried:
            part = share_progress(progress, min(len(tried), expected - 1), expected)
            tried[engines] = measure_point(scenario, {"engines": engines}, part, engine, merges_equal)
        return not find_shortfall(tried[engines], others)

    found = 1
    while not is_enough(found) and found < most_engines:
        found = min(2 * found, most_engines)
    enough = is_enough(found)
    if enough and found > 1:
        low = max(number for number in tried if number < found)  # not enough; found is
        while found - low > 1:
            middle = (low + found) // 2
            if is_enough(middle):
                found = middle
            else:
                low = middle
    if progress is not None:
        progress(1.0)
    points = tuple(tried[number] for number in sorted(tried))
    if not enough:
        why = find_shortfall(tried[found], others)
        reason = f"{_count(found)}, the most that may be, {'is' if found == 1 else 'are'} not enough: {why}"
        return CapacityPlan(goals, rate, None, None, tried[found], points, reason)
    too_dear = find_shortfall(tried[found], goals)
    if too_dear:
        reason = f"{_count(found)} {'is' if found == 1 else 'are'} needed, but {too_dear}"
        return CapacityPlan(goals, rate, None, tried[found], tried.get(found - 1), points, reason)
    if found == 1:
        return CapacityPlan(goals, rate, 1, tried[1], None, points, "one engine is enough")
    why = find_shortfall(tried[found - 1], others)
    be = "is" if found == 2 else "are"
    return CapacityPlan(
        goals, rate, found, tried[found], tried[found - 1], points, f"{_count(found - 1)} {be} too few: {why}"
    )


def find_shortfall(point: SweepPoint, goals: dict[str, float]) -> str:
    """Why a point does not do; empty if it does."""
    if point.behind:
        return point.behind
    for name, most in goals.items():
        value = getattr(point, GOALS[name])
        if value is None:
            return "a consumer gets nothing"
        if value > most * (1.0 + 1e-9):  # sums of prices are rounded
            return f"{name} is {_show(name, value)}, more than {_show(name, most)}"
    return ""


def _show(name: str, value: float) -> str:
    if name == "cost":
        return f"{value:,.2f} per hour"
    return f"{value:,.0f} ms" if value < 10_000.0 else f"{value / 1000.0:,.1f} s"


def _count(engines: int) -> str:
    return "1 engine" if engines == 1 else f"{engines} engines"
