"""Where event sets enter and leave a vertex: a queue for each edge, and how much room its successor has left."""

from __future__ import annotations

import math
from typing import Literal

from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.event_set_queue import NEARLY_NOTHING, EventSetQueue

UNLIMITED = 9.223372036854775807e18  # what CEPSim takes for a queue without a bound


class Channel:
    """One edge: the output queue of its source and the input queue of its target.

    limit: how many events the target said it can take, when it last ran.  CEPSim goes by that; `under_way`: sent, not
    arrived.
    """

    def __init__(self, selectivity: float, queue: float, producers: int) -> None:
        self.selectivity = selectivity
        self.queue = queue
        self.limit = queue if queue > 0.0 else UNLIMITED
        self.outgoing = EventSetQueue(producers)
        self.incoming = EventSetQueue(producers)
        self.under_way = 0.0

    def update_limits(self) -> None:
        if self.queue > 0.0:
            self.limit = self.queue - self.incoming.size


Bounds = Literal["announced", "hard", "none"]


class Outputs:
    """bounds: as the successor announced when it last ran (CEPSim); as they are now, what is under way included; or
    none at all."""

    def __init__(self, channels: list[Channel], bounds: Bounds) -> None:
        self.channels = channels
        self.bounds = bounds

    def room(self) -> float:
        """How many events may be processed until the fullest successor has no room for the results."""
        room = math.inf
        if self.bounds == "none":
            return room
        for channel in self.channels:
            limit = channel.limit
            if self.bounds == "hard" and channel.queue > 0.0:
                limit = channel.queue - channel.incoming.size - channel.under_way
            if channel.selectivity > 0.0:
                room = min(room, limit / channel.selectivity - channel.outgoing.size / channel.selectivity)
        return room

    def send(self, events: EventSet) -> None:
        for channel in self.channels:
            channel.outgoing.enqueue(events, channel.selectivity)


class Inputs:
    """total: events in all queues; kept beside them, so that it is rounded as CEPSim rounds it."""

    def __init__(self, channels: list[Channel], producers: int) -> None:
        self.channels = channels
        self.producers = producers
        self.total = 0.0

    def receive(self, channel: Channel, events: EventSet) -> None:
        channel.incoming.enqueue(events)
        self.total += events.size

    def retrieve(self, most: float) -> list[EventSet]:
        """Up to `most` events, from each queue in proportion to what it holds: one set for each queue.

        Less than none (a successor has more than it can hold): as in CEPSim nothing is taken, and the total grows.
        """
        events = min(self.total, most)
        if self.total <= 0.0:
            return [EventSet.empty(self.producers) for _ in self.channels]
        total, parts = self.total, []
        for channel in self.channels:
            wanted = channel.incoming.size / total * events
            parts.append(channel.incoming.dequeue(wanted))
            self.total -= wanted
            if self.total < NEARLY_NOTHING:
                self.total = 0.0
        # Rounding over several queues may leave a remainder although all are empty; CEPSim would never finish it.
        if events > 0.0 and not any(channel.incoming.size for channel in self.channels):
            self.total = 0.0
        return parts

    def update_limits(self) -> None:
        for channel in self.channels:
            channel.update_limits()


def add_up(parts: list[EventSet], producers: int) -> EventSet:
    whole = EventSet.empty(producers)
    for part in parts:
        whole.add(part)
    return whole
