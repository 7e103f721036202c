"""What a gate asks of a rule that says how long events are held back.

    events as they arrive ─▶ see ─▶ how late each one is
    results as they come out ─▶ learn ─▶ slack_us: how long events are held back from now on

A rule sees times only, never a clock of the machine: the same events in the same order give the same slack, in every
run and after a restart.  *Lateness* of an event: how far the newest event before it was ahead, 0 if none was.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class Wait(Protocol):
    """State is told as values that JSON can write."""

    @property
    def slack_us(self) -> int:
        """How long events are held back."""
        ...

    def see(self, times: Int64s, sources: Int64s) -> Int64s:
        """Events in the order of arrival, and the number of the source of each (from 0: of what a gate sees as one
        stream, as it waits for each of its streams anyway); int64[n]: how late each is."""
        ...

    def learn(self, needs: Int64s, moment: int) -> None:
        """How late the latest event of each result was that came out; moment: event time by now."""
        ...

    def write_state(self) -> dict[str, Any]: ...

    def read_state(self, state: dict[str, Any]) -> None: ...


def measure_lateness(times: Int64s, newest: int) -> Int64s:
    """int64[n]: how far the newest event that had arrived before each was ahead of it.  newest: before all of them."""
    if not len(times):
        return times
    clock = np.maximum.accumulate(times)
    return np.maximum(clock, newest) - times
