"""What the pattern operators give out: events by index, never copies of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s


@dataclass(frozen=True, slots=True)
class RowMatches:
    """Matches of a row pattern.

    Match m took events[ends[m - 1]:ends[m]] (from 0 for the first), each bound to variables[labels[...]]; none
    if it is empty.  starts[m] is the event its search started at, numbers[m] its number within the partition.
    """

    variables: tuple[str, ...]
    events: Int64s
    labels: Int64s
    ends: Int64s
    starts: Int64s
    numbers: Int64s

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def begins(self) -> Int64s:
        """int64[matches]: where the events of each match begin."""
        return np.concatenate([np.zeros(min(1, len(self.ends)), dtype=np.int64), self.ends[:-1]])


@dataclass(frozen=True, slots=True)
class SequenceMatches:
    """events: int64[matches, steps], sorted by last event, then from the first event on."""

    events: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.events)


def sort_sequences(events: npt.NDArray[np.int64]) -> SequenceMatches:
    """Into the order that SequenceMatches promises."""
    if len(events) < 2:
        return SequenceMatches(events)
    keys = [events[:, step] for step in range(events.shape[1] - 1, -1, -1)]
    return SequenceMatches(events[np.lexsort([*keys, events[:, -1]])])
