"""As late as the latest of the last events was, or as a quantile of them (Weiss et al., TOSN 2020, compare such rules).

    last 100,000 events, in 20 parts: [ · ][ · ] ... [ · ]  ─▶ maximum, or quantile
                                       └ forgotten when a new part is full

It follows the stream, and lags behind it by its window; nothing holds it to its share.  Quantiles are those of a
histogram, up to a tenth too long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from cepheid.disorder.lateness_histogram import (
    BUCKETS,
    Float64s,
    LatenessHistogram,
    find_buckets,
    read_floats,
    write_floats,
)
from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING

PARTS = 20


class WindowedWait:
    """miss: the share of events that may be later than the wait; 0: none of the window was.  window: in events."""

    def __init__(self, miss: float, window: int = 100_000, max_wait_us: int | None = None) -> None:
        self.slack_us = 0
        self._miss = miss
        self._part = max(window // PARTS, 1)
        self._max_wait_us = max_wait_us
        self._newest = BEGINNING
        self._counts: deque[Float64s] = deque(maxlen=PARTS)  # of each part that is full
        self._longest: deque[int] = deque(maxlen=PARTS)
        self._filling = np.zeros(BUCKETS)
        self._filled = self._filling_longest = 0

    def see(self, times: Int64s, sources: Int64s) -> Int64s:  # noqa: ARG002 (any source may be late)
        lateness = measure_lateness(times, self._newest)
        self._newest = max(self._newest, int(times.max(initial=BEGINNING)))
        start = 0
        while start < len(lateness):
            part = lateness[start : start + self._part - self._filled]
            start += len(part)
            self._filling += np.bincount(find_buckets(part), minlength=BUCKETS)
            self._filling_longest = max(self._filling_longest, int(part.max()))
            self._filled += len(part)
            if self._filled == self._part:
                self._renew()
        if not self._counts:  # nothing to take a share of yet
            self._hold(self._filling_longest)
        return lateness

    def learn(self, needs: Int64s, moment: int) -> None:
        """What results needed is of no interest."""

    def _renew(self) -> None:
        self._counts.append(self._filling)
        self._longest.append(self._filling_longest)
        self._filling, self._filled, self._filling_longest = np.zeros(BUCKETS), 0, 0
        wait = max(self._longest)
        if self._miss:
            window = LatenessHistogram()
            window.weights = np.sum(self._counts, axis=0)
            wait = min(wait, int(window.find_bound(self._miss)))
        self._hold(wait)

    def _hold(self, wait: int) -> None:
        self.slack_us = wait if self._max_wait_us is None else min(wait, self._max_wait_us)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "slack_us": self.slack_us,
            "newest": self._newest,
            "counts": [write_floats(each) for each in self._counts],
            "longest": list(self._longest),
            "filling": write_floats(self._filling),
            "filled": [self._filled, self._filling_longest],
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.slack_us, self._newest = state["slack_us"], state["newest"]
        self._counts = deque(map(read_floats, state["counts"]), maxlen=PARTS)
        self._longest = deque(state["longest"], maxlen=PARTS)
        self._filling = read_floats(state["filling"])
        self._filled, self._filling_longest = state["filled"]
