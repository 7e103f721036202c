"""As long as the latest event so far was late (Equations 3.1 and 3.2): never less than before, whatever comes.

Of a stream whose delays have a heavy tail, one straggler makes all events wait for ever: this rule is a baseline.
"""

from __future__ import annotations

from typing import Any

from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.event_time import BEGINNING


class GrowingWait:
    def __init__(self) -> None:
        self.slack_us = 0
        self._newest = BEGINNING

    def see(self, times: Int64s, sources: Int64s) -> Int64s:  # noqa: ARG002 (any source may be late)
        lateness = measure_lateness(times, self._newest)
        if len(times):
            self._newest = max(self._newest, int(times.max()))
            self.slack_us = max(self.slack_us, int(lateness.max()))
        return lateness

    def learn(self, needs: Int64s, moment: int) -> None:
        """What results needed is of no interest."""

    def write_state(self) -> dict[str, Any]:
        return {"slack_us": self.slack_us, "newest": self._newest}

    def read_state(self, state: dict[str, Any]) -> None:
        self.slack_us, self._newest = state["slack_us"], state["newest"]
