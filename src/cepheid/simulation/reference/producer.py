"""Where events come in.

As in CEPSim, events without room stay outside and get a new birth time when taken in: their waiting is never counted.
Corrected, events outside keep the time when they came.
"""

from __future__ import annotations

import math

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.event_set_queue import EventSetQueue
from cepheid.simulation.reference.ports import Outputs

DEFAULT_LIMIT = 1e7
GREATEST_INT = 2147483647.0


class ProducerRun:
    def __init__(self, ipe: float, outputs: Outputs, slot: int, producers: int, limited: bool, sheds: bool) -> None:
        self.ipe, self.outputs, self.slot, self.producers = ipe, outputs, slot, producers
        self.limited, self.sheds = limited, sheds
        self.queue = EventSetQueue(producers)
        self.outside = 0.0  # came, and found no room
        self.fraction = 0.0  # parts of events
        self.dropped = 0.0

    def take_in(self, came: float, since: float, now: float) -> None:  # noqa: ARG002 (the corrected one needs `since`)
        """Events are born at the end of the interval in which they come, whole ones only."""
        limit = self._limit()
        self.outside += came
        taken = min(self.outside, limit)
        self.outside -= taken
        whole = math.floor(taken)
        self.fraction += taken - whole
        if self.fraction + 0.001 > 1.0:
            whole += 1
            self.fraction -= 1.0
        if self.sheds:
            self.dropped += self.outside
            self.outside = 0.0
        if whole > 0:
            self.queue.enqueue(self.born(float(whole), now))

    def _limit(self) -> float:
        if not self.limited:
            return DEFAULT_LIMIT
        return min(math.floor(max(0.0, self.outputs.room() - self.queue.size)), GREATEST_INT)

    def born(self, size: float, at: float) -> EventSet:
        events = EventSet.empty(self.producers)
        events.size, events.ts, events.totals[self.slot] = size, at, size
        return events

    def waiting(self) -> float:
        return self.queue.size

    def needed(self) -> float:
        return min(self.queue.size, self.outputs.room()) * self.ipe

    def run(self, instructions: float, start: float, end: float) -> EventSet:  # noqa: ARG002
        events = self.queue.dequeue(max(min(instructions / self.ipe, self.queue.size, self.outputs.room()), 0.0))
        events.update(end)
        self.outputs.send(events)
        return events


class PatientProducerRun(ProducerRun):
    """Nothing is left outside: events wait in the producer's own queue, with the time when they came (the middle of
    the interval)."""

    def take_in(self, came: float, since: float, now: float) -> None:
        total = self.fraction + came
        whole = float(math.floor(total + 1e-6))
        self.fraction = total - whole
        if self.sheds:
            taken = max(0.0, min(whole, self.outputs.room() - self.queue.size))
            self.dropped += whole - taken
            whole = taken
        if whole > 0.0:
            self.queue.enqueue(self.born(whole, (since + now) / 2.0))
