"""A rate that grows from nothing to its greatest over a while, and stays there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from cepheid.simulation.arrivals.field_checks import check_length, check_rate
from cepheid.simulation.arrivals.rate_curve import CurvedArrivals, RateCurve


@dataclass(frozen=True, slots=True)
class Increase(CurvedArrivals):
    """rate_per_s: the greatest, reached after duration_s."""

    rate_per_s: float
    duration_s: float

    def __post_init__(self) -> None:
        check_rate("increase", "rate_per_s", self.rate_per_s)
        check_length("increase", "duration_s", self.duration_s)

    def scaled(self, factor: float) -> Self:
        return replace(self, rate_per_s=self.rate_per_s * factor)

    def _curve(self) -> RateCurve:
        return RateCurve((0.0, self.duration_s), (0.0,), (self.rate_per_s,))
