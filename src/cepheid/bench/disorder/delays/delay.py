"""What every kind of delay does: from times of events to how much later they arrive.

A kind is a value; its fields are the keys of its table in a scenario.  Those with an underscore before a unit are spans
of time in that unit.  The same times and the same seed give the same delays.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SECOND_NS = 1_000_000_000
MILLISECOND_NS = 1_000_000
MICROSECOND_NS = 1_000
MOST_NS = 2**60  # 36 years: a tail of a Pareto distribution knows no end, int64 does


class Delay(Protocol):
    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        """times_ns: int64[n], ascending, since the beginning of the stream; int64[n]: by how much each is late."""
        ...


def from_ms(delays_ms: Floats) -> Int64s:
    """In nanoseconds."""
    return np.rint(np.minimum(delays_ms * MILLISECOND_NS, float(MOST_NS))).astype(np.int64)


def from_s(seconds: float) -> int:
    """In nanoseconds."""
    return round(seconds * SECOND_NS)
