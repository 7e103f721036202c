"""Events as a consistency manager lets them go (Algorithm 1), for tests: K fixed, or as large as what has come late.

The speculation factor may change: when it rises, several events are held back that are older than those let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cepheid.execution.parallel.events import Arrival, Event


class Feeder:
    """clock_source: the source that moves the clock; None: each one does.  slack: K; None: it grows from 0."""

    def __init__(self, factor: Callable[[], float], slack: int | None = None, clock_source: int | None = None) -> None:
        self._factor, self._source = factor, clock_source
        self._slack, self._grows = slack or 0, slack is None
        self.clock = -(10**9)
        self._since: list[Event] = []
        self._waiting: list[Event] = []

    def feed(self, event: Event) -> list[Arrival]:
        self._waiting.append(event)
        self._waiting.sort(key=lambda each: each.name)
        self._since.append(event)
        if self._source in (None, event.name.source):
            self.clock = max(self.clock, event.time)
            if self._grows:
                self._slack = max(self._slack, *(self.clock - each.time for each in self._since))
            self._since.clear()
        out = []
        delay = self._factor() * self._slack
        while self._waiting and self._waiting[0].time + delay <= self.clock:
            out.append(self._let_go())
        return out

    def finish(self) -> list[Arrival]:
        return [self._let_go() for _ in list(self._waiting)]

    def _let_go(self) -> Arrival:
        return Arrival(self._waiting.pop(0), self.clock, self._slack)


def feed_all(feeder: Feeder, events: Iterable[Event]) -> Iterator[Arrival]:
    for event in events:
        yield from feeder.feed(event)
    yield from feeder.finish()
