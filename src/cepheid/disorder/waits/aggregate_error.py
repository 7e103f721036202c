"""As long as the error of a windowed sum allows (AQ-K-slack: Ji et al., DEBS 2015).

    error, confidence, a sample of the values ─▶ coverage that a window needs when it is given out
    windows that were given out ─▶ coverage that they had ─▶ PD controller ─▶ its share of the growing wait

*Coverage*: the share of a window's events that had arrived when the clock was past its end by the wait.  Events on time
are taken as a Bernoulli sample of all: a sum over the share c of n values with mean m and deviation s falls short by
more than the error e less often than z deviations allow, if c - (1 - e) >= sqrt(q c (1 - c)), where q is
z^2 (m^2 + s^2) / (n m^2).  The smallest such c is what a window needs.  It is the larger root of a quadratic; at the
smaller one, which other descriptions name, the error is exceeded nearly always.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cepheid.disorder.lateness_histogram import Float64s
from cepheid.disorder.waits.growing import GrowingWait
from cepheid.disorder.waits.wait import Int64s
from cepheid.event_time import BEGINNING

PROPORTIONAL, DERIVATIVE = 0.5, 0.8  # gains of the controller
ADAPT_EVERY = 10_000  # events
MATURE_WINDOWS = 4  # windows that are kept after they were given out, so that most of their late events are known


class AggregateErrorWait:
    """error: relative, of the sum over each window_us of event time; deviations: of the confidence (1.96: 95 %)."""

    def __init__(
        self, window_us: int, error: float = 0.03, deviations: float = 1.96, adapt_every: int = ADAPT_EVERY
    ) -> None:
        self._window_us = window_us
        self._error = error
        self._deviations = deviations
        self._adapt_every = adapt_every
        self._longest = GrowingWait()
        self._newest = BEGINNING
        self._part = 1.0  # of the longest wait; all of it until something is measured
        self._last_gap: float | None = None
        self._waited_us = 0
        self._windows: dict[int, list[int]] = {}  # by number: events that were on time, all events
        self._round = 0  # events since the last adaptation
        self._sample = [0, 0.0, 0.0]  # of the values: how many, their sum, the sum of their squares

    @property
    def slack_us(self) -> int:
        return self._longest.slack_us if self._last_gap is None else self._waited_us

    def sample(self, values: Float64s) -> None:
        """Values of what is summed."""
        count, total, squares = self._sample
        self._sample = [count + len(values), total + float(values.sum()), squares + float((values**2).sum())]

    def see(self, times: Int64s, sources: Int64s) -> Int64s:
        start = 0
        late = [np.empty(0, dtype=np.int64)]
        while start < len(times):
            stop = min(len(times), start + self._adapt_every - self._round)
            late.append(self._longest.see(times[start:stop], sources[start:stop]))
            self._count(times[start:stop], late[-1])
            self._round += stop - start
            if self._round == self._adapt_every:
                self._adapt()
            start = stop
        return np.concatenate(late)

    def learn(self, needs: Int64s, moment: int) -> None:
        """The error of sums is what counts here."""

    def _count(self, times: Int64s, lateness: Int64s) -> None:
        clock = times + lateness
        self._newest = int(clock[-1])
        numbers = times // self._window_us
        on_time = clock < (numbers + 1) * self._window_us + self._waited_us
        found, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        timely = np.bincount(places, on_time)
        for number, count, good in zip(found.tolist(), counts.tolist(), timely.tolist(), strict=True):
            window = self._windows.setdefault(number, [0, 0])
            window[0] += int(good)
            window[1] += count

    def _adapt(self) -> None:
        self._round = 0
        given = (self._newest - self._waited_us) // self._window_us  # windows before this one have been given out
        first = given - MATURE_WINDOWS - self._longest.slack_us // self._window_us
        self._windows = {number: window for number, window in self._windows.items() if number >= first}
        judged = [window for number, window in self._windows.items() if number < given]
        if judged:
            coverage = sum(window[0] for window in judged) / sum(window[1] for window in judged)
            events = sum(window[1] for window in judged) / len(judged)
            gap = self.find_coverage(events) - coverage
            change = 0.0 if self._last_gap is None else gap - self._last_gap
            self._part = min(max(self._part + PROPORTIONAL * gap + DERIVATIVE * change, 0.0), 1.0)
            self._last_gap = gap
        self._waited_us = int(self._part * self._longest.slack_us)
        self._sample = [part / 2 for part in self._sample]  # younger values weigh more

    def find_coverage(self, events: float) -> float:
        """What a window of so many events needs."""
        count, total, squares = self._sample
        spread = squares * count / total**2 if total else 1.0  # (m^2 + s^2) / m^2
        return find_needed_coverage(self._error, self._deviations**2 * spread / max(events, 1.0))

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "longest": self._longest.write_state(),
            "numbers": [self._newest, self._part, self._last_gap, self._waited_us, self._round],
            "windows": [[number, *window] for number, window in self._windows.items()],
            "sample": self._sample,
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._longest.read_state(state["longest"])
        self._newest, self._part, self._last_gap, self._waited_us, self._round = state["numbers"]
        self._windows = {number: window for number, *window in state["windows"]}
        self._sample = list(state["sample"])


def find_needed_coverage(error: float, q: float) -> float:
    """The smallest coverage c with c - (1 - error) >= sqrt(q c (1 - c))."""
    half = 1 - error + q / 2  # (1 + q) c^2 - 2 half c + (1 - error)^2 = 0
    return float((half + max(half**2 - (1 + q) * (1 - error) ** 2, 0.0) ** 0.5) / (1 + q))
