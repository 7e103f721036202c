"""As long as a share of results needs: `recall` of them are right when they are given out first.

    how late events are ────────────▶ held quantile ─┐  until results are known: recall ** (1 / events_per_result)
    what results needed (`learn`) ──▶ held quantile ─┴▶ up at once, down slowly ─┐
    a source that says nothing ─▶ silent sources ─▶ as long as it is behind ─────┴▶ the longer one, at most max_wait

The rule looks at blocks of 64 events and adapts each 32 blocks, sooner if far too many were late: always after the same
events, however they are cut into batches.  It keeps the watermark that its slack makes, so that it counts itself what
came behind it.  In the first 1,000 events nothing is known: it waits twice as long as the latest event so far was late,
and never for longer than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cepheid.disorder.lateness_histogram import (
    BUCKETS,
    TEN_MINUTES_US,
    LatenessHistogram,
    find_buckets,
    read_floats,
    write_floats,
)
from cepheid.disorder.waits.held_quantile import MARGIN, ROUND, HeldQuantile
from cepheid.disorder.waits.silent_sources import SilentSources
from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING, END

BLOCK = 64  # events that are looked at together
COLD_EVENTS = 1_000
KNOWN_RESULTS = 1_000  # results, before which single events are what is known
IDLE_AFTER_US = 10_000_000  # how long a source that falls silent is waited for, if nothing else is known of it
BURST_WEIGHT = 0.001  # of an event that a source sent after it had been away
SHRINK = 0.9  # of the wait, in a round, at the least
NUMBERS = (  # of the state
    *("newest", "watermark", "waited_us", "seen", "longest", "learned"),
    *("round", "misses", "excused", "result_round", "result_misses"),
)


class RecallWait:
    """events_per_result: how many events a result is made of, as far as one knows before there are any."""

    def __init__(
        self,
        recall: float = 0.999,
        max_wait_us: int | None = None,
        *,
        half_life_us: float = TEN_MINUTES_US,
        idle_after_us: int = IDLE_AFTER_US,
        events_per_result: int = 1,
    ) -> None:
        self._max_wait_us = float(END if max_wait_us is None else max_wait_us)
        self._miss = 1 - recall ** (1 / events_per_result)
        self._events = HeldQuantile(self._miss, half_life_us)
        self._results = HeldQuantile(1 - recall, half_life_us)
        self._silent = SilentSources(BLOCK, idle_after_us)
        self._newest = BEGINNING
        self._watermark = BEGINNING
        self._waited_us = 0.0
        self._pending = np.empty((3, 0), dtype=np.int64)  # times, sources, lateness of less than a block
        self._seen = 0
        self._longest = 0  # how late the latest event was, ever: no wait is longer than twice that
        self._round = 0  # events since the last adaptation, and what was found of them
        self._misses = 0
        self._excused = 0  # of these, those of bursts
        self._counts = np.zeros(BUCKETS)
        self._learned = 0  # results, all in all, and since the last adaptation
        self._result_round = self._result_misses = 0
        self._result_counts = np.zeros(BUCKETS)

    @property
    def slack_us(self) -> int:
        return int(min(max(self._waited_us, self._silent.hold_us), self._max_wait_us))

    @property
    def watches_results(self) -> bool:
        """Are results what is known, and not single events any more?"""
        return self._learned >= KNOWN_RESULTS

    @property
    def histogram(self) -> LatenessHistogram:
        """Of what the wait is chosen by."""
        return (self._results if self.watches_results else self._events).histogram

    def see(self, times: Int64s, sources: Int64s) -> Int64s:
        lateness = measure_lateness(times, self._newest)
        if not len(times):
            return lateness
        self._newest = int(times[-1] + lateness[-1])
        kept = self._pending.shape[1]
        whole = (kept + len(times)) // BLOCK * BLOCK
        events = np.empty((3, kept + len(times)), dtype=np.int64)
        events[:, :kept] = self._pending
        events[0, kept:], events[1, kept:], events[2, kept:] = times, sources, lateness
        start = 0
        while start < whole:
            stop = min(whole, start + (ROUND if self._seen >= COLD_EVENTS else BLOCK) - self._round)
            self._follow(*events[:, start:stop])
            start = stop
        self._pending = events[:, whole:]
        if self._seen < BLOCK:  # before the first block: a stream of few events shall come out as well
            self._waited_us = MARGIN * float(self._pending[2].max())
        return lateness

    def learn(self, needs: Int64s, moment: int) -> None:  # noqa: ARG002 (events say themselves how old they are)
        if not len(needs):
            return
        self._learned += len(needs)
        self._result_round += len(needs)
        self._result_misses += int(np.count_nonzero((needs > self.slack_us) & (needs <= self._max_wait_us)))
        self._result_counts += np.bincount(find_buckets(needs), minlength=BUCKETS)

    def _follow(self, times: Int64s, sources: Int64s, lateness: Int64s) -> None:
        """Whole blocks of one round."""
        holds, bursts = self._silent.follow(times, sources, lateness, self._waited_us)
        clock = times + lateness
        waited = min(self._waited_us, self._max_wait_us)
        if holds is None or bursts is None:
            late = lateness > np.minimum(clock - self._watermark, waited)
            self._counts += np.bincount(find_buckets(lateness), minlength=BUCKETS)
            self._watermark = max(self._watermark, int(clock[-1] - waited))
        else:
            slack = np.repeat(np.minimum(np.maximum(holds, waited), self._max_wait_us), BLOCK).astype(np.int64)
            marks = np.maximum.accumulate(np.concatenate([[self._watermark], clock - slack]))
            late = times < marks[:-1]
            self._counts += np.bincount(find_buckets(lateness), np.where(bursts, BURST_WEIGHT, 1.0), BUCKETS)
            self._watermark = int(marks[-1])
        if self._seen:
            late &= lateness <= self._max_wait_us  # no wait that is allowed would have helped the others
            self._misses += int(np.count_nonzero(late))
            self._excused += int(np.count_nonzero(late & bursts)) if bursts is not None else 0
        else:
            self._watermark = BEGINNING  # there was none while the first block came
        self._longest = max(self._longest, int(lateness.max()))
        self._round += len(times)
        self._seen += len(times)
        self._adapt(int(clock[-1]))

    def _adapt(self, moment: int) -> None:
        too_many = self._misses - self._excused > 8 + 4 * self._miss * ROUND
        if self._round < ROUND and self._seen >= COLD_EVENTS and not too_many:
            return
        self._silent.renew()
        self._events.take(self._counts, self._misses, self._round, moment, self._excused)
        if self._result_round:
            self._results.take(self._result_counts, self._result_misses, self._result_round, moment)
        wanted = (self._results if self.watches_results else self._events).choose_wait()
        shortest = self._waited_us * SHRINK ** (self._round / ROUND)
        if self._seen < COLD_EVENTS:
            wanted = MARGIN * self._longest
        elif self._seen - self._round < COLD_EVENTS + ROUND:
            shortest = 0.0  # twice the latest of a thousand was a guess, and no reason to go on slowly
        self._waited_us = max(min(wanted, MARGIN * self._longest), shortest)
        self._round = self._misses = self._excused = self._result_round = self._result_misses = 0
        self._counts, self._result_counts = np.zeros(BUCKETS), np.zeros(BUCKETS)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "events": self._events.write_state(),
            "results": self._results.write_state(),
            "silent": self._silent.write_state(),
            "pending": self._pending.tolist(),
            "counts": write_floats(self._counts),
            "result_counts": write_floats(self._result_counts),
            **{name: getattr(self, f"_{name}") for name in NUMBERS},
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._events.read_state(state["events"])
        self._results.read_state(state["results"])
        self._silent.read_state(state["silent"])
        self._pending = np.array(state["pending"], dtype=np.int64).reshape(3, -1)
        self._counts, self._result_counts = read_floats(state["counts"]), read_floats(state["result_counts"])
        for name in NUMBERS:
            setattr(self, f"_{name}", state[name])
