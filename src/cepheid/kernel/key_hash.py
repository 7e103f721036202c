"""Hashes of keys that are the same in every process, for splitting keys into groups.

Equal keys hash alike whatever their Arrow types: integers of any width, the two zeros, plain and dictionary
strings.  A checkpoint outlives a release, so these hashes must never change.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Interner, as_cells, kind_of, read_column

Hashes = npt.NDArray[np.uint64]
_NULL = np.uint64(0x6A09E667F3BCC908)


def hash_keys(columns: list[pa.ChunkedArray], count: int) -> Hashes:
    """uint64[count]: one hash per row of key columns; all alike if there are none."""
    mixed = np.full(count, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        mixed = _mix(mixed ^ _hash_column(column))
    return mixed


def group_keys(columns: list[pa.ChunkedArray], count: int, groups: int) -> npt.NDArray[np.int64]:
    """int64[count]: the group of each row, from 0 to groups - 1."""
    return (hash_keys(columns, count) % np.uint64(groups)).astype(np.int64)


def _mix(cells: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the input changes about half of the output."""
    cells = (cells ^ (cells >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    cells = (cells ^ (cells >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cells ^ (cells >> np.uint64(31))


def _hash_column(column: pa.ChunkedArray) -> Hashes:
    if kind_of(column.type) == "string":
        return _hash_strings(column)
    read = read_column(column, Interner())
    hashes = _mix(as_cells(read).view(np.uint64))
    return hashes if read.valid is None else np.where(read.valid != 0, hashes, _NULL)


def _hash_strings(column: pa.ChunkedArray) -> Hashes:
    """Each distinct string is hashed once."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):  # no chunks at all
        return np.empty(0, dtype=np.uint64)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    distinct = [_NULL if text is None else _hash_text(text) for text in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return np.array([*distinct, _NULL], dtype=np.uint64)[indices]


def _hash_text(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))
