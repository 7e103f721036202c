"""sum, avg, standard deviation, variance (and count) of one column of floats; of integers the latter two.

A slot has one record:

    count | place of its rare record | sum (three floats) | sum of squares (four; only if a variance is asked for)

Values that would spoil a sum for ever are kept out of it.  A slot that holds such values has a rare record besides:

    how many | NaNs | infinities | negative infinities | for each class of huge values: sum and sum of squares

A class is a range of 64 exponents, so narrow that sums in it are exact; and huge values are divided by 2**560, so that
sums of them do not overflow on the way.  When a NaN or 1e308 has left the window, its trace has left too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.window_aggregates.cells import FLOATS, NO_FLOATS, Columns, read_cells
from cepheid.kernel.compiled.window_aggregates.exact_floats import (
    add_to_squares,
    add_to_sum,
    add_to_triple,
    multiply_exactly,
    squared_deviations,
    tidy,
    tidy_squares,
)
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.window import WindowedAggregate, WindowedFunction

COUNT, RARE, SUM, SQUARES = 0, 1, 2, 5
RARE_COUNT, NANS, INFINITIES, NEGATIVE_INFINITIES, CLASSES = range(5)
CLASS_EXPONENTS, CLASS_WIDTH, CLASS_SQUARES = 64, 7, 3
RARE_WIDTH = CLASSES + (1024 // CLASS_EXPONENTS - 1) * CLASS_WIDTH
LARGEST = 2.0**64  # of the values in the sum: once they have left, rounding them has cost others 2**-86 at most
SCALE_DOWN, SCALE_UP = 2.0**-560, 2.0**560  # squares of huge values, n * n of them, are finite then, and not zero
FREE, USED = 0, 1  # of the rare records: the first free one, how many were ever used
NONE = -1
VARIANCES: tuple[WindowedFunction, ...] = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")


class FloatSumBank:
    """aggregates: all of one column, functions count, sum, avg and VARIANCES."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._aggregates = aggregates
        functions = {aggregate.function for aggregate in aggregates}
        self._wants_sum, self._wants_mean = "sum" in functions, "avg" in functions
        self._wants_variance = not functions.isdisjoint(VARIANCES)
        self._records = np.zeros((0, SQUARES + 4 if self._wants_variance else SQUARES))
        self._rare = np.zeros((0, RARE_WIDTH))
        self._counters = np.array([NONE, 0], dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._records = widen(self._records, step_list.slot_count)
        name = self._aggregates[0].column
        assert name is not None, "only count(*) is of no column"
        cells = read_cells(store, name)
        rows = step_list.rows
        counts = np.zeros(rows, dtype=np.int64)
        sums = np.zeros(rows) if self._wants_sum else NO_FLOATS
        means = np.zeros(rows) if self._wants_mean else NO_FLOATS
        deviations = np.zeros(rows) if self._wants_variance else NO_FLOATS
        done = 0
        while True:
            done = _add_up(
                step_list.steps, step_list.slots, step_list.items, done, cells.values, cells.mode == FLOATS,
                cells.valid,
                self._records, self._rare, self._counters, counts, sums, means, deviations,
            )  # fmt: skip
            if done == len(step_list.steps):
                break
            self._rare = widen(self._rare, len(self._rare) + 1)
        return tuple(self._answer(aggregate, counts, sums, means, deviations) for aggregate in self._aggregates)

    def _answer(
        self, aggregate: WindowedAggregate, counts: Int64s, sums: Floats, means: Floats, deviations: Floats
    ) -> Column:
        some = (counts > 0).view(np.uint8)
        match aggregate.function:
            case "count":
                return Column(counts)
            case "sum":
                return Column(sums, some)
            case "avg":
                return Column(means, some)
        divisors = counts
        if aggregate.function in ("stddev_samp", "var_samp"):
            divisors, some = counts - 1, (counts > 1).view(np.uint8)
        variances = np.abs(deviations) / np.maximum(divisors, 1)
        scaled = deviations < 0  # the kernel's sign for "divided by 2**1120"
        is_root = aggregate.function in ("stddev_samp", "stddev_pop")
        answers = np.sqrt(variances) if is_root else variances
        if scaled.any():
            with np.errstate(over="ignore"):  # an answer may be infinite
                answers[scaled] *= SCALE_UP
                if not is_root:
                    answers[scaled] *= SCALE_UP
        return Column(answers, some)

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._records = widen(self._records, beyond(slots))
        records = self._records[slots]
        has_rare = records[:, RARE] > 0
        rare = self._rare[records[has_rare, RARE].astype(np.int64) - 1]
        records[has_rare, RARE] = np.arange(1, len(rare) + 1)
        return {"records": records, "rare": rare}

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._records = widen(self._records, beyond(slots))
        records, used = kept["records"].copy(), int(self._counters[USED])
        records[records[:, RARE] > 0, RARE] += used
        self._records[slots] = records
        self._rare = widen(self._rare, used + len(kept["rare"]))
        self._rare[used : used + len(kept["rare"])] = kept["rare"]
        self._counters[USED] += len(kept["rare"])


@njit(cache=True)
def _add_up(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, is_float: bool, valid: Flags,
    records: Floats, rare: Floats, counters: Int64s, counts: Int64s, sums: Floats, means: Floats, deviations: Floats,
) -> int:  # fmt: skip
    """Carry out steps from number `done` on; gives the number of the first one that was not, for want of room."""
    has_nulls, squares = valid.shape[0] > 0, records.shape[1] > SQUARES
    floats = cells.view(np.float64)
    for i in range(done, steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= LEAVE:  # ADD, ENTER or LEAVE
            if has_nulls and valid[item] == 0:
                continue
            sign = -1.0 if step == LEAVE else 1.0
            if not is_float:
                _add_integer(records, slot, cells[item], sign, squares)
            else:
                value = floats[item]
                if abs(value) < LARGEST:
                    records[slot, COUNT] += sign
                    add_to_sum(records, slot, SUM, sign * value)
                    if squares:
                        square, error = multiply_exactly(value, value)
                        add_to_squares(records, slot, SQUARES, sign * square)
                        add_to_squares(records, slot, SQUARES, sign * error)
                elif _has_rare(records, rare, counters, slot):
                    _add_rare(records, rare, slot, value, sign)
                else:
                    return i
            if step == LEAVE:
                _forget_nothings(records, rare, counters, slot)
        elif step == EMIT:
            n = records[slot, COUNT]
            counts[item] = np.int64(n)
            if n > 0.0:
                if records[slot, RARE] > 0.0:
                    _answer_rare(records, rare, slot, item, sums, means, deviations)
                else:
                    s0, s1, s2 = tidy(records[slot, SUM], records[slot, SUM + 1], records[slot, SUM + 2])
                    if sums.shape[0] > 0:
                        sums[item] = s0
                    if means.shape[0] > 0:
                        means[item] = s0 / n
                    if squares and n > 1.0:
                        q0, q1, q2 = tidy_squares(
                            records[slot, SQUARES], records[slot, SQUARES + 1], records[slot, SQUARES + 2],
                            records[slot, SQUARES + 3],
                        )  # fmt: skip
                        deviations[item] = squared_deviations(n, s0, s1, s2, q0, q1, q2)
        elif step == CLEAR:
            if records[slot, RARE] > 0.0:
                _free_rare(records, rare, counters, slot)
            for at in range(records.shape[1]):
                records[slot, at] = 0.0
        elif step in (ENTER_PANE, LEAVE_PANE):
            sign = 1.0 if step == ENTER_PANE else -1.0
            if records[item, RARE] > 0.0:
                if not _has_rare(records, rare, counters, slot):
                    return i
                _add_rare_of_pane(records, rare, slot, item, sign)
            records[slot, COUNT] += sign * records[item, COUNT]
            for at in range(SUM, SUM + 3):
                add_to_sum(records, slot, SUM, sign * records[item, at])
            if squares:
                for at in range(SQUARES, SQUARES + 4):
                    add_to_squares(records, slot, SQUARES, sign * records[item, at])
            if step == LEAVE_PANE:
                _forget_nothings(records, rare, counters, slot)
    return steps.shape[0]


@njit(cache=True)
def _add_integer(records: Floats, slot: int, value: int, sign: float, squares: bool) -> None:
    """An integer of more than 53 bits is two floats: its last 11 bits, and the rest."""
    low = value & 0x7FF
    if -(2**53) <= value <= 2**53:
        low = 0
    high, rest = np.float64(value - low), np.float64(low)
    records[slot, COUNT] += sign
    add_to_sum(records, slot, SUM, sign * high)
    add_to_sum(records, slot, SUM, sign * rest)
    if squares:
        square, error = multiply_exactly(high, high)
        add_to_squares(records, slot, SQUARES, sign * square)
        add_to_squares(records, slot, SQUARES, sign * error)
        if low:
            square, error = multiply_exactly(2.0 * high, rest)
            add_to_squares(records, slot, SQUARES, sign * square)
            add_to_squares(records, slot, SQUARES, sign * error)
            add_to_squares(records, slot, SQUARES, sign * rest * rest)


@njit(cache=True)
def _has_rare(records: Floats, rare: Floats, counters: Int64s, slot: int) -> bool:
    """Give the slot a rare record if it has none; False: there is no room."""
    if records[slot, RARE] > 0.0:
        return True
    place = counters[FREE]
    if place != NONE:
        counters[FREE] = np.int64(rare[place, 0])
    elif counters[USED] < rare.shape[0]:
        place = counters[USED]
        counters[USED] = place + 1
    else:
        return False
    for at in range(RARE_WIDTH):
        rare[place, at] = 0.0
    records[slot, RARE] = place + 1.0
    return True


@njit(cache=True)
def _free_rare(records: Floats, rare: Floats, counters: Int64s, slot: int) -> None:
    place = int(records[slot, RARE]) - 1
    rare[place, 0] = counters[FREE]
    counters[FREE] = place
    records[slot, RARE] = 0.0


@njit(cache=True)
def _add_rare(records: Floats, rare: Floats, slot: int, value: float, sign: float) -> None:
    place = int(records[slot, RARE]) - 1
    records[slot, COUNT] += sign
    rare[place, RARE_COUNT] += sign
    if np.isnan(value):
        rare[place, NANS] += sign
    elif value == np.inf:
        rare[place, INFINITIES] += sign
    elif value == -np.inf:
        rare[place, NEGATIVE_INFINITIES] += sign
    else:
        _, exponent = math.frexp(value)
        at = CLASSES + ((exponent - 1) // CLASS_EXPONENTS - 1) * CLASS_WIDTH
        scaled = value * SCALE_DOWN
        add_to_sum(rare, place, at, sign * scaled)
        square, error = multiply_exactly(scaled, scaled)
        add_to_squares(rare, place, at + CLASS_SQUARES, sign * square)
        add_to_squares(rare, place, at + CLASS_SQUARES, sign * error)


@njit(cache=True)
def _add_rare_of_pane(records: Floats, rare: Floats, slot: int, pane: int, sign: float) -> None:
    place, other = int(records[slot, RARE]) - 1, int(records[pane, RARE]) - 1
    for at in range(CLASSES):
        rare[place, at] += sign * rare[other, at]
    for begin in range(CLASSES, RARE_WIDTH, CLASS_WIDTH):
        for at in range(begin, begin + CLASS_SQUARES):
            add_to_sum(rare, place, begin, sign * rare[other, at])
        for at in range(begin + CLASS_SQUARES, begin + CLASS_WIDTH):
            add_to_squares(rare, place, begin + CLASS_SQUARES, sign * rare[other, at])


@njit(cache=True)
def _forget_nothings(records: Floats, rare: Floats, counters: Int64s, slot: int) -> None:
    """A sum of no values is exactly zero."""
    ordinary = records[slot, COUNT]
    if records[slot, RARE] > 0.0:
        place = int(records[slot, RARE]) - 1
        ordinary -= rare[place, RARE_COUNT]
        if rare[place, RARE_COUNT] == 0.0:
            _free_rare(records, rare, counters, slot)
    if ordinary == 0.0:
        for at in range(SUM, records.shape[1]):
            records[slot, at] = 0.0


@njit(cache=True)
def _answer_rare(
    records: Floats, rare: Floats, slot: int, row: int, sums: Floats, means: Floats, deviations: Floats
) -> None:
    """The answer of a slot with values out of range.  Deviations are negative if they are divided by 2**1120."""
    n, place = records[slot, COUNT], int(records[slot, RARE]) - 1
    up, down = rare[place, INFINITIES] > 0.0, rare[place, NEGATIVE_INFINITIES] > 0.0
    if rare[place, NANS] > 0.0 or up or down:
        total = np.nan
        if rare[place, NANS] == 0.0 and up != down:
            total = np.inf if up else -np.inf
        if sums.shape[0] > 0:
            sums[row] = total
        if means.shape[0] > 0:
            means[row] = total
        if deviations.shape[0] > 0:
            deviations[row] = np.nan
        return
    s0, s1, s2 = 0.0, 0.0, 0.0
    for begin in range(RARE_WIDTH - CLASS_WIDTH, CLASSES - 1, -CLASS_WIDTH):
        for at in range(begin, begin + CLASS_SQUARES):
            s0, s1, s2 = add_to_triple(s0, s1, s2, rare[place, at])
    huge, _, _ = tidy(s0, s1, s2)
    for at in range(SUM, SUM + 3):
        s0, s1, s2 = add_to_triple(s0, s1, s2, records[slot, at] * SCALE_DOWN)
    s0, s1, s2 = tidy(s0, s1, s2)
    total, mean = s0 * SCALE_UP, s0 / n * SCALE_UP
    if huge == 0.0:  # they add up to nothing: the others are all there is, and would lose digits when scaled down
        total, _, _ = tidy(records[slot, SUM], records[slot, SUM + 1], records[slot, SUM + 2])
        mean = total / n
    if sums.shape[0] > 0:
        sums[row] = total
    if means.shape[0] > 0:
        means[row] = mean
    if deviations.shape[0] > 0 and n > 1.0:
        q0, q1, q2 = 0.0, 0.0, 0.0
        for begin in range(RARE_WIDTH - CLASS_WIDTH, CLASSES - 1, -CLASS_WIDTH):
            for at in range(begin + CLASS_SQUARES, begin + CLASS_WIDTH):
                q0, q1, q2 = add_to_triple(q0, q1, q2, rare[place, at])
        for at in range(SQUARES, SQUARES + 4):
            q0, q1, q2 = add_to_triple(q0, q1, q2, records[slot, at] * SCALE_DOWN * SCALE_DOWN)
        q0, q1, q2 = tidy(q0, q1, q2)
        deviations[row] = -squared_deviations(n, s0, s1, s2, q0, q1, q2)
