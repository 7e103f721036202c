"""What the pattern operators give out: events by index, never copies of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s

WHOLE, UNMATCHED, TIMED_OUT = range(3)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches of a pattern, of either kind.

    Match m took events[ends[m - 1]:ends[m]] (from 0 for the first), in order, each bound to variables[labels[...]];
    none if it is empty.  starts[m] is the event its search started at, numbers[m] its number within the partition (SEQ
    does not number).

    fates: uint8[matches], None if all are WHOLE.  UNMATCHED reports an event that is in no match (of a WINDOW clause:
    that has none), at starts[m]; TIMED_OUT a partial match whose time ran out.
    hidden: uint8[events], None if no event is excluded from the rows ({- -}).
    moments: int64[matches], the time at which each was complete; None: that of its last event.
    """

    variables: tuple[str, ...]
    events: Int64s
    labels: Int64s
    ends: Int64s
    starts: Int64s
    numbers: Int64s
    fates: Flags | None = None
    hidden: Flags | None = None
    moments: Int64s | None = None

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def begins(self) -> Int64s:
        """int64[matches]: where the events of each match begin."""
        return np.concatenate([np.zeros(min(1, len(self.ends)), dtype=np.int64), self.ends[:-1]])


@dataclass(frozen=True, slots=True)
class Paths:
    """Matches under way: path p has taken the events from begins[p] to before ends[p] of `matches`.

    Several may be the beginnings of one.  numbers: those that the matches will have; shift: the events so many further
    in their partitions.
    """

    matches: Matches
    begins: Int64s
    ends: Int64s
    numbers: Int64s
    shift: Callable[[Int64s, int], Int64s]


def no_matches(variables: tuple[str, ...]) -> Matches:
    none = np.empty(0, dtype=np.int64)
    return Matches(variables, none, none, none, none, none)


def table_matches(variables: tuple[str, ...], events: npt.NDArray[np.int64]) -> Matches:
    """Matches that bind each variable once: int64[matches, variables], sorted by last event, then from the first on."""
    if len(events) > 1:
        keys = [events[:, step] for step in range(events.shape[1] - 1, -1, -1)]
        events = events[np.lexsort([*keys, events[:, -1]])]
    count, width = events.shape
    return Matches(
        variables,
        events.reshape(-1),
        np.tile(np.arange(width, dtype=np.int64), count),
        np.arange(1, count + 1, dtype=np.int64) * width,
        events[:, 0].copy(),
        np.zeros(count, dtype=np.int64),
    )
