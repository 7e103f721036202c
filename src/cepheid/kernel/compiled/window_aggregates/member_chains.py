"""The members of slots, oldest first, as chains through one table: for first, array_agg, windows without aggregates.

slots   first | last | how many          nodes counted from 1: a new row of zeros is an empty chain
nodes   cell | validity | newer
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.room import widen
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, EMIT, ENTER, ENTER_PANE, LEAVE, LEAVE_PANE, StepList

FIRST, LAST, MEMBERS, SLOT_WIDTH = 0, 1, 2, 3
CELL, VALID, NEWER, NODE_WIDTH = 0, 1, 2, 3
FREE, USED, WRITTEN, WANTED = range(
    4
)  # counters: first free node, nodes ever used, cells of lists written, cells needed
NONE = -1


class MemberChains:
    """firsts_only: only the first member is asked for; so where members never leave one by one, it alone is held."""

    def __init__(self, firsts_only: bool) -> None:
        self._firsts_only = firsts_only
        self.slots = np.zeros((0, SLOT_WIDTH), dtype=np.int64)
        self.nodes = np.zeros((64, NODE_WIDTH), dtype=np.int64)
        self._counters = np.array([NONE, 0, 0, 0], dtype=np.int64)

    def run(self, step_list: StepList, cells: Int64s, valid: Flags) -> tuple[Int64s, Int64s, Flags]:
        """Ends of lists, their cells and validity; with firsts_only, lists are of the first member.

        cells empty: the members are the events themselves, as the step_list names them.
        """
        self.make_room(step_list.slot_count)
        self._counters[WRITTEN] = 0
        ends = np.zeros(step_list.rows, dtype=np.int64)
        listed, listed_valid = np.empty(step_list.rows, dtype=np.int64), np.empty(step_list.rows, dtype=np.uint8)
        done = 0
        while True:
            self._counters[WANTED] = 0
            done = _follow(
                step_list.steps, step_list.slots, step_list.items, done, cells, valid, self._firsts_only, self.slots,
                self.nodes, self._counters, ends, listed, listed_valid,
            )  # fmt: skip
            if done == len(step_list.steps):
                break
            self.nodes = widen(self.nodes, len(self.nodes) + (self._counters[WANTED] == 0))
            listed = widen(listed, int(self._counters[WANTED]))
            listed_valid = widen(listed_valid, int(self._counters[WANTED]))
        written = int(self._counters[WRITTEN])
        return ends, listed[:written], listed_valid[:written]

    def make_room(self, slot_count: int) -> None:
        self.slots = widen(self.slots, slot_count)

    def put_first(self, slots: Int64s, cells: Int64s, valid: Flags) -> None:
        """One member for each of these slots, which hold none."""
        used = int(self._counters[USED])
        numbers = np.arange(used, used + len(slots))
        self.nodes = widen(self.nodes, used + len(slots))
        self._counters[USED] += len(slots)
        self.nodes[numbers, CELL], self.nodes[numbers, VALID], self.nodes[numbers, NEWER] = cells, valid, NONE
        self.slots[slots, FIRST] = self.slots[slots, LAST] = numbers + 1
        self.slots[slots, MEMBERS] = 1


@njit()
def _follow(
    steps: npt.NDArray[np.uint8], slots: Int64s, items: Int64s, done: int, cells: Int64s, valid: Flags,
    firsts_only: bool, chains: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64], counters: Int64s, ends: Int64s,
    listed: Int64s, listed_valid: Flags,
) -> int:  # fmt: skip
    """Carry out steps from number `done` on; gives the number of the first one that was not, for want of room."""
    has_nulls, has_cells = valid.shape[0] > 0, cells.shape[0] > 0
    for i in range(done, steps.shape[0]):
        step, slot, item = steps[i], slots[i], items[i]
        if step in (ENTER, ADD, ENTER_PANE):
            if step == ADD and firsts_only and chains[slot, FIRST] != 0:
                continue
            if counters[FREE] == NONE and counters[USED] == nodes.shape[0]:
                return i
            if step == ENTER_PANE:
                first = chains[item, FIRST] - 1
                if first == NONE:
                    continue
                cell, cell_valid = nodes[first, CELL], nodes[first, VALID]
            else:
                cell = cells[item] if has_cells else item
                cell_valid = np.int64(valid[item]) if has_nulls else 1
            node = counters[FREE]
            if node == NONE:
                node = counters[USED]
                counters[USED] = node + 1
            else:
                counters[FREE] = nodes[node, NEWER]
            nodes[node, CELL], nodes[node, VALID], nodes[node, NEWER] = cell, cell_valid, NONE
            if chains[slot, LAST] == 0:
                chains[slot, FIRST] = node + 1
            else:
                nodes[chains[slot, LAST] - 1, NEWER] = node
            chains[slot, LAST] = node + 1
            chains[slot, MEMBERS] += 1
        elif step == LEAVE or (step == LEAVE_PANE and chains[item, FIRST] != 0):
            node = chains[slot, FIRST] - 1
            newer = nodes[node, NEWER]
            nodes[node, NEWER] = counters[FREE]
            counters[FREE] = node
            chains[slot, FIRST] = newer + 1
            if newer == NONE:
                chains[slot, LAST] = 0
            chains[slot, MEMBERS] -= 1
        elif step == EMIT:
            written = counters[WRITTEN]
            count = min(chains[slot, MEMBERS], 1) if firsts_only else chains[slot, MEMBERS]
            if written + count > listed.shape[0]:
                counters[WANTED] = written + count
                return i
            node = chains[slot, FIRST] - 1
            for at in range(written, written + count):
                listed[at], listed_valid[at] = nodes[node, CELL], nodes[node, VALID]
                node = nodes[node, NEWER]
            counters[WRITTEN] = ends[item] = written + count
        elif step == CLEAR and chains[slot, FIRST] != 0:
            nodes[chains[slot, LAST] - 1, NEWER] = counters[FREE]  # the chain as a whole
            counters[FREE] = chains[slot, FIRST] - 1
            for at in range(SLOT_WIDTH):
                chains[slot, at] = 0
    return steps.shape[0]
