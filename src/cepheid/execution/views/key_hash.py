"""Where the rows of a key are found: 64 bits of its values.  Equal keys have equal hashes; what has equal hashes may
still differ, so SQL compares the values themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.changing.row_hash import Hashes, hash_rows

_SEED = 3


def hash_keys(rows: pa.Table, keys: Sequence[str], types: Sequence[pa.DataType | None]) -> Hashes:
    """types: what each key is compared as; None: as it is."""
    if not keys:
        return np.zeros(len(rows), dtype=np.uint64)
    return hash_rows([_plain(rows.column(key), kind) for key, kind in zip(keys, types, strict=True)], len(rows), _SEED)


def _plain(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
    if kind is not None and column.type != kind:
        column = column.cast(kind, safe=False)
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column  # -0.0 equals 0.0


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | bool | None:
    """What equal values of both types are equal as; None: as they are; False: they cannot be told by a hash."""
    if left == right:
        return None
    if _is_number(left) and _is_number(right):
        return pa.int64() if _is_whole(left) and _is_whole(right) else pa.float64()
    if _is_text(left) and _is_text(right):
        return pa.large_string()
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right) and bool(left.tz) == bool(right.tz):
        return pa.timestamp("ns", left.tz)
    return False


def _is_whole(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) and kind != pa.uint64()


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
