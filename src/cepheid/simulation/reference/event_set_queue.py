"""Event sets in the order they came; any number of events may be taken from the front."""

from __future__ import annotations

from collections import deque

from cepheid.simulation.reference.event_set import EventSet

NEARLY_NOTHING = 1e-4


class QueueUnderflow(AssertionError):
    """More events were asked of a queue than it holds."""


class EventSetQueue:
    def __init__(self, producers: int) -> None:
        self.producers = producers
        self.sets: deque[EventSet] = deque()
        self.size = 0.0

    def enqueue(self, events: EventSet, selectivity: float = 1.0) -> None:
        """Selectivity scales the number of events only.  What is nothing at all is not stored."""
        stored = events.copy()
        stored.size = selectivity * events.size
        if stored.size != 0.0 or any(stored.totals):
            self.sets.append(stored)
            self.size += stored.size

    def dequeue(self, size: float) -> EventSet:
        """The first `size` events as one set.  What is left of a set that was taken apart is dropped below 1e-4."""
        if size > self.size:
            if size - self.size >= NEARLY_NOTHING:
                raise QueueUnderflow(f"{size} events of {self.size}")
            size = self.size
        taken, wanted = EventSet.empty(self.producers), size
        while self.sets and wanted > 0.0:
            head = self.sets[0]
            if head.size <= wanted:
                wanted -= head.size
                taken.add(head)
                self.sets.popleft()
            else:
                taken.add(head.extract(wanted))
                wanted = 0.0
                if head.size < NEARLY_NOTHING:
                    self.sets.popleft()
        self.size -= taken.size
        if self.size < NEARLY_NOTHING:
            self.size = 0.0
        return taken

    def dequeue_all(self) -> EventSet:
        return self.dequeue(self.size)

    def clear(self) -> None:
        self.sets.clear()
        self.size = 0.0
