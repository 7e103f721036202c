"""count(*), and count(x) of a column of which nothing else is asked: one number for each slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s, Interner
from cepheid.kernel.compiled.array_table import flags, int_table, ints
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import NO_FLAGS, Columns, read_validity
from cepheid.kernel.compiled.window_aggregates.kept_rows import KeptRows
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, ENTER, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.window import WindowedAggregate

L_VALID, L_COUNTS, L_WORDS = range(3)  # places of the table that `lay_out` is for


class CountBank(KeptRows):
    """One aggregate; without a column every event counts."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._column = aggregates[0].column
        self._counts = np.zeros(0, dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._counts = widen(self._counts, step_list.slot_count)
        valid = NO_FLAGS if self._column is None else read_validity(store, self._column)
        answers = np.zeros(step_list.rows, dtype=np.int64)
        _count(step_list.steps, step_list.slots, step_list.items, valid, self._counts, answers)
        return (Column(answers),)

    # --- a few events at a time (laid_banks.py) ---------------------------------------------------------------
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]]:
        """words, valid: [1, rows], where answers go."""
        self._counts = widen(self._counts, slots)
        valid[:] = 1
        return [NO_FLAGS if self._column is None else read_validity(store, self._column), self._counts, words]

    def grow(self) -> None:
        """There is always room."""

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._counts = widen(self._counts, beyond(slots))
        return {"counts": self._counts[slots]}

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._counts = widen(self._counts, beyond(slots))
        self._counts[slots] = kept["counts"]


@njit()
def run_laid_counts(tables: Int64s, steps: Flags, slots: Int64s, items: Int64s) -> int:
    """As `_count`, with all arrays on one table."""
    _count(steps, slots, items, flags(tables, L_VALID), ints(tables, L_COUNTS), int_table(tables, L_WORDS)[0])
    return steps.shape[0]


@njit()
def _count(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, valid: Flags, counts: Int64s, answers: Int64s
) -> None:
    has_nulls = valid.shape[0] > 0
    for i in range(steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= ENTER:
            counts[slot] += valid[item] if has_nulls else 1
        elif step == LEAVE:
            counts[slot] -= valid[item] if has_nulls else 1
        elif step == EMIT:
            answers[item] = counts[slot]
        elif step == CLEAR:
            counts[slot] = 0
        elif step == ENTER_PANE:
            counts[slot] += counts[item]
        elif step == LEAVE_PANE:
            counts[slot] -= counts[item]
