"""Events, who they are, and in which order they belong.

The thesis tells events by their time alone and asks for unique times.  Here an event is told by its time, its source
and its number at that source: two sources may speak at the same time, and the order is still one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cepheid.event_time import BEGINNING


class EventId(NamedTuple):
    """Compares as events are ordered."""

    time: int
    source: int
    number: int

    def __str__(self) -> str:
        return f"{self.source}:{self.time}.{self.number}"


BEFORE_ALL = EventId(BEGINNING, 0, 0)


@dataclass(frozen=True, slots=True)
class Event:
    id: EventId
    data: Any = None

    @property
    def time(self) -> int:
        return self.id.time


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event as a consistency manager lets it go, with the clock and the K (slack) that it had."""

    event: Event
    clock: int
    slack: int

    @property
    def is_speculative(self) -> bool:
        """May an older event still come?  (Equation 2.2 does not hold yet.)"""
        return self.event.time + self.slack > self.clock
