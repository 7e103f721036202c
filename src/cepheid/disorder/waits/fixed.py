"""A time that is given, whatever comes: what other rules are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING


class FixedWait:
    def __init__(self, slack_us: int) -> None:
        self.slack_us = slack_us
        self._newest = BEGINNING

    def see(self, times: Int64s, sources: Int64s) -> Int64s:  # noqa: ARG002 (any source may be late)
        lateness = measure_lateness(times, self._newest)
        self._newest = max(self._newest, int(times.max(initial=BEGINNING)))
        return lateness

    def learn(self, needs: Int64s, moment: int) -> None:
        """What results needed is of no interest."""

    def write_state(self) -> dict[str, Any]:
        return {"newest": self._newest}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._newest = state["newest"]
