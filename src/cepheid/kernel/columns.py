"""Arrow columns as arrays: numbers and validity, strings as the numbers of an interner.

    arrow                               values          kind
    bool, integers, dates, timestamps   int64[n]        bool, int, time
    durations                           int64[n]        duration
    floats                              float64[n]      float
    strings (plain or dictionary)       int64[n]        string

Times are microseconds since 1970.  Where a value is null, validity is 0 and the number behind it means
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.kernel.expression import Kind

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]


class Interner:
    """Numbers for strings, the same string always the same number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ranks: Int64s = np.zeros(1, dtype=np.int64)
        self._texts: list[str] = []

    @property
    def count(self) -> int:
        return len(self._numbers)

    def number_of(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers)
        return number

    def number_all(self, texts: pa.Array) -> Int64s:
        """int64[n]: the number of each distinct string of a dictionary."""
        numbers = self._numbers
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts.to_pylist()], dtype=np.int64)

    def texts(self) -> list[str]:
        """The strings by number."""
        return list(self._numbers)

    def texts_of(self, numbers: list[int]) -> list[str]:
        """The strings behind some numbers."""
        if len(self._texts) < len(self._numbers):
            self._texts.extend(islice(self._numbers, len(self._texts), None))
        return [self._texts[number] for number in numbers]

    def ranks(self) -> Int64s:
        """int64[how many strings, at least 1]: the place of each number in the order of UTF-8 bytes."""
        if len(self._ranks) < len(self._numbers):
            texts = [text.encode() for text in self._numbers]
            self._ranks = np.empty(len(texts), dtype=np.int64)
            self._ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        return self._ranks


@dataclass(frozen=True, slots=True)
class Column:
    """values: int64[n] or float64[n]; valid: uint8[n], or None when nothing is null."""

    values: Int64s | Floats
    valid: Flags | None = None


@dataclass(frozen=True, slots=True)
class Events:
    """A batch of events in order, as arrays.

    times: int64[n], ascending; keys: int64[n], small numbers counted from 0, -1 where the key is null and
    null matches nothing; streams: int64[n] or None when there is one stream.
    """

    times: Int64s
    keys: Int64s
    columns: dict[str, Column] = field(default_factory=dict)
    streams: Int64s | None = None

    def __len__(self) -> int:
        return len(self.times)


def as_cells(column: Column) -> Int64s:
    """Values as 64-bit cells that are equal exactly if the values are."""
    if column.values.dtype != np.float64:
        return column.values.astype(np.int64, copy=False)
    values = column.values + 0.0  # -0.0 is 0.0
    values[np.isnan(values)] = np.nan  # one NaN for all
    return values.view(np.int64)


def kind_of(arrow_type: pa.DataType) -> Kind | None:
    """The kernel's kind for an Arrow type; None: the kernel cannot compute with it (it can still carry it)."""
    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return "bool"
    if types.is_uint64(arrow_type):
        return None
    if types.is_integer(arrow_type):
        return "int"
    if types.is_floating(arrow_type):
        return "float"
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return "string"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "time"
    return "duration" if types.is_duration(arrow_type) else None


def read_column(column: pa.ChunkedArray, interner: Interner) -> Column:
    """One Arrow column as a Column of its kind."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):  # combine_chunks of no chunks
        array = pa.array([], type=column.type)
    valid = None
    if array.null_count:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False).astype(np.uint8)
    return Column(_read_values(array, interner), valid)


def _read_values(array: pa.Array, interner: Interner) -> Int64s | Floats:
    match kind_of(array.type):
        case "float":
            return _numbers(array, pa.float64(), 0.0)
        case "string":
            return _read_strings(array, interner)
        case "time":
            return _numbers(_as_microseconds(array, pa.timestamp("us")), pa.int64(), 0)
        case "duration":
            return _numbers(_as_microseconds(array, pa.duration("us")), pa.int64(), 0)
        case "bool" | "int":
            return _numbers(array, pa.int64(), 0)
    raise AssertionError(f"the kernel cannot compute with {array.type}")


def _as_microseconds(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Nanoseconds are cut to microseconds, the finest time we order by."""
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = array.cast(pa.timestamp(array.type.unit))
    return array.cast(target, safe=False)


def _numbers(array: pa.Array, target: pa.DataType, filler: float) -> Int64s | Floats:
    if array.type != target:
        array = array.cast(target)
    if array.null_count:
        array = array.fill_null(filler)
    values: Int64s | Floats = array.to_numpy(zero_copy_only=False)
    return values


def _read_strings(array: pa.Array, interner: Interner) -> Int64s:
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    numbers = interner.number_all(encoded.dictionary.cast(pa.string()))
    if not len(numbers):
        return np.zeros(len(encoded), dtype=np.int64)
    indices: Int64s = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers[indices]
