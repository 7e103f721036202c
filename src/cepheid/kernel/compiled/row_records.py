"""Rows as records, one behind another, each with the cells of its columns: written at the end of a push.

    index of an event, a group or the row itself ─▶ value there, valid there? ─▶ bytes of the record, flag of absence

`cells`: int64[columns, 8], as below; every cell is copied as it lies in memory, whatever its type.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.memory import load_int64, load_uint8, move_bytes, store_uint8
from cepheid.kernel.compiled.njit_options import njit_no_refcount

INDEX, INDEX_STRIDE, VALUES, SIZE, VALID, RECORDS, RECORD_SIZE, ABSENT = range(8)
"""Addresses of the indices (0: the number of the row) and the bytes between them; of the values, and the bytes of one;
of their validity (0: none is null); of the cell in the first record, and the bytes of a record; of its flag of absence
in the first row: rows have a byte for each cell."""


@njit_no_refcount
def write_records(cells: npt.NDArray[np.int64], count: int) -> bool:
    """Write `count` rows; True: some cell is absent."""
    width = cells.shape[0]
    some_absent = False
    for column in range(width):
        index, index_stride = cells[column, INDEX], cells[column, INDEX_STRIDE]
        values, size, valid = cells[column, VALUES], cells[column, SIZE], cells[column, VALID]
        record, flag = cells[column, RECORDS], cells[column, ABSENT]
        for row in range(count):
            place = load_int64(index + row * index_stride) if index else row
            absent = place < 0 or (valid != 0 and load_uint8(valid + place) == 0)
            store_uint8(flag + row * width, np.uint8(absent))
            if absent:
                some_absent = True
            else:
                move_bytes(values + place * size, record + row * cells[column, RECORD_SIZE], size)
    return some_absent


NO_CELLS: Int64s = np.zeros((0, ABSENT + 1), dtype=np.int64)
