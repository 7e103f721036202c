"""Hashes of rows, and ids made of them: what is done to each of many rows, in one go.

hash of the columns before ─┐
value of this column ──mix──┴─mix─▶ hash of the row            two of them ─▶ 32 digits
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit

Hashes = npt.NDArray[np.uint64]

_EMPTY = -1


@njit(forceinline=True)
def mix_one(cell: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: every bit of the input changes about half of the output."""
    cell = (cell ^ (cell >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    cell = (cell ^ (cell >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cell ^ (cell >> np.uint64(31))


@njit()
def mix_column(hashes: Hashes, values: Hashes, seed: np.uint64) -> None:
    """Hashes of rows with one column more."""
    for row in range(hashes.shape[0]):
        hashes[row] = mix_one(hashes[row] ^ mix_one(values[row] ^ seed))


@njit()
def mix_lists(values: Hashes, ends: Int64s, seed: np.uint64, hashes: Hashes) -> None:
    """hashes: uint64[n], of lists of numbers, each of which ends where the next one begins (ends: int64[n])."""
    begin = np.int64(0)
    for row in range(ends.shape[0]):
        mixed = np.uint64(0)
        for item in range(begin, ends[row]):
            mixed += mix_one(mix_one(values[item] ^ seed) + mix_one(np.uint64(item - begin)))
        hashes[row] = mix_one(mixed ^ mix_one(np.uint64(ends[row] - begin)) ^ seed)
        begin = ends[row]


@njit()
def write_digits(high: Hashes, low: Hashes, digits: npt.NDArray[np.uint8]) -> None:
    """digits: uint8[32 n], the 128 bits of each row in hexadecimal."""
    for row in range(high.shape[0]):
        begin = 32 * row
        for place in range(16):
            shift = np.uint64(60 - 4 * place)
            first = np.uint8((high[row] >> shift) & np.uint64(15))
            second = np.uint8((low[row] >> shift) & np.uint64(15))
            digits[begin + place] = first + (48 if first < 10 else 87)  # "0", or "a" less ten
            digits[begin + 16 + place] = second + (48 if second < 10 else 87)


@njit()
def are_apart(high: Hashes, low: Hashes, slots: Int64s) -> bool:
    """Are no two rows alike?  slots: int64, all -1, a power of two and more than there are rows."""
    mask = slots.shape[0] - 1
    for row in range(high.shape[0]):
        slot = np.int64(low[row] & np.uint64(mask))
        while slots[slot] != _EMPTY:
            other = slots[slot]
            if high[other] == high[row] and low[other] == low[row]:
                return False
            slot = (slot + 1) & mask
        slots[slot] = row
    return True


def warm_up_row_ids() -> None:
    """Values may be Arrow's, which are read only: a type of their own to Numba."""
    values = np.arange(2, dtype=np.uint64)
    values.flags.writeable = False
    hashes = np.zeros(2, dtype=np.uint64)
    mix_column(hashes, values, np.uint64(1))
    mix_lists(values, np.arange(2, dtype=np.int64), np.uint64(1), hashes)
    write_digits(hashes, hashes, np.empty(64, dtype=np.uint8))
    are_apart(hashes, hashes, np.full(4, _EMPTY, dtype=np.int64))
