"""Keys of events in the types of a table's key columns, so that equal values are equal bits.

event          table
int32 7        int64 7             found
double 7.5     int64               no integer equals it: null, which finds nothing
int64 2**40    int32               likewise
timestamp      date                found at midnight
string         dictionary          found; so is the reverse
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import TypeMismatch
from cepheid.kernel.columns import kind_of

Family = Literal["bool", "number", "text", "time", "duration"]


def key_type(column: str, arrow_type: pa.DataType) -> pa.DataType:
    """The type in which a key column is compared: without dictionary and zone (times are UTC)."""
    if pa.types.is_dictionary(arrow_type):
        return key_type(column, arrow_type.value_type)
    if _family(arrow_type) is None:
        raise TypeMismatch(
            f'"{column}" is {arrow_type}, and rows cannot be looked up by that',
            hint="keys are integers, floats, strings, bools, dates, timestamps or durations",
        )
    if pa.types.is_timestamp(arrow_type):
        return pa.timestamp(arrow_type.unit)
    return arrow_type


def fit_keys(name: str, column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """The column in the type `wanted` (texts as they are); null where no value of that type equals it."""
    if pa.types.is_null(column.type):
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    given = key_type(name, column.type)
    if _family(given) != _family(wanted):
        raise TypeMismatch(f'"{name}" is {given}, the key it is compared with is {wanted}', hint="cast one of them")
    if _family(wanted) == "text":
        return column
    column = column if column.type == given else column.cast(given)
    return column if given == wanted else _cast_what_fits(column, wanted)


def _cast_what_fits(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """What comes back from `wanted` unchanged has an equal there."""
    is_float = pa.types.is_floating(column.type)
    if is_float and pa.types.is_integer(wanted):
        # What a cast gives for a float that is out of range depends on the processor.
        bounds = np.iinfo(wanted.to_pandas_dtype())
        inside = pc.and_(pc.greater_equal(column, float(bounds.min)), pc.less(column, float(bounds.max) + 1.0))
        column = pc.if_else(inside, column, pa.scalar(None, column.type))
    loose = column.cast(wanted, safe=False)
    same = pc.equal(loose.cast(column.type, safe=False), column)
    if _family(wanted) == "number":  # a sign that changed: an unsigned number that has no room
        same = pc.and_(same, pc.equal(pc.less(loose, _zero(wanted)), pc.less(column, _zero(column.type))))
    if is_float and pa.types.is_floating(wanted):
        same = pc.or_(same, pc.is_nan(column))
    return pc.if_else(same, loose, pa.scalar(None, wanted))


def _zero(arrow_type: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int64()).cast(arrow_type)


def _family(arrow_type: pa.DataType) -> Family | None:
    if pa.types.is_uint64(arrow_type):
        return "number"
    match kind_of(arrow_type):
        case "int" | "float":
            return "number"
        case "string":
            return "text"
        case "bool":
            return "bool"
        case "time":
            return "time"
        case "duration":
            return "duration"
    return None
