"""Events at a rate into the embedded host: at every trigger, or after the previous push, all that has arrived.

One thread does it all, so that it needs one core: how many events have come is computed from the clock, and taking them
copies nothing.
"""

from __future__ import annotations

import cepheid as cep
from cepheid.calibration.feed import Feed
from cepheid.calibration.paced_run import PacedBatch
from cepheid.calibration.stopwatch import Stopwatch, WallClock
from cepheid.compiler import Query


def run_paced_pushes(
    query: Query,
    feed: Feed,
    warm_up: tuple[int, ...],
    rate_per_s: float,
    seconds: float,
    trigger_s: float,
    most: int,
    clock: Stopwatch | None = None,
) -> list[PacedBatch]:
    """seconds: at most; the run ends earlier when the feed does."""
    clock = clock or WallClock()
    opened = cep.open(query, **{name: table.schema for name, table in feed.tables.items()})
    begin = 0
    for size in warm_up:
        opened.push(**feed.take(begin, size))
        begin += size
    seconds = min(seconds, (len(feed) - begin - most) / rate_per_s)
    batches: list[PacedBatch] = []
    taken, began = 0, clock.now()
    while True:
        start = clock.now() - began
        if start >= seconds:
            return batches
        waiting = most + int(start * rate_per_s) - taken
        size = min(waiting, most)
        if size > 0:
            opened.push(**feed.take(begin + taken, size))
            taken += size
            batches.append(PacedBatch(start, clock.now() - began, size, waiting))
        pause = began + start + trigger_s - clock.now()
        if pause > 0.0:
            clock.sleep(pause)
