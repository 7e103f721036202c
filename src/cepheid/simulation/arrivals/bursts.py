"""A steady rate with peaks, in the phases by which the performance study tests how engines adapt to bursts.

    warm-up, growing from nothing | steady | peak | recovery | steady | peak | recovery | ...

The study: 1 minute, 5 minutes, 10 seconds at one and a half times the rate, 5 minutes; once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from cepheid.simulation.arrivals.field_checks import check_length, check_rate
from cepheid.simulation.arrivals.rate_curve import CurvedArrivals, RateCurve

STUDY_PEAK = 1.5  # times the steady rate


@dataclass(frozen=True, slots=True)
class Bursts(CurvedArrivals):
    """burst_rate_per_s: left out, as the study has it.  repeats: after the recovery all but the warm-up comes again;
    otherwise the steady rate stays."""

    rate_per_s: float
    burst_rate_per_s: float | None = None
    warm_up_s: float = 60.0
    steady_s: float = 300.0
    burst_s: float = 10.0
    recovery_s: float = 300.0
    repeats: bool = True

    def __post_init__(self) -> None:
        check_rate("bursts", "rate_per_s", self.rate_per_s)
        if self.burst_rate_per_s is not None:
            check_rate("bursts", "burst_rate_per_s", self.burst_rate_per_s)
        check_length("bursts", "burst_s", self.burst_s)
        for name in ("warm_up_s", "steady_s", "recovery_s"):
            check_length("bursts", name, getattr(self, name), may_be_zero=True)

    def scaled(self, factor: float) -> Self:
        burst = None if self.burst_rate_per_s is None else self.burst_rate_per_s * factor
        return replace(self, rate_per_s=self.rate_per_s * factor, burst_rate_per_s=burst)

    def _curve(self) -> RateCurve:
        rate = self.rate_per_s
        peak = STUDY_PEAK * rate if self.burst_rate_per_s is None else self.burst_rate_per_s
        phases = [
            (self.warm_up_s, 0.0, rate),
            (self.steady_s, rate, rate),
            (self.burst_s, peak, peak),
            (self.recovery_s, rate, rate),
        ]
        times, begins, ends = [0.0], [], []
        for length, begin, end in phases:
            if length > 0.0:
                times.append(times[-1] + length)
                begins.append(begin)
                ends.append(end)
        if self.repeats:
            return RateCurve(times, begins, ends, repeats_from=1 if self.warm_up_s > 0.0 else 0)
        return RateCurve([*times, times[-1] + 1.0], [*begins, rate], [*ends, rate])
