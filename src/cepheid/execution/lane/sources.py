"""Where the values of a few events lie: Arrow arrays, arrays of numpy, or records that tuples were packed into."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Interner, read_column
from cepheid.kernel.compiled.memory import (
    BIT,
    CODES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
)

Source = tuple[int, int, int, int, int, int]
"""Address, stride, code, address of validity, its stride, bit offset: see kernel/compiled/memory.py."""

NUMBERS: dict[pa.DataType, tuple[int, int]] = {
    pa.int8(): (INT8, 1), pa.int16(): (INT16, 2), pa.int32(): (INT32, 4), pa.int64(): (INT64, 8),
    pa.uint8(): (UINT8, 1), pa.uint16(): (UINT16, 2), pa.uint32(): (UINT32, 4),
    pa.float32(): (FLOAT32, 4), pa.float64(): (FLOAT64, 8), pa.bool_(): (BIT, 0),
}  # fmt: skip
"""Code and size of numbers as Arrow has them in memory."""


def is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def code_of(arrow_type: pa.DataType) -> tuple[int, int] | None:
    """Code and size of a number of this type in an Arrow array; None: it is none, or in a unit of its own."""
    if pa.types.is_timestamp(arrow_type):
        return (INT64, 8) if arrow_type.unit == "us" else None
    return NUMBERS.get(arrow_type)


def suits_lane(schema: pa.Schema) -> bool:
    """Can events of these columns be taken in by address?"""
    return all(is_text(field.type) or code_of(field.type) is not None for field in schema)


def point_to_array(array: npt.NDArray[Any], valid: npt.NDArray[Any] | None = None) -> Source:
    """valid: a byte for each value."""
    code = CODES[array.dtype]
    if valid is None:
        return array.ctypes.data, array.strides[0], code, 0, 0, 0
    return array.ctypes.data, array.strides[0], code, valid.ctypes.data, valid.strides[0], 0


def point_to_number(column: pa.ChunkedArray, code: int, size: int) -> tuple[Source, Any]:
    """A column of numbers in one chunk; and what must be held as long as the source is used."""
    array = column.chunk(0)
    validity, values = array.buffers()
    offset = array.offset
    if validity is not None and array.null_count:
        return (values.address + offset * size, size, code, validity.address, 0, offset), array
    return (values.address + offset * size, size, code, 0, 0, offset), array


def point_to_text(column: pa.ChunkedArray, interner: Interner) -> tuple[Source, Any]:
    """A column of strings, as numbers of an interner."""
    read = read_column(column, interner)
    values = np.ascontiguousarray(read.values)
    valid = None if read.valid is None else np.ascontiguousarray(read.valid)
    return point_to_array(values, valid), (values, valid)
