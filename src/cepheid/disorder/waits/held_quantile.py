"""The wait that a share of events or of results needs, held to that share.

    how late they were ─▶ histogram ─▶ the quantile that is asked for
    what missed it all the same ─▶ debt ─▶ a stricter quantile, until it is paid back; credit: a laxer one
    the last few thousand ─▶ unlike the histogram? ─▶ it forgets sooner
                          └▶ far too many misses?  ─▶ twice what they needed, at once

A quantile of what was misses the goal wherever tomorrow is not like yesterday.  The debt makes the goal hold on average
over about `half_life` of event time, for any stream whose waits stay within what was seen (as the instant goal of
quality-driven joins does, and the integral part of a controller): every miss too many makes the quantile stricter.
What nothing announced, delays that are suddenly a hundred times as long, is missed first and repaid later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cepheid.disorder.lateness_histogram import BUCKETS, Float64s, LatenessHistogram, read_floats, write_floats
from cepheid.event_time import BEGINNING

AIM = 0.97  # of the misses that are allowed
DEBT_SCALE = 20.0  # so many misses too many make the quantile e times as strict; credit is at most as much
ROUNDS_OF_DEBT = 4  # if these rounds may have more misses, it takes as many as they have: else the wait goes to and fro
ROUND = 2048  # events, of which the last two rounds count as recent
RECENT = 2 * ROUND
SURPRISE = 8.0  # standard deviations that no steady stream is off by
STRICTEST = 0.1  # of the misses that are allowed: to have fewer costs much and repays hardly faster
INTEREST = 3.0  # on what is excused: most of it is forgotten before it can be repaid
MOST_SCALES = 3.0  # of debt for what is excused, or as many misses as what is remembered may have
MARGIN = 2.0  # times what the recent ones needed, as long as far too many of them missed it: worse will come
SHORT_MEMORY = 0.1  # of the half-life, after a change of regime


class HeldQuantile:
    """miss: the share that may need longer than the wait."""

    def __init__(self, miss: float, half_life_us: float) -> None:
        self.histogram = LatenessHistogram(half_life_us)
        self._miss = miss
        self._scale = max(DEBT_SCALE, ROUNDS_OF_DEBT * ROUND * miss)
        self._half_life_us = half_life_us
        self._recent = np.zeros(BUCKETS)
        self._recent_misses = 0.0
        self._debt = 0.0
        self._changed = BEGINNING  # when the regime changed last
        self._unchecked = 0  # events since the recent ones were compared

    def take(self, counts: Float64s, misses: int, count: int, moment: int, excused: int = 0) -> None:
        """counts: float64[BUCKETS], how late they were; misses: how many of them needed longer than the wait was;
        excused: how many of these are no sign of what comes, though they are to be repaid."""
        histogram = self.histogram
        passed = max(moment - histogram.moment, 0) if histogram.moment > BEGINNING else 0
        debt = self._debt * 0.5 ** (passed / self._half_life_us) + misses - excused - AIM * self._miss * count
        payable = max(self._miss * histogram.total, MOST_SCALES * self._scale)
        debt += min(INTEREST * excused, max(payable - debt, 0.0))
        self._debt = max(debt, -self._scale)
        kept = (1 - ROUND / RECENT) ** (count / ROUND)
        self._recent = self._recent * kept + counts
        self._recent_misses = self._recent_misses * kept + misses - excused
        self._unchecked += count
        if self._unchecked >= RECENT:
            self._unchecked = 0
            if self._has_changed():
                self._changed = moment
        histogram.half_life_us = min(max(moment - self._changed, SHORT_MEMORY * self._half_life_us), self._half_life_us)
        histogram.age(moment)
        histogram.weights += counts

    def choose_wait(self) -> float:
        total = self.histogram.total
        if not total:
            return 0.0
        strict = max(float(np.exp(-self._debt / self._scale)), STRICTEST)
        wait = self.histogram.find_bound(max(self._miss * strict, 0.5 / total))  # half an event tells nothing
        expected = self._miss * float(self._recent.sum())
        if self._recent_misses > expected + 4 * expected**0.5 + 3:
            recent = LatenessHistogram()
            recent.weights = self._recent
            wait = max(wait, MARGIN * recent.find_bound(self._miss))
        return wait

    def _has_changed(self) -> bool:
        """Are the recent ones another sort than those in the histogram, in the middle or among the late ones?"""
        known, count = self.histogram.total, float(self._recent.sum())
        if known < RECENT:
            return False
        above = np.cumsum(self.histogram.weights[::-1])[::-1] / known
        recently = np.cumsum(self._recent[::-1])[::-1]
        for share in (0.5, 0.05):
            bucket = int(np.abs(above - share).argmin())
            expected = min(max(float(above[bucket]), 1e-3), 1 - 1e-3)
            if abs(recently[bucket] - expected * count) > SURPRISE * (count * expected * (1 - expected)) ** 0.5:
                return True
        return False

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "histogram": self.histogram.write_state(),
            "recent": write_floats(self._recent),
            "recent_misses": self._recent_misses,
            "debt": self._debt,
            "changed": self._changed,
            "unchecked": self._unchecked,
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.histogram.read_state(state["histogram"])
        self._recent = read_floats(state["recent"])
        self._recent_misses, self._debt = state["recent_misses"], state["debt"]
        self._changed, self._unchecked = state["changed"], state["unchecked"]
