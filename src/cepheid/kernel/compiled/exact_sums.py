"""Exact sums of floats as records of floats: what windows and patterns hold for sum, avg, variance and deviation.

    count | place of its rare record | sum (three floats) | sum of squares (four; only if a variance is asked for)

Values that would spoil a sum for ever are kept out of it.  A record of such values has a rare record besides:

    how many | NaNs | infinities | negative infinities | for each class of huge values: sum and sum of squares

A class is a range of 64 exponents, so narrow that sums in it are exact; and huge values are divided by 2**560, so that
sums of them do not overflow on the way.  When a NaN or 1e308 has left a window, its trace has left too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cepheid.kernel.columns import Floats, Int64s
from cepheid.kernel.compiled.exact_floats import (
    add_to_squares,
    add_to_sum,
    add_to_triple,
    multiply_exactly,
    squared_deviations,
    tidy,
    tidy_squares,
)
from cepheid.kernel.compiled.njit_options import njit

COUNT, RARE, SUM, SQUARES = 0, 1, 2, 5
WIDTH = SQUARES + 4  # SQUARES, if no variance is asked for
RARE_COUNT, NANS, INFINITIES, NEGATIVE_INFINITIES, CLASSES = range(5)
CLASS_EXPONENTS, CLASS_WIDTH, CLASS_SQUARES = 64, 7, 3
RARE_WIDTH = CLASSES + (1024 // CLASS_EXPONENTS - 1) * CLASS_WIDTH
LARGEST = 2.0**64  # of the values in the sum: once they have left, rounding them has cost others 2**-86 at most
SCALE_DOWN, SCALE_UP = 2.0**-560, 2.0**560  # squares of huge values, n * n of them, are finite then, and not zero


def has_rare_values(values: Floats) -> bool:
    """Is there one that needs a rare record?"""
    return not bool((np.abs(values) < LARGEST).all())


@njit(forceinline=True)
def add_number(records: Any, slot: int, value: float, sign: float, squares: bool) -> None:
    """A value below LARGEST."""
    records[slot, COUNT] += sign
    add_to_sum(records, slot, SUM, sign * value)
    if squares:
        square, error = multiply_exactly(value, value)
        add_to_squares(records, slot, SQUARES, sign * square)
        add_to_squares(records, slot, SQUARES, sign * error)


@njit()
def add_integer(records: Any, slot: int, value: int, sign: float, squares: bool) -> None:
    """An integer of more than 53 bits is two floats: its last 11 bits, and the rest."""
    low = value & 0x7FF
    if -(2**53) <= value <= 2**53:
        low = 0
    high, rest = np.float64(value - low), np.float64(low)
    records[slot, COUNT] += sign
    add_to_sum(records, slot, SUM, sign * high)
    add_to_sum(records, slot, SUM, sign * rest)
    if squares:
        square, error = multiply_exactly(high, high)
        add_to_squares(records, slot, SQUARES, sign * square)
        add_to_squares(records, slot, SQUARES, sign * error)
        if low:
            square, error = multiply_exactly(2.0 * high, rest)
            add_to_squares(records, slot, SQUARES, sign * square)
            add_to_squares(records, slot, SQUARES, sign * error)
            add_to_squares(records, slot, SQUARES, sign * rest * rest)


@njit()
def add_rare(records: Any, rare: Any, slot: int, value: float, sign: float) -> None:
    place = int(records[slot, RARE]) - 1
    records[slot, COUNT] += sign
    rare[place, RARE_COUNT] += sign
    if np.isnan(value):
        rare[place, NANS] += sign
    elif value == np.inf:
        rare[place, INFINITIES] += sign
    elif value == -np.inf:
        rare[place, NEGATIVE_INFINITIES] += sign
    else:
        _, exponent = math.frexp(value)
        at = CLASSES + ((exponent - 1) // CLASS_EXPONENTS - 1) * CLASS_WIDTH
        scaled = value * SCALE_DOWN
        add_to_sum(rare, place, at, sign * scaled)
        square, error = multiply_exactly(scaled, scaled)
        add_to_squares(rare, place, at + CLASS_SQUARES, sign * square)
        add_to_squares(rare, place, at + CLASS_SQUARES, sign * error)


@njit()
def add_rare_of_pane(records: Any, rare: Any, slot: int, pane: int, sign: float) -> None:
    place, other = int(records[slot, RARE]) - 1, int(records[pane, RARE]) - 1
    for at in range(CLASSES):
        rare[place, at] += sign * rare[other, at]
    for begin in range(CLASSES, RARE_WIDTH, CLASS_WIDTH):
        for at in range(begin, begin + CLASS_SQUARES):
            add_to_sum(rare, place, begin, sign * rare[other, at])
        for at in range(begin + CLASS_SQUARES, begin + CLASS_WIDTH):
            add_to_squares(rare, place, begin + CLASS_SQUARES, sign * rare[other, at])


@njit(forceinline=True)
def read_total(records: Any, slot: int) -> float:
    """The sum of a record without rare values."""
    total, _, _ = tidy(records[slot, SUM], records[slot, SUM + 1], records[slot, SUM + 2])
    return total


@njit(forceinline=True)
def read_deviations(records: Any, slot: int) -> float:
    """Of a record without rare values: the sum of squared distances from the mean."""
    s0, s1, s2 = tidy(records[slot, SUM], records[slot, SUM + 1], records[slot, SUM + 2])
    q0, q1, q2 = tidy_squares(
        records[slot, SQUARES], records[slot, SQUARES + 1], records[slot, SQUARES + 2], records[slot, SQUARES + 3]
    )
    return squared_deviations(records[slot, COUNT], s0, s1, s2, q0, q1, q2)


@njit()
def read_rare(records: Any, rare: Any, slot: int) -> tuple[float, float, float]:
    """Sum, mean and squared distances of a record with rare values; the last negative if divided by 2**1120."""
    n, place = records[slot, COUNT], int(records[slot, RARE]) - 1
    up, down = rare[place, INFINITIES] > 0.0, rare[place, NEGATIVE_INFINITIES] > 0.0
    if rare[place, NANS] > 0.0 or up or down:
        total = np.nan
        if rare[place, NANS] == 0.0 and up != down:
            total = np.inf if up else -np.inf
        return total, total, np.nan
    s0, s1, s2 = 0.0, 0.0, 0.0
    for begin in range(RARE_WIDTH - CLASS_WIDTH, CLASSES - 1, -CLASS_WIDTH):
        for at in range(begin, begin + CLASS_SQUARES):
            s0, s1, s2 = add_to_triple(s0, s1, s2, rare[place, at])
    huge, _, _ = tidy(s0, s1, s2)
    for at in range(SUM, SUM + 3):
        s0, s1, s2 = add_to_triple(s0, s1, s2, records[slot, at] * SCALE_DOWN)
    s0, s1, s2 = tidy(s0, s1, s2)
    total, mean = s0 * SCALE_UP, s0 / n * SCALE_UP
    if huge == 0.0:  # they add up to nothing: the others are all there is, and would lose digits when scaled down
        total = read_total(records, slot)
        mean = total / n
    if records.shape[1] <= SQUARES or n <= 1.0:
        return total, mean, 0.0
    q0, q1, q2 = 0.0, 0.0, 0.0
    for begin in range(RARE_WIDTH - CLASS_WIDTH, CLASSES - 1, -CLASS_WIDTH):
        for at in range(begin + CLASS_SQUARES, begin + CLASS_WIDTH):
            q0, q1, q2 = add_to_triple(q0, q1, q2, rare[place, at])
    for at in range(SQUARES, SQUARES + 4):
        q0, q1, q2 = add_to_triple(q0, q1, q2, records[slot, at] * SCALE_DOWN * SCALE_DOWN)
    q0, q1, q2 = tidy(q0, q1, q2)
    return total, mean, -squared_deviations(n, s0, s1, s2, q0, q1, q2)


@njit()
def finish_variance(deviations: float, n: float, spared: int, is_root: bool) -> float:
    """From squared distances, which are negative if divided by 2**1120, to variance or standard deviation."""
    divisor = n - spared
    found = abs(deviations) / divisor if divisor > 1.0 else abs(deviations)
    if is_root:
        found = math.sqrt(found)
    if deviations < 0.0:
        found *= SCALE_UP
        if not is_root:
            found *= SCALE_UP
    return found


@njit()
def finish_variances(deviations: Floats, counts: Int64s, spared: int, is_root: bool) -> Floats:
    """float64[rows]"""
    found = np.empty(deviations.shape[0])
    for row in range(deviations.shape[0]):
        found[row] = finish_variance(deviations[row], float(counts[row]), spared, is_root)
    return found
