"""MATCH_RECOGNIZE, compiled: a depth-first search in the order of preferment, over arrays.

Events of a key are chained in order.  A search starts at the key's *start* and reads on; if it needs an event
that has not arrived, it is left undecided and taken up again from the start when there is more.  So what is
given out does not depend on how the events were cut into batches.  A search is decided early when the horizon
shows that every coming event would break WITHIN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.automaton import SPLIT, Automaton, build_automaton
from cepheid.kernel.columns import Events, Int64s, Interner
from cepheid.kernel.compiled.cell_store import CellStore, GrowingRows, append_times
from cepheid.kernel.compiled.columnar import find_true
from cepheid.kernel.compiled.evaluate import Cells, build_machine, check_trouble
from cepheid.kernel.compiled.positions import tabulate_positions
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.row_search import (
    NEVER,
    PAST_LAST,
    SKIP_MISSING,
    SKIP_NOWHERE,
    TO_FIRST,
    TO_LAST,
    TO_NEXT,
    TOO_COSTLY,
    Chains,
    Rules,
    search_keys,
)
from cepheid.kernel.expression import Expression, join_conjunction, list_cells, split_conjunction
from cepheid.kernel.matches import Matches
from cepheid.kernel.pattern import RowPatternProgram, show_pattern

STEP_BUDGET = 200_000_000
_SKIP_KINDS = {"past_last": PAST_LAST, "to_next": TO_NEXT, "to_first": TO_FIRST, "to_last": TO_LAST}


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

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:
        """Take in events; give out what is decided.  No later event will be older than `horizon`."""
        touched = self._append(events)
        if final:
            keys = np.nonzero(self._chains[2] >= 0)[0]
        elif self._program.within is not None:
            keys = np.union1d(touched, np.nonzero(self._chains[4] < horizon)[0])
        else:
            keys = touched
        return self._search(keys, horizon, final)

    def replay(
        self,
        events: Events,
        past: npt.NDArray[np.bool_],
        taken: npt.NDArray[np.bool_],  # noqa: ARG002
        numbers: Int64s,
    ) -> None:
        """Take in the events a snapshot kept, without searching.

        past: bool[n], events before their key's start; taken: bool[n], events that are in a match already; numbers:
        int64[keys], matches found so far.
        """
        self._append(events)
        if len(events):
            _, _, start, counts, deadlines = self._chains
            _place_starts(events.keys, np.ascontiguousarray(past), start)
            counts[: len(numbers)] = numbers
            if self._program.within is not None:
                waiting = np.nonzero(start >= 0)[0]
                deadlines[waiting] = self._times.data[0, start[waiting]] + self._program.within

    def live(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """bool[seen]: is the event still needed; does it lie before its key's start; is it in a match already."""
        needed = np.zeros(self.seen, dtype=np.bool_)
        past = np.zeros(self.seen, dtype=np.bool_)
        oldest, _, start, _, _ = self._chains
        _mark_live(self._following.data[0], oldest, start, needed, past)
        return needed, past, np.zeros(self.seen, dtype=np.bool_)

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

    def _search(self, keys: Int64s, horizon: int, final: bool) -> Matches:
        machine = build_machine(self._code, self._interner.ranks())
        chains = Chains(self._following.data[0], *self._chains)
        status, *found = search_keys(
            keys, self._rules, machine, self._view, self._times.data[0], self._plays.data[0], chains, horizon, final
        )
        check_trouble(machine)
        _raise_status(status, self._program)
        return Matches(self.automaton.variables, *found)


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
    if status == SKIP_MISSING:
        raise MatchFailure(
            f'AFTER MATCH SKIP TO "{target}": no event of the match is bound to it',
            hint="skip to a variable that every match contains, or SKIP PAST LAST ROW",
        )
    if status == SKIP_NOWHERE:
        raise MatchFailure(
            f'AFTER MATCH SKIP TO "{target}" goes to the first event of the match, which would match again for ever',
            hint="skip to a later variable, or SKIP TO NEXT ROW",
        )
    if status == TOO_COSTLY:
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
