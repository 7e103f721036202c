"""percentile_cont, percentile_disc, least and greatest of one column: all asked of one order tree for each slot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.array_table import flag_table, flags, float_table, floats, int_table, ints
from cepheid.kernel.compiled.memory import read_bits
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import (
    FLOATS,
    Columns,
    as_given,
    give_float,
    order_float,
    read_ordered,
)
from cepheid.kernel.compiled.window_aggregates.order_tree import (
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
from cepheid.kernel.compiled.window_aggregates.room import widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, LEAVE, StepList
from cepheid.kernel.window import ListColumn, WindowedAggregate

AS_IT_IS, BETWEEN_TIMES, BETWEEN_NUMBERS = range(3)
(
    L_CELLS, L_VALID, L_TREES, L_LEAVES, L_INNERS, L_COUNTERS, L_SHARES, L_DISCRETE, L_COUNTS, L_FOUND, L_PATH, L_HOW,
    L_NUMBERS, L_WORDS, L_ANSWERED,
) = range(15)  # fmt: skip
"""Places of the table that `lay_out` is for."""
WRITTEN, WANTED = 0, 1  # cells of lists written, cells needed


class RankedBank:
    """aggregates: all of one column."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:
        self._aggregates = aggregates
        self._interner = interner
        self._shares = [aggregate for aggregate in aggregates if aggregate.function.startswith("percentile")]
        self._lists = [aggregate for aggregate in aggregates if not aggregate.function.startswith("percentile")]
        self._trees = np.zeros((0, SLOT_WIDTH), dtype=np.int64)
        self._leaves = np.zeros((16, LEAF_WIDTH), dtype=np.int64)
        self._inners = np.zeros((MOST_LEVELS, INNER_WIDTH), dtype=np.int64)
        self._counters = np.array([NONE, 0, NONE, 0], dtype=np.int64)
        self._path = np.zeros((MOST_LEVELS, 2), dtype=np.int64)
        self._parameters = np.array([aggregate.parameter for aggregate in self._shares], dtype=np.float64)
        self._is_discrete = np.array([each.function == "percentile_disc" for each in self._shares], dtype=np.uint8)
        self._found: list[npt.NDArray[Any]] = []  # counts and neighbours: for a few events at a time
        self._limits = np.array([_signed_limit(aggregate) for aggregate in self._lists], dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column | ListColumn, ...]:
        self._trees = widen(self._trees, step_list.slot_count)
        name, kind = self._aggregates[0].column, self._aggregates[0].column_kind
        assert name is not None, "percentiles are of a column"
        cells = read_ordered(store, name, kind, self._interner)
        shares, is_discrete, limits = self._parameters, self._is_discrete, self._limits
        counts = np.zeros(step_list.rows, dtype=np.int64)
        found = np.zeros((2 * len(shares), step_list.rows), dtype=np.int64)  # two neighbours for each share
        listed = np.empty(step_list.rows if self._lists else 0, dtype=np.int64)
        progress = np.zeros(2, dtype=np.int64)
        done = 0
        while True:
            done = _follow(
                step_list.steps, step_list.slots, step_list.items, done, cells.values, cells.valid, cells.mode,
                cells.ranks,
                self._trees, self._leaves, self._inners, self._counters, shares, is_discrete, limits, counts, found,
                listed, progress, self._path,
            )  # fmt: skip
            if done == len(step_list.steps):
                break
            if progress[WANTED] > len(listed):
                listed = widen(listed, int(progress[WANTED]))
            else:
                self.grow()
        answers: dict[WindowedAggregate, Column | ListColumn] = {}
        for at, aggregate in enumerate(self._shares):
            low, high = as_given(found[2 * at], cells.mode), as_given(found[2 * at + 1], cells.mode)
            if aggregate.function == "percentile_cont":
                low = _interpolate(low, high, counts, aggregate)
            answers[aggregate] = Column(low, (counts > 0).view(np.uint8))
        if not self._lists:
            return tuple(answers[aggregate] for aggregate in self._aggregates)
        given = as_given(listed[: progress[WRITTEN]], cells.mode)
        answers |= zip(self._lists, _part_lists(given, counts, limits), strict=True)
        return tuple(answers[aggregate] for aggregate in self._aggregates)

    # --- a few events at a time (laid_banks.py) ---------------------------------------------------------------
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]] | None:
        """words, valid: [aggregates, rows], where answers go.  None: there are lists among them, or texts."""
        self._trees = widen(self._trees, slots)
        name, kind = self._aggregates[0].column, self._aggregates[0].column_kind
        if self._lists or kind == "string":
            return None
        assert name is not None, "percentiles are of a column"
        cells = read_ordered(store, name, kind, self._interner)
        if not self._found:  # once: when arrays grow in the midst of steps, the answers so far stay
            rows = words.shape[1]
            self._found = [np.zeros(rows, dtype=np.int64), np.zeros((2 * len(self._shares), rows), dtype=np.int64)]
        how = np.array([_tabulate(aggregate) for aggregate in self._shares], dtype=np.int64)
        numbers = np.array([cells.mode, 0, 0], dtype=np.int64)
        return [
            cells.values, cells.valid, self._trees, self._leaves, self._inners, self._counters, self._parameters,
            self._is_discrete, *self._found, self._path, how, numbers, words, valid,
        ]  # fmt: skip

    def grow(self) -> None:
        """There were not enough nodes."""
        self._leaves = widen(self._leaves, len(self._leaves) + 1)
        self._inners = widen(self._inners, int(self._counters[USED_INNERS]) + MOST_LEVELS)


def _tabulate(aggregate: WindowedAggregate) -> int:
    """How the answer comes of two neighbours."""
    if aggregate.function == "percentile_disc":
        return AS_IT_IS
    return BETWEEN_TIMES if aggregate.column_kind in ("time", "duration") else BETWEEN_NUMBERS


def _signed_limit(aggregate: WindowedAggregate) -> int:
    """How many values are asked for, negative for the greatest."""
    return int(aggregate.parameter) * (-1 if aggregate.function == "greatest" else 1)


def _interpolate(
    low: npt.NDArray[Any], high: npt.NDArray[Any], counts: Int64s, aggregate: WindowedAggregate
) -> Int64s | Floats:
    """The value at q * (n - 1), between two neighbours by proportion; times and durations cut to microseconds."""
    place = aggregate.parameter * np.maximum(counts - 1, 0)
    part = place - np.floor(place)
    if aggregate.column_kind in ("time", "duration"):
        return low + ((high - low) * part).astype(np.int64)
    is_between = (part > 0) & (low != high)  # of two infinities the distance is no number
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        distance = high - low
        inner = np.where(np.isfinite(distance), low + distance * part, low * (1 - part) + high * part)
    return np.where(is_between, inner, low)


def _part_lists(listed: npt.NDArray[Any], counts: Int64s, limits: Int64s) -> list[ListColumn]:
    """Lists were listed row by row, in each row one for each limit."""
    lengths = np.minimum(counts[:, None], np.abs(limits)[None, :])
    owners = np.repeat(np.tile(np.arange(len(limits)), len(counts)), lengths.ravel())
    some = (counts > 0).view(np.uint8)
    return [
        ListColumn(np.cumsum(lengths[:, at]), Column(listed[owners == at] if len(limits) > 1 else listed), some)
        for at in range(len(limits))
    ]


@njit()
def run_laid_ranks(tables: Int64s, steps: Flags, slots: Int64s, items: Int64s, done: int, rows: int) -> int:
    """As `_follow`, with all arrays on one table; at the end the answers of `rows` rows are written."""
    numbers, counts, found = ints(tables, L_NUMBERS), ints(tables, L_COUNTS), int_table(tables, L_FOUND)
    shares, mode = floats(tables, L_SHARES), ints(tables, L_NUMBERS)[0]
    done = _follow(
        steps, slots, items, done, ints(tables, L_CELLS), flags(tables, L_VALID), mode, numbers,
        int_table(tables, L_TREES), int_table(tables, L_LEAVES), int_table(tables, L_INNERS), ints(tables, L_COUNTERS),
        shares, flags(tables, L_DISCRETE), numbers[3:], counts, found, numbers[3:], numbers[1:],
        int_table(tables, L_PATH),
    )  # fmt: skip
    if done < steps.shape[0]:
        return done
    how, answers = ints(tables, L_HOW), float_table(tables, L_WORDS)
    whole, valid = int_table(tables, L_WORDS), flag_table(tables, L_ANSWERED)
    for number in range(shares.shape[0]):
        for row in range(rows):
            valid[number, row] = counts[row] > 0
            whole[number, row] = 0
            if counts[row] == 0:
                continue
            low, high = found[2 * number, row], found[2 * number + 1, row]
            if mode == FLOATS:
                low, high = give_float(low), give_float(high)
            place = shares[number] * (counts[row] - 1)
            part = place - math.floor(place)
            if how[number] == AS_IT_IS:
                whole[number, row] = low
            elif how[number] == BETWEEN_TIMES:
                whole[number, row] = low + np.int64((high - low) * part)
            elif mode == FLOATS:
                answers[number, row] = _between(read_bits(low), read_bits(high), part)  # type: ignore[call-arg]
            else:
                answers[number, row] = _between(float(low), float(high), part)
    return done


@njit()
def _between(low: float, high: float, part: float) -> float:
    """As `_interpolate`, of one pair."""
    if part <= 0.0 or low == high:
        return low
    distance = high - low
    return low + distance * part if math.isfinite(distance) else low * (1.0 - part) + high * part


@njit()
def _follow(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, valid: Flags, mode: int,
    ranks: Int64s, trees: Table, leaves: Table, inners: Table, counters: Int64s, shares: Floats, is_discrete: Flags,
    limits: Int64s, counts: Int64s, found: Table, listed: Int64s, progress: Int64s, path: Table,
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
            if needed > listed.shape[0]:
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
                    listed[written], _ = find_two(trees, slot, leaves, inners, rank)
                    written += 1
            progress[WRITTEN] = written
        elif step == CLEAR:
            clear(trees, slot, leaves, inners, counters, path)
    return steps.shape[0]


@njit()
def _discrete_rank(share: float, size: int) -> int:
    """The first rank with (rank + 1) / size >= share; share * size alone may round to the wrong side."""
    rank = max(math.ceil(share * size) - 1, 0)
    while rank > 0 and rank / size >= share:
        rank -= 1
    while rank + 1 < size and (rank + 1) / size < share:
        rank += 1
    return rank
