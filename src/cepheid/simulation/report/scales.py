"""Where values lie on an axis, and which round numbers are written at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from low to high, drawn from begin to end."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        if self.logarithmic:
            low, high, value = math.log10(self.low), math.log10(self.high), math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)


def linear_scale(values: Sequence[float], begin: float, end: float) -> tuple[Scale, list[float]]:
    """From zero to a round number above them, and the round numbers between."""
    ticks = round_steps(0.0, max([*values, 0.0]) or 1.0)
    return Scale(0.0, ticks[-1], begin, end), ticks


def logarithmic_scale(values: Sequence[float], begin: float, end: float) -> tuple[Scale, list[float]]:
    """From a 1, 2 or 5 below them to one above; over more than two decades, whole ones."""
    positive = [value for value in values if value > 0.0] or [1.0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    if last - first > 3:
        ticks = [10.0**power for power in range(first, last + 1)]
    else:
        steps = [step * 10.0**power for power in range(first - 1, last + 1) for step in (1.0, 2.0, 5.0)]
        low = max(step for step in steps if step <= min(positive) * 1.0001)
        high = min(step for step in steps if step >= max(positive) * 0.9999 and step > low)
        ticks = [step for step in steps if low <= step <= high]
    return Scale(ticks[0], ticks[-1], begin, end, logarithmic=True), ticks


def round_steps(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 that cover low to high."""
    if high <= low:
        high = low + 1.0
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def thin_out(ticks: Sequence[float], most: int) -> list[float]:
    """Every second, third, ... of them, so that labels do not touch."""
    return list(ticks[:: max(1, math.ceil(len(ticks) / most))])


def scale_across(
    values: Sequence[float], ticks: Sequence[float], begin: float, end: float
) -> tuple[Scale, list[float]]:
    """A little more than the values on both sides.  ticks: empty, for round numbers, whole where the values are."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.02 or 0.5
    scale = Scale(low - margin, high + margin, begin, end)
    if ticks:
        return scale, thin_out(ticks, 16)
    whole = all(float(value).is_integer() for value in values)
    inside = [tick for tick in round_steps(low, high, 7) if scale.low <= tick <= scale.high]
    return scale, [tick for tick in inside if tick.is_integer() or not whole] or [low]
