"""Events in their order, from which the oldest are dropped: what can be gone through again after a recovery."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.events import Event


class SortedEvents:
    """Most events come in order, so that adding one costs nothing."""

    def __init__(self) -> None:
        self._ids: list[EventName] = []
        self._events: dict[EventName, Event] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, name: EventName) -> bool:
        return name in self._events

    def __getitem__(self, name: EventName) -> Event:
        return self._events[name]

    @property
    def last(self) -> EventName:
        return self._ids[-1]

    def find(self, name: EventName) -> Event | None:
        return self._events.get(name)

    def add(self, event: Event) -> None:
        if not self._ids or event.name > self._ids[-1]:
            self._ids.append(event.name)
        else:
            insort(self._ids, event.name)
        self._events[event.name] = event

    def next_after(self, position: EventName) -> EventName | None:
        place = bisect_right(self._ids, position)
        return self._ids[place] if place < len(self._ids) else None

    def list_between(self, after: EventName, last: EventName) -> Sequence[EventName]:
        """Those behind the first position, up to the last one."""
        return self._ids[bisect_right(self._ids, after) : bisect_right(self._ids, last)]

    def drop_through(self, position: EventName) -> Sequence[EventName]:
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
