"""Arrivals by chance around others: in each interval a Poisson number of events, with what they would give as mean.

Seeded by the seed and the number of the copy: a run can be repeated, and copies of a query differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cepheid.simulation.arrivals.arrivals import ArrivalProcess, Floats


@dataclass(frozen=True, slots=True)
class Randomised:
    around: ArrivalProcess
    seed: int = 1

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:
        return draw_counts(self.around.amounts(forward_only(edges_ms), copy), self.seed, copy)

    def scaled(self, factor: float) -> Self:
        return replace(self, around=self.around.scaled(factor))

    def mean_rate(self, duration_s: float) -> float:
        """The expected one."""
        return self.around.mean_rate(duration_s)


def forward_only(edges_ms: Floats) -> Floats:
    """With several processors CEPSim's time runs back at times; what came by chance cannot be taken back."""
    return np.maximum.accumulate(edges_ms)


def draw_counts(means: Floats, seed: int, copy: int) -> Floats:
    """Whole numbers, as float64[n]."""
    return np.random.default_rng((seed, copy)).poisson(means).astype(np.float64)
