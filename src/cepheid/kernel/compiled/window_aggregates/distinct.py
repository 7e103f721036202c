"""count(DISTINCT x): how often each value is in each slot.

    entries   slot | cell | how often | previous, next entry of the slot
    table     numbers of entries, by the hash of (slot, cell): open addressing; a place that falls empty is closed up
    slots     how many entries | the first of them

Entries are counted from 1: 0 is none, so a new row of zeros is an empty slot.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Flags, Int64s, Interner
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.cells import FLOATS, Columns, order_float, read_cells
from cepheid.kernel.compiled.window_aggregates.room import widen
from cepheid.kernel.compiled.window_steps import CLEAR, EMIT, LEAVE, StepList
from cepheid.kernel.window import WindowedAggregate

SLOT, CELL, TIMES, PREVIOUS, NEXT, ENTRY_WIDTH = 0, 1, 2, 3, 4, 5
ENTRIES, FIRST, SLOT_WIDTH = 0, 1, 2
FREE, USED = 0, 1


class DistinctBank:
    """One column."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._aggregate = aggregates[0]
        self._slots = np.zeros((0, SLOT_WIDTH), dtype=np.int64)
        self._entries = np.zeros((65, ENTRY_WIDTH), dtype=np.int64)  # number 0 is none
        self._table = np.zeros(256, dtype=np.int64)
        self._counters = np.array([0, 1], dtype=np.int64)

    def run(self, step_list: StepList, store: Columns) -> tuple[Column, ...]:
        self._slots = widen(self._slots, step_list.slot_count)
        assert self._aggregate.column is not None, "count(DISTINCT) is of a column"
        cells = read_cells(store, self._aggregate.column)
        answers = np.zeros(step_list.rows, dtype=np.int64)
        done = 0
        while True:
            done = _follow(
                step_list.steps, step_list.slots, step_list.items, done, cells.values, cells.valid, cells.mode,
                self._slots,
                self._entries, self._table, self._counters, answers,
            )  # fmt: skip
            if done == len(step_list.steps):
                return (Column(answers),)
            self._entries = widen(self._entries, len(self._entries) + 1)
            size = len(self._table)
            while size < 2 * len(self._entries):
                size *= 2
            self._table = np.zeros(size, dtype=np.int64)
            _fill_table(self._entries, int(self._counters[USED]), self._table)


@njit()
def _follow(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, valid: Flags, mode: int,
    sets: npt.NDArray[np.int64], entries: npt.NDArray[np.int64], table: Int64s, counters: Int64s, answers: Int64s,
) -> int:  # fmt: skip
    """Carry out steps from number `done` on; gives the number of the first one that was not, for want of entries."""
    has_nulls, mask = valid.shape[0] > 0, table.shape[0] - 1
    for i in range(done, steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step <= LEAVE:
            if has_nulls and valid[item] == 0:
                continue
            cell = order_float(cells[item]) if mode == FLOATS else cells[item]
            place = _hash(slot, cell) & mask
            entry = table[place]
            while entry != 0 and (entries[entry, CELL] != cell or entries[entry, SLOT] != slot):
                place = (place + 1) & mask
                entry = table[place]
            if step == LEAVE:
                entries[entry, TIMES] -= 1
                if entries[entry, TIMES] == 0:
                    _close_up(entries, table, place)
                    _unlink(entries, sets, slot, entry)
                    _free(entries, counters, entry)
                continue
            if entry != 0:
                entries[entry, TIMES] += 1
                continue
            entry = counters[FREE]
            if entry != 0:
                counters[FREE] = entries[entry, NEXT]
            elif counters[USED] < entries.shape[0]:
                entry = counters[USED]
                counters[USED] += 1
            else:
                return i
            table[place] = entry
            first = sets[slot, FIRST]
            entries[entry, SLOT], entries[entry, CELL], entries[entry, TIMES] = slot, cell, 1
            entries[entry, PREVIOUS], entries[entry, NEXT] = 0, first
            if first != 0:
                entries[first, PREVIOUS] = entry
            sets[slot, FIRST] = entry
            sets[slot, ENTRIES] += 1
        elif step == EMIT:
            answers[item] = sets[slot, ENTRIES]
        elif step == CLEAR:
            entry = sets[slot, FIRST]
            while entry != 0:
                following = entries[entry, NEXT]
                place = _hash(slot, entries[entry, CELL]) & mask
                while table[place] != entry:
                    place = (place + 1) & mask
                _close_up(entries, table, place)
                _free(entries, counters, entry)
                entry = following
            sets[slot, ENTRIES] = sets[slot, FIRST] = 0
    return steps.shape[0]


@njit(forceinline=True)
def _hash(slot: int, cell: int) -> np.int64:
    mixed = (np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(cell)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    mixed = (mixed ^ np.uint64(slot)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    return np.int64(mixed & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit()
def _close_up(entries: npt.NDArray[np.int64], table: Int64s, hole: int) -> None:
    """Take out an entry; those behind it that would have liked a nearer place move up, so that no search ends early."""
    mask = table.shape[0] - 1
    place = hole
    while True:
        place = (place + 1) & mask
        entry = table[place]
        if entry == 0:
            break
        wish = _hash(entries[entry, SLOT], entries[entry, CELL]) & mask
        if ((place - wish) & mask) >= ((place - hole) & mask):
            table[hole] = entry
            hole = place
    table[hole] = 0


@njit()
def _unlink(entries: npt.NDArray[np.int64], sets: npt.NDArray[np.int64], slot: int, entry: int) -> None:
    previous, following = entries[entry, PREVIOUS], entries[entry, NEXT]
    if previous == 0:
        sets[slot, FIRST] = following
    else:
        entries[previous, NEXT] = following
    if following != 0:
        entries[following, PREVIOUS] = previous
    sets[slot, ENTRIES] -= 1


@njit(forceinline=True)
def _free(entries: npt.NDArray[np.int64], counters: Int64s, entry: int) -> None:
    entries[entry, TIMES] = 0
    entries[entry, NEXT] = counters[FREE]
    counters[FREE] = entry


@njit()
def _fill_table(entries: npt.NDArray[np.int64], used: int, table: Int64s) -> None:
    mask = table.shape[0] - 1
    for entry in range(1, used):
        if entries[entry, TIMES] > 0:
            place = _hash(entries[entry, SLOT], entries[entry, CELL]) & mask
            while table[place] != 0:
                place = (place + 1) & mask
            table[place] = entry
