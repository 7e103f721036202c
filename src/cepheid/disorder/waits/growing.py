"""As long as the latest event so far was late (Equations 3.1 and 3.2): never less than before, whatever comes.

Of a stream whose delays have a heavy tail, one straggler makes all events wait for ever: this rule is a baseline.

With `clock_sources`, as in the thesis, only events of these sources say how far time has come: at each of them the wait
grows to how far it is ahead of any event since the one before it.  What comes between them is not measured yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING, END


class GrowingWait:
    """clock_sources: the numbers of sources that say how far time has come; None: every new maximum does."""

    def __init__(self, clock_sources: Collection[int] | None = None, max_wait_us: int | None = None) -> None:
        self._longest_us = 0
        self._max_wait_us = END if max_wait_us is None else max_wait_us
        self._clock_sources = None if clock_sources is None else np.array(sorted(clock_sources), dtype=np.int64)
        self._newest = BEGINNING
        self._oldest = END  # of the events since the last clock event

    @property
    def slack_us(self) -> int:
        return min(self._longest_us, self._max_wait_us)

    def see(self, times: Int64s, sources: Int64s) -> Int64s:
        lateness = measure_lateness(times, self._newest)
        if not len(times):
            return lateness
        self._newest = max(self._newest, int(times.max()))
        if self._clock_sources is None:
            self._longest_us = max(self._longest_us, int(lateness.max()))
        else:
            self._follow_clock(times, np.flatnonzero(np.isin(sources, self._clock_sources)))
        return lateness

    def _follow_clock(self, times: Int64s, ticks: Int64s) -> None:
        """ticks: the places of clock events."""
        rest = times
        if len(ticks):
            starts = np.append(0, ticks[:-1] + 1)  # of the events that a clock event is compared with, itself the last
            oldest = np.minimum.reduceat(times[: ticks[-1] + 1], starts)
            oldest[0] = min(int(oldest[0]), self._oldest)
            self._longest_us = max(self._longest_us, int((times[ticks] - oldest).max()))
            self._oldest, rest = END, times[ticks[-1] + 1 :]
        self._oldest = min(self._oldest, int(rest.min(initial=END)))

    def learn(self, needs: Int64s, moment: int) -> None:
        """What results needed is of no interest."""

    def write_state(self) -> dict[str, Any]:
        return {"longest_us": self._longest_us, "newest": self._newest, "oldest": self._oldest}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._longest_us, self._newest, self._oldest = state["longest_us"], state["newest"], state["oldest"]
