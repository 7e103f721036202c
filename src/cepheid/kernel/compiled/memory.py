"""Numbers in memory, read and written by address: one kernel for columns of every type.

    source     address, stride, code, address of validity, its stride, bit offset     a column that is read
    target     source, code, address, address of validity                             where it is written

A validity with stride 0 is a bitmap, as Arrow has it, and counted from the bit offset; else a byte for each value.
Address 0: nothing is null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline

BIT, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, FLOAT32, FLOAT64 = range(10)
CODES = {
    np.dtype(np.bool_): UINT8, np.dtype(np.int8): INT8, np.dtype(np.int16): INT16, np.dtype(np.int32): INT32,
    np.dtype(np.int64): INT64, np.dtype(np.uint8): UINT8, np.dtype(np.uint16): UINT16, np.dtype(np.uint32): UINT32,
    np.dtype(np.float32): FLOAT32, np.dtype(np.float64): FLOAT64,
}  # fmt: skip
"""Of numbers that lie in an array of numpy."""

ADDRESS, STRIDE, CODE, VALID, VALID_STRIDE, BIT_OFFSET = range(6)  # of a source
SOURCE, TARGET_CODE, TARGET, TARGET_VALID = range(4)  # of a target


def _access(element: Any) -> tuple[Any, Any]:
    """Intrinsics that read and write such a number at an address."""

    def load(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)

        return element(types.int64), generate

    def store(typing_context: Any, address: Any, value: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            pointer = builder.inttoptr(arguments[0], arguments[1].type.as_pointer())
            builder.store(arguments[1], pointer, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, element), generate

    return intrinsic(load), intrinsic(store)


_load_int8, _store_int8 = _access(types.int8)
_load_int16, _store_int16 = _access(types.int16)
_load_int32, _store_int32 = _access(types.int32)
load_int64, store_int64 = _access(types.int64)
load_uint8, store_uint8 = _access(types.uint8)
_load_uint16, _store_uint16 = _access(types.uint16)
_load_uint32, _store_uint32 = _access(types.uint32)
_load_float32, _store_float32 = _access(types.float32)
_load_float64, store_float64 = _access(types.float64)


@intrinsic
def read_bits(typing_context: Any, bits: Any) -> Any:  # noqa: ARG001
    """The float that has these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return types.float64(types.int64), generate


@njit_no_refcount_inline
def load_integer(address: int, code: int) -> Any:
    """A whole number (not a bit)."""
    if code == INT64:
        return load_int64(address)
    if code == INT32:
        return np.int64(_load_int32(address))
    if code == UINT8:
        return np.int64(load_uint8(address))
    if code == INT16:
        return np.int64(_load_int16(address))
    if code == INT8:
        return np.int64(_load_int8(address))
    if code == UINT16:
        return np.int64(_load_uint16(address))
    return np.int64(_load_uint32(address))


@njit_no_refcount_inline
def load_float(address: int, code: int) -> float:
    if code == FLOAT64:
        return _load_float64(address)
    if code == FLOAT32:
        return np.float64(_load_float32(address))
    return np.float64(load_integer(address, code))


@njit_no_refcount
def store_integer(address: int, code: int, value: int) -> None:
    if code == INT64:
        store_int64(address, value)
    elif code == INT32:
        _store_int32(address, np.int32(value))
    elif code == UINT8:
        store_uint8(address, np.uint8(value))
    elif code == INT16:
        _store_int16(address, np.int16(value))
    elif code == INT8:
        _store_int8(address, np.int8(value))
    elif code == UINT16:
        _store_uint16(address, np.uint16(value))
    else:
        _store_uint32(address, np.uint32(value))


@njit_no_refcount_inline
def move_bytes(source: int, target: int, size: int) -> None:
    """Copy a number of 8, 4, 2 or 1 bytes."""
    if size == 8:
        store_int64(target, load_int64(source))
    elif size == 4:
        _store_int32(target, _load_int32(source))
    elif size == 2:
        _store_int16(target, _load_int16(source))
    else:
        store_uint8(target, load_uint8(source))


@njit_no_refcount_inline
def size_of(code: int) -> int:
    """Bytes of a number."""
    if code in (INT64, FLOAT64):
        return 8
    if code in (INT32, UINT32, FLOAT32):
        return 4
    return 2 if code in (INT16, UINT16) else 1


@njit_no_refcount_inline
def is_known(sources: Int64s, source: int, row: int) -> bool:
    """Is the value of a source not null?"""
    valid = sources[source, VALID]
    if valid == 0:
        return True
    if sources[source, VALID_STRIDE]:
        return load_uint8(valid + row * sources[source, VALID_STRIDE]) != 0
    bit = row + sources[source, BIT_OFFSET]
    return (load_uint8(valid + (bit >> 3)) >> (bit & 7)) & 1 != 0


@njit_no_refcount_inline
def read_integer(sources: Int64s, source: int, row: int) -> Any:
    code = sources[source, CODE]
    if code == BIT:
        bit = row + sources[source, BIT_OFFSET]
        return np.int64((load_uint8(sources[source, ADDRESS] + (bit >> 3)) >> (bit & 7)) & 1)
    return load_integer(sources[source, ADDRESS] + row * sources[source, STRIDE], code)


@njit_no_refcount_inline
def read_float(sources: Int64s, source: int, row: int) -> float:
    return load_float(sources[source, ADDRESS] + row * sources[source, STRIDE], sources[source, CODE])


@njit_no_refcount
def copy_rows(sources: Int64s, targets: Int64s, first: int, last: int, begin: int, row: int, count: int) -> None:
    """Write rows `row` to `row + count` of the sources to places from `begin` on, for the targets first to last."""
    for t in range(first, last):
        source, code, address, valid = targets[t, 0], targets[t, 1], targets[t, 2], targets[t, 3]
        size = size_of(code)
        is_float = code >= FLOAT32
        for i in range(count):
            place = begin + i
            known = is_known(sources, source, row + i)
            if valid:
                store_uint8(valid + place, np.uint8(known))
            at = address + place * size
            if is_float:
                number = read_float(sources, source, row + i) if known else 0.0
                if code == FLOAT64:
                    store_float64(at, number)
                else:
                    _store_float32(at, np.float32(number))
            else:
                store_integer(at, code, read_integer(sources, source, row + i) if known else 0)
