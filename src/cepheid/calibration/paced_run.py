"""The result of a run with events offered at a fixed rate; the same record for every host.

A run begins with one full batch waiting: it works that off, or falls further behind.  The first batches are not
counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import InvalidInput

UNCOUNTED = 3
FEWEST_COUNTED = 4
GROWTH = 0.02  # of what is offered: slower growth cannot be distinguished from a backlog that goes up and down


@dataclass(frozen=True, slots=True)
class PacedBatch:
    """Times in seconds since the source began.  waiting: events that had come and were not taken when it started, those
    it took among them."""

    start_s: float
    end_s: float
    events: int
    waiting: int


@dataclass(frozen=True, slots=True)
class PacedRun:
    """throughput_per_s: events taken and done per second.  busy: the share of time in which a batch ran.  grows: more
    and more events wait, and batches are as large as they may be."""

    offered_per_s: float
    throughput_per_s: float
    busy: float
    grows: bool
    batches: int
    mean_batch: float


def judge_run(batches: Sequence[PacedBatch], rate_per_s: float, most_events: int) -> PacedRun:
    if len(batches) < UNCOUNTED + FEWEST_COUNTED:
        raise InvalidInput(
            f"in a run at {rate_per_s:,.0f} events/s only {len(batches)} batches were done: too few to be judged",
            hint="is the machine busy with something else?",
        )
    first, *counted = batches[UNCOUNTED - 1 :]
    # From start to start: a host that keeps up takes what came between two starts, whatever a single batch lasts
    elapsed = counted[-1].start_s - first.start_s
    events = sum(batch.events for batch in counted)
    third = max(1, len(counted) // 3)
    early, late = counted[:third], counted[-third:]
    before, after = (statistics.median(batch.waiting for batch in part) for part in (early, late))
    between = statistics.median(batch.start_s for batch in late) - statistics.median(batch.start_s for batch in early)
    return PacedRun(
        offered_per_s=rate_per_s,
        throughput_per_s=events / elapsed,
        busy=sum(batch.end_s - batch.start_s for batch in (first, *counted[:-1])) / elapsed,
        grows=after > most_events and after - before > GROWTH * rate_per_s * between,
        batches=len(counted),
        mean_batch=events / len(counted),
    )
