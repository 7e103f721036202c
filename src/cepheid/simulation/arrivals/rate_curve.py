"""A rate that changes linearly between points in time, and may jump at them: what most kinds of arrivals are.

rate   ____        how many events come until t is the area under it: exact, however the ticks fall
      /    |__
     /
    0  60 360 370  seconds since the source began
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.simulation.arrivals.arrivals import Floats


@dataclass(frozen=True, slots=True)
class RateCurve:
    """n pieces: piece i goes from times_s[i] to times_s[i + 1], its rate from begins[i] to ends[i] (events per s).

    times_s: n + 1 of them, ascending, the first is 0.  repeats_from: which piece follows the last; None: the last rate
    stays.
    """

    times_s: Sequence[float]
    begins: Sequence[float]
    ends: Sequence[float]
    repeats_from: int | None = None

    def arrived_by(self, times_s: Floats) -> Floats:
        """How many events have come, of each time: float64[n]."""
        times = np.asarray(self.times_s, np.float64)
        begins, ends = np.asarray(self.begins, np.float64), np.asarray(self.ends, np.float64)
        lengths = np.diff(times)
        sums = np.append(0.0, np.cumsum(lengths * (begins + ends) / 2.0))
        cycles, asked = np.zeros_like(times_s), times_s
        if self.repeats_from is not None:
            first, last = times[self.repeats_from], times[-1]
            again = times_s >= last
            whole, inside = np.divmod(times_s - first, last - first)
            cycles, asked = np.where(again, whole, 0.0), np.where(again, first + inside, times_s)
            cycles *= sums[-1] - sums[self.repeats_from]
        piece = np.clip(np.searchsorted(times, asked, side="right") - 1, 0, len(lengths) - 1)
        gone = np.minimum(asked - times[piece], lengths[piece])
        slopes = (ends - begins) / lengths
        within = gone * (begins[piece] + slopes[piece] * gone / 2.0)
        beyond = np.maximum(asked - times[-1], 0.0) * ends[-1]
        return cycles + sums[piece] + within + beyond

    def amounts(self, edges_ms: Floats) -> Floats:
        came = np.diff(self.arrived_by((edges_ms - edges_ms[0]) / 1000.0))
        # the later sum may be smaller by rounding where nothing comes; with several processors CEPSim's time really
        # runs back at times, and takes what it has given
        return np.where(np.diff(edges_ms) >= 0.0, np.maximum(came, 0.0), came)

    def mean_rate(self, duration_s: float) -> float:
        return float(self.arrived_by(np.array([duration_s]))[0]) / duration_s


class CurvedArrivals:
    """Kinds of arrivals that are a curve: what they have in common."""

    __slots__ = ()

    def _curve(self) -> RateCurve:
        raise NotImplementedError

    def amounts(self, edges_ms: Floats, copy: int) -> Floats:  # noqa: ARG002 (copies are alike)
        return self._curve().amounts(edges_ms)

    def mean_rate(self, duration_s: float) -> float:
        return self._curve().mean_rate(duration_s)
