"""Columns as the banks read them: 64-bit cells, a validity that may be left out, and an order among cells.

    kind                          cell as given       ordered cell
    bool, int, time, duration     the number          the number
    float                         its bits            a number that orders as floats do; one NaN, the greatest
    string                        number of interner  the same; compared by its rank

So one compiled kernel serves every kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.expression import Kind

PLAIN, FLOATS, TEXTS = range(3)

NO_CELLS: Int64s = np.zeros(0, dtype=np.int64)
NO_FLAGS: Flags = np.zeros(0, dtype=np.uint8)
NO_FLOATS: Floats = np.zeros(0, dtype=np.float64)

_SIGN = np.int64(-(2**63))
_ALL_BUT_SIGN = np.int64(2**63 - 1)
_NAN = np.int64(0x7FF8000000000000)
_INFINITY = np.int64(0x7FF0000000000000)


class Columns(Protocol):
    """Where the values of events are: the store of a window operator."""

    def column(self, name: str) -> Column: ...


class Cells(NamedTuple):
    """values: int64[n]; valid: uint8[n], or empty when nothing is null; ranks: by cell, empty unless mode is TEXTS."""

    values: Int64s
    valid: Flags
    mode: int
    ranks: Int64s


def read_cells(store: Columns, name: str) -> Cells:
    """A column of which cells are equal or not; not copied, unless it is read-only, a type of its own to Numba."""
    column = store.column(name)
    values = _writable(column.values)
    valid = NO_FLAGS if column.valid is None else _writable(column.valid)
    if values.dtype == np.float64:
        return Cells(values.view(np.int64), valid, FLOATS, NO_CELLS)
    return Cells(values, valid, PLAIN, NO_CELLS)


def read_ordered(store: Columns, name: str, kind: Kind | None, interner: Interner) -> Cells:
    """A column of which cells are also less or greater.  Only here ranks are asked for: new strings change them all."""
    cells = read_cells(store, name)
    return cells._replace(mode=TEXTS, ranks=interner.ranks()) if kind == "string" else cells


def read_validity(store: Columns, name: str) -> Flags:
    """uint8[n], or empty when nothing is null."""
    valid = store.column(name).valid
    return NO_FLAGS if valid is None else _writable(valid)


def _writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array)


@njit()
def order_float(bits: Any) -> Any:
    """The ordered cell of a float: -0.0 is 0.0, and there is one NaN."""
    if (bits & _ALL_BUT_SIGN) > _INFINITY:
        return _NAN
    if bits >= 0:
        return bits
    return (bits ^ _ALL_BUT_SIGN) + 1  # -0.0 falls together with 0.0


@njit()
def give_float(ordered: Any) -> Any:
    """The bits of the float behind an ordered cell."""
    return ordered if ordered >= 0 else (ordered - 1) ^ _ALL_BUT_SIGN


def as_given(ordered: Int64s, mode: int) -> Int64s | Floats:
    """The values behind ordered cells, all at once."""
    if mode != FLOATS:
        return ordered
    if len(ordered) and ordered.min() >= 0:  # floats that are not negative are ordered as their bits are
        return np.ascontiguousarray(ordered).view(np.float64)
    return np.where(ordered >= 0, ordered, (ordered - 1) ^ _ALL_BUT_SIGN).view(np.float64)


def as_values(cells: Int64s, mode: int) -> Int64s | Floats:
    """The values behind cells as given, all at once."""
    return cells.view(np.float64) if mode == FLOATS else cells


def pack_texts(cells: Int64s, interner: Interner) -> dict[str, npt.NDArray[Any]]:
    """Strings themselves, for a snapshot: another process numbers them in another way."""
    texts = interner.texts()
    encoded = [texts[cell].encode() if 0 <= cell < len(texts) else b"" for cell in cells.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(encoded), dtype=np.uint8), "text_ends": ends}


def unpack_texts(kept: dict[str, npt.NDArray[Any]], interner: Interner) -> Int64s:
    """The numbers that this interner has for kept strings."""
    whole, ends = kept["text"].tobytes(), kept["text_ends"].tolist()
    texts = [whole[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]
    return np.array([interner.number_of(text) for text in texts], dtype=np.int64)
