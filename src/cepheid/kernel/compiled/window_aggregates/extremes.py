"""min, max, min_by and max_by.

A slot that only gets events holds the best of them.  A slot that loses events again holds a queue of those that may
still become the best: each is worse than the one before it, since an event that is older and no better than another
will never be the answer.  The first of the queue is the best; each event is put there once and taken out once.

    entering 5 3 8 4:   5  ->  3  ->  3 8  ->  3 4       min is 3; when 3 leaves, 4

    slots   first | last | how many have entered | have left     nodes counted from 1: a row of zeros is an empty queue
    nodes   ordered cell | which member of its slot | older | newer, and for min_by, max_by: its answer | validity

Of equals the earliest wins; where equals cannot be distinguished, only one of them is held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s, Interner
from cepheid.kernel.compiled.array_table import flag_table, flags, int_table, ints
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import (
    FLOATS,
    NO_CELLS,
    NO_FLAGS,
    TEXTS,
    Cells,
    Columns,
    as_given,
    as_values,
    give_float,
    order_float,
    pack_texts,
    read_cells,
    read_ordered,
    unpack_texts,
)
from cepheid.kernel.compiled.window_aggregates.kept_rows import KeptRows
from cepheid.kernel.compiled.window_aggregates.room import beyond, widen
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, EMIT, ENTER, ENTER_PANE, LEAVE, LEAVE_PANE, StepList
from cepheid.kernel.window import WindowedAggregate

HEAD, TAIL, ENTERED, LEFT, SLOT_WIDTH = 0, 1, 2, 3, 4
CELL, MEMBER, OLDER, NEWER, VALUE, VALUE_VALID, NODE_WIDTH = 0, 1, 2, 3, 4, 5, 6
FREE, USED = 0, 1  # of the table's counters: first free node, nodes ever used
NONE = -1
L_CELLS, L_VALID, L_VALUES, L_VALUES_VALID, L_SLOTS, L_NODES, L_COUNTERS, L_KIND, L_WORDS, L_ANSWERED = range(10)
"""Places of the table that `lay_out` is for."""


class ExtremeBank(KeptRows):
    """One aggregate: a function of one column (or two)."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:
        self._aggregate = aggregate = aggregates[0]
        self._interner = interner
        self._is_pair = aggregate.function in ("min_by", "max_by")
        self._is_max = aggregate.function in ("max", "max_by")
        self._slots = np.zeros((0, SLOT_WIDTH), dtype=np.int64)
        self._nodes = np.zeros((64, NODE_WIDTH if self._is_pair else VALUE), dtype=np.int64)
        self._counters = np.array([NONE, 0], dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._slots = widen(self._slots, step_list.slot_count)
        ordered, values = self._read(store)
        answers, some = np.zeros(step_list.rows, dtype=np.int64), np.zeros(step_list.rows, dtype=np.uint8)
        done = 0
        while True:
            done = _follow(
                step_list.steps, step_list.slots, step_list.items, done, ordered.values, ordered.valid, ordered.mode,
                ordered.ranks, values.values, values.valid, self._is_max, self._slots, self._nodes, self._counters,
                answers, some,
            )  # fmt: skip
            if done == len(step_list.steps):
                break
            self._nodes = widen(self._nodes, len(self._nodes) + 1)
        if self._is_pair:
            return (Column(as_values(answers, values.mode), some),)
        return (Column(as_given(answers, ordered.mode), some),)

    # --- a few events at a time (laid_banks.py) ---------------------------------------------------------------
    def lay_out(self, slots: int, store: Columns, words: Int64s, valid: Flags) -> list[npt.NDArray[Any]] | None:
        """words, valid: [1, rows], where answers go.  None: texts are compared, whose ranks change as new ones come."""
        self._slots = widen(self._slots, slots)
        ordered, values = self._read(store)
        if ordered.mode == TEXTS:
            return None
        kind = np.array([ordered.mode, self._is_max, self._is_pair], dtype=np.int64)
        return [
            ordered.values, ordered.valid, values.values, values.valid, self._slots, self._nodes, self._counters, kind,
            words, valid,
        ]  # fmt: skip

    def grow(self) -> None:
        """There were not enough nodes."""
        self._nodes = widen(self._nodes, len(self._nodes) + 1)

    def _read(self, store: Columns) -> tuple[Cells, Cells]:
        """What is compared, and what is listed where that is something else."""
        aggregate = self._aggregate
        assert aggregate.column is not None, "an extreme is of a column"
        if not self._is_pair:
            column = read_ordered(store, aggregate.column, aggregate.column_kind, self._interner)
            return column, Cells(NO_CELLS, NO_FLAGS, column.mode, NO_CELLS)
        assert aggregate.by is not None, "min_by and max_by have two columns"
        ordered = read_ordered(store, aggregate.by, aggregate.by_kind, self._interner)
        return ordered, read_cells(store, aggregate.column)

    def keep(self, slots: Int64s) -> dict[str, npt.NDArray[Any]]:
        self._slots = widen(self._slots, beyond(slots))
        heads = self._slots[slots, HEAD] - 1
        nodes = np.where((heads != NONE)[:, None], self._nodes[heads], 0)
        kept: dict[str, npt.NDArray[Any]] = {"some": (heads != NONE).astype(np.uint8), "nodes": nodes}
        for place, name in self._texts():
            packed = pack_texts(np.where(heads != NONE, nodes[:, place], -1), self._interner)
            kept |= {f"{name}.{part}": array for part, array in packed.items()}
        return kept

    def restore(self, slots: Int64s, kept: dict[str, npt.NDArray[Any]]) -> None:
        self._slots = widen(self._slots, beyond(slots))
        nodes = kept["nodes"].copy()
        for place, name in self._texts():
            packed = {part: kept[f"{name}.{part}"] for part in ("text", "text_ends")}
            nodes[:, place] = unpack_texts(packed, self._interner)
        some = np.flatnonzero(kept["some"])
        used = int(self._counters[USED])
        self._nodes = widen(self._nodes, used + len(some))
        numbers = np.arange(used, used + len(some))
        self._counters[USED] += len(some)
        self._nodes[numbers] = nodes[some]
        self._nodes[numbers, MEMBER] = 0
        self._nodes[numbers, OLDER] = self._nodes[numbers, NEWER] = NONE
        self._slots[slots[some], HEAD] = self._slots[slots[some], TAIL] = numbers + 1
        self._slots[slots[some], ENTERED] = 1

    def _texts(self) -> list[tuple[int, str]]:
        """Places in a node that hold numbers of strings."""
        aggregate = self._aggregate
        if not self._is_pair:
            return [(CELL, "cells")] if aggregate.column_kind == "string" else []
        places = [(CELL, "cells")] if aggregate.by_kind == "string" else []
        return places + ([(VALUE, "values")] if aggregate.column_kind == "string" else [])


@njit()
def run_laid_extremes(tables: Int64s, steps: Flags, slots: Int64s, items: Int64s, done: int, rows: int) -> int:
    """As `_follow`, with all arrays on one table; at the end the answers of `rows` rows are written."""
    kind = ints(tables, L_KIND)  # also in place of ranks, which only texts have
    words, some = int_table(tables, L_WORDS)[0], flag_table(tables, L_ANSWERED)[0]
    mode, is_pair = kind[0], kind[2] != 0
    if done == 0:
        for row in range(rows):
            words[row], some[row] = 0, 0
    done = _follow(
        steps, slots, items, done, ints(tables, L_CELLS), flags(tables, L_VALID), mode, kind, ints(tables, L_VALUES),
        flags(tables, L_VALUES_VALID), kind[1] != 0, int_table(tables, L_SLOTS), int_table(tables, L_NODES),
        ints(tables, L_COUNTERS), words, some,
    )  # fmt: skip
    if done == steps.shape[0] and mode == FLOATS and not is_pair:
        for row in range(rows):
            words[row] = give_float(words[row])
    return done


@njit()
def _follow(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, valid: Flags, mode: int,
    ranks: Int64s, values: Int64s, values_valid: Flags, is_max: bool, queues: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64], counters: Int64s, answers: Int64s, some: Flags,
) -> int:  # fmt: skip
    """Carry out steps from number `done` on; gives the number of the first one that was not, for want of nodes."""
    has_nulls, is_pair = valid.shape[0] > 0, nodes.shape[1] > VALUE
    for i in range(done, steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step in (ENTER, ADD, ENTER_PANE):
            if counters[FREE] == NONE and counters[USED] == nodes.shape[0]:
                return i
            member = queues[slot, ENTERED]
            queues[slot, ENTERED] = member + 1
            value, value_valid = 0, 1
            if step == ENTER_PANE:
                best = queues[item, HEAD] - 1
                if best == NONE:
                    continue
                cell = nodes[best, CELL]
                if is_pair:
                    value, value_valid = nodes[best, VALUE], nodes[best, VALUE_VALID]
            else:
                if has_nulls and valid[item] == 0:
                    continue
                cell = cells[item]
                if mode == FLOATS:
                    cell = order_float(cell)
                if is_pair:
                    value = values[item]
                    if values_valid.shape[0] > 0:
                        value_valid = int(values_valid[item])
            key = _key(cell, mode, ranks, is_max)
            tail = queues[slot, TAIL] - 1
            if step == ADD:
                if tail != NONE:
                    if key >= _key(nodes[tail, CELL], mode, ranks, is_max):
                        continue
                    _free(nodes, counters, tail)
                    tail = NONE
            else:
                while tail != NONE:
                    old = _key(nodes[tail, CELL], mode, ranks, is_max)
                    if old < key or (is_pair and old == key):
                        break
                    older = nodes[tail, OLDER]
                    _free(nodes, counters, tail)
                    tail = older
            node = counters[FREE]
            if node == NONE:
                node = counters[USED]
                counters[USED] = node + 1
            else:
                counters[FREE] = nodes[node, NEWER]
            nodes[node, CELL], nodes[node, MEMBER] = cell, member
            nodes[node, OLDER], nodes[node, NEWER] = tail, NONE
            if is_pair:
                nodes[node, VALUE], nodes[node, VALUE_VALID] = value, value_valid
            if tail == NONE:
                queues[slot, HEAD] = node + 1
            else:
                nodes[tail, NEWER] = node
            queues[slot, TAIL] = node + 1
        elif step in (LEAVE, LEAVE_PANE):
            member = queues[slot, LEFT]
            queues[slot, LEFT] = member + 1
            head = queues[slot, HEAD] - 1
            if head != NONE and nodes[head, MEMBER] == member:
                newer = nodes[head, NEWER]
                _free(nodes, counters, head)
                queues[slot, HEAD] = newer + 1
                if newer == NONE:
                    queues[slot, TAIL] = NONE + 1
                else:
                    nodes[newer, OLDER] = NONE
        elif step == EMIT:
            head = queues[slot, HEAD] - 1
            if head != NONE:
                answers[item], some[item] = nodes[head, CELL], 1
                if is_pair:
                    answers[item], some[item] = nodes[head, VALUE], nodes[head, VALUE_VALID]
        elif step == CLEAR:
            node = queues[slot, HEAD] - 1
            while node != NONE:
                newer = nodes[node, NEWER]
                _free(nodes, counters, node)
                node = newer
            for at in range(SLOT_WIDTH):
                queues[slot, at] = 0
    return steps.shape[0]


@njit(forceinline=True)
def _key(cell: int, mode: int, ranks: Int64s, is_max: bool) -> int:
    """The less, the better."""
    key = ranks[cell] if mode == TEXTS else cell
    return ~key if is_max else key


@njit(forceinline=True)
def _free(nodes: npt.NDArray[np.int64], counters: Int64s, node: int) -> None:
    nodes[node, NEWER] = counters[FREE]
    counters[FREE] = node
