"""One column of the event log: it grows by small pieces, and a few of its values are read with every push.

Numbers, times and bools lie in one array each, so that reading some is one operation of numpy.  All other types stay in
Arrow arrays, which are merged as they come, each with its like, the way a log-structured store does it: there are never
more than a few of them, and a value is copied a few times in all.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.kernel.columns import Interner, read_column

MERGE_FACTOR = 8
MOST_MERGED = 131_072  # values: larger arrays stay as they are, so that no push has to wait for a large copy

Int64s = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Picked: TypeAlias = tuple[npt.NDArray[Any], Flags | None] | pa.Array | pa.ChunkedArray
"""A column of rows: values as they lie in memory and where they are null (None: nowhere); or one of Arrow's."""


def make_column(arrow_type: pa.DataType, interner: Interner | None = None) -> NumberColumn | ValueColumn:
    """interner: strings are kept as its numbers."""
    types = pa.types
    if interner is not None and (types.is_string(arrow_type) or types.is_large_string(arrow_type)):
        return TextColumn(arrow_type, interner)
    if types.is_boolean(arrow_type) or types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return NumberColumn(arrow_type, arrow_type)
    if types.is_timestamp(arrow_type) or types.is_duration(arrow_type) or types.is_time(arrow_type):
        return NumberColumn(arrow_type, pa.int64() if arrow_type.bit_width == 64 else pa.int32())
    if types.is_date(arrow_type):
        return NumberColumn(arrow_type, pa.int64() if arrow_type.bit_width == 64 else pa.int32())
    return ValueColumn(arrow_type)


def take_values(column: pa.ChunkedArray, places: Int64s) -> pa.Array | pa.ChunkedArray:
    """Some values of a column; plain numbers by numpy, which is quicker at it."""
    stored = None if column.null_count else find_stored(column.type)
    if stored is None:
        return pc.take(column, pa.array(places), boundscheck=False)
    chunks = [chunk.view(stored).to_numpy() for chunk in column.chunks if len(chunk)]
    values = (chunks[0] if len(chunks) == 1 else np.concatenate(chunks)).take(places)
    return pa.Array.from_buffers(column.type, len(values), [None, pa.py_buffer(values)])


def find_stored(arrow_type: pa.DataType) -> pa.DataType | None:
    """The type of numbers that values of a type lie in memory as, if they do."""
    types = pa.types
    if types.is_integer(arrow_type) or types.is_float32(arrow_type) or types.is_float64(arrow_type):
        return arrow_type
    is_time = types.is_timestamp(arrow_type) or types.is_duration(arrow_type) or types.is_time(arrow_type)
    if is_time or types.is_date(arrow_type):
        return pa.int64() if arrow_type.bit_width == 64 else pa.int32()
    return None


class NumberColumn:
    """Values that lie in memory like numbers of type `stored`."""

    def __init__(self, arrow_type: pa.DataType, stored: pa.DataType) -> None:
        self._type, self._stored = arrow_type, stored
        self._values: npt.NDArray[Any] = np.empty(0, dtype=stored.to_pandas_dtype())
        self._valid: Flags | None = None  # bool[as many as values], once there was a null
        self._used = 0

    def expect(self, count: int) -> None:
        """So many values will come in all."""
        if count > len(self._values):
            self._reserve(count, self._used)

    def append(self, column: pa.ChunkedArray) -> None:
        begin, self._used = self._used, self._used + len(column)
        for chunk in column.chunks:
            if not len(chunk):
                continue
            end = begin + len(chunk)
            values = self._read(chunk)
            if begin == 0 and end == self._used and end > len(self._values) and self._valid is None:
                self._values = values  # as long as nothing follows, there is no need for a copy
            else:
                self._reserve(self._used, begin)
                self._values[begin:end] = values
            if chunk.null_count and self._valid is None:
                self._valid = np.ones(len(self._values), dtype=np.bool_)
            if self._valid is not None:
                self._valid[begin:end] = chunk.is_valid().to_numpy(zero_copy_only=False)
            begin = end

    def take(self, events: Int64s, missing: Flags | None) -> pa.ChunkedArray:
        """missing: bool[n], where there is no event; None: nowhere."""
        places = events if missing is None else np.maximum(events, 0)
        if self._used == 0:
            return pa.chunked_array([pa.nulls(len(events), self._type)])
        absent = None if self._valid is None else ~self._valid[places]
        if missing is not None:
            absent = missing if absent is None else absent | missing
        return self._write(self._values[places], absent)

    def filter(self, kept: Flags) -> pa.ChunkedArray:
        absent = None if self._valid is None else ~self._valid[: self._used][kept]
        return self._write(self._values[: self._used][kept], absent)

    # --- a few values at a time, written by address -------------------------------------------------------
    @property
    def arrays(self) -> tuple[npt.NDArray[Any], Flags | None]:
        """Values and validity, with room behind them; no validity: nothing is null so far."""
        return self._values, self._valid

    def make_room(self, count: int, nulls: bool) -> None:
        """For `count` more values, some of which may be null."""
        self._reserve(self._used + count, self._used)
        if nulls and self._valid is None:
            self._valid = np.ones(len(self._values), dtype=np.bool_)

    def count_up_to(self, count: int) -> None:
        """So many values are there now."""
        self._used = count

    def pick(self, events: Int64s, missing: Flags | None) -> Picked:
        """As `take`: values, and where they are null (None: nowhere)."""
        places = events if missing is None else np.maximum(events, 0)
        absent = None if self._valid is None else ~self._valid[places]
        if missing is not None:
            absent = missing if absent is None else absent | missing
        return self._values[places], absent

    def _read(self, chunk: pa.Array) -> npt.NDArray[Any]:
        array = chunk if chunk.type == self._stored else chunk.view(self._stored)
        if array.null_count:
            array = array.fill_null(False if pa.types.is_boolean(self._stored) else 0)
        values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return values

    def _write(self, values: npt.NDArray[Any], absent: Flags | None) -> pa.ChunkedArray:
        if absent is None and values.dtype != np.bool_:  # the same bytes, and much quicker than a conversion
            return pa.chunked_array([pa.Array.from_buffers(self._type, len(values), [None, pa.py_buffer(values)])])
        array = pa.array(values, mask=absent)
        return pa.chunked_array([array if array.type == self._type else array.view(self._type)])

    def _reserve(self, count: int, used: int) -> None:
        """Room for `count` values, of which `used` are there."""
        if count > len(self._values) or not self._values.flags.writeable:
            size = max(count, 2 * used)
            larger = np.empty(size, dtype=self._values.dtype)
            larger[:used] = self._values[:used]
            self._values = larger
        if self._valid is not None and len(self._valid) < len(self._values):
            valid = np.ones(len(self._values), dtype=np.bool_)
            valid[:used] = self._valid[:used]
            self._valid = valid


class TextColumn(NumberColumn):
    """Strings as the numbers of an interner: for queries that are given a few events at a time."""

    def __init__(self, arrow_type: pa.DataType, interner: Interner) -> None:
        super().__init__(arrow_type, pa.int64())
        self._interner = interner

    def _read(self, chunk: pa.Array) -> npt.NDArray[Any]:
        return read_column(pa.chunked_array([chunk]), self._interner).values

    def _write(self, values: npt.NDArray[Any], absent: Flags | None) -> pa.ChunkedArray:
        if absent is None:
            texts: list[str | None] = [*self._interner.texts_of(values.tolist())]
        else:
            texts = [None] * len(values)
            known = np.flatnonzero(~absent)
            for place, text in zip(known.tolist(), self._interner.texts_of(values[known].tolist()), strict=True):
                texts[place] = text
        return pa.chunked_array([pa.array(texts, self._type)])


class ValueColumn:
    """Values of any type."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        self._type = arrow_type
        self._chunks: list[pa.Array] = []
        self._starts: Int64s = np.empty(0, dtype=np.int64)
        self._used = 0

    def expect(self, count: int) -> None:
        """They stay in the arrays that they come in."""

    def append(self, column: pa.ChunkedArray) -> None:
        for chunk in column.chunks:
            if len(chunk):
                self._chunks.append(chunk)
                self._starts = np.append(self._starts, self._used)
                self._used += len(chunk)
                self._merge_small()

    def take(self, events: Int64s, missing: Flags | None) -> pa.ChunkedArray:
        """Array by array: Arrow would copy a column of several chunks as a whole before it takes a few values."""
        if not self._chunks:
            return pa.chunked_array([pa.nulls(len(events), self._type)])
        if len(self._chunks) == 1:
            return pa.chunked_array([self._chunks[0].take(pa.array(events, mask=missing))])
        homes = np.maximum(np.searchsorted(self._starts, events, side="right") - 1, 0)
        parts = []
        for home in np.unique(homes).tolist():
            wanted = np.maximum(events[homes == home] - self._starts[home], 0)
            parts.append(self._chunks[home].take(pa.array(wanted)))
        places = np.empty(len(events), dtype=np.int64)
        places[np.argsort(homes, kind="stable")] = np.arange(len(events))
        return pa.chunked_array(parts, type=self._type).take(pa.array(places, mask=missing))

    def filter(self, kept: Flags) -> pa.ChunkedArray:
        return pc.filter(pa.chunked_array(self._chunks, type=self._type), pa.array(kept))

    def _merge_small(self) -> None:
        """Merge the newest arrays until each is much shorter than the one before it."""
        sizes = [len(chunk) for chunk in self._chunks]
        first, length = len(sizes) - 1, sizes[-1]
        while first and sizes[first - 1] < MERGE_FACTOR * length and sizes[first - 1] + length <= MOST_MERGED:
            first -= 1
            length += sizes[first]
        if first < len(sizes) - 1:
            merged = pa.chunked_array(self._chunks[first:], type=self._type).combine_chunks()
            self._chunks[first:] = [merged]
            self._starts = self._starts[: first + 1]
