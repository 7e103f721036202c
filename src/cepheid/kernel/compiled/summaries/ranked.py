"""percentile_cont, percentile_disc, least and greatest of one column: all asked of one order tree for each slot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.summaries.cells import FLOATS, Columns, as_given, order_float, read_ordered
from cepheid.kernel.compiled.summaries.order_tree import (
    INNER_WIDTH,
    LEAF_WIDTH,
    MOST_LEVELS,
    NONE,
    SIZE,
    SLOT_WIDTH,
    USED_INNERS,
    Table,
    clear,
    find_two,
    has_room,
    insert,
    remove,
)
from cepheid.kernel.compiled.summaries.room import widen
from cepheid.kernel.compiled.window_script import CLEAR, EMIT, LEAVE, Script
from cepheid.kernel.window import ListColumn, Summary

WRITTEN, WANTED = 0, 1  # cells of lists told, cells needed


class RankedBank:
    """summaries: all of one column."""

    def __init__(self, summaries: list[Summary], interner: Interner) -> None:
        self._summaries = summaries
        self._interner = interner
        self._shares = [summary for summary in summaries if summary.function.startswith("percentile")]
        self._lists = [summary for summary in summaries if not summary.function.startswith("percentile")]
        self._trees = np.zeros((0, SLOT_WIDTH), dtype=np.int64)
        self._leaves = np.zeros((16, LEAF_WIDTH), dtype=np.int64)
        self._inners = np.zeros((MOST_LEVELS, INNER_WIDTH), dtype=np.int64)
        self._counters = np.array([NONE, 0, NONE, 0], dtype=np.int64)
        self._path = np.zeros((MOST_LEVELS, 2), dtype=np.int64)

    def run(self, script: Script, store: Columns) -> tuple[Column | ListColumn, ...]:
        self._trees = widen(self._trees, script.slot_count)
        name, kind = self._summaries[0].column, self._summaries[0].column_kind
        assert name is not None, "percentiles are of a column"
        cells = read_ordered(store, name, kind, self._interner)
        shares = np.array([summary.parameter for summary in self._shares], dtype=np.float64)
        is_discrete = np.array([summary.function == "percentile_disc" for summary in self._shares], dtype=np.uint8)
        limits = np.array([_signed_limit(summary) for summary in self._lists], dtype=np.int64)
        counts = np.zeros(script.rows, dtype=np.int64)
        found = np.zeros((2 * len(shares), script.rows), dtype=np.int64)  # two neighbours for each share
        told = np.empty(script.rows if self._lists else 0, dtype=np.int64)
        progress = np.zeros(2, dtype=np.int64)
        done = 0
        while True:
            done = _follow(
                script.steps, script.slots, script.items, done, cells.values, cells.valid, cells.mode, cells.ranks,
                self._trees, self._leaves, self._inners, self._counters, shares, is_discrete, limits, counts, found,
                told, progress, self._path,
            )  # fmt: skip
            if done == len(script.steps):
                break
            if progress[WANTED] > len(told):
                told = widen(told, int(progress[WANTED]))
            else:
                self._leaves = widen(self._leaves, len(self._leaves) + 1)
                self._inners = widen(self._inners, int(self._counters[USED_INNERS]) + MOST_LEVELS)
        answers: dict[Summary, Column | ListColumn] = {}
        for at, summary in enumerate(self._shares):
            low, high = as_given(found[2 * at], cells.mode), as_given(found[2 * at + 1], cells.mode)
            if summary.function == "percentile_cont":
                low = _interpolate(low, high, counts, summary)
            answers[summary] = Column(low, (counts > 0).view(np.uint8))
        given = as_given(told[: progress[WRITTEN]], cells.mode)
        answers |= zip(self._lists, _part_lists(given, counts, limits), strict=True)
        return tuple(answers[summary] for summary in self._summaries)


def _signed_limit(summary: Summary) -> int:
    """How many values are asked for, negative for the greatest."""
    return int(summary.parameter) * (-1 if summary.function == "greatest" else 1)


def _interpolate(low: npt.NDArray[Any], high: npt.NDArray[Any], counts: Int64s, summary: Summary) -> Int64s | Floats:
    """The value at q * (n - 1), between two neighbours by proportion; times and durations cut to microseconds."""
    place = summary.parameter * np.maximum(counts - 1, 0)
    part = place - np.floor(place)
    if summary.column_kind in ("time", "duration"):
        return low + ((high - low) * part).astype(np.int64)
    is_between = (part > 0) & (low != high)  # of two infinities the distance is no number
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        distance = high - low
        inner = np.where(np.isfinite(distance), low + distance * part, low * (1 - part) + high * part)
    return np.where(is_between, inner, low)


def _part_lists(told: npt.NDArray[Any], counts: Int64s, limits: Int64s) -> list[ListColumn]:
    """Lists were told row by row, in each row one for each limit."""
    lengths = np.minimum(counts[:, None], np.abs(limits)[None, :])
    owners = np.repeat(np.tile(np.arange(len(limits)), len(counts)), lengths.ravel())
    some = (counts > 0).view(np.uint8)
    return [
        ListColumn(np.cumsum(lengths[:, at]), Column(told[owners == at] if len(limits) > 1 else told), some)
        for at in range(len(limits))
    ]


@njit(cache=True)
def _follow(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, valid: Flags, mode: int,
    ranks: Int64s, trees: Table, leaves: Table, inners: Table, counters: Int64s, shares: Floats, is_discrete: Flags,
    limits: Int64s, counts: Int64s, found: Table, told: Int64s, progress: Int64s, path: Table,
) -> int:  # fmt: skip
    """Carry out steps from number `done` on; gives the number of the first one that was not, for want of room."""
    has_nulls = valid.shape[0] > 0
    for i in range(done, steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= LEAVE:
            if has_nulls and valid[item] == 0:
                continue
            cell = order_float(cells[item]) if mode == FLOATS else cells[item]
            if step == LEAVE:
                remove(trees, slot, leaves, inners, counters, cell, mode, ranks, path)
            elif has_room(trees, slot, leaves, inners, counters):
                insert(trees, slot, leaves, inners, counters, cell, mode, ranks, path)
            else:
                return i
        elif step == EMIT:
            size = trees[slot, SIZE]
            counts[item] = size
            if size == 0:
                continue
            written = progress[WRITTEN]
            needed = written
            for at in range(limits.shape[0]):
                needed += min(size, abs(limits[at]))
            if needed > told.shape[0]:
                progress[WANTED] = needed
                return i
            for at in range(shares.shape[0]):
                rank = math.floor(shares[at] * (size - 1))
                if is_discrete[at]:
                    rank = _discrete_rank(shares[at], size)
                found[2 * at, item], found[2 * at + 1, item] = find_two(trees, slot, leaves, inners, rank)
            for at in range(limits.shape[0]):
                for k in range(min(size, abs(limits[at]))):
                    rank = k if limits[at] > 0 else size - 1 - k
                    told[written], _ = find_two(trees, slot, leaves, inners, rank)
                    written += 1
            progress[WRITTEN] = written
        elif step == CLEAR:
            clear(trees, slot, leaves, inners, counters, path)
    return steps.shape[0]


@njit(cache=True)
def _discrete_rank(share: float, size: int) -> int:
    """The first rank with (rank + 1) / size >= share; share * size alone may round to the wrong side."""
    rank = max(math.ceil(share * size) - 1, 0)
    while rank > 0 and rank / size >= share:
        rank -= 1
    while rank + 1 < size and (rank + 1) / size < share:
        rank += 1
    return rank
