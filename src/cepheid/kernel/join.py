"""What a join of streams is given: the window of each input, and what becomes of events without a partner.

docs/reference/windows.md says what these mean.  Times are microseconds, counts are events.

    inputs 0 and 1, [ROWS 2] each, events e0 .. e4 with their input and key:

    e0: 0 k    e1: 1 k    e2: 0 k    e3: 0 m    e4: 1 k
               (0, 1)     (2, 1)                (2, 4)        e0 has left: e2 and e3 are the last two

A row names one event of every input by its index, -1 where an outer join puts nulls.  The newest of them is the
*trigger*: it arrived, and found the others in their windows.

An interval join is a window join too: y.ts BETWEEN x.ts - lo AND x.ts + hi is x [RANGE hi], y [RANGE lo], both
inclusive.  Where lo or hi is negative, its window is 0 long, and the rest is left to the condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s

Accept = Callable[[Int64s], npt.NDArray[np.bool_]]
"""The rest of the condition: bool[m] for candidates int64[m, inputs].  They are lent: copy what is to be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinInput:
    """The window over one input.

    size: microseconds or events, None: it never loses an event.  partitioned: each partition counts its own events.
    inclusive: at time t it holds [t - size, t], not (t - size, t].
    """

    kind: Literal["time", "count"]
    size: int | None = None
    partitioned: bool = False
    inclusive: bool = False

    def __post_init__(self) -> None:
        least = 0 if self.inclusive else 1
        assert self.size is None or self.size >= least, f"a window of {self.size} holds no event at all"
        assert self.kind == "count" or not self.partitioned, "time passes alike in all partitions"
        assert self.kind == "time" or not self.inclusive, "only spans of time have an edge to include"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProgram:
    """What one join vertex is to do.

    preserved: inputs whose events come out also without a partner (LEFT, RIGHT, FULL).  outer: when they do, at their
    "arrival", if they find nothing then (window join), or at their "leaving", once no partner can come any more
    (interval join).  keyed: only events with equal keys join.
    """

    inputs: tuple[JoinInput, ...]
    preserved: tuple[bool, ...]
    outer: Literal["arrival", "leaving"] = "arrival"
    keyed: bool = True

    def __post_init__(self) -> None:
        assert len(self.inputs) >= 2, "a join has two inputs or more"
        assert len(self.preserved) == len(self.inputs), "each input is preserved or is not"
        assert len(self.inputs) == 2 or not any(self.preserved), "outer joins have two inputs"
        assert not self.emits_leavers or all(window.kind == "time" for window in self.inputs), (
            "leaving is a matter of time"
        )

    @property
    def emits_leavers(self) -> bool:
        """Do rows come out because time passes?"""
        return self.outer == "leaving" and any(self.preserved)


@dataclass(frozen=True, slots=True)
class JoinEvents:
    """Events of all inputs in order: by time, then input, then arrival.

    times: int64[n], ascending; keys: int64[n], small numbers from 0, -1 for null, which equals nothing; streams:
    int64[n], the number of the input; partitions: int64[n], small numbers from 0 (null is one like any other).
    """

    times: Int64s
    keys: Int64s
    streams: Int64s
    partitions: Int64s

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, slots=True)
class JoinRows:
    """rows: int64[m, inputs], events by their index since the operator began or was restored, -1 for nulls.

    moments: int64[m]: the time of the trigger; for an event reported when it leaves, the last time a partner could
    have come (of an endless window, the time of the last event of all).

    Rows are in order of triggers; of one trigger by partners, oldest first, the leftmost input slowest.  Leavers of a
    moment come behind all triggers of it, oldest first; those of endless windows behind all else.  Moments ascend,
    these last ones set aside.
    """

    rows: Int64s
    moments: Int64s

    def __len__(self) -> int:
        return len(self.moments)


def last_chance(window: JoinInput, time: int) -> int | None:
    """Up to when an event of that time can get partners that come after it; None: for ever."""
    if window.size is None:
        return None
    return time + window.size - (0 if window.inclusive else 1)
