"""Events in their order, from which the oldest are dropped: what can be gone through again after a recovery."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from cepheid.execution.parallel.events import Event, EventId


class SortedEvents:
    """Most events come in order, so that adding one costs nothing."""

    def __init__(self) -> None:
        self._ids: list[EventId] = []
        self._events: dict[EventId, Event] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, id: EventId) -> bool:  # noqa: A002 (its name in an event)
        return id in self._events

    def __getitem__(self, id: EventId) -> Event:  # noqa: A002
        return self._events[id]

    @property
    def last(self) -> EventId:
        return self._ids[-1]

    def find(self, id: EventId) -> Event | None:  # noqa: A002
        return self._events.get(id)

    def add(self, event: Event) -> None:
        if not self._ids or event.id > self._ids[-1]:
            self._ids.append(event.id)
        else:
            insort(self._ids, event.id)
        self._events[event.id] = event

    def next_after(self, position: EventId) -> EventId | None:
        place = bisect_right(self._ids, position)
        return self._ids[place] if place < len(self._ids) else None

    def list_between(self, after: EventId, last: EventId) -> Sequence[EventId]:
        """Those behind the first position, up to the last one."""
        return self._ids[bisect_right(self._ids, after) : bisect_right(self._ids, last)]

    def drop_through(self, position: EventId) -> Sequence[EventId]:
        """Forget events up to here; who they were."""
        place = bisect_right(self._ids, position)
        dropped, self._ids = self._ids[:place], self._ids[place:]
        for each in dropped:
            del self._events[each]
        return dropped

    def copy(self) -> SortedEvents:
        """Events are shared: they never change."""
        other = SortedEvents()
        other._ids, other._events = self._ids.copy(), self._events.copy()
        return other
