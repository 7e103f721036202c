"""Values of slots in order, to ask for the k-th: a B+ tree for each slot, all in two tables.

    slots    root | height | how many values
    leaves   fill | cells, ascending | how often each
    inners   fill | children | how many values under each | greatest cell that belongs there (not used for the last)

A value is in its tree once, with how often it occurs; so every cell has one place.  A node that is full is split, one
that is empty is freed; nodes that are half empty are not merged, since windows take in as many events as they let go.

    Sen, Tarjan: Deletion without rebalancing in multiway search trees.  ISAAC 2009

Sixteen to a node: five or six levels for half a million values, where a binary tree has twenty, each a wait for memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import TEXTS

Table = npt.NDArray[np.int64]

ROOT, HEIGHT, SIZE, SLOT_WIDTH = 0, 1, 2, 3
FILL = 0
LEAF = 16
CELLS, TIMES, LEAF_WIDTH = 1, 1 + LEAF, 1 + 2 * LEAF
INNER = 16
CHILDREN, SIZES, BOUNDS, INNER_WIDTH = 1, 1 + INNER, 1 + 2 * INNER, 1 + 3 * INNER
FREE_LEAF, USED_LEAVES, FREE_INNER, USED_INNERS = range(4)
NONE = -1
MOST_LEVELS = 60


@njit(forceinline=True)
def has_room(trees: Table, slot: int, leaves: Table, inners: Table, counters: Int64s) -> bool:
    """Can one more value be put in, whatever has to be split for it?"""
    return (counters[FREE_LEAF] != NONE or counters[USED_LEAVES] < leaves.shape[0]) and counters[USED_INNERS] + trees[
        slot, HEIGHT
    ] + 2 <= inners.shape[0]


@njit()
def insert(
    trees: Table, slot: int, leaves: Table, inners: Table, counters: Int64s, cell: int, mode: int, ranks: Int64s,
    path: Table,
) -> None:  # fmt: skip
    """path: int64[MOST_LEVELS, 2], to remember the way."""
    if trees[slot, SIZE] == 0:
        leaf = _new_leaf(leaves, counters)
        leaves[leaf, FILL], leaves[leaf, CELLS], leaves[leaf, TIMES] = 1, cell, 1
        trees[slot, ROOT], trees[slot, HEIGHT], trees[slot, SIZE] = leaf, 0, 1
        return
    trees[slot, SIZE] += 1
    leaf = _descend(trees, slot, inners, cell, mode, ranks, path, 1)
    fill = leaves[leaf, FILL]
    at = _place(leaves, leaf, CELLS, fill, cell, mode, ranks)
    if at < fill and leaves[leaf, CELLS + at] == cell:
        leaves[leaf, TIMES + at] += 1
        return
    if fill < LEAF:
        _put_into_leaf(leaves, leaf, at, cell)
        return
    right = _new_leaf(leaves, counters)
    half = LEAF // 2
    size = 0
    for i in range(half, LEAF):
        leaves[right, CELLS + i - half] = leaves[leaf, CELLS + i]
        leaves[right, TIMES + i - half] = leaves[leaf, TIMES + i]
        size += leaves[leaf, TIMES + i]
    leaves[leaf, FILL], leaves[right, FILL] = half, LEAF - half
    if at <= half:
        _put_into_leaf(leaves, leaf, at, cell)
    else:
        _put_into_leaf(leaves, right, at - half, cell)
        size += 1
    _put_into_parents(trees, slot, inners, counters, path, right, leaves[leaf, CELLS + leaves[leaf, FILL] - 1], size)


@njit()
def _put_into_parents(
    trees: Table, slot: int, inners: Table, counters: Int64s, path: Table, right: int, bound: int, size: int
) -> None:
    """A node on the path has a new right neighbour, which took `size` values from it; cells up to `bound` stay."""
    half = INNER // 2
    for level in range(trees[slot, HEIGHT] - 1, -1, -1):
        node, at = path[level, 0], path[level, 1]
        if inners[node, FILL] < INNER:
            _put_child(inners, node, at, right, bound, size)
            return
        new = _new_inner(inners, counters)
        for i in range(half, INNER):
            inners[new, CHILDREN + i - half] = inners[node, CHILDREN + i]
            inners[new, SIZES + i - half] = inners[node, SIZES + i]
            inners[new, BOUNDS + i - half] = inners[node, BOUNDS + i]
        upper = inners[node, BOUNDS + half - 1]
        inners[node, FILL], inners[new, FILL] = half, INNER - half
        if at < half:
            _put_child(inners, node, at, right, bound, size)
        else:
            _put_child(inners, new, at - half, right, bound, size)
        size = 0
        for i in range(inners[new, FILL]):
            size += inners[new, SIZES + i]
        right, bound = new, upper
    root = _new_inner(inners, counters)
    inners[root, FILL] = 2
    inners[root, CHILDREN], inners[root, CHILDREN + 1] = trees[slot, ROOT], right
    inners[root, SIZES], inners[root, SIZES + 1] = trees[slot, SIZE] - size, size
    inners[root, BOUNDS] = bound
    trees[slot, ROOT] = root
    trees[slot, HEIGHT] += 1


@njit()
def remove(
    trees: Table, slot: int, leaves: Table, inners: Table, counters: Int64s, cell: int, mode: int, ranks: Int64s,
    path: Table,
) -> None:  # fmt: skip
    """The value must be there."""
    leaf = _descend(trees, slot, inners, cell, mode, ranks, path, -1)
    trees[slot, SIZE] -= 1
    fill = leaves[leaf, FILL]
    at = _place(leaves, leaf, CELLS, fill, cell, mode, ranks)
    leaves[leaf, TIMES + at] -= 1
    if leaves[leaf, TIMES + at] > 0:
        return
    for i in range(at + 1, fill):
        leaves[leaf, CELLS + i - 1] = leaves[leaf, CELLS + i]
        leaves[leaf, TIMES + i - 1] = leaves[leaf, TIMES + i]
    leaves[leaf, FILL] = fill - 1
    if fill > 1:
        return
    _free_leaf(leaves, counters, leaf)
    for level in range(trees[slot, HEIGHT] - 1, -1, -1):
        node, at = path[level, 0], path[level, 1]
        fill = inners[node, FILL]
        for i in range(at + 1, fill):
            inners[node, CHILDREN + i - 1] = inners[node, CHILDREN + i]
            inners[node, SIZES + i - 1] = inners[node, SIZES + i]
            inners[node, BOUNDS + i - 1] = inners[node, BOUNDS + i]
        inners[node, FILL] = fill - 1
        if fill > 1:
            break
        _free_inner(inners, counters, node)
    if trees[slot, SIZE] == 0:
        trees[slot, HEIGHT] = 0
    while trees[slot, HEIGHT] > 0 and inners[trees[slot, ROOT], FILL] == 1:
        root = trees[slot, ROOT]
        trees[slot, ROOT] = inners[root, CHILDREN]
        trees[slot, HEIGHT] -= 1
        _free_inner(inners, counters, root)


@njit(forceinline=True)
def _find(trees: Table, slot: int, leaves: Table, inners: Table, rank: int) -> tuple[int, int, int]:
    """The leaf of cell number `rank` (from 0), its place there, and how many of its equals come before."""
    node = trees[slot, ROOT]
    for _ in range(trees[slot, HEIGHT]):
        at = 0
        while rank >= inners[node, SIZES + at]:
            rank -= inners[node, SIZES + at]
            at += 1
        node = inners[node, CHILDREN + at]
    at = 0
    while rank >= leaves[node, TIMES + at]:
        rank -= leaves[node, TIMES + at]
        at += 1
    return node, at, rank


@njit()
def find_two(trees: Table, slot: int, leaves: Table, inners: Table, rank: int) -> tuple[int, int]:
    """The cells number `rank` (from 0) and rank + 1, or the last of all."""
    leaf, at, before = _find(trees, slot, leaves, inners, rank)
    cell = leaves[leaf, CELLS + at]
    if before + 1 < leaves[leaf, TIMES + at] or rank + 1 >= trees[slot, SIZE]:
        return cell, cell
    if at + 1 < leaves[leaf, FILL]:
        return cell, leaves[leaf, CELLS + at + 1]
    leaf, at, _ = _find(trees, slot, leaves, inners, rank + 1)
    return cell, leaves[leaf, CELLS + at]


@njit()
def clear(trees: Table, slot: int, leaves: Table, inners: Table, counters: Int64s, path: Table) -> None:
    """Free all nodes of a slot."""
    if trees[slot, SIZE] > 0:
        height, level = trees[slot, HEIGHT], 0
        path[0, 0], path[0, 1] = trees[slot, ROOT], 0
        while level >= 0:
            node, at = path[level, 0], path[level, 1]
            if level == height:
                _free_leaf(leaves, counters, node)
                level -= 1
            elif at < inners[node, FILL]:
                path[level, 1] = at + 1
                level += 1
                path[level, 0], path[level, 1] = inners[node, CHILDREN + at], 0
            else:
                _free_inner(inners, counters, node)
                level -= 1
    trees[slot, ROOT] = trees[slot, HEIGHT] = trees[slot, SIZE] = 0


@njit(forceinline=True)
def _descend(
    trees: Table, slot: int, inners: Table, cell: int, mode: int, ranks: Int64s, path: Table, change: int
) -> int:
    """The leaf where a cell belongs; the nodes above it count one more or less."""
    node = trees[slot, ROOT]
    for level in range(trees[slot, HEIGHT]):
        at = _place(inners, node, BOUNDS, inners[node, FILL] - 1, cell, mode, ranks)
        inners[node, SIZES + at] += change
        path[level, 0], path[level, 1] = node, at
        node = inners[node, CHILDREN + at]
    return node


@njit(forceinline=True)
def _place(table: Table, row: int, begin: int, count: int, cell: int, mode: int, ranks: Int64s) -> int:
    """The first of `count` ascending cells that is not less than this one."""
    low = 0
    if mode == TEXTS:
        key = ranks[cell]
        while low < count and ranks[table[row, begin + low]] < key:
            low += 1
        return low
    for i in range(count):  # without branches: a wrong guess costs more than to look at all
        low += table[row, begin + i] < cell
    return low


@njit(forceinline=True)
def _put_into_leaf(leaves: Table, leaf: int, at: int, cell: int) -> None:
    fill = leaves[leaf, FILL]
    for i in range(fill, at, -1):
        leaves[leaf, CELLS + i] = leaves[leaf, CELLS + i - 1]
        leaves[leaf, TIMES + i] = leaves[leaf, TIMES + i - 1]
    leaves[leaf, CELLS + at], leaves[leaf, TIMES + at] = cell, 1
    leaves[leaf, FILL] = fill + 1


@njit(forceinline=True)
def _put_child(inners: Table, node: int, at: int, child: int, bound: int, size: int) -> None:
    """Behind child number `at`, from which it took `size` values."""
    fill = inners[node, FILL]
    for i in range(fill, at + 1, -1):
        inners[node, CHILDREN + i] = inners[node, CHILDREN + i - 1]
        inners[node, SIZES + i] = inners[node, SIZES + i - 1]
        inners[node, BOUNDS + i] = inners[node, BOUNDS + i - 1]
    inners[node, CHILDREN + at + 1], inners[node, SIZES + at + 1] = child, size
    inners[node, BOUNDS + at + 1] = inners[node, BOUNDS + at]
    inners[node, BOUNDS + at] = bound
    inners[node, SIZES + at] -= size
    inners[node, FILL] = fill + 1


@njit(forceinline=True)
def _new_leaf(leaves: Table, counters: Int64s) -> int:
    leaf = counters[FREE_LEAF]
    if leaf == NONE:
        leaf = counters[USED_LEAVES]
        counters[USED_LEAVES] = leaf + 1
    else:
        counters[FREE_LEAF] = leaves[leaf, FILL]
    return leaf


@njit(forceinline=True)
def _free_leaf(leaves: Table, counters: Int64s, leaf: int) -> None:
    leaves[leaf, FILL] = counters[FREE_LEAF]
    counters[FREE_LEAF] = leaf


@njit(forceinline=True)
def _new_inner(inners: Table, counters: Int64s) -> int:
    inner = counters[FREE_INNER]
    if inner == NONE:
        inner = counters[USED_INNERS]
        counters[USED_INNERS] = inner + 1
    else:
        counters[FREE_INNER] = inners[inner, FILL]
    return inner


@njit(forceinline=True)
def _free_inner(inners: Table, counters: Int64s, inner: int) -> None:
    inners[inner, FILL] = counters[FREE_INNER]
    counters[FREE_INNER] = inner
