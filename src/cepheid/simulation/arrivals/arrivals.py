"""How many events come in: the contract of every kind of arrivals."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@runtime_checkable
class ArrivalProcess(Protocol):
    """A value: what it gives depends on its fields, the times, and which copy of the query asks, on nothing else."""

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:
        """How many events come in each interval between neighbouring edges (ms; n + 1 of them, ascending; the source
        begins at the first): float64[n], fractions allowed.  copy: copies of a query with random arrivals differ by
        it."""
        ...

    def scaled(self, factor: float) -> Any:
        """The same arrivals, `factor` times as many."""
        ...

    def mean_rate(self, duration_s: float) -> float:
        """Events per second over that time."""
        ...
