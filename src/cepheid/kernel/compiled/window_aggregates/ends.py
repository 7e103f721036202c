"""first and last: the value of the earliest and of the latest member, null if it is null there.

For the last one number and one cell will do; the first needs to know who comes next when it leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s, Interner
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import Columns, as_values, pack_texts, read_cells, unpack_texts
from cepheid.kernel.compiled.window_aggregates.kept_rows import KeptRows
from cepheid.kernel.compiled.window_aggregates.member_chains import CELL, FIRST, VALID, MemberChains
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, ENTER, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.window import WindowedAggregate

MEMBERS, LAST_CELL, LAST_VALID, WIDTH = 0, 1, 2, 4  # four: a record lies in one cache line


class FirstBank(KeptRows):
    """One column."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:
        self._aggregate = aggregates[0]
        self._interner = interner
        self._chains = MemberChains(firsts_only=True)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        assert self._aggregate.column is not None, "first is of a column"
        cells = read_cells(store, self._aggregate.column)
        ends, listed, listed_valid = self._chains.run(step_list, cells.values, cells.valid)
        has_one = np.diff(ends, prepend=0) > 0
        answers, valid = np.zeros(step_list.rows, dtype=np.int64), np.zeros(step_list.rows, dtype=np.uint8)
        answers[has_one], valid[has_one] = listed, listed_valid
        return (Column(as_values(answers, cells.mode), valid),)

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._chains.make_room(beyond(slots))
        firsts = self._chains.slots[slots, FIRST]
        some = firsts != 0
        nodes = self._chains.nodes[firsts - 1]
        valid = np.where(some, nodes[:, VALID], 0)
        kept = {"some": some.astype(np.uint8), "valid": valid.astype(np.uint8)}
        return kept | _keep_cells(np.where(valid, nodes[:, CELL], 0), self._aggregate, self._interner)

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._chains.make_room(beyond(slots))
        some = kept["some"] != 0
        cells = _kept_cells(kept, self._aggregate, self._interner)
        self._chains.put_first(slots[some], cells[some], kept["valid"][some])


class LastBank(KeptRows):
    """One column."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:
        self._aggregate = aggregates[0]
        self._interner = interner
        self._records = np.zeros((0, WIDTH), dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._records = widen(self._records, step_list.slot_count)
        assert self._aggregate.column is not None, "last is of a column"
        cells = read_cells(store, self._aggregate.column)
        answers, valid = np.zeros(step_list.rows, dtype=np.int64), np.zeros(step_list.rows, dtype=np.uint8)
        _follow_last(
            step_list.steps, step_list.slots, step_list.items, cells.values, cells.valid, self._records, answers, valid
        )
        return (Column(as_values(answers, cells.mode), valid),)

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._records = widen(self._records, beyond(slots))
        records = self._records[slots]
        cells = np.where(records[:, LAST_VALID], records[:, LAST_CELL], 0)
        return {"records": records} | _keep_cells(cells, self._aggregate, self._interner)

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._records = widen(self._records, beyond(slots))
        self._records[slots] = kept["records"]
        self._records[slots, LAST_CELL] = _kept_cells(kept, self._aggregate, self._interner)


def _keep_cells(cells: Int64s, aggregate: WindowedAggregate, interner: Interner) -> dict[str, npt.NDArray[Any]]:
    return pack_texts(cells, interner) if aggregate.column_kind == "string" else {"cells": cells}


def _kept_cells(kept: dict[str, npt.NDArray[Any]], aggregate: WindowedAggregate, interner: Interner) -> Int64s:
    return unpack_texts(kept, interner) if aggregate.column_kind == "string" else kept["cells"]


@njit()
def _follow_last(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, cells: Int64s, valid: Flags,
    records: npt.NDArray[np.int64], answers: Int64s, answers_valid: Flags,
) -> None:  # fmt: skip
    has_nulls = valid.shape[0] > 0
    for i in range(steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= ENTER:
            records[slot, MEMBERS] += 1
            records[slot, LAST_CELL] = cells[item]
            records[slot, LAST_VALID] = np.int64(valid[item]) if has_nulls else 1
        elif step == LEAVE:
            records[slot, MEMBERS] -= 1
        elif step == EMIT:
            if records[slot, MEMBERS] > 0:
                answers[item], answers_valid[item] = records[slot, LAST_CELL], records[slot, LAST_VALID]
        elif step == CLEAR:
            records[slot, MEMBERS] = 0
        elif step == ENTER_PANE:
            if records[item, MEMBERS] > 0:
                records[slot, MEMBERS] += records[item, MEMBERS]
                records[slot, LAST_CELL], records[slot, LAST_VALID] = (
                    records[item, LAST_CELL],
                    records[item, LAST_VALID],
                )
        elif step == LEAVE_PANE:
            records[slot, MEMBERS] -= records[item, MEMBERS]
