"""The depth-first search of a row pattern, in the order of preferment, over the chained events of each key.

When conditions look only at the tested event and its neighbours, what fails once at (instruction, event) fails
always: such places are marked, and `(a* b*)* c` costs time in proportion to instructions times events instead
of growing exponentially.  Otherwise a budget of steps stops a search that runs wild.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cepheid.kernel.automaton import ACCEPT, CHECK, CONSUME, JUMP, SAVE, SPLIT
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.evaluate import Cells, Machine, holds
from cepheid.kernel.compiled.positions import MISSING, UNKNOWN, find_logical

NEVER = np.iinfo(np.int64).max
MATCHED, FAILED, UNDECIDED, SKIP_MISSING, SKIP_NOWHERE, TOO_COSTLY = range(6)
PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)


class Rules(NamedTuple):
    """The program of a row pattern as numbers."""

    instructions: Any  # int32[n, 3]
    slots: int
    split_bits: Any  # int64[n]: number of the split instruction, -1 for others and where marks do not fit
    marks_hold_across_starts: bool
    positions: Any  # int64[k, 5]
    reads: Any  # int32[total]: positions that condition v reads, at reads_bounds[v]:reads_bounds[v + 1]
    reads_bounds: Any
    within: int  # NEVER if there is none
    skip_kind: int
    skip_members: int
    lookahead: int
    lookback: int
    budget: int


class Chains(NamedTuple):
    """The events of each key, linked in order; indices are into the arrays of events."""

    following: Int64s  # [events] next event of the same key, -1 if none yet
    oldest: Int64s  # [keys] first event still needed
    newest: Int64s  # [keys]
    start: Int64s  # [keys] where the search starts, -1: at the next event to come
    numbers: Int64s  # [keys] matches found so far
    deadlines: Int64s  # [keys] when WITHIN decides a pending search


@njit(cache=True)
def _grown(array: Any, needed: int) -> Any:
    if needed <= array.shape[0]:
        return array
    wider = np.zeros(max(needed, 2 * array.shape[0]), dtype=array.dtype)
    wider[: array.shape[0]] = array
    return wider


@njit(cache=True, forceinline=True)
def _locate(
    positions: Any, row: int, labels: Any, last_of: Any, events: Int64s, start: int, tested: int, available: int,
    final: bool,
) -> int:  # fmt: skip
    """The event a position stands for while events[tested] is under test; MISSING or UNKNOWN if there is none."""
    single = positions[row, 1]
    if single >= 0 and positions[row, 2] == 0 and positions[row, 3] == 0:
        index = last_of[single]
    else:
        index = find_logical(positions, row, labels, start, tested + 1)
    if index < 0:
        return MISSING
    index += positions[row, 4]
    if index >= available:
        return MISSING if final else UNKNOWN
    return events[index] if index >= 0 else MISSING


@njit(cache=True)
def search_keys(
    keys: Int64s, rules: Rules, machine: Machine, cells: Cells, times: Int64s, plays: Int64s, chains: Chains,
    horizon: int, final: bool,
) -> Any:  # fmt: skip
    """Search each key from its start on; gives status and the matches as flat arrays."""
    rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank, facts_i, facts_f, facts_valid = machine
    cells_i, cells_i_valid, cells_f, cells_f_valid = cells
    (code, slots, split_bits, marks_hold_across_starts, positions, reads, reads_bounds, within, skip_kind,
     skip_members, lookahead, lookback, budget) = rules  # fmt: skip
    following, oldest, _, starts, numbers, deadlines = chains
    width = 2 + slots
    events = np.zeros(256, dtype=np.int64)
    labels = np.zeros(256, dtype=np.int64)
    same = np.zeros(256, dtype=np.int64)
    marks = np.zeros(256, dtype=np.uint64)
    frames = np.zeros((64, width), dtype=np.int64)
    saved = np.zeros(max(1, slots), dtype=np.int64)
    where = np.full(positions.shape[0], MISSING, dtype=np.int64)
    variables = reads_bounds.shape[0] - 1
    last_of = np.full(max(1, variables), -1, dtype=np.int64)
    out_events = np.zeros(256, dtype=np.int64)
    out_labels = np.zeros(256, dtype=np.int64)
    out_ends = np.zeros(64, dtype=np.int64)
    out_starts = np.zeros(64, dtype=np.int64)
    out_numbers = np.zeros(64, dtype=np.int64)
    count, total = 0, 0
    status = MATCHED

    for key in keys:
        # the events of this key that are still needed, oldest first
        available = 0
        event = oldest[key]
        start = -1
        while event >= 0:
            events = _grown(events, available + 1)
            events[available] = event
            if event == starts[key]:
                start = available
            available += 1
            event = following[event]
        if start < 0:
            start = available
        labels = _grown(labels, available)
        same = _grown(same, available)
        marks = _grown(marks, available + 1)
        marks[: available + 1] = 0

        while start < available:
            # one search: the most preferred match from `start`
            pc, at, depth, furthest = 0, start, 0, start
            steps = 0
            last_of[:] = -1
            saved[:] = -1
            began = times[events[start]]
            outcome = FAILED
            while True:
                steps += 1
                if steps > budget:
                    outcome = TOO_COSTLY
                    break
                operation = code[pc, 0]
                ahead = False
                if operation == CONSUME:
                    if at >= available:
                        if not final and not (within != NEVER and horizon - began > within):
                            outcome = UNDECIDED
                            break
                    elif (plays[events[at]] >> code[pc, 1]) & 1 and (
                        within == NEVER or times[events[at]] - began <= within
                    ):
                        variable = code[pc, 1]
                        labels[at] = variable
                        same[at] = last_of[variable]
                        last_of[variable] = at
                        unknown = False
                        for read in range(reads_bounds[variable], reads_bounds[variable + 1]):
                            row = reads[read]
                            found = _locate(positions, row, labels, last_of, events, start, at, available, final)
                            if found == UNKNOWN:
                                unknown = True
                                break
                            where[row] = found
                        if unknown:
                            outcome = UNDECIDED
                            break
                        if holds(
                            variable, where, rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank,
                            facts_i, facts_f, facts_valid, cells_i, cells_i_valid, cells_f, cells_f_valid,
                        ):  # fmt: skip
                            at += 1
                            pc += 1
                            ahead = True
                            furthest = max(furthest, at)
                        else:
                            last_of[variable] = same[at]
                elif operation == SPLIT:
                    ahead = True
                    bit = split_bits[pc]
                    if bit >= 0:
                        for slot in range(slots):
                            if at > saved[slot]:
                                bit += 1 << slot
                        mark = np.uint64(1) << np.uint64(bit)
                        if marks[at] & mark:
                            ahead = False
                        else:
                            marks[at] |= mark
                    if ahead:
                        if depth == frames.shape[0]:
                            deeper = np.zeros((2 * depth, width), dtype=np.int64)
                            deeper[:depth] = frames
                            frames = deeper
                        frames[depth, 0] = code[pc, 2]
                        frames[depth, 1] = at
                        for slot in range(slots):
                            frames[depth, 2 + slot] = saved[slot]
                        depth += 1
                        pc = code[pc, 1]
                elif operation == JUMP:
                    pc = code[pc, 1]
                    ahead = True
                elif operation == SAVE:
                    saved[code[pc, 1]] = at
                    pc += 1
                    ahead = True
                elif operation == CHECK:
                    pc = code[pc, 2] if saved[code[pc, 1]] == at else pc + 1
                    ahead = True
                elif operation == ACCEPT:
                    enough = final or at - 1 + lookahead < available
                    outcome = MATCHED if enough else UNDECIDED
                    break
                if not ahead:
                    if depth == 0:
                        break
                    depth -= 1
                    pc = frames[depth, 0]
                    back = frames[depth, 1]
                    for slot in range(slots):
                        saved[slot] = frames[depth, 2 + slot]
                    while at > back:
                        at -= 1
                        last_of[labels[at]] = same[at]
            if outcome == UNDECIDED:
                break
            if outcome == TOO_COSTLY:
                status = TOO_COSTLY
                break
            if outcome == FAILED:
                if not marks_hold_across_starts:
                    marks[start : furthest + 1] = 0
                start += 1
                continue
            # a match: events[start:at]
            numbers[key] += 1
            if count == out_ends.shape[0]:
                out_ends = _grown(out_ends, count + 1)
                out_starts = _grown(out_starts, count + 1)
                out_numbers = _grown(out_numbers, count + 1)
            out_events = _grown(out_events, total + at - start)
            out_labels = _grown(out_labels, total + at - start)
            for index in range(start, at):
                out_events[total] = events[index]
                out_labels[total] = labels[index]
                total += 1
            out_ends[count] = total
            out_starts[count] = events[start]
            out_numbers[count] = numbers[key]
            count += 1
            marks[start : furthest + 1] = 0
            if at == start or skip_kind == TO_NEXT:
                start += 1
            elif skip_kind == PAST_LAST:
                start = at
            else:
                target = -1
                for index in range(start, at):
                    if (skip_members >> labels[index]) & 1:
                        target = index
                        if skip_kind == TO_FIRST:
                            break
                if target <= start:
                    status = SKIP_MISSING if target < 0 else SKIP_NOWHERE
                    break
                start = target
        if status != MATCHED:
            break
        # what the key still needs
        keep = max(0, start - lookback)
        oldest[key] = events[keep] if keep < available else -1
        starts[key] = events[start] if start < available else -1
        deadlines[key] = NEVER
        if start < available and within != NEVER:
            deadlines[key] = times[events[start]] + within
    return (
        status,
        out_events[:total],
        out_labels[:total],
        out_ends[:count],
        out_starts[:count],
        out_numbers[:count],
    )
