"""Delays that are drawn for each event on its own, and the one that is the same for all.

What papers draw from: exponential (queues), log-normal and Pareto (measured networks), Zipf (joins of out-of-order
streams), and a share of events that is late by something between two bounds (most generators).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.bench.disorder.delays.delay import Int64s, from_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    delay_ms: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:  # noqa: ARG002 (nothing is drawn)
        return from_ms(np.full(len(times_ns), self.delay_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    mean_ms: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        return from_ms(random.exponential(self.mean_ms, len(times_ns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal:
    """sigma: of the logarithm."""

    median_ms: float
    sigma: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        return from_ms(random.lognormal(np.log(self.median_ms), self.sigma, len(times_ns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto:
    """P(delay > x) = (least / x) ** shape: with a shape of 2 or less the spread has no bound, of 1 or less the mean."""

    shape: float
    least_ms: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        return from_ms(self.least_ms * (1.0 + random.pareto(self.shape, len(times_ns))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Zipf:
    """A rank times a unit, but no more than the cap; P(rank = n) is in proportion to n ** -skew."""

    skew: float
    unit_ms: float
    cap_ms: float

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        ranks = random.zipf(self.skew, len(times_ns)).astype(np.float64)
        return from_ms(np.minimum(ranks * self.unit_ms, self.cap_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformShare:
    """This share of the events is late, by something between low and high; the others are not."""

    share: float
    high_ms: float
    low_ms: float = 0.0

    def draw(self, times_ns: Int64s, random: np.random.Generator) -> Int64s:
        is_late = random.random(len(times_ns)) < self.share
        return from_ms(np.where(is_late, random.uniform(self.low_ms, self.high_ms, len(times_ns)), 0.0))
