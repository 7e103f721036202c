"""Events parted among operators by the group of their keys, and their rows put together again.

    key columns ─▶ owner of each event ─▶ the events of each owner, in order ─▶ ... ─▶ rows by their places

The hashes are those of `key_hash`, in one pass over the column where the key is one plain number.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Int64s, Interner, as_cells, kind_of, read_column
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.key_hash import group_keys

MOST_OWNERS = 256


def count_groups(columns: list[pa.ChunkedArray], count: int, groups: int) -> Int64s:
    """int64[groups]: how many events each key group has."""
    return np.bincount(group_keys(columns, count, groups), minlength=groups)


def part_events(columns: list[pa.ChunkedArray], count: int, owners: Int64s, ways: int, base: int = 0) -> list[Int64s]:
    """For each of the owners the indices of its events, in order, counted from `base`.

    columns: the keys of the events; owners: int64[key groups], whose number is the one that `group_keys` is given.
    """
    order, bounds = np.empty(count, dtype=np.int64), np.zeros(ways + 1, dtype=np.int64)
    assert ways <= MOST_OWNERS, f"an owner is a number below {MOST_OWNERS}"
    found = np.empty(count, dtype=np.uint8)
    cells = _read_cells(columns)
    if cells is None:
        found[:] = owners[group_keys(columns, count, len(owners))]
    else:
        _own_cells(cells, owners, found)
    _part(found, base, order, bounds)
    return [order[begin:end] for begin, end in pairwise(bounds)]


def _read_cells(columns: list[pa.ChunkedArray]) -> npt.NDArray[Any] | None:
    """A key that is one plain number, as it lies in memory where that will do."""
    if len(columns) != 1 or columns[0].null_count or kind_of(columns[0].type) in ("string", None):
        return None
    column = columns[0]
    if column.num_chunks == 1 and pa.types.is_int32(column.type):
        whole: npt.NDArray[Any] = column.chunk(0).to_numpy()
        return whole
    cells = as_cells(read_column(column, Interner())).view()
    cells.flags.writeable = False  # as most of them come from Arrow: one type to Numba, not two
    return cells


def order_places(places: list[Int64s]) -> Int64s:
    """int64[n]: the rows of several operators, counted one operator behind another, in the order of their places; of
    equal ones in the order in which they are."""
    whole = np.concatenate(places)
    bounds = np.cumsum([0, *map(len, places)])
    order = np.empty(len(whole), dtype=np.int64)
    if not _merge_places(whole, bounds[:-1].copy(), bounds[1:].copy(), order):
        return np.argsort(whole, kind="stable")
    return order


@njit()
def _own_cells(cells: Any, owners: Int64s, found: Any) -> None:
    """The owners of keys: the hash is that of `hash_keys` of one column."""
    start, groups = np.uint64(0x9E3779B97F4A7C15), np.uint64(owners.shape[0])
    mask = groups - np.uint64(1)
    if (groups & mask) == 0:  # no division
        for i in range(cells.shape[0]):
            found[i] = owners[np.int64(_mix(start ^ _mix(np.uint64(np.int64(cells[i])))) & mask)]
    else:
        for i in range(cells.shape[0]):
            found[i] = owners[np.int64(_mix(start ^ _mix(np.uint64(np.int64(cells[i])))) % groups)]


@njit(forceinline=True)
def _mix(cell: Any) -> Any:
    cell = (cell ^ (cell >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    cell = (cell ^ (cell >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cell ^ (cell >> np.uint64(31))


@njit()
def _part(owners: Any, base: int, order: Int64s, bounds: Int64s) -> None:
    """owners: uint8[n], of each event; order, bounds: int64, to be filled."""
    counts = np.zeros(MOST_OWNERS, dtype=np.int64)
    for owner in owners:
        counts[owner] += 1
    tops = np.zeros(MOST_OWNERS, dtype=np.int64)
    for way in range(bounds.shape[0] - 1):
        tops[way] = bounds[way]
        bounds[way + 1] = bounds[way] + counts[way]
    for i in range(owners.shape[0]):
        owner = owners[i]
        order[tops[owner]] = base + i
        tops[owner] += 1


@njit()
def _merge_places(places: Int64s, heads: Int64s, ends: Int64s, order: Int64s) -> bool:
    """places[heads[n]:ends[n]] are those of an operator, in order; False: they are not."""
    for part in range(heads.shape[0]):
        for i in range(heads[part] + 1, ends[part]):
            if places[i] < places[i - 1]:
                return False
    if heads.shape[0] == 2:
        _merge_two(places, heads[0], heads[1], ends[0], ends[1], order)
        return True
    for n in range(order.shape[0]):
        chosen = -1
        for part in range(heads.shape[0]):
            if heads[part] < ends[part] and (chosen < 0 or places[heads[part]] < places[heads[chosen]]):
                chosen = part
        order[n] = heads[chosen]
        heads[chosen] += 1
    return True


@njit()
def _merge_two(places: Int64s, i: int, j: int, end_i: int, end_j: int, order: Int64s) -> None:
    """As mostly; which of them is next cannot be foreseen, so that nothing branches on it."""
    n = 0
    while i < end_i and j < end_j:
        is_first = 1 if places[i] <= places[j] else 0
        order[n] = is_first * i + (1 - is_first) * j
        i += is_first
        j += 1 - is_first
        n += 1
    for rest in range(i, end_i):
        order[n] = rest
        n += 1
    for rest in range(j, end_j):
        order[n] = rest
        n += 1


def warm_up_key_owners() -> None:
    owners = np.zeros(2, dtype=np.int64)
    for plain in (pa.int32(), pa.int64()):
        part_events([pa.chunked_array([pa.array([1, 2], plain)])], 2, owners, 1)
    order_places([owners, owners])
