"""Sums as fractions: the true sum, rounded once, in whatever order its values came.

The compiled twin comes to the same with floats that carry what was lost along (kernel/compiled/exact_floats.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

SCALE = Fraction(2) ** 560  # as in the compiled twin: answers on their way may be beyond all floats


def sum_exactly(values: Sequence[Any]) -> Fraction | float:
    """The true sum; NaN or infinity where a value is not finite."""
    if all(math.isfinite(value) for value in values):
        return sum(map(Fraction, values), Fraction(0))
    return sum(float(value) for value in values if not math.isfinite(value))


def to_float(number: Fraction | float) -> float:
    """Rounded once; what is beyond all floats is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def divide_rounded(total: Fraction | float, count: int) -> float:
    """The total rounded, divided by the count: a total beyond all floats may have a mean that is not."""
    rounded = to_float(total)
    if math.isinf(rounded) and isinstance(total, Fraction):
        return to_float(total / SCALE) / count * float(SCALE)
    return rounded / count


def square_deviations(values: Sequence[Any]) -> Fraction | None:
    """The sum of squared distances from the mean; None if a value is not finite."""
    if not all(math.isfinite(value) for value in values):
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return sum(((value - mean) ** 2 for value in exact), Fraction(0))
