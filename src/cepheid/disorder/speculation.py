"""What share of the wait events are really held: the speculation factor alpha, 1 for all of it, 0 for none.

    loads of components ─▶ above the target zone: alpha was too small, remember it as best; back to 1
                        ─▶ below it: halve, down to the bisection line between best and 1, from there in small steps
                        ─▶ within it: stay
    histogram of needs, costs ─▶ the alpha that costs least

Two rules.  By load: speculate as much as the processors allow, searched for as TCP searches for its window (section
3.2.2 of the thesis).  By cost: a wait of alpha K costs its time, and what is given out too early costs a correction;
how often, the needs of past results say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cepheid.disorder.lateness_histogram import BOUNDS_US, LatenessHistogram
from cepheid.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadZone:
    """lowest, highest: of the target zone.  step: of alpha, once it is below the bisection line.  bisection: where that
    is: "midpoint" between best and 1, (1 + best) / 2, as is meant; "printed", (1 - best) / 2, as the thesis prints it.
    aggregation: of the loads of several components.  smallest: below this alpha is 0.
    """

    lowest: float = 0.6
    highest: float = 0.8
    step: float = 0.05
    bisection: Literal["midpoint", "printed"] = "midpoint"
    aggregation: Literal["max", "mean"] = "max"
    smallest: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.lowest <= self.highest:
            hint = "loads are shares of what a processor can do: lowest=0.6, highest=0.8"
            raise InvalidInput(f"the target zone is from {self.lowest} to {self.highest}", hint=hint)
        if not 0 < self.step <= 1:
            raise InvalidInput(f"step is {self.step}", hint="a share of the wait: step=0.05")

    def aggregate(self, loads: Sequence[float]) -> float:
        return max(loads) if self.aggregation == "max" else sum(loads) / len(loads)

    def find_line(self, best: float) -> float:
        return (1 + best) / 2 if self.bisection == "midpoint" else (1 - best) / 2


@dataclass(frozen=True, slots=True)
class Speculation:
    """best: the factor at which the load left the zone for the last time; None: it never did."""

    factor: float = 1.0
    best: float | None = None


def follow_load(now: Speculation, loads: Sequence[float], zone: LoadZone) -> Speculation:
    """What comes next, after one more measurement: the loads of all components, between 0 and 1."""
    if not loads:
        return now
    load = zone.aggregate(loads)
    if load > zone.highest:
        return now if now.factor == 1 else Speculation(1.0, now.factor)  # 1 is no news: there is nothing to take back
    if load >= zone.lowest or now.factor == 0:
        return now
    half = now.factor / 2
    if now.best is None:
        factor = half
    elif now.factor >= (line := zone.find_line(now.best)):
        factor = max(half, line - zone.step)  # just below the line, and no further
    else:
        factor = now.factor - zone.step
    return replace(now, factor=factor if factor >= zone.smallest else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationCosts:
    """What one correction of a result costs, in any unit, and what a second costs that a result comes later."""

    correction: float
    second: float


def choose_by_cost(needs: LatenessHistogram, slack_us: int, costs: SpeculationCosts) -> float:
    """The share of the slack that costs least: needs that are longer than what is held make corrections.

    What is given out after `held` costs  P(need > held) correction + held second.
    """
    if slack_us <= 0 or not needs.total:
        return 1.0
    held = np.append(BOUNDS_US[slack_us > BOUNDS_US], slack_us)  # between them nothing is known
    corrected = np.array([needs.find_share_above(each) for each in held])
    cost = corrected * costs.correction + held / 1e6 * costs.second
    return float(held[cost.argmin()] / slack_us)
