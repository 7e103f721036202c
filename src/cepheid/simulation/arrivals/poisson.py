"""Events that come by chance, each on its own, at the same mean rate all the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cepheid.simulation.arrivals.arrivals import Floats
from cepheid.simulation.arrivals.field_checks import check_rate, check_seed
from cepheid.simulation.arrivals.randomised import draw_counts, forward_only


@dataclass(frozen=True, slots=True)
class Poisson:
    rate_per_s: float
    seed: int = 1

    def __post_init__(self) -> None:
        check_rate("poisson", "rate_per_s", self.rate_per_s)
        check_seed("poisson", self.seed)

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:
        return draw_counts(np.diff(forward_only(edges_ms)) / 1000.0 * self.rate_per_s, self.seed, copy)

    def scaled(self, factor: float) -> Self:
        return replace(self, rate_per_s=self.rate_per_s * factor)

    def mean_rate(self, duration_s: float) -> float:  # noqa: ARG002 (the expected one)
        return self.rate_per_s
