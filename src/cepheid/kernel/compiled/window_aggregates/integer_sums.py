"""sum and avg (and count) of one column of integers or durations: exact, in 96 bits (exact_integers.py).

Only an answer that does not fit 64 bits is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import MatchFailure
from cepheid.kernel.columns import Column, Flags, Floats, Int64s, Interner
from cepheid.kernel.compiled.array_table import flag_table, flags, float_table, floats, int_table, ints
from cepheid.kernel.compiled.exact_integers import (
    COUNT,
    HIGH,
    LOW,
    add_value,
    add_wide,
    divide_to_float,
    divide_whole,
    fits_64_bits,
)
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import NO_CELLS, NO_FLOATS, Columns, read_cells
from cepheid.kernel.compiled.window_aggregates.kept_rows import KeptRows
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.window import WindowedAggregate

OF_SUMS, OF_MEANS, OF_WHOLE_MEANS, OF_COUNTS = range(4)
(
    L_CELLS, L_VALID, L_RECORDS, L_COUNTS, L_SUMS, L_MEANS, L_WHOLE_MEANS, L_ASKED, L_WORDS, L_ANSWERED,
) = range(10)  # fmt: skip
"""Places of the table that `lay_out` is for."""
OUT_OF_RANGE = -1
WIDTH = 4  # four: a record lies in one cache line


class IntegerSumBank(KeptRows):
    """aggregates: all of one column, functions count, sum and avg."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._aggregates = aggregates
        functions = {aggregate.function for aggregate in aggregates}
        has_units = aggregates[0].column_kind in ("time", "duration")  # of these, the average is one of them again
        self._wants_sum = "sum" in functions
        self._wants_mean = "avg" in functions and not has_units
        self._wants_whole_mean = "avg" in functions and has_units
        self._records = np.zeros((0, WIDTH), dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._records = widen(self._records, step_list.slot_count)
        name = self._aggregates[0].column
        assert name is not None, "only count(*) is of no column"
        cells = read_cells(store, name)
        rows = step_list.rows
        counts = np.zeros(rows, dtype=np.int64)
        sums = np.zeros(rows, dtype=np.int64) if self._wants_sum else NO_CELLS
        means = np.zeros(rows) if self._wants_mean else NO_FLOATS
        whole_means = np.zeros(rows, dtype=np.int64) if self._wants_whole_mean else NO_CELLS
        fits = _add_up(
            step_list.steps, step_list.slots, step_list.items, cells.values, cells.valid, self._records, counts, sums,
            means,
            whole_means,
        )  # fmt: skip
        if not fits:
            raise self.refuse()
        some = (counts > 0).view(np.uint8)
        average = Column(whole_means if self._wants_whole_mean else means, some)
        answers = {"count": Column(counts), "sum": Column(sums, some), "avg": average}
        return tuple(answers[aggregate.function] for aggregate in self._aggregates)

    def refuse(self) -> MatchFailure:
        return MatchFailure("a sum of integers left the range of 64 bits", hint="cast the column to DOUBLE")

    # --- a few events at a time (laid_banks.py) ---------------------------------------------------------------
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]]:
        """words, valid: [aggregates, rows], where answers go."""
        self._records = widen(self._records, slots)
        assert self._aggregates[0].column is not None, "only count(*) is of no column"
        cells = read_cells(store, self._aggregates[0].column)
        rows = words.shape[1]
        counts = np.zeros(rows, dtype=np.int64)
        sums = np.zeros(rows, dtype=np.int64) if self._wants_sum else NO_CELLS
        means = np.zeros(rows) if self._wants_mean else NO_FLOATS
        whole_means = np.zeros(rows, dtype=np.int64) if self._wants_whole_mean else NO_CELLS
        places = {"sum": OF_SUMS, "avg": OF_WHOLE_MEANS if self._wants_whole_mean else OF_MEANS, "count": OF_COUNTS}
        asked = np.array([places[aggregate.function] for aggregate in self._aggregates], dtype=np.int64)
        return [cells.values, cells.valid, self._records, counts, sums, means, whole_means, asked, words, valid]

    def grow(self) -> None:
        """There is always room."""

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._records = widen(self._records, beyond(slots))
        return {"records": self._records[slots]}

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._records = widen(self._records, beyond(slots))
        self._records[slots] = kept["records"]


@njit()
def run_laid_integers(tables: Int64s, steps: Flags, slots: Int64s, items: Int64s, rows: int) -> int:
    """As `_add_up`, with all arrays on one table, and then the answers; OUT_OF_RANGE: one does not fit."""
    counts, sums, whole_means = ints(tables, L_COUNTS), ints(tables, L_SUMS), ints(tables, L_WHOLE_MEANS)
    means = floats(tables, L_MEANS)
    fits = _add_up(
        steps, slots, items, ints(tables, L_CELLS), flags(tables, L_VALID), int_table(tables, L_RECORDS), counts, sums,
        means, whole_means,
    )  # fmt: skip
    if not fits:
        return OUT_OF_RANGE
    asked, answers = ints(tables, L_ASKED), float_table(tables, L_WORDS)
    whole, valid = int_table(tables, L_WORDS), flag_table(tables, L_ANSWERED)
    for number in range(asked.shape[0]):
        what = asked[number]
        for row in range(rows):
            some = counts[row] > 0
            valid[number, row] = some or what == OF_COUNTS
            if what == OF_COUNTS:
                whole[number, row] = counts[row]
            elif what == OF_MEANS:
                answers[number, row] = means[row] if some else 0.0
            elif some:
                whole[number, row] = sums[row] if what == OF_SUMS else whole_means[row]
            else:
                whole[number, row] = 0
    return steps.shape[0]


@njit()
def _add_up(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, cells: Int64s, valid: Flags,
    records: npt.NDArray[np.int64], counts: Int64s, sums: Int64s, means: Floats, whole_means: Int64s,
) -> bool:  # fmt: skip
    """False: an answer did not fit."""
    has_nulls = valid.shape[0] > 0
    fits = True
    for i in range(steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= LEAVE:  # ADD, ENTER or LEAVE
            if has_nulls and valid[item] == 0:
                continue
            value = cells[item]
            if step == LEAVE:
                add_wide(records, slot, -1, -(value >> 32), -(value & 0xFFFFFFFF))
            else:
                add_value(records, slot, value)
        elif step == EMIT:
            n, high, low = records[slot, COUNT], records[slot, HIGH], records[slot, LOW]
            counts[item] = n
            if n == 0:
                continue
            if sums.shape[0] > 0:
                fits &= fits_64_bits(high)
                sums[item] = (high << 32) + low
            if means.shape[0] > 0:
                means[item] = divide_to_float(high, low, n)
            if whole_means.shape[0] > 0:
                whole_means[item] = divide_whole(high, low, n)
        elif step == CLEAR:
            records[slot, COUNT] = records[slot, HIGH] = records[slot, LOW] = 0
        elif step == ENTER_PANE:
            add_wide(records, slot, records[item, COUNT], records[item, HIGH], records[item, LOW])
        elif step == LEAVE_PANE:
            add_wide(records, slot, -records[item, COUNT], -records[item, HIGH], -records[item, LOW])
    return fits
