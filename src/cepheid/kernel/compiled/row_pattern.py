"""MATCH_RECOGNIZE, compiled: a depth-first search in the order of preferment, over arrays.

Events of a key are chained in order.  A search starts at the key's *start* and reads on; if it needs an event
that has not arrived, it is left undecided and taken up again from the start when there is more.  So what is
given out does not depend on how the events were cut into batches.  A search is decided early when the horizon
shows that every coming event would break WITHIN.

When conditions look only at the tested event and its neighbours, what fails once at (instruction, event) fails
always: such places are marked, and `(a* b*)* c` costs time in proportion to instructions times events instead
of growing exponentially.  Otherwise a budget of steps stops a search that runs wild.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.automaton import ACCEPT, CHECK, CONSUME, JUMP, SAVE, SPLIT, Automaton, build_automaton
from cepheid.kernel.columns import Events, Int64s, Interner
from cepheid.kernel.compiled.cell_store import CellStore, GrowingRows, append_times
from cepheid.kernel.compiled.columnar import find_true
from cepheid.kernel.compiled.evaluate import Cells, Machine, build_machine, check_trouble, holds
from cepheid.kernel.compiled.positions import MISSING, UNKNOWN, find_logical, tabulate_positions
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import Expression, join_conjunction, list_cells, split_conjunction
from cepheid.kernel.matches import RowMatches
from cepheid.kernel.pattern import RowPatternProgram, show_pattern

NEVER = np.iinfo(np.int64).max
STEP_BUDGET = 200_000_000
_MATCHED, _FAILED, _UNDECIDED, _SKIP_MISSING, _SKIP_NOWHERE, _TOO_COSTLY = range(6)
_SKIP_KINDS = {"past_last": 0, "to_next": 1, "to_first": 2, "to_last": 3}
_PAST_LAST, _TO_NEXT, _TO_FIRST, _TO_LAST = range(4)


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


class CompiledRowPattern:
    """The operator: feed it events in order, get the matches that can no longer change."""

    def __init__(self, program: RowPatternProgram, interner: Interner, lookback: int = 0) -> None:
        self._program = program
        self._interner = interner
        self.automaton = build_automaton(program.pattern)
        writer = CodeWriter(interner)
        conditions = dict(program.conditions)
        self._alone: list[Expression | None] = []
        reads: list[list[int]] = []
        for variable in self.automaton.variables:
            parts = split_conjunction(conditions.get(variable))
            joint = [part for part in parts if not looks_at_one(part, variable)]
            self._alone.append(join_conjunction([part for part in parts if part not in joint]))
            writer.add_condition(join_conjunction(joint))
            cells = [cell for part in joint for cell in list_cells(part)]
            reads.append(sorted({writer.positions[cell.position] for cell in cells}))
        self._code = writer.finish()
        self._cells = CellStore(writer)
        self._rules = _write_rules(program, self.automaton, writer, reads, lookback)
        self._times = GrowingRows(1, np.int64)
        self._plays = GrowingRows(1, np.int64)
        self._following = GrowingRows(1, np.int64)
        self._preceding = GrowingRows(1, np.int64)
        self._chains = [np.full(16, filler, dtype=np.int64) for filler in (-1, -1, -1, 0, NEVER)]

    @property
    def seen(self) -> int:
        """How many events have been taken in; the next one gets this index."""
        return self._times.used

    def step(self, events: Events, horizon: int, final: bool = False) -> RowMatches:
        """Take in events; give out what is decided.  No later event will be older than `horizon`."""
        touched = self._append(events)
        if final:
            keys = np.nonzero(self._chains[2] >= 0)[0]
        elif self._program.within is not None:
            keys = np.union1d(touched, np.nonzero(self._chains[4] < horizon)[0])
        else:
            keys = touched
        return self._search(keys, horizon, final)

    def replay(self, events: Events, past: npt.NDArray[np.bool_], numbers: Int64s) -> None:
        """Take in the events a snapshot kept, without searching.

        past: bool[n], events before their key's start; numbers: int64[keys], matches found so far.
        """
        self._append(events)
        if len(events):
            _, _, start, counts, deadlines = self._chains
            _place_starts(events.keys, np.ascontiguousarray(past), start)
            counts[: len(numbers)] = numbers
            if self._program.within is not None:
                waiting = np.nonzero(start >= 0)[0]
                deadlines[waiting] = self._times.data[0, start[waiting]] + self._program.within

    def live(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """bool[seen]: is the event still needed; bool[seen]: does it lie before its key's start."""
        needed = np.zeros(self.seen, dtype=np.bool_)
        past = np.zeros(self.seen, dtype=np.bool_)
        oldest, _, start, _, _ = self._chains
        _mark_live(self._following.data[0], oldest, start, needed, past)
        return needed, past

    def shift(self, events: Int64s, steps: int) -> Int64s:
        """The events `steps` further in their partitions (negative: earlier); -1 where there is none."""
        links = self._following.data[0] if steps > 0 else self._preceding.data[0]
        for _ in range(abs(steps)):
            events = np.where(events >= 0, links[events], -1)
        return events

    def numbers_of(self, keys: Int64s) -> Int64s:
        """Matches found so far, for some keys."""
        return self._chains[3][keys]

    def _append(self, events: Events) -> Int64s:
        base = self.seen
        cells = self._cells.append(events)
        self._view: Cells = cells
        append_times(self._times, events.times)
        append_times(self._plays, self._find_plays(events))
        unlinked = np.full(len(events), -1, dtype=np.int64)
        following = append_times(self._following, unlinked)
        preceding = append_times(self._preceding, unlinked)
        if not len(events):
            return np.empty(0, dtype=np.int64)
        self._grow_keys(int(events.keys.max()) + 1)
        oldest, newest, start, _, _ = self._chains
        return _link_events(events.keys, base, following, preceding, oldest, newest, start)

    def _find_plays(self, events: Events) -> Int64s:
        """int64[n]: bit v says that the event alone fits variable v."""
        plays = np.zeros(len(events), dtype=np.int64)
        for number, condition in enumerate(self._alone):
            bit = np.int64(1) << number
            if condition is None:
                plays |= bit
            else:
                plays[find_true(condition, events, self._interner)] |= bit
        return plays

    def _grow_keys(self, count: int) -> None:
        size = len(self._chains[0])
        if count > size:
            size = max(count, 2 * size)
            fillers = (-1, -1, -1, 0, NEVER)
            self._chains = [
                np.concatenate([chain, np.full(size - len(chain), filler, dtype=np.int64)])
                for chain, filler in zip(self._chains, fillers, strict=True)
            ]

    def _search(self, keys: Int64s, horizon: int, final: bool) -> RowMatches:
        machine = build_machine(self._code, self._interner.ranks())
        chains = Chains(self._following.data[0], *self._chains)
        status, *found = _search_keys(
            keys, self._rules, machine, self._view, self._times.data[0], self._plays.data[0], chains, horizon, final
        )
        check_trouble(machine)
        _raise_status(status, self._program)
        return RowMatches(self.automaton.variables, *found)


def _write_rules(
    program: RowPatternProgram, automaton: Automaton, writer: CodeWriter, reads: list[list[int]], lookback: int
) -> Rules:
    conditions = dict(program.conditions)
    history_free = all(
        is_history_free(conditions[variable], variable) for variable in automaton.variables if variable in conditions
    )
    split_bits = np.full(len(automaton.instructions), -1, dtype=np.int64)
    splits = np.nonzero(automaton.instructions[:, 0] == SPLIT)[0]
    if history_free and (len(splits) << automaton.slots) <= 64:
        split_bits[splits] = np.arange(len(splits)) << automaton.slots
    numbers = {variable: number for number, variable in enumerate(automaton.variables)}
    shifts = [position.shift for position in writer.positions]
    return Rules(
        instructions=automaton.instructions,
        slots=automaton.slots,
        split_bits=split_bits,
        marks_hold_across_starts=program.within is None,
        positions=tabulate_positions(list(writer.positions), automaton.variables),
        reads=np.array([position for row in reads for position in row] or [0], dtype=np.int32),
        reads_bounds=np.cumsum([0, *map(len, reads)]).astype(np.int32),
        within=NEVER if program.within is None else program.within,
        skip_kind=_SKIP_KINDS[program.skip.kind],
        skip_members=sum(1 << numbers[variable] for variable in program.skip.variables),
        lookahead=program.lookahead,
        lookback=max([lookback, *(-shift for shift in shifts)]),
        budget=STEP_BUDGET,
    )


def looks_at_one(condition: Expression, variable: str) -> bool:
    """Does the condition of a variable look at the tested event and nothing else?"""
    return is_history_free(condition, variable) and all(cell.position.shift == 0 for cell in list_cells(condition))


def is_history_free(condition: Expression, variable: str) -> bool:
    """Does the condition look only at the tested event and its neighbours in the partition?"""
    return all(
        cell.position.pick == "last" and cell.position.offset == 0 and cell.position.variables in ((), (variable,))
        for cell in list_cells(condition)
    )


def _raise_status(status: int, program: RowPatternProgram) -> None:
    target = " or ".join(program.skip.variables)
    if status == _SKIP_MISSING:
        raise MatchFailure(
            f'AFTER MATCH SKIP TO "{target}": no event of the match is bound to it',
            hint="skip to a variable that every match contains, or SKIP PAST LAST ROW",
        )
    if status == _SKIP_NOWHERE:
        raise MatchFailure(
            f'AFTER MATCH SKIP TO "{target}" goes to the first event of the match, which would match again for ever',
            hint="skip to a later variable, or SKIP TO NEXT ROW",
        )
    if status == _TOO_COSTLY:
        raise PatternTooCostly(
            f"PATTERN ({show_pattern(program.pattern)}) took more than {STEP_BUDGET:,} steps for one match",
            hint="bound its repetitions, add WITHIN, or make conditions exclude one another",
        )


@njit(cache=True)
def _link_events(
    keys: Int64s, base: int, following: Int64s, preceding: Int64s, oldest: Int64s, newest: Int64s, start: Int64s
) -> Int64s:
    """Chain new events behind those of their keys; gives the keys that got some."""
    touched = np.empty(keys.shape[0], dtype=np.int64)
    count = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        if key < 0:
            continue
        event = base + i
        last = newest[key]
        if last < base:
            touched[count] = key
            count += 1
        if last >= 0 and oldest[key] >= 0:
            following[last] = event
            preceding[event] = last
        else:
            oldest[key] = event
        newest[key] = event
        if start[key] < 0:
            start[key] = event
    return touched[:count]


@njit(cache=True)
def _place_starts(keys: Int64s, past: Any, start: Int64s) -> None:
    start[:] = -1
    for event in range(keys.shape[0]):
        if not past[event] and start[keys[event]] < 0:
            start[keys[event]] = event


@njit(cache=True)
def _mark_live(following: Int64s, oldest: Int64s, start: Int64s, needed: Any, past: Any) -> None:
    for key in range(oldest.shape[0]):
        event = oldest[key]
        before = True
        while event >= 0:
            if event == start[key]:
                before = False
            needed[event] = True
            past[event] = before
            event = following[event]


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
def _search_keys(
    keys: Int64s, rules: Rules, machine: Machine, cells: Cells, times: Int64s, plays: Int64s, chains: Chains,
    horizon: int, final: bool,
) -> Any:  # fmt: skip
    """Search each key from its start on; gives status and the matches as flat arrays."""
    rows, bounds, integers, floats, ranks, ri, rf, rv, trouble = machine
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
    status = _MATCHED

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
            outcome = _FAILED
            while True:
                steps += 1
                if steps > budget:
                    outcome = _TOO_COSTLY
                    break
                operation = code[pc, 0]
                ahead = False
                if operation == CONSUME:
                    if at >= available:
                        if not final and not (within != NEVER and horizon - began > within):
                            outcome = _UNDECIDED
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
                            outcome = _UNDECIDED
                            break
                        if holds(
                            variable, where, rows, bounds, integers, floats, ranks, ri, rf, rv, trouble,
                            cells_i, cells_i_valid, cells_f, cells_f_valid,
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
                    outcome = _MATCHED if enough else _UNDECIDED
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
            if outcome == _UNDECIDED:
                break
            if outcome == _TOO_COSTLY:
                status = _TOO_COSTLY
                break
            if outcome == _FAILED:
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
            if at == start or skip_kind == _TO_NEXT:
                start += 1
            elif skip_kind == _PAST_LAST:
                start = at
            else:
                target = -1
                for index in range(start, at):
                    if (skip_members >> labels[index]) & 1:
                        target = index
                        if skip_kind == _TO_FIRST:
                            break
                if target <= start:
                    status = _SKIP_MISSING if target < 0 else _SKIP_NOWHERE
                    break
                start = target
        if status != _MATCHED:
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
