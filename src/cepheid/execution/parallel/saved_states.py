"""The checkpoints of one component, by the last event that is in each.

──[s0]────[s1]──────[s2]────▶ events      a late event goes here: ▲
                                               [s1]───────────────┘ is the state to go back to; s2 is wrong from now on
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

from cepheid.disorder.consistency_manager import EventName

State = TypeVar("State")


class SavedStates(Generic[State]):
    """There is always one: before it nothing can be put right."""

    def __init__(self, position: EventName, state: State) -> None:
        self._positions = [position]
        self._states = [state]

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def floor(self) -> EventName:
        return self._positions[0]

    @property
    def newest(self) -> EventName:
        return self._positions[-1]

    def save(self, position: EventName, state: State) -> None:
        """Positions grow; a state of the same position takes the place of the one before."""
        if position == self._positions[-1]:
            self._states[-1] = state
            return
        if position < self._positions[-1]:
            raise AssertionError("states are saved in the order of events")
        self._positions.append(position)
        self._states.append(state)

    def find_before(self, position: EventName) -> EventName:
        """Where the newest state without this event stands."""
        place = bisect_left(self._positions, position)
        if not place:
            raise AssertionError(f"no state before {position} is kept")
        return self._positions[place - 1]

    def go_back_before(self, position: EventName) -> tuple[EventName, State]:
        """The newest state without this event; those that have it are dropped."""
        place = bisect_left(self._positions, position)
        if not place:
            raise AssertionError(f"no state before {position} is kept")
        del self._positions[place:], self._states[place:]
        return self._positions[-1], self._states[-1]

    def drop_before(self, position: EventName) -> bool:
        """Keep the newest state at or before this position, and those behind it; was any dropped?"""
        place = bisect_right(self._positions, position) - 1
        if place <= 0:
            return False
        del self._positions[:place], self._states[:place]
        return True
