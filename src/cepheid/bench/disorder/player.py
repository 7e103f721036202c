"""Plays events at their times of arrival: each is handed over once the clock has passed its time plus its delay.

    events in the order of arrival ─▶ due? ─▶ may they go? (source limiter) ─▶ hand over

Those that are due together are handed over together.  What is handed over late, because the receiver was busy, does
not delay what is due after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from cepheid.bench.disorder.delays.delay import SECOND_NS, Int64s
from cepheid.bench.disorder.source_limiter import SourceLimiter


def play(
    arrivals_ns: Int64s,
    hand_over: Callable[[int, int, int], object],
    *,
    limiter: SourceLimiter | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """arrivals_ns: int64[n], ascending.  hand_over(begin, end, at_ns): events begin to end - 1 go, so long after the
    start; sleep: for so many seconds."""
    start, at = clock(), 0
    while at < len(arrivals_ns):
        now = clock() - start
        due = int(np.searchsorted(arrivals_ns, now, side="left")) - at  # the clock has passed them
        may_go = due if limiter is None or due <= 0 else limiter.take(due, now)
        if may_go > 0:
            hand_over(at, at + may_go, now)
            at += may_go
            continue
        rest = int(arrivals_ns[at]) + 1 - now if due <= 0 or limiter is None else limiter.wait_ns(now)
        sleep(max(rest, 1) / SECOND_NS)
