"""What an engine knows of how late its events are: how long they are held back, and what that is worth.

    events as they arrive ─▶ rule (waits/) ─▶ slack ─┬─ times the speculation factor ─▶ how long they are held
    needs of results ──────▶                         │
    load of the processor ─▶ speculation.py ─────────┘
                └────────────▶ tally ─▶ LatenessReport

No wait is longer than the bound, beyond which events are late anyway, or than what users allow at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cepheid.disorder.lateness_report import LatenessReport, LatenessTally, merge_tallies
from cepheid.disorder.speculation import LoadZone, Speculation, follow_load
from cepheid.disorder.waits.fixed import FixedWait
from cepheid.disorder.waits.kinds import make_wait
from cepheid.disorder.waits.wait import Int64s, Wait
from cepheid.event_time import BEGINNING, in_microseconds
from cepheid.settings import Waiting


class LatenessWatch:
    """waiting: the rule; None: wait_us, always.  bound_us: how old an event may be that is not late, None: any age.
    inputs: each waits for its own late events; that one is behind another is known by its clock (gate.py)."""

    def __init__(
        self,
        waiting: Waiting | None,
        wait_us: int,
        bound_us: int | None,
        inputs: int = 1,
        zone: LoadZone | None = None,
    ) -> None:
        self._rule = "fixed" if waiting is None else waiting.rule
        self._waits: list[Wait] = [FixedWait(wait_us) if waiting is None else make_wait(waiting) for _ in range(inputs)]
        longest = None if waiting is None or waiting.max_wait is None else in_microseconds(waiting.max_wait)
        self._most_us = min((span for span in (bound_us, longest) if span is not None), default=None)
        self._zone = zone or LoadZone()
        factor = 1.0 if waiting is None else waiting.speculation
        self._is_adaptive = factor is None
        self._speculation = Speculation(1.0 if factor is None else factor)
        self.tally = LatenessTally()
        self.moment = BEGINNING  # event time by now

    def held_us(self, number: int) -> int:
        """How long events of an input are held back from now on."""
        slack_us = self._waits[number].slack_us
        least_us = slack_us if self._most_us is None else min(slack_us, self._most_us)
        return int(least_us * self._speculation.factor)

    def see(self, number: int, times: Int64s) -> Int64s:
        """Events of an input in the order of arrival; int64[n]: how late each is."""
        lateness = self._waits[number].see(times, np.zeros(len(times), dtype=np.int64))
        if len(times):
            self.moment = max(self.moment, int(times[-1] + lateness[-1]))
            self.tally.see(lateness, self.moment)
            self.tally.hold(max(wait.slack_us for wait in self._waits), self._speculation.factor)
        return lateness

    def learn(self, needs: Int64s) -> None:
        """How late the latest event of each result was that came out."""
        for wait in self._waits:
            wait.learn(needs, self.moment)
        self.tally.learn(needs, self.moment)

    @property
    def learns(self) -> bool:
        """Does the rule ask what results needed?"""
        return self._rule == "recall"

    def follow(self, load: float) -> None:
        """The share of a processor's time that was needed of late: speculate as much as it allows."""
        if self._is_adaptive:
            self._speculation = follow_load(self._speculation, [load], self._zone)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        best = self._speculation.best
        return {
            "rule": self._rule,
            "waits": [wait.write_state() for wait in self._waits],
            "tally": self.tally.write_state(),
            "speculation": [self._speculation.factor, best],
            "moment": self.moment,
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        """Of a watch with the same rule; what another rule knew is not understood, and begins anew."""
        self.tally.read_state(state["tally"])
        self.moment = state["moment"]
        if self._is_adaptive:
            self._speculation = Speculation(*state["speculation"])
        if state["rule"] == self._rule:
            for wait, known in zip(self._waits, state["waits"], strict=True):
                wait.read_state(known)


def report_lateness(watches: Iterable[LatenessWatch]) -> LatenessReport:
    """Of all engines together."""
    return merge_tallies(watch.tally for watch in watches).report()
