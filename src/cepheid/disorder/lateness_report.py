"""How late events are, how long they wait, and what that costs: measurements of a query, over all of its engines.

engine: lateness of events, needs of results ─▶ LatenessTally ─┐
engine: ...                                  ─▶ LatenessTally ─┴▶ merge ─▶ LatenessReport
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.disorder.lateness_histogram import TEN_MINUTES_US, Int64s, LatenessHistogram

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LatenessReport:
    """Of about the last `half_life` of event time.  None: there was nothing to measure it by."""

    lateness_p50_s: float | None
    lateness_p99_s: float | None
    lateness_p999_s: float | None
    slack_s: float  # how long events would have to wait
    late_share: float | None  # of events, those that came later than that
    corrections_per_1000: float | None  # results that were given out too early, as long as events are really held
    recall_if_final: float | None  # the share of results that would be right if none were corrected, after all of slack


class LatenessTally:
    """What an engine counts, and what can be put together."""

    def __init__(self, half_life_us: float = TEN_MINUTES_US) -> None:
        self.events = LatenessHistogram(half_life_us)
        self.results = LatenessHistogram(half_life_us)
        self.slack_us = 0
        self.held_us = 0  # what speculation leaves of it
        self.given = self.taken_back = 0  # rows

    def see(self, lateness: Int64s, moment: int) -> None:
        """Events as they arrive: how late each is; moment: event time by now."""
        self.events.age(moment)
        self.events.add(lateness)

    def learn(self, needs: Int64s, moment: int) -> None:
        """Results as they come out: how late the latest event of each was."""
        self.results.age(moment)
        self.results.add(needs)

    def hold(self, slack_us: int, speculation: float = 1.0) -> None:
        """How long events wait from now on, and the share of it that they are really held."""
        self.slack_us, self.held_us = slack_us, int(slack_us * speculation)

    def count_rows(self, given: int, taken_back: int) -> None:
        """Rows that came out, and how many of those before them are no longer so."""
        self.given += given
        self.taken_back += taken_back

    def merge(self, other: LatenessTally) -> None:
        """What another engine counted; results wait for the slower one."""
        self.events.merge(other.events)
        self.results.merge(other.results)
        self.slack_us = max(self.slack_us, other.slack_us)
        self.held_us = max(self.held_us, other.held_us)
        self.count_rows(other.given, other.taken_back)

    def report(self) -> LatenessReport:
        events, some_events = self.events, self.events.total > 0
        p50, p99, p999 = (
            events.find_quantile(share) / SECOND_US if some_events else None for share in (0.5, 0.01, 0.001)
        )
        too_early, wrong = self._find_corrected(self.held_us), self._find_corrected(self.slack_us)
        return LatenessReport(
            lateness_p50_s=p50,
            lateness_p99_s=p99,
            lateness_p999_s=p999,
            slack_s=self.slack_us / SECOND_US,
            late_share=events.find_share_above(self.slack_us) if some_events else None,
            corrections_per_1000=None if too_early is None else 1000 * too_early,
            recall_if_final=None if wrong is None else max(0.0, 1 - wrong),
        )

    def _find_corrected(self, waited_us: int) -> float | None:
        """Of results, those that need a longer wait; where no rule asks what they need, those that were taken back."""
        if self.results.total > 0:
            return self.results.find_share_above(waited_us)
        return self.taken_back / self.given if self.given else None

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return {
            "events": self.events.write_state(),
            "results": self.results.write_state(),
            "slack_us": [self.slack_us, self.held_us],
            "rows": [self.given, self.taken_back],
        }

    def read_state(self, state: Mapping[str, Any]) -> None:
        self.events.read_state(state["events"])
        self.results.read_state(state["results"])
        self.slack_us, self.held_us = state["slack_us"]
        self.given, self.taken_back = state.get("rows", (0, 0))


def merge_tallies(tallies: Iterable[LatenessTally]) -> LatenessTally:
    """What several engines counted together."""
    total = LatenessTally()
    for tally in tallies:
        total.merge(tally)
    return total
