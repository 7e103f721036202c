"""Growing arrays: what the matchers keep of the events they may still need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Events, Int64s
from cepheid.kernel.compiled.evaluate import Cells
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.register_code import CodeWriter


class GrowingRows:
    """[rows, events], doubled along events when full; `view` shows the used part."""

    def __init__(self, rows: int, dtype: npt.DTypeLike) -> None:
        self.data: npt.NDArray[Any] = np.zeros((rows, 1024), dtype=dtype)
        self.used = 0

    def expect(self, count: int) -> None:
        """Make room for `count` more events."""
        needed = self.used + count
        if needed > self.data.shape[1]:
            wider = np.empty((self.data.shape[0], max(needed, 2 * self.data.shape[1])), dtype=self.data.dtype)
            wider[:, : self.used] = self.data[:, : self.used]
            self.data = wider

    def extend(self, count: int) -> npt.NDArray[Any]:
        """Room for `count` more events, all 0; gives the part to fill."""
        part = self.extend_blank(count)
        part[:] = 0
        return part

    def extend_blank(self, count: int) -> npt.NDArray[Any]:
        """The same for those who write all of it: it holds anything."""
        needed = self.used + count
        self.expect(count)
        part = self.data[:, self.used : needed]
        self.used = needed
        return part

    @property
    def view(self) -> npt.NDArray[Any]:
        return self.data[:, : self.used]


class CellStore:
    """The columns that conditions read, for every event since the operator was (re)built."""

    def __init__(self, writer: CodeWriter) -> None:
        self._integer_columns = list(writer.integer_columns)
        self._float_columns = list(writer.float_columns)
        self._integers = GrowingRows(max(1, len(self._integer_columns)), np.int64)
        self._integers_valid = GrowingRows(max(1, len(self._integer_columns)), np.uint8)
        self._floats = GrowingRows(max(1, len(self._float_columns)), np.float64)
        self._floats_valid = GrowingRows(max(1, len(self._float_columns)), np.uint8)

    def expect(self, count: int) -> None:
        for store in (self._integers, self._integers_valid, self._floats, self._floats_valid):
            store.expect(count)

    @property
    def stores(self) -> list[GrowingRows]:
        """Those that grow."""
        integers = [self._integers, self._integers_valid] if self._integer_columns else []
        return integers + ([self._floats, self._floats_valid] if self._float_columns else [])

    def append(self, events: Events) -> Cells:
        _fill(self._integers, self._integers_valid, self._integer_columns, events)
        _fill(self._floats, self._floats_valid, self._float_columns, events)
        return self.view

    @property
    def view(self) -> Cells:
        return Cells(self._integers.data, self._integers_valid.data, self._floats.data, self._floats_valid.data)


def _fill(values: GrowingRows, valid: GrowingRows, names: list[str], events: Events) -> None:
    if not names:
        return
    values_part, valid_part = values.extend_blank(len(events)), valid.extend_blank(len(events))
    for row, name in enumerate(names):
        column: Column = events.columns[name]
        values_part[row] = column.values
        valid_part[row] = 1 if column.valid is None else column.valid


def append_times(store: GrowingRows, values: Int64s) -> Int64s:
    """Put one array behind a one-row store; gives the whole row, capacity included."""
    store.extend_blank(len(values))[0] = values
    whole: Int64s = store.data[0]
    return whole


@njit()
def set_bit(plays: Int64s, fits: npt.NDArray[np.bool_], number: int) -> None:
    """Set a bit where something fits."""
    for i in range(plays.shape[0]):
        if fits[i]:
            plays[i] |= 1 << number
