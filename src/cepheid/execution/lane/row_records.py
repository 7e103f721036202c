"""The rows of a push as records, which compiled code has written (kernel/compiled/row_records.py).

Tuples are read from them as they are; Arrow columns are copies, since the next push writes over the records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.log_column import Picked
from cepheid.kernel.columns import Interner

_FORMATS = {
    np.dtype(np.bool_): "?", np.dtype(np.int8): "b", np.dtype(np.int16): "h", np.dtype(np.int32): "i",
    np.dtype(np.int64): "q", np.dtype(np.uint8): "B", np.dtype(np.uint16): "H", np.dtype(np.uint32): "I",
    np.dtype(np.uint64): "Q", np.dtype(np.float32): "f", np.dtype(np.float64): "d",
}  # fmt: skip
Tuples = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class RecordCell:
    """A column of rows.  arrays: values and their validity (None: nothing is null), as they are now; index: where the
    value of each row is among them (None: the first of the first row, and so on)."""

    dtype: np.dtype[Any]
    arrays: Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]
    index: Callable[[], npt.NDArray[np.int64]] | None


class RowRecords:
    def __init__(self, shape: RowShape, cells: list[RecordCell], interner: Interner, most: int) -> None:
        self.shape = shape
        self._cells = cells
        self._interner = interner
        self._format = "=" + "".join(_FORMATS[cell.dtype] for cell in cells)
        self._size = size = struct.calcsize(self._format)
        self._offsets = np.cumsum([0, *(cell.dtype.itemsize for cell in cells)]).tolist()
        self._bytes = np.zeros(most * size, dtype=np.uint8)
        self._memory = self._bytes.data
        self._absent = np.zeros((most, len(cells)), dtype=np.bool_)
        self._views = [
            np.ndarray((most,), cell.dtype, self._memory, offset, (size,))
            for cell, offset in zip(cells, self._offsets, strict=False)
        ]
        reading = struct.Struct(self._format)
        self._read_one, self._read_all = reading.unpack_from, reading.iter_unpack

    def tabulate(self) -> npt.NDArray[np.int64]:
        """Where all cells are read and written."""
        records, flags, size = self._bytes.ctypes.data, self._absent.ctypes.data, self._size
        rows = []
        for number, cell in enumerate(self._cells):
            values, valid = cell.arrays()
            index = None if cell.index is None else cell.index()
            assert values.dtype == cell.dtype, "a column keeps its type"
            rows.append(
                (
                    0 if index is None else index.ctypes.data,
                    0 if index is None else index.strides[0],
                    values.ctypes.data,
                    cell.dtype.itemsize,
                    0 if valid is None else valid.ctypes.data,
                    records + self._offsets[number],
                    size,
                    flags + number,
                )
            )
        return np.array(rows, dtype=np.int64).reshape(-1, 8)

    def take(self, count: int, some_absent: bool) -> FewRows:
        """The first rows, as columns."""
        columns: list[Picked] = []
        for number, view in enumerate(self._views):
            absent = self._absent[:count, number].copy() if some_absent else None
            columns.append((view[:count].copy(), absent if absent is not None and absent.any() else None))
        return FewRows(self.shape, columns, self._interner)

    def make_reader(self, picks: tuple[int, ...], shape: RowShape) -> Callable[[int, bool], Tuples]:
        """From (how many rows, is a cell absent?) to tuples of some of the columns; shape: of those."""
        pick = _make_pick(picks, len(self._cells))
        is_simple = not any(shape.is_text) and not any(shape.readers)
        memory, size, read_one, read_all = self._memory, self._size, self._read_one, self._read_all

        def read(count: int, some_absent: bool) -> Tuples:
            if some_absent or not is_simple:
                rows = self.take(count, some_absent)
                columns = FewRows(shape, [rows.columns[number] for number in picks], rows.interner)
                return list(zip(*columns.list_columns(), strict=True))
            if count == 1:
                row = read_one(memory)
                return [row if pick is None else pick(row)]
            found = read_all(memory[: count * size])
            return list(found) if pick is None else [*map(pick, found)]

        return read


def _make_pick(picks: tuple[int, ...], width: int) -> Callable[[Any], tuple[Any, ...]] | None:
    """None: all as they are."""
    if picks == tuple(range(width)):
        return None
    if len(picks) == 1:
        (number,) = picks
        return lambda row: (row[number],)
    return itemgetter(*picks)
