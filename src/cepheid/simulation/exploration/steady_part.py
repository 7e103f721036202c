"""Did a simulation keep up with what came in?

Looked at are the whole minutes after the first, in which everything still fills up; of a shorter run, all of it.  Two
things show that it fell behind: consumers get less than 99 % of what producers were offered, or a queue grows by more
than 1 % of what goes through it.  Bounded queues show the first, unbounded ones the second.

A window or a batch gives out its events all at once: one more or less in the minutes examined is not falling behind,
and neither is chance where arrivals are random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cepheid.deployment import Alter, Deploy, Retire
from cepheid.simulation.layout import Layout
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.scenario import Scenario

ENOUGH = 0.99
STANDARD_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class SteadyPart:
    """minutes: which rows of a tally.  Throughput is in events of producers: an event is through when the slowest of
    its consumers has it.  behind: in what way it did not keep up; empty if it did."""

    minutes: slice
    offered_per_s: float
    throughput_per_s: float
    behind: str


@dataclass(frozen=True, slots=True)
class _Span:
    """From when to when, in seconds since the producers began."""

    minutes: slice
    start_s: float
    end_s: float
    is_whole_run: bool

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def find_steady_part(outcome: Outcome) -> SteadyPart:
    layout, tally = outcome.layout, outcome.tally
    span = _choose_span(outcome.scenario, tally.origins.shape[1])
    offered = {vertex: _rate_within(outcome.scenario, layout, vertex, span) for vertex in layout.producers()}
    shares: dict[int, float] = dict.fromkeys(offered, math.inf)
    worst, behind = 0.0, ""
    got = tally.origins[:, span.minutes].sum(axis=1) / span.seconds
    lag_of = _measure_lags(layout)
    for row, consumer in enumerate(layout.consumers()):
        sources = [vertex for vertex in layout.upstream(consumer) if vertex in offered]
        due = sum(offered[vertex] for vertex in sources)
        if due <= 0.0:
            continue
        share = float(got[row]) / due
        for vertex in sources:
            shares[vertex] = min(shares[vertex], share)
        missing = ENOUGH - _tolerance(outcome.scenario, layout, sources, due, lag_of(consumer), span) - share
        if missing > worst:
            worst, instance = missing, layout.instances[consumer]
            name = f'consumer "{instance.vertex.id}" of query "{instance.query}"'
            behind = f"{name} gets {got[row]:,.0f} of {due:,.0f} events/s"
    return SteadyPart(
        span.minutes,
        sum(offered.values()),
        sum(rate * shares[vertex] for vertex, rate in offered.items() if shares[vertex] < math.inf),
        behind or _find_growing_queue(outcome, span),
    )


def _choose_span(scenario: Scenario, minutes: int) -> _Span:
    last = int((scenario.tick_s + scenario.duration_s) / 60.0)  # whole minutes that are over
    if last < 2:
        return _Span(slice(0, minutes), 0.0, scenario.duration_s, is_whole_run=True)
    return _Span(slice(1, last), 60.0 - scenario.tick_s, 60.0 * last - scenario.tick_s, is_whole_run=False)


def _rate_within(scenario: Scenario, layout: Layout, vertex: int, span: _Span) -> float:
    """Events per second, over the whole span; none come while the query is not deployed."""
    arrivals = layout.arrivals(vertex)
    deployed_s, retired_s = _find_lifetime(scenario, layout, vertex) if scenario.actions else (0.0, math.inf)
    start_s, end_s = (min(max(each, deployed_s), retired_s) for each in (span.start_s, span.end_s))
    came = [arrivals.mean_rate(each) * each if each > 0.0 else 0.0 for each in (start_s, end_s)]
    return max(came[1] - came[0], 0.0) / span.seconds


def _find_lifetime(scenario: Scenario, layout: Layout, vertex: int) -> tuple[float, float]:
    """When its query began and ended, in seconds of the run; a version that was altered ends where the next begins."""
    owner = next(query for query in scenario.queries if query.name == layout.instances[vertex].query)
    version = [query.name for query in scenario.queries if query.title == owner.title].index(owner.name)
    timed = [(each.at_s - scenario.tick_s, each.action) for each in scenario.actions]
    alters = sorted(at_s for at_s, action in timed if isinstance(action, Alter) and action.name == owner.title)
    began_s, ended_s = 0.0, math.inf
    for at_s, action in timed:
        if isinstance(action, Deploy) and action.name == owner.title:
            began_s = at_s
        if isinstance(action, Retire) and action.name == owner.title:
            ended_s = at_s
    if 0 < version <= len(alters):
        began_s = alters[version - 1]
    if version < len(alters) and not layout.deployed[vertex]:
        ended_s = alters[version]
    return began_s, ended_s


def _tolerance(scenario: Scenario, layout: Layout, sources: list[int], due: float, lag_s: float, span: _Span) -> float:
    """Which share of the events may be missing though everything is well."""
    by_chance = 0.0
    if any(getattr(layout.arrivals(vertex), "seed", None) is not None for vertex in sources):
        by_chance = STANDARD_DEVIATIONS / math.sqrt(due * span.seconds)
    scheduling_s = find_scheduler(scenario.scheduler).lag_s(scenario)
    if span.is_whole_run:  # what came last is still under way
        return by_chance + (lag_s + scheduling_s + 2.0 * scenario.tick_s) / span.seconds
    fits = lag_s == 0.0 or abs(math.remainder(span.seconds, lag_s)) < scenario.tick_s
    return by_chance + (scheduling_s + (0.0 if fits else lag_s)) / span.seconds


def _measure_lags(layout: Layout) -> Callable[[int], float]:
    """How long windows hold events back on the longest way to a vertex, in seconds."""
    known: dict[int, float] = {}

    def lag_of(vertex: int) -> float:
        for each in reversed(layout.upstream(vertex)):
            before = (known[int(layout.source[edge])] for edge in layout.inputs_of[each])
            known[each] = layout.instances[each].vertex.advance_s + max(before, default=0.0)
        return known[vertex]

    return lag_of


def _find_growing_queue(outcome: Outcome, span: _Span) -> str:
    """The one that grows most, compared with what goes through it."""
    tally = outcome.tally
    first, last = span.minutes.start, span.minutes.stop - 1
    if span.is_whole_run or last <= first:
        return ""
    means = tally.waiting[:, [first, last]] / np.maximum(tally.looks[[first, last]], 1)
    growth = (means[:, 1] - means[:, 0]) / (60.0 * (last - first))
    through = tally.processed[:, span.minutes].sum(axis=1) / span.seconds
    excess = growth - (1.0 - ENOUGH) * through
    excess[means[:, 1] - means[:, 0] < 1.0] = 0.0  # less than one event
    if not len(excess) or excess.max() <= 0.0:
        return ""
    vertex = int(excess.argmax())
    instance = outcome.layout.instances[vertex]
    return (
        f'the queue of "{instance.vertex.id}" of query "{instance.query}" grows by {growth[vertex]:,.1f} events/s '
        f"({through[vertex]:,.0f} go through it)"
    )
