"""Which rows of a table have a key: a hash index over Arrow columns, asked for a whole batch at a time.

    KeyNumbers   key columns -> small numbers          (KeyIndex; texts by TextIndex)
    RowIndex     number -> the rows that have this key  rows[starts[number]:starts[number + 1]], in order of the table

A key with a null in it equals nothing: it has no number, and no event finds it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.kernel.columns import Column, Int64s, Interner, kind_of, read_column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.text_index import TextIndex

KeyColumns = list[pa.ChunkedArray]


class KeyNumbers:
    """Numbers for keys, counted from 0 in the order of their first appearance.

    Columns come in the same types every time (a dictionary counts as the type of its values).
    """

    def __init__(self, types: list[pa.DataType]) -> None:
        self._index = KeyIndex(len(types))
        self._texts = [TextIndex() if kind_of(each) == "string" else None for each in types]
        # The number of a text is that of the key, if there is nothing else to the key.
        self._only_text = self._texts[0] if len(types) == 1 else None

    def __len__(self) -> int:
        return len(self._index if self._only_text is None else self._only_text)

    def expect(self, count: int) -> None:
        """Make room for `count` keys in all."""
        if self._only_text is not None:
            self._only_text.expect(count)
        else:
            self._index.expect(count)

    def number_keys(self, columns: KeyColumns) -> Int64s:
        """int64[n]: the number of each key, a new one if need be; -1 where the key has a null."""
        present = np.flatnonzero(_without_null(columns))
        count = len(columns[0])
        if len(present) < count:  # keys with a null must not take numbers
            numbers = np.full(count, -1, dtype=np.int64)
            numbers[present] = self.number_keys([column.take(pa.array(present)) for column in columns])
            return numbers
        if self._only_text is not None:
            return self._only_text.number_texts(columns[0])
        read = [
            _read_plain(column) if texts is None else Column(texts.number_texts(column))
            for column, texts in zip(columns, self._texts, strict=True)
        ]
        return self._index.number_rows(read, count)[0]

    def find_keys(self, columns: KeyColumns) -> Int64s:
        """int64[n]: the number of each key that is known already, -1 for others.

        Changes nothing, so any number of threads may ask at a time.
        """
        if self._only_text is not None:
            numbers, valid = self._only_text.find_texts(columns[0]), _validity(columns[0])
            return numbers if valid is None else np.where(valid != 0, numbers, -1)
        read = [
            # A text that is not known is -1 here, which no key has in this place.
            _read_plain(column) if texts is None else Column(texts.find_texts(column), _validity(column))
            for column, texts in zip(columns, self._texts, strict=True)
        ]
        return self._index.find_rows(read, len(columns[0]))


def _without_null(columns: KeyColumns) -> npt.NDArray[np.bool_]:
    present = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        valid = _validity(column)
        if valid is not None:
            present &= valid != 0
    return present


def _validity(column: pa.ChunkedArray) -> npt.NDArray[np.uint8] | None:
    return pc.is_valid(column).to_numpy().astype(np.uint8) if column.null_count else None


def _read_plain(column: pa.ChunkedArray) -> Column:
    if pa.types.is_uint64(column.type):
        # The same 64 bits under another name: equal exactly if the numbers are.
        bits = column.fill_null(0).to_numpy().view(np.int64)
        bits.flags.writeable = False  # as Arrow's own are: else a type of its own to Numba
        return Column(bits, _validity(column))
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())  # in their own unit: two nanoseconds of one microsecond are two keys
    return read_column(column, Interner())


class RowIndex:
    """The rows of each key.  Never changes once it is made, so that threads may share it."""

    def __init__(self, columns: KeyColumns) -> None:
        self._numbers = KeyNumbers([column.type for column in columns])
        self._numbers.expect(len(columns[0]))
        numbers = self._numbers.number_keys(columns)
        # Most tables have one row for a key, and then the number of the key is the number of the row.
        self._is_unique = len(self._numbers) == len(numbers)
        if not self._is_unique:
            self._starts, self._rows = group_rows(numbers, len(self._numbers))
            self._counts = np.diff(self._starts)

    def __len__(self) -> int:
        """How many different keys there are."""
        return len(self._numbers)

    def find(self, columns: KeyColumns) -> tuple[Int64s, Int64s]:
        """int64[m], int64[m]: position of a key, and of a row that has it; in the order of keys, then of rows."""
        numbers = self._numbers.find_keys(columns)
        if self._is_unique:
            events = np.flatnonzero(numbers >= 0)
            return events, numbers[events]
        events, places = match_ranges(numbers, self._starts, self._counts)
        return events, self._rows[places]


@njit()
def group_rows(numbers: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """starts: int64[count + 1], rows: int64[...]: where a number occurs is rows[starts[number]:starts[number + 1]]."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for i in range(numbers.shape[0]):
        if numbers[i] >= 0:
            starts[numbers[i] + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    rows = np.empty(starts[count], dtype=np.int64)
    free = starts.copy()
    for i in range(numbers.shape[0]):
        if numbers[i] >= 0:
            rows[free[numbers[i]]] = i
            free[numbers[i]] += 1
    return starts, rows


@njit()
def match_ranges(numbers: Int64s, starts: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    """int64[m], int64[m]: event i with each of starts[n] ... starts[n] + counts[n] - 1, n its number if not -1."""
    total = 0
    for i in range(numbers.shape[0]):
        if numbers[i] >= 0:
            total += counts[numbers[i]]
    events, places = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    m = 0
    for i in range(numbers.shape[0]):
        if numbers[i] >= 0:
            start = starts[numbers[i]]
            for place in range(start, start + counts[numbers[i]]):
                events[m] = i
                places[m] = place
                m += 1
    return events, places


def warm_up_row_index() -> None:
    """Compile what a look-up needs, in all the types that occur."""
    numbers, texts = pa.chunked_array([[1, 2]]), pa.chunked_array([["a", "b"]])
    for columns in ([numbers], [texts], [numbers, texts]):
        RowIndex(columns).find(columns)
    repeated = pa.chunked_array([pa.array([1, None, 1])])
    RowIndex([repeated]).find([repeated])
