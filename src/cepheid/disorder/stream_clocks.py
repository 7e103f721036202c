"""Streams that say nothing, so that they do not hold up the others: their clocks follow.

    what each stream has told ─▶ who is idle ─▶ heartbeats in the name of those ─▶ gates (gate.py)

A stream is *idle* once the others have come `idle_after` further, in event time, than they were when it last spoke; one
that never spoke counts from the first event of the others.  As no wall clock is asked, the same input gives the same
rows on every host, in every run and after a restart; and a stream that lags behind but goes on speaking is waited for.

While a stream is idle, its clock is that of the slowest stream that is not.  If it speaks again, it is waited for
again; events that are behind the horizon by then are late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from cepheid.event_time import BEGINNING

Company = frozenset[str]  # streams that wait for one another


class StreamClocks:
    """idle_after_us: by stream; the others are always waited for."""

    def __init__(self, idle_after_us: Mapping[str, int]) -> None:
        self.idle_after_us = dict(idle_after_us)
        self._reached: dict[str, int] = {}  # by stream: no older event will come, unless it is late
        self._newest: dict[str, int] = {}  # the newest time that a stream has told
        self._others: dict[str, int] = {}  # how far its company had come when a stream last spoke

    def see(
        self,
        companies: Iterable[Company],
        newest: Mapping[str, int],
        heard: Mapping[str, int],
        delays_us: Mapping[str, int],
        oldest: Mapping[str, int] | None = None,
    ) -> dict[str, int]:
        """One more batch.  newest, oldest: of the streams that had events in it; heard: heartbeats, which count as
        words if they are news; delays_us: how late events may be.  Gives heartbeats:
        how far each stream has come, by
        itself or because it is idle."""
        spoke = {name for name, time in newest.items() if time > BEGINNING}
        for name in spoke:
            self._newest[name] = max(self._newest.get(name, BEGINNING), newest[name])
            self._reach(name, newest[name] - delays_us.get(name, 0))
        for name, time in heard.items():
            if time > self._reached.get(name, BEGINNING):
                spoke.add(name)
                self._newest[name] = max(self._newest.get(name, BEGINNING), time)
                self._reach(name, time)
        for company in companies:
            self._listen(company, spoke, oldest or newest)
            idle = self.find_idle(company)
            if idle:
                slowest = min(self._reached.get(name, BEGINNING) for name in company - idle)
                for name in idle:
                    self._reach(name, slowest)
        return dict(self._reached)

    def pace_idle(self, companies: Iterable[Company]) -> dict[str, int]:
        """By idle stream: the newest time of the slowest of those that are not, whatever events are waited for."""
        idle_of = ((company, self.find_idle(company)) for company in companies)
        paced = ((idle, min(self._newest.get(name, BEGINNING) for name in company - idle)) for company, idle in idle_of)
        return {name: newest for idle, newest in paced for name in idle}

    def find_idle(self, company: Company) -> Company:
        """The streams that the others need not wait for."""
        furthest = self._find_furthest(company)
        return frozenset(
            name
            for name in company & self.idle_after_us.keys()
            if furthest - self._others.get(name, furthest) >= self.idle_after_us[name]
        )

    def _listen(self, company: Company, spoke: Collection[str], oldest: Mapping[str, int]) -> None:
        """Remember how far the company is, for those who spoke, and where it began, for those who never did."""
        furthest = self._find_furthest(company)
        if furthest <= BEGINNING:
            return
        known = [time for name in company if (time := oldest.get(name, BEGINNING)) > BEGINNING]
        for name in company:
            if name in spoke:
                self._others[name] = furthest
            elif name not in self._others:
                self._others[name] = min(known, default=furthest)

    def _find_furthest(self, company: Company) -> int:
        return max((self._newest.get(name, BEGINNING) for name in company), default=BEGINNING)

    def _reach(self, name: str, time: int) -> None:
        self._reached[name] = max(self._reached.get(name, BEGINNING), time)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, dict[str, int]]:
        return {"reached": self._reached, "newest": self._newest, "others": self._others}

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._reached, self._newest, self._others = (dict(state[each]) for each in ("reached", "newest", "others"))


def find_companies(below: Iterable[Collection[str]]) -> list[Company]:
    """Streams that meet in an engine wait for one another, and so does whoever meets one of them elsewhere.  below: of
    each engine, the streams that it is made of."""
    found: list[Company] = []
    for streams in below:
        apart = [company for company in found if company.isdisjoint(streams)]
        met = [company for company in found if not company.isdisjoint(streams)]
        found = [*apart, frozenset(streams).union(*met)]
    return [company for company in found if len(company) > 1]
