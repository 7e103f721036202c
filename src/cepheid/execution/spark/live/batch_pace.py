"""How often a batch begins and how much it may take, so that rows come soon enough and Spark is not busy for nothing.

    events and seconds of recent batches, the rate of arrivals, the goal ─choose_pace─▶ Pace

A batch takes `fixed` seconds and `each` for every event.  An event waits for the next batch, at most `every`, and then
for that batch: every + fixed + each * rate * every is to be within the goal.  The longest such interval is the
cheapest.  Where batches cannot keep that pace, each begins when the one before has ended: it cannot be sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_BATCHES = 5
MARGIN = 0.8  # of the goal that is planned with: batches vary
WORTH = 1.25  # a change smaller than this is not worth interrupting the stream


@dataclass(frozen=True, slots=True)
class MeasuredBatch:
    """files: that it read, 0: not known."""

    events: int
    seconds: float
    files: int = 0


@dataclass(frozen=True, slots=True)
class BatchCost:
    fixed_s: float
    each_s: float

    def seconds(self, events: float) -> float:
        return self.fixed_s + self.each_s * events


@dataclass(frozen=True, slots=True)
class Pace:
    """every_s: between the beginnings of two batches; 0: as soon as the one before has ended.  most_events: that one
    batch should take.  in_reach: can the goal be kept?"""

    every_s: float
    most_events: int
    in_reach: bool = True

    def differs(self, other: Pace | None) -> bool:
        """By so much that it is worth a change?"""
        return (
            other is None
            or _ratio(self.every_s, other.every_s) > WORTH
            or _ratio(self.most_events, other.most_events) > 2 * WORTH
        )

    def most_files(self, batches: Sequence[MeasuredBatch]) -> int | None:
        """The same in files, if it is known how many events they have."""
        files = sum(batch.files for batch in batches)
        events = sum(batch.events for batch in batches if batch.files)
        return max(1, int(self.most_events * files / events)) if files and events else None


def _ratio(one: float, other: float) -> float:
    smaller, larger = sorted((one, other))
    if larger == 0:
        return 1.0
    return larger / smaller if smaller else float("inf")


def fit_cost(batches: Sequence[MeasuredBatch]) -> BatchCost:
    """A line through what was measured, with neither part below zero."""
    events = np.array([batch.events for batch in batches], dtype=np.float64)
    seconds = np.array([batch.seconds for batch in batches], dtype=np.float64)
    spread = events - events.mean()
    slope = float(spread @ (seconds - seconds.mean()) / (spread @ spread)) if spread.any() else 0.0
    each = max(slope, 0.0)
    fixed = float(np.median(seconds - each * events))
    if fixed >= 0:
        return BatchCost(fixed, each)
    busy = events > 0
    return BatchCost(0.0, float(np.median(seconds[busy] / events[busy])))


def choose_pace(batches: Sequence[MeasuredBatch], rate_per_s: float, goal_s: float) -> Pace | None:
    """None: too little is known yet."""
    known = [batch for batch in batches if batch.events]
    if len(known) < LEAST_BATCHES:
        return None
    cost = fit_cost(known)
    goal = MARGIN * goal_s
    most = int((goal - cost.fixed_s) / cost.each_s) if cost.each_s > 0 and goal > cost.fixed_s else 0
    largest = max(batch.events for batch in known)
    if most == 0 or cost.each_s == 0:
        most = largest if cost.each_s else 2 * largest  # nothing says that more would take longer: try
    every = (goal - cost.fixed_s) / (1 + cost.each_s * rate_per_s)
    if every >= cost.seconds(rate_per_s * every) and every > 0:
        return Pace(round(every, 2), max(most, 1))
    load = cost.each_s * rate_per_s
    soonest = cost.fixed_s / (1 - load) if load < 1 else float("inf")
    return Pace(0.0, max(most, 1), in_reach=2 * soonest <= goal_s)
