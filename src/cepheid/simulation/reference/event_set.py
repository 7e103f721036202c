"""A number of events treated as one: how many, when, how long they have been under way, and their origins.

    size      how many events; fractions allowed
    ts        their mean time, ms
    latency   their mean latency, ms
    totals    for each producer, how many of its events led to these

Sums are taken in exactly the order written here: the compiled engine does the same, and both give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class EventSet:
    size: float = 0.0
    ts: float = 0.0
    latency: float = 0.0
    totals: list[float] = field(default_factory=list)

    @classmethod
    def empty(cls, producers: int) -> EventSet:
        return cls(totals=[0.0] * producers)

    def copy(self) -> EventSet:
        return EventSet(self.size, self.ts, self.latency, self.totals.copy())

    def add(self, other: EventSet, selectivity: float = 1.0) -> None:
        """Time and latency become means weighted by size.  Totals are added whole, whatever the selectivity: they say
        what the events came of, not how many there are."""
        added = selectivity * other.size
        if added > 0.0:
            size = self.size + added
            self.ts = (self.size * self.ts + added * other.ts) / size
            self.latency = (self.size * self.latency + added * other.latency) / size
            self.size = size
        for place, total in enumerate(other.totals):
            self.totals[place] += total

    def extract(self, size: float) -> EventSet:
        """Take out that many.  More than there are leaves a negative rest, as in CEPSim."""
        share = size / self.size if self.size != 0.0 else 0.0
        taken = EventSet(size, self.ts, self.latency, [share * total for total in self.totals])
        self.size -= size
        for place, total in enumerate(taken.totals):
            self.totals[place] -= total
        return taken

    def split(self, share: float) -> tuple[EventSet, EventSet]:
        """That share, and the rest; the set itself stays as it is."""
        first = EventSet(share * self.size, self.ts, self.latency, [share * total for total in self.totals])
        rest = [total - part for total, part in zip(self.totals, first.totals, strict=True)]
        return first, EventSet(self.size - first.size, self.ts, self.latency, rest)

    def update(self, at: float) -> None:
        """It is `at` now: the time since then was latency."""
        self.latency += at - self.ts
        self.ts = at

    def reset(self) -> None:
        self.size = self.ts = self.latency = 0.0
        self.totals = [0.0] * len(self.totals)
