"""Small columns of numbers as numpy arrays with nulls, and the operations of SQL on them, as DuckDB has them.

Bools are bool, whole numbers, times and dates int64, floats as they are.  NaN equals NaN and is greater than every
other number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc

Array = Any  # an array of numpy, or one number of it that stands for all rows
Flags = Any  # likewise, of bools


class Vector(NamedTuple):
    """values: [n], or one value for all; valid: bool[n] or bool, None if nothing is null."""

    values: Array
    valid: Flags | None = None


def write_array(vector: Vector, arrow_type: pa.DataType, count: int) -> pa.Array:
    """The vector as an Arrow array of `count` values."""
    values = vector.values if np.shape(vector.values) == (count,) else np.broadcast_to(vector.values, count)
    missing = None if vector.valid is None else ~np.broadcast_to(vector.valid, count)
    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type):
        values = values.astype(arrow_type.to_pandas_dtype(), copy=False)
    elif pa.types.is_date32(arrow_type):
        values = values.astype(np.int32)
    if missing is None and not pa.types.is_boolean(arrow_type):
        stored = pa.py_buffer(np.ascontiguousarray(values))
        return pa.Array.from_buffers(arrow_type, count, [None, stored])
    array = pa.array(values, mask=missing)
    return array if array.type == arrow_type else array.view(arrow_type)


def is_true(vector: Vector, count: int) -> Flags:
    """bool[count]: null is not true."""
    return np.broadcast_to(true_where(vector), count)


def read_column(column: pa.ChunkedArray) -> Vector:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # combine_chunks of no chunks
        array = pa.array([], type=column.type)
    valid = None
    arrow_type = array.type
    if pa.types.is_timestamp(arrow_type):
        array = array.view(pa.int64())
    elif pa.types.is_date32(arrow_type):
        array = array.view(pa.int32())
    if array.null_count:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    values = array.to_numpy(zero_copy_only=False)
    return Vector(values if values.dtype.kind in "fb" else values.astype(np.int64, copy=False), valid)


def compute(operation: Callable[[Array, Array], Array], left: Vector, right: Vector) -> Vector:
    with np.errstate(all="ignore"):
        return Vector(operation(left.values, right.values), _both(left.valid, right.valid))


def null_where_zero(vector: Vector) -> Vector:
    return Vector(vector.values, _both(vector.valid, np.not_equal(vector.values, 0)))


def _both(left: Flags | None, right: Flags | None) -> Flags | None:
    return right if left is None else left if right is None else left & right


def span_of(values: Array) -> tuple[int, int]:
    return int(np.min(values)), int(np.max(values))


def _multiply_bounds(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    products = [first * second for first in left for second in right]
    return min(products), max(products)


# between which bounds the results lie, given those of both sides
BOUNDS: dict[str, Callable[[tuple[int, int], tuple[int, int]], tuple[int, int]]] = {
    "add": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "sub": lambda left, right: (left[0] - right[1], left[1] - right[0]),
    "mul": _multiply_bounds,
}
COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "neq": np.not_equal,
    "gt": np.greater,
    "gte": np.greater_equal,
    "lt": np.less,
    "lte": np.less_equal,
}


def _equal_floats(left: Array, right: Array) -> Array:
    return (left == right) | (np.isnan(left) & np.isnan(right))


def _greater_float(left: Array, right: Array) -> Array:
    """NaN is greater than every other number."""
    return (left > right) | (np.isnan(left) & ~np.isnan(right))


COMPARE_FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": _equal_floats,
    "neq": lambda left, right: ~_equal_floats(left, right),
    "gt": _greater_float,
    "gte": lambda left, right: ~_greater_float(right, left),
    "lt": lambda left, right: _greater_float(right, left),
    "lte": lambda left, right: ~_greater_float(left, right),
}


def true_where(vector: Vector) -> Flags:
    return vector.values if vector.valid is None else vector.values & vector.valid


def negate(vector: Vector) -> Vector:
    return Vector(np.negative(vector.values), vector.valid)


def invert(vector: Vector) -> Vector:
    return Vector(np.logical_not(vector.values), vector.valid)


def join_or(left: Vector, right: Vector) -> Vector:
    """True if one side is, whatever the other; else null if one side is."""
    true = true_where(left) | true_where(right)
    valid = _both(left.valid, right.valid)
    return Vector(true, None if valid is None else valid | true)


def join_and(left: Vector, right: Vector) -> Vector:
    return invert(join_or(invert(left), invert(right)))


def choose(chosen: Flags, first: Vector, second: Vector) -> Vector:
    values = np.where(chosen, first.values, second.values)
    if first.valid is None and second.valid is None:
        return Vector(values)
    valid = [np.True_ if side.valid is None else side.valid for side in (first, second)]
    return Vector(values, np.where(chosen, *valid))


def cast_vector(vector: Vector, dtype: Any) -> Vector:
    return Vector(np.asarray(vector.values).astype(dtype, copy=False), vector.valid)
