"""Small numbers for texts, without a Python object for each: an open-addressing table over their bytes.

    "ab", "c", "ab"   =>   bytes "abc", ends 2 3, numbers 0 1 0

For columns of millions of different texts; `Interner` suits few texts that are to be shown again.

A slot holds a number and, above it, a part of the hash: with a large table every look at another array waits for the
memory, and this way a text is looked at only if it is very likely the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit

Bytes = npt.NDArray[np.uint8]

_EMPTY = -1
_NUMBER_BITS = 0xFFFFFFFF
_TAG_BITS = 0x7FFFFFFF00000000


class TextIndex:
    """Gives each distinct text the next free number."""

    def __init__(self) -> None:
        self._slots = np.full(64, _EMPTY, dtype=np.int64)
        self._hashes = np.empty(32, dtype=np.int64)
        self._ends = np.zeros(33, dtype=np.int64)  # text t is bytes[ends[t]:ends[t + 1]]
        self._bytes = np.empty(256, dtype=np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def expect(self, count: int) -> None:
        """Make room for `count` texts in all at once."""
        if count > len(self._hashes):
            hashes, ends = np.empty(count, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
            hashes[: self._count], ends[: self._count + 1] = self._hashes[: self._count], self._ends[: self._count + 1]
            self._hashes, self._ends = hashes, ends
        size = len(self._slots)
        while size < 2 * (count + 1):
            size *= 2
        if size > len(self._slots):
            self._slots = _widen_slots(self._hashes, self._count, size)

    def number_texts(self, texts: pa.ChunkedArray) -> Int64s:
        """int64[n]: the number of each text; where it is null, any."""
        return _spread(texts, self._number)

    def find_texts(self, texts: pa.ChunkedArray) -> Int64s:
        """int64[n]: the number of each text that is known already, -1 for others; where it is null, any."""
        return _spread(texts, self._find)

    def _number(self, begins: Int64s, content: Bytes) -> Int64s:
        assert self._count + len(begins) < _NUMBER_BITS, "numbers of texts fit 32 bits"
        numbers = np.empty(len(begins) - 1, dtype=np.int64)
        self._slots, self._hashes, self._ends, self._bytes, self._count = _number_bytes(
            begins, content, self._slots, self._hashes, self._ends, self._bytes, self._count, numbers
        )
        return numbers

    def _find(self, begins: Int64s, content: Bytes) -> Int64s:
        numbers = np.empty(len(begins) - 1, dtype=np.int64)
        _find_bytes(begins, content, self._slots, self._ends, self._bytes, numbers)
        return numbers


def _spread(texts: pa.ChunkedArray, answer: Any) -> Int64s:
    """Ask for each chunk, and for each entry of a dictionary only once."""
    answers = []
    for chunk in texts.chunks:
        if pa.types.is_dictionary(chunk.type):
            of_entries = answer(*_buffers_of(chunk.dictionary))
            indices = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False)
            # All null: there may be no entry to point at.
            answers.append(of_entries[indices] if len(of_entries) else np.full(len(chunk), _EMPTY, dtype=np.int64))
        else:
            answers.append(answer(*_buffers_of(chunk)))
    return np.concatenate(answers) if answers else np.empty(0, dtype=np.int64)


def _buffers_of(array: pa.Array) -> tuple[Int64s, Bytes]:
    """begins: int64[n + 1], content: uint8[...]: text i is content[begins[i]:begins[i + 1]]."""
    array = array.cast(pa.large_string())
    _, offsets, content = array.buffers()
    if not len(array) or offsets is None:
        return _locked(np.zeros(1, dtype=np.int64)), _locked(np.empty(0, dtype=np.uint8))
    begins = np.frombuffer(offsets, dtype=np.int64, count=len(array) + 1, offset=8 * array.offset)
    has_content = content is not None and content.size > 0
    return _locked(begins), _locked(np.frombuffer(content, dtype=np.uint8) if has_content else np.empty(0, np.uint8))


def _locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Arrow's arrays cannot be written: to Numba a type of its own, so that all must be like that."""
    array.flags.writeable = False
    return array


@njit()
def _hash_bytes(content: Bytes, begin: int, end: int) -> np.int64:
    """Eight bytes at a time, as text is mostly short; the length distinguishes "a" from "a" and a zero byte."""
    mixed = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - begin)
    place = begin
    while place < end:
        word = np.uint64(0)
        for i in range(place, min(place + 8, end)):
            word = (word << np.uint64(8)) | np.uint64(content[i])
        mixed = (mixed ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
        place += 8
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit()
def _is_same(content: Bytes, begin: int, end: int, number: int, ends: Int64s, known: Bytes) -> bool:
    start = ends[number]
    if ends[number + 1] - start != end - begin:
        return False
    for i in range(end - begin):  # noqa: SIM110 (Numba compiles no generators)
        if known[start + i] != content[begin + i]:
            return False
    return True


@njit()
def _find_slot(
    hashed: np.int64, content: Bytes, begin: int, end: int, slots: Int64s, ends: Int64s, known: Bytes
) -> int:
    """The slot of a text, or the empty one where it would be."""
    mask = slots.shape[0] - 1
    tag = hashed & _TAG_BITS
    slot = hashed & mask
    while slots[slot] != _EMPTY:
        if slots[slot] & _TAG_BITS == tag and _is_same(content, begin, end, slots[slot] & _NUMBER_BITS, ends, known):
            break
        slot = (slot + 1) & mask
    return slot


@njit()
def _widen_slots(hashes: Int64s, count: int, size: int) -> Int64s:
    slots = np.full(size, _EMPTY, dtype=np.int64)
    for number in range(count):
        slot = hashes[number] & (size - 1)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (size - 1)
        slots[slot] = hashes[number] & _TAG_BITS | number
    return slots


@njit()
def _find_bytes(begins: Int64s, content: Bytes, slots: Int64s, ends: Int64s, known: Bytes, numbers: Int64s) -> None:
    """Three passes instead of one, so that the processor can wait for the memory of many texts at a time."""
    count, mask = numbers.shape[0], slots.shape[0] - 1
    hashes = np.empty(count, dtype=np.int64)
    for i in range(count):
        hashes[i] = _hash_bytes(content, begins[i], begins[i + 1])
    for i in range(count):  # the first with the same tag: nearly always it, or there is none
        slot = hashes[i] & mask
        while slots[slot] != _EMPTY and (slots[slot] ^ hashes[i]) & _TAG_BITS != 0:
            slot = (slot + 1) & mask
        numbers[i] = slots[slot] & _NUMBER_BITS if slots[slot] != _EMPTY else _EMPTY
    for i in range(count):
        if numbers[i] != _EMPTY and not _is_same(content, begins[i], begins[i + 1], numbers[i], ends, known):
            found = slots[_find_slot(hashes[i], content, begins[i], begins[i + 1], slots, ends, known)]
            numbers[i] = found & _NUMBER_BITS if found != _EMPTY else _EMPTY


@njit()
def _number_bytes(
    begins: Int64s,
    content: Bytes,
    slots: Int64s,
    hashes: Int64s,
    ends: Int64s,
    known: Bytes,
    count: int,
    numbers: Int64s,
) -> tuple[Int64s, Int64s, Int64s, Bytes, int]:
    for i in range(begins.shape[0] - 1):
        begin, end = begins[i], begins[i + 1]
        hashed = _hash_bytes(content, begin, end)
        slot = _find_slot(hashed, content, begin, end, slots, ends, known)
        if slots[slot] == _EMPTY:
            if count == hashes.shape[0]:
                wider_hashes = np.empty(2 * count, dtype=np.int64)
                wider_hashes[:count] = hashes
                hashes = wider_hashes
                wider_ends = np.empty(2 * count + 1, dtype=np.int64)
                wider_ends[: count + 1] = ends
                ends = wider_ends
            start = ends[count]
            if start + end - begin > known.shape[0]:
                wider_known = np.empty(2 * (start + end - begin), dtype=np.uint8)
                wider_known[:start] = known[:start]
                known = wider_known
            known[start : start + end - begin] = content[begin:end]
            ends[count + 1] = start + end - begin
            hashes[count] = hashed
            slots[slot] = hashed & _TAG_BITS | count
            numbers[i] = count
            count += 1
            if 2 * count > slots.shape[0]:
                slots = _widen_slots(hashes, count, 4 * slots.shape[0])
        else:
            numbers[i] = slots[slot] & _NUMBER_BITS
    return slots, hashes, ends, known, count
