"""Events as they come to a splitter, with what their consistency manager knew when it let them go.

An event is told by its time, its source and its sequence number there (EventName), and that is also where it belongs
in the order.  The thesis has the time alone, and asks for times that are unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cepheid.disorder.consistency_manager import EventName, Released
from cepheid.event_time import BEGINNING

BEFORE_ALL = EventName(BEGINNING, 0, 0)
UNKNOWN_SLACK = 2**61  # nothing was late so far: everything is speculative, and nothing is settled (4.5)


class Event(NamedTuple):
    name: EventName
    data: Any = None

    @property
    def time(self) -> int:
        return self.name.time


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


def read_release(released: Released, data: Any) -> Arrival:
    """data: of the event; a consistency manager knows names only."""
    is_unknown = not released.is_deterministic and released.event.time + released.k_us <= released.clock
    return Arrival(Event(released.event, data), released.clock, UNKNOWN_SLACK if is_unknown else released.k_us)
