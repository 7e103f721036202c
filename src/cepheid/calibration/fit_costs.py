"""From the durations of batches to what an event costs, in three ways; pure arithmetic.

    regression   duration = overhead + events * cost
    latency      the smallest mean time per event, over sizes (Equation 11 of the CEPSim paper)
    throughput   one by the greatest number of events per second (its Equation 12)

An operator that keeps events tidies up from time to time: most pushes of the performance study's Q5 take 1.3 ms, some
35 ms, and those are half of all the time.  So medians of batches would be wrong by a factor of two: the line goes
through the means of each size, every one as near as it can, as a share of it.
What is robust is the choice among blocks, each long enough to see its share of tidying: the slowest, disturbed by
something else on the machine, has no say, nor has the fastest.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from cepheid.calibration.batch_sample import BatchSample, Block, Measured
from cepheid.cost.profile import QueryProfile
from cepheid.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Line:
    overhead_s: float
    event_s: float

    def at(self, events: float) -> float:
        return self.overhead_s + events * self.event_s


def fit_costs(measured: Measured) -> QueryProfile:
    blocks = measured.blocks
    samples = [sample for block in blocks for sample in block]
    largest = max(sample.events for sample in samples)
    ranked = sorted(blocks, key=_per_event)
    left_out = len(blocks) // 5
    middle = [sample for block in ranked[left_out : len(ranked) - left_out] for sample in _settled(block)]
    line = fit_line(middle)
    if line.event_s <= 0.0:
        raise InvalidInput(
            f"batches of up to {largest:,} events take no longer than small ones: an event's cost cannot be estimated",
            hint="measure larger batches (--batch), or more events (--events)",
        )
    events = sum(sample.events for sample in samples)
    return QueryProfile(
        latency_s=min(_per_event(block) for block in _by_size(samples).values()),
        throughput_s=_fastest(blocks),
        regression_s=line.event_s,
        overhead_s=line.overhead_s,
        r2=explained_share(middle, line),
        spread=(_per_event(ranked[-1]) - _per_event(ranked[0])) / _per_event(middle),
        selectivity=sum(sample.rows for sample in samples) / events,
        largest_batch=largest,
        batches=len(samples),
        events=events,
        reach=measured.reach,
    )


def fit_line(samples: Sequence[BatchSample]) -> Line:
    """Least squares of relative errors of the mean of each size.  An overhead below zero means there is none to be
    seen."""
    means = {size: statistics.fmean(s.duration_s for s in group) for size, group in _by_size(samples).items()}
    weights = {size: 1.0 / mean**2 for size, mean in means.items()}
    whole = sum(weights.values())
    centre = sum(weights[size] * size for size in means) / whole
    middle = sum(weights[size] * mean for size, mean in means.items()) / whole
    width = sum(weights[size] * (size - centre) ** 2 for size in means)
    if width <= 1e-12 * whole * centre**2:  # all of one size
        return Line(0.0, middle / centre)
    slope = sum(weights[size] * (size - centre) * (mean - middle) for size, mean in means.items()) / width
    overhead = middle - slope * centre
    if overhead < 0.0:
        return Line(0.0, sum(s.duration_s for s in samples) / sum(s.events for s in samples))
    return Line(overhead, slope)


def explained_share(samples: Sequence[BatchSample], line: Line) -> float:
    """R2 over the mean duration of each size; 1: the line goes through all of them."""
    means = {size: statistics.fmean(s.duration_s for s in group) for size, group in _by_size(samples).items()}
    middle = statistics.fmean(means.values())
    total = sum((mean - middle) ** 2 for mean in means.values())
    left = sum((mean - line.at(size)) ** 2 for size, mean in means.items())
    return 1.0 - left / total if total > 0.0 else 0.0


def _settled(block: Block) -> Block:
    """Without the first of each run of one size, if there are three and more: it still feels the size before."""
    runs = [list(run) for _, run in groupby(block, key=lambda sample: sample.events)]
    return [sample for run in runs for sample in (run[1:] if len(run) > 2 else run)]


def _by_size(samples: Sequence[BatchSample]) -> dict[int, list[BatchSample]]:
    groups: dict[int, list[BatchSample]] = {}
    for sample in samples:
        groups.setdefault(sample.events, []).append(sample)
    return groups


def _per_event(samples: Sequence[BatchSample]) -> float:
    return sum(sample.duration_s for sample in samples) / sum(sample.events for sample in samples)


def _fastest(blocks: Sequence[Block]) -> float:
    """Of the largest batches: the median over blocks."""
    largest = max(sample.events for block in blocks for sample in block)
    each = [_per_event(full) for block in blocks if (full := [s for s in block if s.events == largest])]
    return statistics.median(each)
