"""Hashes of whole rows, the same in every process: numbers as their bits, texts as their bytes, lists by their items.

Two of 64 bits, with different seeds, make an id of 128 bits.  Ids are stored and sent on, so these hashes must never
change.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.kernel.compiled.row_ids import mix_column, mix_lists, write_digits

Hashes = npt.NDArray[np.uint64]

_LONG, _UNSIGNED, _DOUBLE = pa.int64(), pa.uint64(), pa.float64()
_NULL = np.uint64(0x6A09E667F3BCC908)
_START = np.uint64(0x9E3779B97F4A7C15)


def hash_rows(columns: list[pa.ChunkedArray], count: int, seed: int) -> Hashes:
    """uint64[count]: one hash per row."""
    mixed = np.full(count, np.uint64(seed) ^ _START, dtype=np.uint64)
    for column in columns:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
        numbers = _read_numbers(array)
        if numbers is None:
            mixed = mix(mixed ^ _hash_array(array, np.uint64(seed)))
        else:
            mix_column(mixed, numbers, np.uint64(seed))
    return mixed


def write_ids(high: Hashes, low: Hashes) -> pa.Array:
    """128 bits of each row as 32 digits."""
    digits = np.empty(32 * len(high), dtype=np.uint8)
    write_digits(high, low, digits)
    offsets = np.arange(len(high) + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(len(high), pa.py_buffer(offsets), pa.py_buffer(digits))


def mix(cells: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the input changes about half of the output."""
    cells = (cells ^ (cells >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    cells = (cells ^ (cells >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cells ^ (cells >> np.uint64(31))


def hash_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _hash_array(array: pa.Array, seed: np.uint64) -> Hashes:
    kind = array.type
    types = pa.types
    if types.is_dictionary(kind):
        return _hash_array(array.dictionary_decode(), seed)
    if types.is_null(kind):
        return np.full(len(array), _NULL, dtype=np.uint64)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        hashes = _hash_bytes(array.cast(pa.large_binary()), seed)
    elif types.is_list(kind) or types.is_large_list(kind):
        hashes = _hash_lists(array, seed)
    elif _is_number(kind):
        filled = array.fill_null(False if types.is_boolean(kind) else 0) if array.null_count else array
        numbers = _read_numbers(filled)
        assert numbers is not None, "there is no null among them"
        hashes = mix(numbers ^ seed)
    else:  # decimals, records and the like: seldom, and not many
        written = pa.array([None if value is None else repr(value) for value in array.to_pylist()], pa.large_binary())
        hashes = _hash_bytes(written, seed)
    if array.null_count:
        hashes = np.where(array.is_valid().to_numpy(zero_copy_only=False), hashes, _NULL)
    return hashes


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    is_time = types.is_temporal(kind) and kind.bit_width in (32, 64)
    return bool(is_time or types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind))


def _read_numbers(array: pa.Array) -> Hashes | None:
    """uint64[n]: numbers and times as their bits; None: they are something else, or some are null."""
    kind, types = array.type, pa.types
    if array.null_count or not _is_number(kind):
        return None
    if types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if types.is_floating(kind):
        values = (array if kind == _DOUBLE else array.cast(_DOUBLE)).to_numpy(zero_copy_only=False)
        is_nan = np.isnan(values)
        if is_nan.any():  # there are many ways to write it
            values = np.where(is_nan, np.nan, values)
    else:
        whole = array if array.type in (_LONG, _UNSIGNED) else array.cast(_LONG)
        values = whole.to_numpy(zero_copy_only=False)
    bits = np.ascontiguousarray(values).view(np.uint64)
    bits.flags.writeable = False  # as Arrow's are, so that kernels are compiled once
    return bits


def _hash_bytes(array: pa.Array, seed: np.uint64) -> Hashes:
    """Eight bytes of each value at a time."""
    if not len(array):
        return np.empty(0, dtype=np.uint64)
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.zeros(int(offsets[-1]) + 8, dtype=np.uint8)  # with room to read beyond the last value
    if data_buffer is not None:
        data[:-8] = np.frombuffer(data_buffer, dtype=np.uint8)[: offsets[-1]]
    words = np.lib.stride_tricks.sliding_window_view(data, 8)
    begins, lengths = offsets[:-1], np.diff(offsets)
    hashes = mix(lengths.astype(np.uint64) ^ seed)
    done, left = 0, np.flatnonzero(lengths > 0)
    while len(left):
        cells = np.ascontiguousarray(words[begins[left] + done]).view(np.uint64)[:, 0]
        rest = np.minimum(lengths[left] - done, 8).astype(np.uint64)
        cells = cells & (np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(64) - np.uint64(8) * rest))
        hashes[left] = mix(hashes[left] ^ mix(cells ^ seed))
        done += 8
        left = left[lengths[left] > done]
    return hashes


def _hash_lists(array: pa.Array, seed: np.uint64) -> Hashes:
    """Items with their places; a null among them is an item."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat, ends = array.flatten(), np.cumsum(lengths)
    numbers = _read_numbers(flat)
    if numbers is not None:
        hashes = np.empty(len(lengths), dtype=np.uint64)
        mix_lists(numbers, ends, seed, hashes)
        return hashes
    items = _hash_array(flat, seed)
    places = np.arange(len(items)) - np.repeat(ends - lengths, lengths)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mix(items + mix(places.astype(np.uint64))))])
    return mix((sums[ends] - sums[ends - lengths]) ^ mix(lengths.astype(np.uint64)) ^ seed)
