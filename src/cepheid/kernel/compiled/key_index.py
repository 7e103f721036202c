"""Small numbers for keys: an open-addressing table over rows of 64-bit cells.

A key is a row of cells, one for each key column, and a last cell whose bits say which columns are null (null
is a key like any other for PARTITION BY).  Strings come as interned numbers, floats as their bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Int64s, as_cells
from cepheid.kernel.compiled.memory import load_int64, store_int64
from cepheid.kernel.compiled.njit_options import njit, njit_no_refcount

_EMPTY = -1


class KeyIndex:
    """Gives each distinct key the next free number."""

    def __init__(self, columns: int) -> None:
        self._width = columns + 1
        self._slots = np.full(64, _EMPTY, dtype=np.int64)
        self._keys = np.empty((32, self._width), dtype=np.int64)
        self._tally = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._tally[0])

    @property
    def tally(self) -> Int64s:
        """int64[1]: how many keys there are; kernels that number keys by address count them here."""
        return self._tally

    def reserve(self, count: int) -> None:
        """Make room for `count` more keys; not for each of them anew."""
        needed = len(self) + count
        if needed > len(self._keys) or 2 * needed > len(self._slots):
            self.expect(max(2 * len(self), needed))

    @property
    def table(self) -> tuple[Int64s, npt.NDArray[np.int64]]:
        """Slots and rows, for `find_row`."""
        return self._slots, self._keys

    def expect(self, count: int) -> None:
        """Make room for `count` keys in all at once, where it is known beforehand that many will come."""
        if count > len(self._keys):
            wider = np.empty((count, self._width), dtype=np.int64)
            wider[: len(self)] = self._keys[: len(self)]
            self._keys = wider
        size = len(self._slots)
        while size < 2 * (count + 1):
            size *= 2
        if size > len(self._slots):
            self._slots = (
                _widen_slots(self._keys, len(self), size) if len(self) else np.full(size, _EMPTY, dtype=np.int64)
            )

    def number_rows(self, columns: list[Column], count: int) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """int64[n] numbers, bool[n]: has the key a null?"""
        numbers = np.empty(count, dtype=np.int64)
        if _are_plain(columns, 1):
            values: Any = np.ascontiguousarray(columns[0].values)
            self._slots, self._keys, self._tally[0] = _number_values(
                values, self._slots, self._keys, len(self), numbers
            )
            return numbers, np.zeros(count, dtype=np.bool_)
        if _are_plain(columns, 2):
            first, second = (_read_only(column.values) for column in columns)
            self._slots, self._keys, self._tally[0] = _number_pairs(
                first, second, self._slots, self._keys, len(self), numbers
            )
            return numbers, np.zeros(count, dtype=np.bool_)
        cells = self._cells(columns, count)
        self._slots, self._keys, self._tally[0] = _number_cells(cells, self._slots, self._keys, len(self), numbers)
        return numbers, cells[:, -1] != 0

    def find_rows(self, columns: list[Column], count: int) -> Int64s:
        """int64[n]: numbers of keys that are known already, -1 for others and for keys with a null.

        Nothing is changed, so any number of threads may ask at a time.
        """
        numbers = np.empty(count, dtype=np.int64)
        if _are_plain(columns, 1):
            values: Any = np.ascontiguousarray(columns[0].values)
            _find_values(values, self._slots, self._keys, numbers)
        else:
            _find_cells(self._cells(columns, count), self._slots, self._keys, numbers)
        return numbers

    def _cells(self, columns: list[Column], count: int) -> npt.NDArray[np.int64]:
        cells = np.zeros((count, self._width), dtype=np.int64)
        for place, column in enumerate(columns):
            cells[:, place] = as_cells(column)
            if column.valid is not None:
                null = column.valid == 0
                cells[null, place] = 0
                cells[null, -1] |= np.int64(1) << place
        return cells


def _are_plain(columns: list[Column], count: int) -> bool:
    """Is the key so many whole numbers that are never null?"""
    return len(columns) == count and all(each.valid is None and each.values.dtype == np.int64 for each in columns)


def _read_only(values: npt.NDArray[Any]) -> Any:
    """As Arrow's columns are, so that kernels are compiled once."""
    told = np.ascontiguousarray(values).view()
    told.flags.writeable = False
    return told


@njit()
def _hash_cells(row: Int64s) -> np.int64:
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for cell in row:
        mixed = (mixed ^ np.uint64(cell)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(31)
    return np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit()
def find_row(row: Int64s, slots: Int64s, keys: npt.NDArray[np.int64]) -> int:
    """The number of a row of cells (the last one says which are null), -1 if it has none."""
    slot = _hash_cells(row) & (slots.shape[0] - 1)
    while slots[slot] != _EMPTY:
        number = slots[slot]
        same = True
        for c in range(row.shape[0]):
            if keys[number, c] != row[c]:
                same = False
                break
        if same:
            return number
        slot = (slot + 1) & (slots.shape[0] - 1)
    return -1


@njit_no_refcount
def number_row(row: Int64s, width: int, slots: int, slot_count: int, keys: int, tally: int) -> int:
    """The number of a row of `width` cells, by the addresses of an index that has room; -1 - number if it is new."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for c in range(width):  # as `_hash_cells`
        mixed = (mixed ^ np.uint64(row[c])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(31)
    slot = np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF)) & (slot_count - 1)
    while True:
        number = load_int64(slots + 8 * slot)
        if number == _EMPTY:
            break
        address = keys + 8 * width * number
        same = True
        for c in range(width):
            if load_int64(address + 8 * c) != row[c]:
                same = False
                break
        if same:
            return number
        slot = (slot + 1) & (slot_count - 1)
    number = load_int64(tally)
    store_int64(slots + 8 * slot, number)
    for c in range(width):
        store_int64(keys + 8 * (width * number + c), row[c])
    store_int64(tally, number + 1)
    return -1 - number


@njit()
def _number_cells(
    cells: npt.NDArray[np.int64], slots: Int64s, keys: npt.NDArray[np.int64], count: int, numbers: Int64s
) -> tuple[Int64s, npt.NDArray[np.int64], int]:
    width = cells.shape[1]
    for i in range(cells.shape[0]):
        slot = _hash_cells(cells[i]) & (slots.shape[0] - 1)
        while True:
            number = slots[slot]
            if number == _EMPTY:
                break
            same = True
            for c in range(width):
                if keys[number, c] != cells[i, c]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (slots.shape[0] - 1)
        if number == _EMPTY:
            number = count
            if count == keys.shape[0]:
                wider = np.empty((2 * count, width), dtype=np.int64)
                wider[:count] = keys
                keys = wider
            keys[count] = cells[i]
            slots[slot] = count
            count += 1
            if 2 * count > slots.shape[0]:
                slots = _widen_slots(keys, count, 4 * slots.shape[0])
        numbers[i] = number
    return slots, keys, count


@njit()
def _number_values(
    values: Int64s, slots: Int64s, keys: npt.NDArray[np.int64], count: int, numbers: Int64s
) -> tuple[Int64s, npt.NDArray[np.int64], int]:
    """`_number_cells` for keys of one whole number each, none of them null: the common case, without copies."""
    row = np.zeros(2, dtype=np.int64)
    begin = 0
    while begin < values.shape[0]:
        mask, room = slots.shape[0] - 1, min(keys.shape[0], slots.shape[0] // 2)
        for i in range(begin, values.shape[0]):
            value = values[i]
            slot = _hash_value(value) & mask
            while slots[slot] != _EMPTY and (keys[slots[slot], 0] != value or keys[slots[slot], 1] != 0):
                slot = (slot + 1) & mask
            number = slots[slot]
            if number == _EMPTY:
                if count >= room:
                    break
                row[0] = value
                keys[count] = row
                slots[slot] = count
                number = count
                count += 1
            numbers[i] = number
            begin = i + 1
        if begin < values.shape[0]:  # a new key, and no room for it
            if count == keys.shape[0]:
                wider = np.empty((2 * count, 2), dtype=np.int64)
                wider[:count] = keys
                keys = wider
            if 2 * count >= slots.shape[0]:
                slots = _widen_slots(keys, count, 4 * slots.shape[0])
    return slots, keys, count


@njit()
def _number_pairs(
    first: Int64s, second: Int64s, slots: Int64s, keys: npt.NDArray[np.int64], count: int, numbers: Int64s
) -> tuple[Int64s, npt.NDArray[np.int64], int]:
    """`_number_values` for keys of two whole numbers each."""
    row = np.zeros(3, dtype=np.int64)
    begin = 0
    while begin < first.shape[0]:
        mask, room = slots.shape[0] - 1, min(keys.shape[0], slots.shape[0] // 2)
        for i in range(begin, first.shape[0]):
            one, other = first[i], second[i]
            slot = _hash_pair(one, other) & mask
            while slots[slot] != _EMPTY:
                number = slots[slot]
                if keys[number, 0] == one and keys[number, 1] == other and keys[number, 2] == 0:
                    break
                slot = (slot + 1) & mask
            number = slots[slot]
            if number == _EMPTY:
                if count >= room:
                    break
                row[0], row[1] = one, other
                keys[count] = row
                slots[slot] = count
                number = count
                count += 1
            numbers[i] = number
            begin = i + 1
        if begin < first.shape[0]:  # a new key, and no room for it
            if count == keys.shape[0]:
                wider = np.empty((2 * count, 3), dtype=np.int64)
                wider[:count] = keys
                keys = wider
            if 2 * count >= slots.shape[0]:
                slots = _widen_slots(keys, count, 4 * slots.shape[0])
    return slots, keys, count


@njit()
def _find_cells(cells: npt.NDArray[np.int64], slots: Int64s, keys: npt.NDArray[np.int64], numbers: Int64s) -> None:
    last = cells.shape[1] - 1
    for i in range(cells.shape[0]):
        numbers[i] = find_row(cells[i], slots, keys) if cells[i, last] == 0 else _EMPTY


@njit()
def _find_values(values: Int64s, slots: Int64s, keys: npt.NDArray[np.int64], numbers: Int64s) -> None:
    """`_find_cells` for keys of one whole number each, none of them null."""
    mask = slots.shape[0] - 1
    for i in range(values.shape[0]):
        value = values[i]
        slot = _hash_value(value) & mask
        while slots[slot] != _EMPTY and (keys[slots[slot], 0] != value or keys[slots[slot], 1] != 0):
            slot = (slot + 1) & mask
        numbers[i] = slots[slot]


@njit(forceinline=True)
def _hash_value(value: int) -> np.int64:
    """`_hash_cells` of a key of one value that is not null."""
    mixed = (np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(value)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    return np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit(forceinline=True)
def _hash_pair(one: int, other: int) -> np.int64:
    """`_hash_cells` of a key of two values that are not null."""
    mixed = (np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(one)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed = (mixed ^ np.uint64(other)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    return np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit()
def _widen_slots(keys: npt.NDArray[np.int64], count: int, size: int) -> Int64s:
    slots = np.full(size, _EMPTY, dtype=np.int64)
    for number in range(count):
        slot = _hash_cells(keys[number]) & (size - 1)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    return slots
