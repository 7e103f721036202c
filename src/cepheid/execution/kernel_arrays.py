"""Arrays of the kernel as Arrow columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.event_time import restore_values
from cepheid.kernel.columns import Column, Int64s, Interner, kind_of
from cepheid.kernel.window import AnswerColumn, ListColumn, ObjectColumn


def write_answers(column: AnswerColumn, arrow_type: pa.DataType, interner: Interner) -> pa.Array:
    """An answer of the kernel, in the type that it is to have."""
    if isinstance(column, ObjectColumn):
        return pa.array(column.values, arrow_type)
    if isinstance(column, ListColumn):
        items = write_column(column.items, arrow_type.value_type, interner)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), column.ends]).astype(np.int32)
        absent = None if column.valid is None else pa.array(column.valid == 0)
        return pa.ListArray.from_arrays(pa.array(offsets), items, type=arrow_type, mask=absent)
    return write_column(column, arrow_type, interner)


def write_column(column: Column, arrow_type: pa.DataType, interner: Interner) -> pa.Array:
    absent = None if column.valid is None or column.valid.all() else column.valid == 0
    match kind_of(arrow_type):
        case "string":
            texts = pa.array(interner.texts(), pa.string())
            if not len(texts):
                return pa.nulls(len(column.values), arrow_type)
            taken = texts.take(pa.array(column.values.astype(np.int64), mask=absent))
            return taken if taken.type == arrow_type else taken.cast(arrow_type)
        case "bool":
            return pa.array(column.values != 0, mask=absent)
        case "time":
            return restore_values(column.values.astype(np.int64), arrow_type, absent)
        case "duration":
            return pa.array(column.values.astype(np.int64), mask=absent).view(pa.duration("us")).cast(arrow_type)
    return _write_numbers(column.values, absent, arrow_type)


def _write_numbers(
    values: Int64s | npt.NDArray[np.float64], absent: npt.NDArray[np.bool_] | None, arrow_type: pa.DataType
) -> pa.Array:
    if absent is None:  # the same bytes, and much quicker than a conversion
        kept = np.ascontiguousarray(values)
        array = pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(kept)])
    else:
        array = pa.array(values, mask=absent)
    return array if array.type == arrow_type else array.cast(arrow_type, safe=False)
