"""The same rate all the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cepheid.simulation.arrivals.arrivals import Floats
from cepheid.simulation.arrivals.field_checks import check_rate


@dataclass(frozen=True, slots=True)
class Uniform:
    rate_per_s: float

    def __post_init__(self) -> None:
        check_rate("uniform", "rate_per_s", self.rate_per_s)

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:  # noqa: ARG002 (copies are alike)
        return np.diff(edges_ms) / 1000.0 * self.rate_per_s

    def scaled(self, factor: float) -> Self:
        return replace(self, rate_per_s=self.rate_per_s * factor)

    def mean_rate(self, duration_s: float) -> float:  # noqa: ARG002 (the same for every time)
        return self.rate_per_s
