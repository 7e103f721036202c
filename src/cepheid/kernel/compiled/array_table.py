"""Many arrays as one argument: a table of addresses, in which each array has a number.

    tables = lay_out([edges, runs, times])      int64[3 * arrays]: address, rows, columns of each
    runs = int_table(tables, 1)                 inside a kernel: the array itself, not a copy

A kernel of many small functions would otherwise hand dozens of arrays on with every call, several numbers each, which
costs more than the work done.  The caller must hold the arrays for as long as the table is used, and they must be
C-contiguous; a kernel that needs larger ones returns, and is called with a new table.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit


def lay_out(arrays: list[npt.NDArray[Any]], laid: Int64s | None = None) -> Int64s:
    """`laid`: places that come before these and stay as they are (it is done for every push: 50 arrays take time)."""
    places: list[int] = []
    for array in arrays:
        assert array.flags.c_contiguous, "arrays on a tables are C-contiguous"
        places += (array.__array_interface__["data"][0], len(array), prod(array.shape[1:]))
    tables = np.array(places, dtype=np.int64)
    return tables if laid is None else np.concatenate([laid, tables])


def _pointer_to(element: Any) -> Any:
    """An intrinsic that takes an address for a pointer to such elements."""

    def point(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
        signature = types.CPointer(element)(types.int64)  # type: ignore[no-untyped-call]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    return intrinsic(point)


_int64s_at, _floats_at = _pointer_to(types.int64), _pointer_to(types.float64)
_int32s_at, _bytes_at = _pointer_to(types.int32), _pointer_to(types.uint8)
_words_at = _pointer_to(types.uint64)


@intrinsic
def _fetch(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    """Ask for the cache line at an address, to be read and written soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:  # noqa: ARG001
        pointer = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        )
        builder.call(fetch, [builder.inttoptr(arguments[0], pointer), number(1), number(3), number(1)])

    return types.void(types.int64), generate


@njit()
def fetch_row(tables: Int64s, place: int, row: int) -> None:
    """Bring a row of eight-byte numbers closer, without waiting for it."""
    _fetch(tables[3 * place] + 8 * tables[3 * place + 2] * row)  # type: ignore[call-arg]


@njit()
def table_at(address: int, length: int) -> Any:
    """A table of addresses that another one has the address of."""
    return carray(_int64s_at(address), length)


@njit()
def ints(tables: Int64s, place: int) -> Any:
    return carray(_int64s_at(tables[3 * place]), tables[3 * place + 1])


@njit()
def int_table(tables: Int64s, place: int) -> Any:
    return carray(_int64s_at(tables[3 * place]), (tables[3 * place + 1], tables[3 * place + 2]))


@njit()
def floats(tables: Int64s, place: int) -> Any:
    return carray(_floats_at(tables[3 * place]), tables[3 * place + 1])


@njit()
def float_table(tables: Int64s, place: int) -> Any:
    return carray(_floats_at(tables[3 * place]), (tables[3 * place + 1], tables[3 * place + 2]))


@njit()
def flags(tables: Int64s, place: int) -> Any:
    return carray(_bytes_at(tables[3 * place]), tables[3 * place + 1])


@njit()
def flag_table(tables: Int64s, place: int) -> Any:
    return carray(_bytes_at(tables[3 * place]), (tables[3 * place + 1], tables[3 * place + 2]))


@njit()
def small_ints(tables: Int64s, place: int) -> Any:
    return carray(_int32s_at(tables[3 * place]), tables[3 * place + 1])


@njit()
def small_table(tables: Int64s, place: int) -> Any:
    return carray(_int32s_at(tables[3 * place]), (tables[3 * place + 1], tables[3 * place + 2]))


@njit()
def word_table(tables: Int64s, place: int) -> Any:
    return carray(_words_at(tables[3 * place]), (tables[3 * place + 1], tables[3 * place + 2]))
