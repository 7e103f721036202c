"""The windows that an instance was given: ranges of events, as far as messages have told them.

    turn 3  OpenWindow w7, first a     w7: [a ─────────
    turn 9  CloseWindow w7, end d      w7: [a ─────── d]
    turn 7  NotClosed w7               nothing: turn 9 knows better, though it came first

A message may overtake the OpenWindow of its window: it is kept until the window is there.  Ranges are not part of a
checkpoint (4.6.2): they hold what messages have said, and so a window that comes back in a recovery has all of it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cepheid.disorder.consistency_manager import EventName
from cepheid.execution.parallel.messages import Match

Step = tuple[EventName, bool]  # an event that was processed; or (True) the end of the window at this event


@dataclass(slots=True)
class AssignedWindow:
    """given: the matches that have been given out, by what they were found at.  end_turn: of the message that told the
    end."""

    number: int
    first: EventName
    end: EventName | None = None
    end_turn: int = -1
    given: dict[Step, tuple[Match, ...]] = field(default_factory=dict)

    def has(self, event: EventName, includes_end: bool) -> bool:
        if event < self.first:
            return False
        return self.end is None or event < self.end or (includes_end and event == self.end)

    def spans(self, position: EventName) -> bool:
        """Has it begun and not ended once all events up to here are processed?"""
        return self.first <= position and (self.end is None or self.end > position)


class AssignedWindows:
    def __init__(self) -> None:
        self._windows: dict[int, AssignedWindow] = {}
        self._starts: list[tuple[EventName, int]] = []  # in order
        self._ends: list[tuple[EventName, int]] = []

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Iterator[AssignedWindow]:
        return iter(self._windows.values())

    def __getitem__(self, number: int) -> AssignedWindow:
        return self._windows[number]

    def find(self, number: int) -> AssignedWindow | None:
        return self._windows.get(number)

    def add(self, window: AssignedWindow) -> None:
        self._windows[window.number] = window
        insort(self._starts, (window.first, window.number))

    def remove(self, window: AssignedWindow) -> None:
        del self._windows[window.number]
        self._starts.remove((window.first, window.number))
        if window.end is not None:
            self._ends.remove((window.end, window.number))

    def move_first(self, window: AssignedWindow, first: EventName) -> None:
        self._starts.remove((window.first, window.number))
        window.first = first
        insort(self._starts, (first, window.number))

    def move_end(self, window: AssignedWindow, end: EventName | None) -> None:
        if window.end is not None:
            self._ends.remove((window.end, window.number))
        window.end = end
        if end is not None:
            insort(self._ends, (end, window.number))

    def list_starting(self, after: EventName, last: EventName) -> list[AssignedWindow]:
        """Those that start behind the first position, up to the last one."""
        return [self._windows[number] for _, number in _between(self._starts, after, last)]

    def list_ending(self, after: EventName, last: EventName) -> list[AssignedWindow]:
        return [self._windows[number] for _, number in _between(self._ends, after, last)]

    def next_end(self, position: EventName) -> EventName | None:
        if not self._ends or self._ends[-1][0] <= position:
            return None
        return self._ends[bisect_right(self._ends, (position, _HIGHEST))][0]

    def copy(self) -> AssignedWindows:
        other = AssignedWindows()
        other._windows = {each.number: replace(each, given=each.given.copy()) for each in self}
        other._starts, other._ends = self._starts.copy(), self._ends.copy()
        return other

    def drop_ended(self, position: EventName) -> None:
        """Forget windows that had ended here, and what the others have given out up to here."""
        for window in [each for each in self if each.end is not None and each.end <= position]:
            self.remove(window)
        for window in self:
            for step in [step for step in window.given if step[0] <= position]:
                del window.given[step]


_HIGHEST = 2**62


def _between(places: list[tuple[EventName, int]], after: EventName, last: EventName) -> list[tuple[EventName, int]]:
    if not places or places[-1][0] <= after:  # as a rule: windows start and end seldom
        return []
    return places[bisect_right(places, (after, _HIGHEST)) : bisect_right(places, (last, _HIGHEST))]
