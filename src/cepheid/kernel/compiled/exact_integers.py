"""Sums of integers in 96 bits: a sum on its way may be larger than its answer may be.

count | sum // 2**32 | sum % 2**32
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.compiled.njit_options import njit

COUNT, HIGH, LOW = range(3)


@njit(forceinline=True)
def add_value(records: Any, slot: int, value: int) -> None:
    add_wide(records, slot, 1, value >> 32, value & 0xFFFFFFFF)


@njit(forceinline=True)
def add_wide(records: Any, slot: int, count: int, high: int, low: int) -> None:
    low += records[slot, LOW]
    records[slot, COUNT] += count
    records[slot, HIGH] += high + (low >> 32)
    records[slot, LOW] = low & 0xFFFFFFFF


@njit(forceinline=True)
def fits_64_bits(high: int) -> bool:
    return -(2**31) <= high < 2**31


@njit(forceinline=True)
def divide_to_float(high: int, low: int, n: int) -> float:
    if fits_64_bits(high):
        return np.float64((high << 32) + low) / n
    return (np.float64(high) * 4294967296.0 + np.float64(low)) / n


@njit()
def divide_whole(high: int, low: int, n: int) -> int:
    """The sum by n, cut towards zero; it fits, being no farther from zero than the farthest value."""
    is_negative = high < 0
    if is_negative:
        low = -low
        high = -high + (low >> 32)
        low &= 0xFFFFFFFF
    share = ((high // n) << 32) + (((high % n) << 32) + low) // n
    return -share if is_negative else share
