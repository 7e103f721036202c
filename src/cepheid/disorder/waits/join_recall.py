"""As long as the recall of a windowed join of several streams asks for (Ji et al., ICDE 2016).

    delays of each stream ─▶ histories, which a change cuts short ─▶ recall that each wait would have ─┐
    results so far, right and wrong ─▶ the recall that the next second needs to repay them ───────────┴▶ shortest wait

An event of a stream that is processed after the wait K meets, of the others, what has arrived by then: of the part of a
window that is `a` old, the share whose delay is at most K + a.  With F the distribution of delays, r the rate, in basic
windows of 10 ms, the window of stream j holds  on_j(K) = sum over its parts of  r b F_j(K + ahead_j + part), and

    recall(K) = sum_i n_i F_i(K + ahead_i) prod_{j != i} on_j(K)  /  sum_i n_i prod_{j != i} all_j

`ahead_j`: how far the clock of a stream is ahead of the slowest, for which it waits anyway.  Late events are taken to
join as others do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.disorder.lateness_histogram import Float64s
from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING

BUCKET_US = 10_000  # of delays, and of basic windows
LONGEST_BUCKETS = 6_000  # a minute: what is later counts as that late
ADAPT_EVERY_US = 1_000_000
PERIOD_US = 60_000_000  # over which the recall is held
REPAY_STEPS = 40  # in which a miss is repaid; as published, 1, waits go up and down between the longest and hardly any
LONGEST_HISTORY = 60  # of these steps
CERTAINTY = 0.002  # how seldom a steady stream may be taken for one that changed


@dataclass(slots=True)
class StreamHistory:
    """The delays of a stream, step by step."""

    newest: int = BEGINNING
    filling: list[int] = field(default_factory=list)  # buckets of the events of this step
    steps: deque[Int64s] = field(default_factory=lambda: deque(maxlen=LONGEST_HISTORY))  # counts by bucket

    def close_step(self) -> int:
        """Begin another step; how many events the last one had."""
        self.steps.append(np.bincount(np.array(self.filling, dtype=np.int64), minlength=1))
        count, self.filling = len(self.filling), []
        self._forget_another_regime()
        return count

    def _forget_another_regime(self) -> None:
        """As ADWIN does (Bifet and Gavalda, 2007), with steps for events: if the older part has another mean than the
        younger, beyond what chance allows, it goes."""
        counts = np.array([int(step.sum()) for step in self.steps], dtype=np.float64)
        sums = np.array([float(step @ np.arange(len(step))) for step in self.steps])
        squares = np.array([float(step @ np.arange(len(step)) ** 2) for step in self.steps])
        total = counts.sum()
        if len(counts) < 2 or not total:
            return
        older, younger = counts.cumsum()[:-1], total - counts.cumsum()[:-1]
        variance = max(squares.sum() / total - (sums.sum() / total) ** 2, 0.0)
        parts = 1 / np.maximum(older, 1) + 1 / np.maximum(younger, 1)
        bound = np.sqrt(2 * parts * variance * np.log(2 * len(counts) / CERTAINTY)) + 2 / 3 * parts
        gaps = np.abs(
            sums.cumsum()[:-1] / np.maximum(older, 1) - (sums.sum() - sums.cumsum()[:-1]) / np.maximum(younger, 1)
        )
        cut = np.flatnonzero((gaps > bound) & (older > 0) & (younger > 0))
        for _ in range(int(cut[-1]) + 1 if len(cut) else 0):
            self.steps.popleft()

    def distribute(self, length: int) -> Float64s:
        """float64[length]: the share of delays of at most so many buckets."""
        counts = np.zeros(length)
        for step in self.steps:
            counts[: len(step)] += step
        return counts.cumsum() / max(counts.sum(), 1.0)


class JoinRecallWait:
    """windows_us: how long each stream is remembered by the join, by the number of its source."""

    def __init__(
        self, recall: float, windows_us: Sequence[int], max_wait_us: int | None = None, repay_steps: int = REPAY_STEPS
    ) -> None:
        self.slack_us = 0
        self._goal = recall
        self._repay_steps = repay_steps
        self._windows = [max(window // BUCKET_US, 1) for window in windows_us]
        self._max_wait_us = max_wait_us
        self._newest = BEGINNING
        self._next_step = BEGINNING
        self._streams = [StreamHistory() for _ in windows_us]
        steps = PERIOD_US // ADAPT_EVERY_US - 1
        self._true: deque[float] = deque(maxlen=steps)  # results of each step of the period
        self._right: deque[float] = deque(maxlen=steps)
        self._learned = [0, 0]  # results since the last step, and those of them that were right at first

    def see(self, times: Int64s, sources: Int64s) -> Int64s:
        lateness = measure_lateness(times, self._newest)
        if not len(times):
            return lateness
        clock = times + lateness
        if self._next_step == BEGINNING:
            self._next_step = int(clock[0]) + ADAPT_EVERY_US
        start = 0
        while clock[-1] >= self._next_step:
            stop = int(np.searchsorted(clock, self._next_step))
            self._collect(times[start:stop], sources[start:stop])
            self._adapt()
            self._next_step = int(clock[stop]) + ADAPT_EVERY_US
            start = stop
        self._collect(times[start:], sources[start:])
        self._newest = int(clock[-1])
        return lateness

    def learn(self, needs: Int64s, moment: int) -> None:  # noqa: ARG002 (steps are those of the events)
        self._learned[0] += len(needs)
        self._learned[1] += int(np.count_nonzero(needs <= self.slack_us))

    def _collect(self, times: Int64s, sources: Int64s) -> None:
        for number, stream in enumerate(self._streams):
            mine = times[sources == number]
            if len(mine):
                delays = measure_lateness(mine, stream.newest)
                stream.newest = int(mine[-1] + delays[-1])
                stream.filling += np.minimum(-(-delays // BUCKET_US), LONGEST_BUCKETS).tolist()

    def _adapt(self) -> None:
        counts = [stream.close_step() for stream in self._streams]
        recalls = self._estimate_recalls(counts)
        used = min(self.slack_us // BUCKET_US, LONGEST_BUCKETS)
        true, right = float(self._learned[0]), float(self._learned[1])
        if not true:  # no results: as many as the model believes
            true, right = 1.0, float(recalls[used])
        known, good = sum(self._true), sum(self._right)
        coming = true * self._repay_steps  # of the next steps, which will be like this one
        needed = (self._goal * (known + coming) - good) / coming
        enough = np.flatnonzero(recalls >= min(max(needed, 0.0), 1.0) - 1e-9)
        wait = int(enough[0] if len(enough) else LONGEST_BUCKETS) * BUCKET_US
        self.slack_us = wait if self._max_wait_us is None else min(wait, self._max_wait_us)
        self._true.append(true)
        self._right.append(right)
        self._learned = [0, 0]

    def _estimate_recalls(self, counts: list[int]) -> Float64s:
        """float64[LONGEST_BUCKETS + 1]: with a wait of so many buckets."""
        slowest = min(stream.newest for stream in self._streams)
        waits = np.arange(LONGEST_BUCKETS + 1)
        in_order, complete = [], []
        for stream, window in zip(self._streams, self._windows, strict=True):
            ahead = min((stream.newest - slowest) // BUCKET_US, LONGEST_BUCKETS) if slowest > BEGINNING else 0
            on_time = np.append(stream.distribute(LONGEST_BUCKETS + 1), np.ones(LONGEST_BUCKETS + window))
            summed = np.append(0.0, on_time.cumsum())
            in_order.append(on_time[waits + ahead])
            complete.append((summed[waits + ahead + window] - summed[waits + ahead]) / window)
        recalls, weights = np.zeros(LONGEST_BUCKETS + 1), 0.0
        for own, count in enumerate(counts):
            others = [each for number, each in enumerate(complete) if number != own]
            recalls += count * in_order[own] * np.prod(others, axis=0)
            weights += count
        return recalls / weights if weights else np.ones(LONGEST_BUCKETS + 1)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "numbers": [self.slack_us, self._newest, self._next_step],
            "results": [list(self._true), list(self._right), self._learned],
            "streams": [
                {"newest": each.newest, "filling": each.filling, "steps": [step.tolist() for step in each.steps]}
                for each in self._streams
            ],
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.slack_us, self._newest, self._next_step = state["numbers"]
        true, right, self._learned = state["results"]
        self._true, self._right = deque(true, self._true.maxlen), deque(right, self._right.maxlen)
        for stream, kept in zip(self._streams, state["streams"], strict=True):
            stream.newest, stream.filling = kept["newest"], list(kept["filling"])
            stream.steps = deque((np.array(step, dtype=np.int64) for step in kept["steps"]), LONGEST_HISTORY)
