"""Batches on the embedded host: pushes of one size after another, one right behind the other."""

from __future__ import annotations

from collections.abc import Callable

import cepheid as cep
from cepheid.calibration.batch_plan import BatchPlan
from cepheid.calibration.batch_sample import BatchSample, Block, Measured
from cepheid.calibration.feed import Feed
from cepheid.calibration.stopwatch import Stopwatch, WallClock
from cepheid.compiler import Query

Notify = Callable[[float], None]  # how much is done, 0 to 1


def measure_pushes(
    query: Query, feed: Feed, plan: BatchPlan, at_most_s: float, notify: Notify, clock: Stopwatch | None = None
) -> Measured:
    """at_most_s: a size that has used up its share of it is left after one batch; the warm-up ends at a third of it."""
    clock = clock or WallClock()
    opened = cep.open(query, **{name: table.schema for name, table in feed.tables.items()})
    at, began, blocks = 0, clock.now(), list[Block]()
    for size in plan.warm_up:
        if at and clock.now() - began > at_most_s / 3.0:
            break
        opened.push(**feed.take(at, size))
        at += size
    began, done = clock.now(), 0
    for number in range(plan.blocks):
        block: Block = []
        for size, rounds in plan.runs(number):
            done += 1
            until = began + at_most_s * done / (plan.blocks * len(plan.sizes))
            for _ in range(rounds):
                batch = feed.take(at, size)
                at += size
                start = clock.now()
                rows = opened.push(**batch)
                block.append(BatchSample(size, len(rows), clock.now() - start))
                if clock.now() > until:
                    break
        blocks.append(block)
        notify((number + 1) / plan.blocks)
    reached = opened.counts.events
    return Measured(blocks, reached / at if 0 < reached <= at else 1.0)
