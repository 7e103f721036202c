"""sum, avg, standard deviation, variance (and count) of one column of floats; of integers the latter two.

A slot has one record of kernel/compiled/exact_sums.py; rare records are few and lie in a table of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.array_table import flag_table, flags, float_table, floats, int_table, ints
from cepheid.kernel.compiled.exact_floats import add_to_squares, add_to_sum
from cepheid.kernel.compiled.exact_sums import (
    COUNT,
    LARGEST,
    RARE,
    RARE_COUNT,
    RARE_WIDTH,
    SQUARES,
    SUM,
    WIDTH,
    add_integer,
    add_number,
    add_rare,
    add_rare_of_pane,
    finish_variance,
    finish_variances,
    read_deviations,
    read_rare,
    read_total,
)
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import FLOATS, NO_FLOATS, Columns, read_cells
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.partition_rows import Arrays
from cepheid.kernel.window import WindowedAggregate

FREE, USED = 0, 1  # of the rare records: the first free one, how many were ever used
NONE = -1
OF_SUMS, OF_MEANS, OF_VARIANCES, OF_COUNTS = range(4)
(
    L_CELLS, L_VALID, L_RECORDS, L_RARE, L_COUNTERS, L_COUNTS, L_SUMS, L_MEANS, L_DEVIATIONS, L_ASKED, L_MODE, L_WORDS,
    L_ANSWERED,
) = range(13)  # fmt: skip
"""Places of the table that `lay_out` is for."""
VARIANCES = {"stddev_samp": (1, True), "stddev_pop": (0, True), "var_samp": (1, False), "var_pop": (0, False)}
"""How many values less the sum is divided by; is the root taken?"""


class FloatSumBank:
    """aggregates: all of one column, functions count, sum, avg and VARIANCES."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._aggregates = aggregates
        functions = {aggregate.function for aggregate in aggregates}
        self._wants_sum, self._wants_mean = "sum" in functions, "avg" in functions
        self._wants_variance = not functions.isdisjoint(VARIANCES)
        self._records = np.zeros((0, WIDTH if self._wants_variance else SQUARES))
        self._rare = np.zeros((0, RARE_WIDTH))
        self._counters = np.array([NONE, 0], dtype=np.int64)
        self._answers: list[npt.NDArray[Any]] = []  # counts, sums, means, deviations: for a few events at a time

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
            done = add_up(
                step_list.steps, step_list.slots, step_list.items, done, cells.values, cells.mode == FLOATS,
                cells.valid, self._records, self._rare, self._counters, counts, sums, means, deviations,
            )  # fmt: skip
            if done == len(step_list.steps):
                break
            self._rare = widen(self._rare, len(self._rare) + 1)
        return tuple(self._answer(aggregate, counts, sums, means, deviations) for aggregate in self._aggregates)

    # --- a few events at a time (laid_banks.py) ---------------------------------------------------------------
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]]:
        """words, valid: [aggregates, rows], where answers go."""
        self._records = widen(self._records, slots)
        assert self._aggregates[0].column is not None, "only count(*) is of no column"
        cells = read_cells(store, self._aggregates[0].column)
        if not self._answers:  # once: when arrays grow in the midst of steps, the answers so far stay
            wanted = (self._wants_sum, self._wants_mean, self._wants_variance)
            answers = [np.zeros(words.shape[1]) if wants else NO_FLOATS for wants in wanted]
            self._answers = [np.zeros(words.shape[1], dtype=np.int64), *answers]
        asked = np.array([_tabulate(aggregate.function) for aggregate in self._aggregates], dtype=np.int64)
        mode = np.array([cells.mode == FLOATS], dtype=np.int64)
        return [
            cells.values, cells.valid, self._records, self._rare, self._counters, *self._answers, asked, mode, words,
            valid,
        ]  # fmt: skip

    def grow(self) -> None:
        """There were not enough rare records."""
        self._rare = widen(self._rare, len(self._rare) + 1)

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
        spared, is_root = VARIANCES[aggregate.function]
        return Column(finish_variances(deviations, counts, spared, is_root), (counts > spared).view(np.uint8))

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

    def take_kept(self, kept: Arrays, places: Int64s) -> Arrays:
        """Of what `keep` gave, that of the slots at these places."""
        records = kept["records"][places]
        has_rare = records[:, RARE] > 0
        rare = kept["rare"][records[has_rare, RARE].astype(np.int64) - 1]
        records[has_rare, RARE] = np.arange(1, len(rare) + 1)
        return {"records": records, "rare": rare}

    def join_kept(self, parts: list[Arrays]) -> Arrays:
        """What `keep` gave of several banks, as if all slots had been asked of one, one part behind another."""
        records = np.concatenate([kept["records"] for kept in parts])
        rare = np.concatenate([kept["rare"] for kept in parts])
        records[records[:, RARE] > 0, RARE] = np.arange(1, len(rare) + 1)  # they lie in the order of the slots
        return {"records": records, "rare": rare}


def _tabulate(function: str) -> tuple[int, int, int]:
    """What an aggregate is computed from, and for variances how."""
    if function in VARIANCES:
        spared, is_root = VARIANCES[function]
        return OF_VARIANCES, spared, is_root
    return {"sum": OF_SUMS, "avg": OF_MEANS, "count": OF_COUNTS}[function], 0, 0


@njit()
def run_laid_sums(tables: Int64s, steps: Flags, slots: Int64s, items: Int64s, done: int, rows: int) -> int:
    """As `add_up`, with all arrays on one table; at the end the answers of `rows` rows are written."""
    counts, sums, means, deviations = (
        ints(tables, L_COUNTS), floats(tables, L_SUMS), floats(tables, L_MEANS), floats(tables, L_DEVIATIONS),
    )  # fmt: skip
    done = add_up(
        steps, slots, items, done, ints(tables, L_CELLS), ints(tables, L_MODE)[0] != 0, flags(tables, L_VALID),
        float_table(tables, L_RECORDS), float_table(tables, L_RARE), ints(tables, L_COUNTERS), counts, sums, means,
        deviations,
    )  # fmt: skip
    if done < steps.shape[0]:
        return done
    asked, answers = int_table(tables, L_ASKED), float_table(tables, L_WORDS)
    whole, valid = int_table(tables, L_WORDS), flag_table(tables, L_ANSWERED)
    for number in range(asked.shape[0]):
        what, spared = asked[number, 0], asked[number, 1]
        for row in range(rows):
            valid[number, row] = counts[row] > spared
            if what == OF_COUNTS:
                whole[number, row], valid[number, row] = counts[row], 1
            elif valid[number, row] == 0:
                whole[number, row] = 0
            elif what == OF_SUMS:
                answers[number, row] = sums[row]
            elif what == OF_MEANS:
                answers[number, row] = means[row]
            else:
                is_root = asked[number, 2] != 0
                answers[number, row] = finish_variance(deviations[row], float(counts[row]), spared, is_root)
    return done


@njit()
def add_up(
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
                add_integer(records, slot, cells[item], sign, squares)
            elif abs(floats[item]) < LARGEST:
                add_number(records, slot, floats[item], sign, squares)
            elif _has_rare(records, rare, counters, slot):
                add_rare(records, rare, slot, floats[item], sign)
            else:
                return i
            if step == LEAVE:
                _forget_nothings(records, rare, counters, slot)
        elif step == EMIT:
            n = records[slot, COUNT]
            counts[item] = np.int64(n)
            if n > 0.0:
                if records[slot, RARE] > 0.0:
                    total, mean, deviation = read_rare(records, rare, slot)
                else:
                    total = read_total(records, slot)
                    mean = total / n if means.shape[0] > 0 else 0.0
                    deviation = read_deviations(records, slot) if squares and n > 1.0 else 0.0
                if sums.shape[0] > 0:
                    sums[item] = total
                if means.shape[0] > 0:
                    means[item] = mean
                if squares:
                    deviations[item] = deviation
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
                add_rare_of_pane(records, rare, slot, item, sign)
            records[slot, COUNT] += sign * records[item, COUNT]
            for at in range(SUM, SUM + 3):
                add_to_sum(records, slot, SUM, sign * records[item, at])
            if squares:
                for at in range(SQUARES, SQUARES + 4):
                    add_to_squares(records, slot, SQUARES, sign * records[item, at])
            if step == LEAVE_PANE:
                _forget_nothings(records, rare, counters, slot)
    return steps.shape[0]


@njit()
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


@njit()
def _free_rare(records: Floats, rare: Floats, counters: Int64s, slot: int) -> None:
    place = int(records[slot, RARE]) - 1
    rare[place, 0] = counters[FREE]
    counters[FREE] = place
    records[slot, RARE] = 0.0


@njit()
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
