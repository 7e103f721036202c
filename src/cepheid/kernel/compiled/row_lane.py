"""MATCH_RECOGNIZE for a few events at a time: take them in, link them, see what they could be, search; one call.

The state is that of `CompiledRowPattern`, which for large batches is advanced by its own `step`: any mixture of both
gives the same matches.  Keys whose search is decided by time alone are found along a queue of the keys of events: the
starts of searches lie on it in order of time, so that a push costs nothing for keys that it does not concern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.array_table import (
    flag_table,
    flags,
    float_table,
    floats,
    int_table,
    ints,
    lay_out,
    small_ints,
    small_table,
    word_table,
)
from cepheid.kernel.compiled.cell_store import GrowingRows
from cepheid.kernel.compiled.evaluate import Cells, Machine, check_trouble
from cepheid.kernel.compiled.host_answers import Answers
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.pattern_aggregates import Sums
from cepheid.kernel.compiled.positions import find_logical
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.row_records import NO_CELLS, write_records
from cepheid.kernel.compiled.row_search import (
    MATCHED,
    NEVER,
    NO_ROOM,
    Keys,
    Output,
    Rules,
    Scratch,
    Store,
    search_keys,
)
from cepheid.kernel.compiled.take_in import COUNT, NOTHING, REACHED, SOMETHING, STATE, TROUBLED, encode, take_in
from cepheid.kernel.compiled.tests_alone import (
    KEYS,
    PLAYS,
    AloneTests,
    Target,
    begin_plays,
    list_targets,
    local_cells,
    test_events,
)
from cepheid.kernel.compiled.tests_alone import TROUBLE as TROUBLE_ALONE
from cepheid.kernel.expression import list_cells
from cepheid.kernel.matches import WHOLE, Matches

NO_LINKS = np.zeros(0, dtype=np.int64)
MOST_ROWS = 1024  # rows that are written as records
NEEDS_SCRATCH, STOPPED = 3, 4
"""What came of a push, besides NOTHING, SOMETHING and TROUBLED: there is no room for the search; the search stopped."""

(
    INSTRUCTIONS, SPLIT_BITS, POSITIONS, READS, READS_BOUNDS, FACTS, CALLS, FACT_READS, FACT_BOUNDS, AGGREGATES, NAMES,
    RULE_NUMBERS,
    CODE, CODE_BOUNDS, CODE_INTEGERS, CODE_FLOATS, RANKS, REGISTERS_I, REGISTERS_F, REGISTERS_VALID, TROUBLE, BY_RANK,
    FACTS_I, FACTS_F, FACTS_VALID, CELLS_I, CELLS_I_VALID, CELLS_F, CELLS_F_VALID,
    TIMES, ALL_PLAYS, FOLLOWING, PRECEDING, TAKEN_UP,
    OLDEST, NEWEST, STARTS, MATCH_NUMBERS, DEADLINES, PENDING,
    S_EVENTS, S_PLAYS, S_TIMES, S_LABELS, S_SAME, S_HIDDEN, S_PARTIAL, S_MARKS, S_SUMS_I, S_SUMS_F, S_SUMS_RARE,
    S_RARE_TOPS, S_SAVED, S_WHERE, S_LAST_OF, S_ARGUMENTS,
    A_SLOTS, A_ROWS, A_INTEGERS, A_FLOATS, A_VALID, A_WANTED, TESTED,
    O_EVENTS, O_LABELS, O_HIDDEN, O_ENDS, O_STARTS, O_NUMBERS, O_FATES, O_FRAMES,
    ORDER, LISTED, BEGINS, ENDS, STAMPS, PLACES, QUEUE, DESK, CELL_POSITIONS, OF_ROW, PICKED, ROW_CELLS,
) = range(83)  # fmt: skip

(
    SLOTS, MARKS_HOLD, UNMARKED, BEGINNINGS, VISIBLE, WITHIN, SKIP_KIND, SKIP_MEMBERS, LOOKAHEAD, LOOKBACK, BUDGET,
    EMITS_UNMATCHED, EMITS_TIMEOUTS, FRAMED, SEEKS, R_FOLLOWING,
) = range(16)  # fmt: skip
"""Numbers of the rules."""

STAMP, HEAD, BASE, LONGEST, TOTAL, CONCERNED, FOUND, FOUND_EVENTS, STATUS, AT = range(10)
"""Of the desk: the number of the push; the event at the head of the queue, and the one at its first place; the longest
key and all events of the keys that are searched; how many those are; matches, their events; how the search ended,
and at which of them."""


@njit()
def rules_at(tables: Int64s) -> Rules:
    n = ints(tables, RULE_NUMBERS)
    return Rules(
        int_table(tables, INSTRUCTIONS), n[SLOTS], ints(tables, SPLIT_BITS), n[MARKS_HOLD] != 0, n[UNMARKED],
        n[BEGINNINGS], n[VISIBLE], int_table(tables, POSITIONS), small_ints(tables, READS),
        small_ints(tables, READS_BOUNDS), int_table(tables, FACTS), int_table(tables, CALLS),
        small_ints(tables, FACT_READS), small_ints(tables, FACT_BOUNDS), int_table(tables, AGGREGATES),
        ints(tables, NAMES), n[WITHIN], n[SKIP_KIND], n[SKIP_MEMBERS], n[LOOKAHEAD], n[LOOKBACK], n[BUDGET],
        n[EMITS_UNMATCHED] != 0, n[EMITS_TIMEOUTS] != 0, n[FRAMED] != 0, n[SEEKS] != 0, n[R_FOLLOWING],
    )  # fmt: skip


@njit()
def keys_at(tables: Int64s) -> Keys:
    return Keys(
        ints(tables, OLDEST), ints(tables, NEWEST), ints(tables, STARTS), ints(tables, MATCH_NUMBERS),
        ints(tables, DEADLINES), ints(tables, PENDING),
    )  # fmt: skip


@njit()
def scratch_at(tables: Int64s) -> Scratch:
    sums = Sums(int_table(tables, S_SUMS_I), float_table(tables, S_SUMS_F), float_table(tables, S_SUMS_RARE))
    return Scratch(
        ints(tables, S_EVENTS), ints(tables, S_PLAYS), ints(tables, S_TIMES), ints(tables, S_LABELS),
        ints(tables, S_SAME), flags(tables, S_HIDDEN), ints(tables, S_PARTIAL), word_table(tables, S_MARKS), sums,
        ints(tables, S_RARE_TOPS), ints(tables, S_SAVED), ints(tables, S_WHERE), ints(tables, S_LAST_OF),
        ints(tables, S_ARGUMENTS),
    )  # fmt: skip


@njit()
def machine_at(tables: Int64s) -> Machine:
    return Machine(
        small_table(tables, CODE), small_ints(tables, CODE_BOUNDS), ints(tables, CODE_INTEGERS),
        floats(tables, CODE_FLOATS), ints(tables, RANKS), ints(tables, REGISTERS_I), floats(tables, REGISTERS_F),
        flags(tables, REGISTERS_VALID), ints(tables, TROUBLE), ints(tables, BY_RANK), ints(tables, FACTS_I),
        floats(tables, FACTS_F), flags(tables, FACTS_VALID),
    )  # fmt: skip


@njit()
def output_at(tables: Int64s) -> Output:
    return Output(
        ints(tables, O_EVENTS), ints(tables, O_LABELS), flags(tables, O_HIDDEN), ints(tables, O_ENDS),
        ints(tables, O_STARTS), ints(tables, O_NUMBERS), flags(tables, O_FATES), int_table(tables, O_FRAMES),
    )  # fmt: skip


@njit()
def link_events(tables: Int64s, keys: Int64s, begin: int, count: int) -> None:
    """Chain new events behind those of their keys; group them by key; line their keys up."""
    state, desk = keys_at(tables), ints(tables, DESK)
    following, preceding, taken = ints(tables, FOLLOWING), ints(tables, PRECEDING), flags(tables, TAKEN_UP)
    stamps, places, queue = ints(tables, STAMPS), ints(tables, PLACES), ints(tables, QUEUE)
    listed, begins, ends, order = ints(tables, LISTED), ints(tables, BEGINS), ints(tables, ENDS), ints(tables, ORDER)
    desk[STAMP] += 1
    groups = 0
    for i in range(count):
        key, event = keys[i], begin + i
        queue[event - desk[BASE]] = key
        following[event] = -1
        preceding[event] = -1
        taken[event] = 0
        if state.oldest[key] >= 0:
            following[state.newest[key]] = event
            preceding[event] = state.newest[key]
        else:
            state.oldest[key] = event
        if state.start[key] < 0:
            state.start[key] = event
        state.newest[key] = event
        if stamps[key] != desk[STAMP]:
            stamps[key] = desk[STAMP]
            places[key] = groups
            listed[groups] = key
            ends[groups] = 0
            groups += 1
        ends[places[key]] += 1
    so_far = 0
    for group in range(groups):
        begins[group] = so_far
        so_far += ends[group]
        ends[group] = begins[group]
    for i in range(count):
        group = places[keys[i]]
        order[ends[group]] = begin + i
        ends[group] += 1
    desk[CONCERNED] = groups


@njit()
def list_due(tables: Int64s, seen: int, horizon: int) -> None:
    """Add the keys whose search time alone decides, and count what is to be searched."""
    desk, times, queue = ints(tables, DESK), ints(tables, TIMES), ints(tables, QUEUE)
    listed, begins, ends, stamps = ints(tables, LISTED), ints(tables, BEGINS), ints(tables, ENDS), ints(tables, STAMPS)
    state, within = keys_at(tables), ints(tables, RULE_NUMBERS)[WITHIN]
    groups = desk[CONCERNED]
    if within != NEVER:
        while desk[HEAD] < seen and times[desk[HEAD]] + within < horizon:
            key = queue[desk[HEAD] - desk[BASE]]
            if key >= 0 and state.start[key] == desk[HEAD] and stamps[key] != desk[STAMP]:
                stamps[key] = desk[STAMP]
                listed[groups] = key
                begins[groups] = 0
                ends[groups] = 0
                groups += 1
            desk[HEAD] += 1
    desk[CONCERNED] = groups
    desk[LONGEST], desk[TOTAL] = 0, 0
    for group in range(groups):
        length = state.pending[listed[group]] + ends[group] - begins[group]
        desk[LONGEST] = max(desk[LONGEST], length)
        desk[TOTAL] += length


@njit()
def push_rows(
    intake: Int64s, asked: Int64s, asked_back: Int64s, tables: Int64s, begin: int, count: int, all_bits: int, phase: int
) -> int:
    """phase 0: all; 1: take in only; 2: search what has been taken in."""
    desk = ints(tables, DESK)
    if phase < 2:
        count = take_in(intake, begin, count)
        if count < 0:
            return count
        link_events(tables, ints(asked, KEYS), begin, count)
        plays = ints(asked, PLAYS)
        begin_plays(asked, count, all_bits)
        test_events(asked, 0, count, NO_LINKS)
        if asked_back.shape[0]:
            test_events(asked_back, begin, count, ints(tables, PRECEDING))
        all_plays = ints(tables, ALL_PLAYS)
        for i in range(count):
            all_plays[begin + i] = plays[i]
        list_due(tables, begin + count, ints(intake, STATE)[REACHED])
        if phase == 1:
            return NEEDS_SCRATCH
    if desk[LONGEST] + 1 > ints(tables, S_EVENTS).shape[0] or desk[TOTAL] + 64 > ints(tables, O_ENDS).shape[0]:
        return NEEDS_SCRATCH
    groups = desk[CONCERNED]
    cells = Cells(
        int_table(tables, CELLS_I), flag_table(tables, CELLS_I_VALID), float_table(tables, CELLS_F),
        flag_table(tables, CELLS_F_VALID),
    )  # fmt: skip
    store = Store(ints(tables, TIMES), ints(tables, ALL_PLAYS), ints(tables, FOLLOWING), flags(tables, TAKEN_UP))
    answers = Answers(
        ints(tables, A_SLOTS), int_table(tables, A_ROWS), ints(tables, A_INTEGERS), floats(tables, A_FLOATS),
        flags(tables, A_VALID), ints(tables, A_WANTED),
    )  # fmt: skip
    status, at, found, events = search_keys(
        ints(tables, LISTED)[:groups], ints(tables, ORDER), ints(tables, BEGINS)[:groups], ints(tables, ENDS)[:groups],
        rules_at(tables), machine_at(tables), cells, store, keys_at(tables), scratch_at(tables), answers,
        ints(tables, TESTED), output_at(tables), ints(intake, STATE)[REACHED], False,
    )  # fmt: skip
    desk[FOUND], desk[FOUND_EVENTS], desk[STATUS], desk[AT] = found, events, status, at
    if status != MATCHED:
        return STOPPED
    troubled = ints(asked, TROUBLE_ALONE)[0] or ints(tables, TROUBLE)[0]
    if asked_back.shape[0]:
        troubled = troubled or ints(asked_back, TROUBLE_ALONE)[0]
    if troubled:
        return TROUBLED
    if not found:
        return NOTHING
    most = min(int_table(tables, PICKED).shape[1], ints(tables, BEGINS).shape[0])
    if found > most or not pick_events(tables):
        return SOMETHING
    return encode(SOMETHING, found, write_records(int_table(tables, ROW_CELLS), found))


@njit()
def pick_events(tables: Int64s) -> bool:
    """For each match of the last push, in order of their last events, the event that each cell is read at (-1: none).

    False: some match is not a whole one.
    """
    desk, positions, of_row = ints(tables, DESK), int_table(tables, CELL_POSITIONS), ints(tables, OF_ROW)
    picked = int_table(tables, PICKED)
    events, labels, ends = ints(tables, O_EVENTS), ints(tables, O_LABELS), ints(tables, O_ENDS)
    starts, fates, order = ints(tables, O_STARTS), flags(tables, O_FATES), ints(tables, BEGINS)
    lasts = ints(tables, ENDS)
    for match in range(desk[FOUND]):
        if fates[match] != WHOLE:
            return False
        begin = ends[match - 1] if match else 0
        last = events[ends[match] - 1] if ends[match] > begin else starts[match]
        place = match
        while place > 0 and lasts[place - 1] > last:
            order[place], lasts[place] = order[place - 1], lasts[place - 1]
            place -= 1
        order[place], lasts[place] = match, last
    for place in range(desk[FOUND]):
        match = order[place]
        begin = ends[match - 1] if match else 0
        for cell in range(of_row.shape[0]):
            event = starts[match]
            if not of_row[cell]:
                found = find_logical(positions, cell, labels, begin, ends[match])
                event = events[found] if found >= 0 else -1
            picked[cell, place] = event
    return True


class RowLane:
    """keys: int64[room], where the numbers of keys are written for the events at hand.  plain: of rows whose cells are
    simply read somewhere, the positions of those cells (positions.py), and which are read at the row itself;
    `list_cells`: what such rows are made of (row_records.py)."""

    def __init__(
        self,
        pattern: CompiledRowPattern,
        interner: Interner,
        keys: Int64s,
        plain: tuple[npt.NDArray[np.int64], Int64s] | None,
    ) -> None:
        self._pattern = pattern
        self._interner = interner
        self._keys = keys
        room = len(keys)
        self._plays = np.zeros(room, dtype=np.int64)
        self._all_bits = (1 << pattern.label_count) - 1
        here = [
            (bit, part) for bit, part in pattern.tested if not any(cell.position.shift for cell in list_cells(part))
        ]
        back = [(bit, part) for bit, part in pattern.tested if (bit, part) not in here]
        self._writer = CodeWriter(interner)
        self._tests = AloneTests(here, interner, self._writer)
        known = pattern.writer
        earlier = CodeWriter(interner, dict(known.integer_columns), dict(known.float_columns))
        self._tests_back = AloneTests(back, interner, earlier)
        self._local = local_cells(self._writer, room)
        self._stores = pattern.stores
        self._aggregates = len(pattern.rules.aggregates) > 0
        self._rule_numbers = _number_rules(pattern.rules)
        self._desk = np.zeros(10, dtype=np.int64)
        self._order = np.zeros(room, dtype=np.int64)
        self._queue = GrowingRows(1, np.int64)
        self._output = pattern.make_output(1024)
        self._fit_keys()
        self._fill_queue()
        self._held: list[npt.NDArray[Any]] = []
        self.state: Int64s = NO_LINKS  # of the intake
        self._plain = plain or (np.zeros((0, 5), dtype=np.int64), NO_LINKS)
        self.picked = np.zeros((0, 0) if plain is None else (len(plain[1]), MOST_ROWS), dtype=np.int64)
        self.list_cells: Callable[[], npt.NDArray[np.int64]] = lambda: NO_CELLS
        self.lay_out()

    # --- arrays ------------------------------------------------------------------------------------------
    def local_targets(self) -> list[Target]:
        """What is written about the events at hand only."""
        return list_targets(self._writer, self._local)

    def stored_targets(self) -> list[Target]:
        return self._pattern.list_targets()

    def catch_up(self) -> None:
        """Events came another way."""
        self._fit_keys()
        self._fill_queue()

    @property
    def is_stale(self) -> bool:
        """Must the tables be laid out anew, because there are new strings?"""
        if self._interner.count == self._texts:
            return False
        knows_all = len(self._machine.ranks) >= self._interner.count
        return self._tests.is_stale or self._tests_back.is_stale or (self._pattern.uses_ranks and not knows_all)

    def _fit_keys(self) -> None:
        """Room to list all keys."""
        size = len(self._pattern.keys.start)
        self._stamps, self._places = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self._listed, self._begins, self._ends = (np.zeros(size + len(self._keys), dtype=np.int64) for _ in range(3))

    def _fill_queue(self) -> None:
        """Line up the keys that are being searched, by where their searches start."""
        keys = np.flatnonzero(self._pattern.keys.start >= 0)
        starts = self._pattern.keys.start[keys]
        base = int(starts.min()) if len(keys) else self._pattern.seen
        self._queue = GrowingRows(1, np.int64)
        line = self._queue.extend(self._pattern.seen - base)[0]
        line[:] = -1
        line[starts - base] = keys
        self._desk[HEAD] = self._desk[BASE] = base

    def make_room(self, keys: int, count: int) -> bool:
        """For keys below a number and `count` more events; True: arrays have changed."""
        before = [store.data for store in (self._queue, *self._stores)]
        for store in (self._queue, *self._stores):
            store.expect(count)
        if keys > len(self._pattern.keys.start):
            self._pattern.make_room_for_keys(keys)
            self._fit_keys()
            return True
        return any(store.data is not old for store, old in zip((self._queue, *self._stores), before, strict=True))

    @property
    def room(self) -> int:
        """How many events there is room for in all."""
        queued = int(self._desk[BASE]) + self._queue.data.shape[1]
        return min(queued, *(store.data.shape[1] for store in self._stores))

    def lay_out(self) -> None:
        self._texts = self._interner.count
        pattern, rules = self._pattern, self._pattern.rules
        self._machine = pattern.make_machine()
        times, plays, following, preceding, taken = (store.data[0] for store in pattern.stores[:5])
        scratch = pattern.scratch
        answers, tested = pattern.answers()
        of_rules = [
            rules.instructions, rules.split_bits, rules.positions, rules.reads, rules.reads_bounds, rules.facts,
            rules.calls, rules.fact_reads, rules.fact_bounds, rules.aggregates, rules.names, self._rule_numbers,
        ]  # fmt: skip
        of_scratch = [array for field in scratch for array in (field if isinstance(field, Sums) else (field,))]
        here = [self._order, self._listed, self._begins, self._ends, self._stamps, self._places, self._queue.data[0]]
        self._held = [
            *of_rules, *self._machine, *pattern.cells, times, plays, following, preceding, taken, *pattern.keys,
            *of_scratch, *answers, tested, *self._output, *here, self._desk, *self._plain, self.picked,
            self.list_cells(),
        ]  # fmt: skip
        self._tables = lay_out(self._held)
        answers_here = [self._keys, self._plays, NO_LINKS, NO_LINKS]
        self._asked = self._tests.lay_out(self._local, answers_here)
        self._asked_back = NO_LINKS
        if len(self._tests_back):
            self._asked_back = self._tests_back.lay_out(pattern.cells, answers_here)

    # --- events ------------------------------------------------------------------------------------------
    def push(self, intake: Int64s, begin: int, count: int) -> int:
        """Take in events: NOTHING or SOMETHING came of it, or (below 1) why they were not taken in."""
        aggregates = self._aggregates
        outcome: int = push_rows(
            intake, self._asked, self._asked_back, self._tables, begin, count, self._all_bits, 1 if aggregates else 0
        )
        if outcome <= 0:
            return outcome
        count = int(self.state[COUNT])
        for store in self._stores:
            store.used += count
        self._queue.used += count
        if aggregates:
            self._pattern.count_rare(begin, count)
        if outcome == NEEDS_SCRATCH:
            self._pattern.make_room(int(self._desk[LONGEST]))
            if int(self._desk[TOTAL]) + 64 > len(self._output.ends):
                self._output = self._pattern.make_output(2 * int(self._desk[TOTAL]) + 64)
            self.lay_out()
            outcome = push_rows(intake, self._asked, self._asked_back, self._tables, begin, count, self._all_bits, 2)
        if outcome == STOPPED and self._desk[STATUS] != NO_ROOM:
            self._pattern.raise_status(int(self._desk[STATUS]))
        if outcome == TROUBLED:
            self._tests.check_trouble()
            self._tests_back.check_trouble()
            check_trouble(self._machine)
        return SOMETHING if outcome == STOPPED else outcome

    def take_found(self, horizon: int) -> Matches:
        """The matches that the last push found."""
        desk, output = self._desk, self._output
        found, events = int(desk[FOUND]), int(desk[FOUND_EVENTS])
        here = Matches(
            self._pattern.automaton.variables, output.events[:events].copy(), output.labels[:events].copy(),
            output.ends[:found].copy(), output.starts[:found].copy(), output.numbers[:found].copy(),
            output.fates[:found].copy(), output.hidden[:events].copy(),
        )  # fmt: skip
        if desk[STATUS] != NO_ROOM:
            return here
        at, concerned = int(desk[AT]), int(desk[CONCERNED])
        keys, begins, ends = (array[at:concerned].copy() for array in (self._listed, self._begins, self._ends))
        begins[0] = ends[0]  # its new events are among the pending ones
        rest = self._pattern.search_rest(keys, begins, ends, self._order, horizon)
        self._output = self._pattern.make_output(2 * len(output.ends))
        self.lay_out()
        return _join_matches(here, rest)


def _join_matches(first: Matches, second: Matches) -> Matches:
    def join(left: npt.NDArray[Any] | None, right: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        assert left is not None, "rows have fates and hidden events"
        assert right is not None, "rows have fates and hidden events"
        return np.concatenate([left, right])

    return Matches(
        first.variables, join(first.events, second.events), join(first.labels, second.labels),
        np.concatenate([first.ends, second.ends + len(first.events)]), join(first.starts, second.starts),
        join(first.numbers, second.numbers), join(first.fates, second.fates), join(first.hidden, second.hidden),
    )  # fmt: skip


def _number_rules(rules: Rules) -> Int64s:
    numbers = [
        rules.slots, rules.marks_hold_across_starts, rules.unmarked, rules.beginnings, rules.visible, rules.within,
        rules.skip_kind, rules.skip_members, rules.lookahead, rules.lookback, rules.budget, rules.emits_unmatched,
        rules.emits_timeouts, rules.framed, rules.seeks, rules.following,
    ]  # fmt: skip
    return np.array([int(number) for number in numbers], dtype=np.int64)
