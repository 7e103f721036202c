"""MATCH_RECOGNIZE, compiled: a depth-first search in the order of preferment, over arrays.

Events of a key are chained in order.  A search starts at the key's *start* and reads on; if it needs an event
that has not arrived, it is left undecided and taken up again from the start when there is more.  So what is
given out does not depend on how the events were cut into batches.  A search is decided early when the horizon
shows that every coming event would break WITHIN.

Conditions are split by what they look at.  Parts that look at the tested event, or at events before it in its
partition (PREV), are answered for whole batches at once (columnar.py); the others while a match is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.automaton import AT_START, RUN, SPLIT, Automaton, build_automaton, find_beginnings
from cepheid.kernel.columns import Events, Int64s, Interner
from cepheid.kernel.compiled.cell_store import CellStore, GrowingRows, append_times, set_bit
from cepheid.kernel.compiled.columnar import Values, find_true
from cepheid.kernel.compiled.evaluate import Cells, Machine, build_machine, check_trouble
from cepheid.kernel.compiled.host_answers import Answers, Evaluate, HostAnswers, count_words
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.pattern_aggregates import TABLE_WIDTH, count_rare, make_sums, tabulate_aggregates
from cepheid.kernel.compiled.positions import tabulate_positions
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.row_search import (
    ASKS_HOST,
    NEVER,
    NO_ROOM,
    OF_AGGREGATE,
    OF_CLASSIFIER,
    OF_HOST,
    OF_NUMBER,
    OF_PATH,
    PAST_LAST,
    SKIP_MISSING,
    SKIP_NOWHERE,
    TO_FIRST,
    TO_LAST,
    TO_NEXT,
    TOO_COSTLY,
    Keys,
    Output,
    Rules,
    Scratch,
    Store,
    search_keys,
)
from cepheid.kernel.compiled.tests_alone import Target, list_targets
from cepheid.kernel.condition_reach import is_history_free, list_labels, split_condition
from cepheid.kernel.expression import (
    Aggregate,
    Cell,
    Classifier,
    Expression,
    Fact,
    HostCall,
    MatchNumber,
    join_conjunction,
    list_cells,
    list_leaves,
)
from cepheid.kernel.matches import Matches, Paths
from cepheid.kernel.pattern import Frame, RowPatternProgram, check_frame, list_timed, show_pattern

STEP_BUDGET = 200_000_000
MOST_MARKS = 4096  # bits per event
UNMARKED_STEPS = 256  # a short search is done before marks pay
ASKED_AT_ONCE = 256  # of the general evaluator
MOST_PATH_ROWS = 32768  # rows of matches under way that it is asked about at once
MOST_QUESTIONS = 50_000  # about matches that begin at one event: a minute or two
_SKIP_KINDS = {"past_last": PAST_LAST, "to_next": TO_NEXT, "to_first": TO_FIRST, "to_last": TO_LAST}
_NEW_KEY = (-1, -1, -1, 0, NEVER, 0)  # of oldest, newest, start, numbers, deadlines, pending


class CompiledRowPattern:
    """The operator: feed it events in order, get the matches that can no longer change."""

    def __init__(
        self,
        program: RowPatternProgram,
        interner: Interner,
        lookback: int = 0,
        evaluate: Evaluate | None = None,
    ) -> None:
        """`evaluate`: the general evaluator, for what the kernel has no function for."""
        self._program = program
        self._interner = interner
        self.automaton = build_automaton(program.pattern)
        self._is_timed = bool(list_timed(program.pattern))
        writer = CodeWriter(interner)
        labels = list_labels(program, self.automaton)
        self._alone: list[Expression | None] = []
        self.tested: list[tuple[int, Expression]] = []  # label, and a part of its condition that looks at no match
        joint: list[list[Expression]] = []
        for label, condition in labels.items():
            alone, others = split_condition(condition, label, program)
            self._alone.append(join_conjunction(alone))
            self.tested += [(len(self._alone) - 1, part) for part in alone]
            for part in alone:
                if _looks_back(part):
                    for cell in list_cells(part):
                        writer.add_column(cell.column, cell.kind)
            joint.append(others)
            writer.add_condition(join_conjunction(others))
        self._columns = [dict(writer.integer_columns), dict(writer.float_columns)]
        self._labels = len(labels)
        self._writer = writer
        self._rules = _write_rules(program, self.automaton, writer, tuple(labels), joint, lookback)
        self._code = writer.finish()
        self._facts = len(writer.facts)
        self._calls = [fact for fact in writer.facts if isinstance(fact, HostCall)]
        self._answers = HostAnswers(self._calls, evaluate)
        self._tested = np.zeros(4, dtype=np.int64)
        self._questions = (-1, 0)  # the event that a match under way begins at, and what was asked about such
        self._cells = CellStore(writer)
        self._view: Cells = self._cells.view
        self._times = GrowingRows(1, np.int64)
        self._plays = GrowingRows(1, np.int64)
        self._following = GrowingRows(1, np.int64)
        self._preceding = GrowingRows(1, np.int64)
        self._taken = GrowingRows(1, np.uint8)
        self._keys = Keys(*(np.full(16, filler, dtype=np.int64) for filler in _NEW_KEY))
        self._rare = 0  # events whose values need rare records
        self._scratch = self._make_scratch(64)
        self._depth = 64  # of the stack of a search

    @property
    def seen(self) -> int:
        """How many events have been taken in; the next one gets this index."""
        return self._times.used

    def expect(self, count: int) -> None:
        """So many events will come: room for all of them is made at once."""
        self._cells.expect(count)
        for store in (self._times, self._plays, self._following, self._preceding, self._taken):
            store.expect(count)

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:
        """Take in events; give out what is decided.  No later event will be older than `horizon`."""
        fresh = self._append(events)
        state = self._keys
        if final:
            keys = np.nonzero(state.start >= 0)[0]
        elif self._program.waits_for_time:
            keys = np.union1d(fresh.keys, np.nonzero(state.deadlines < horizon)[0])
        else:
            keys = fresh.keys
        return self._search(keys, fresh, horizon, final)

    def replay(
        self, events: Events, past: npt.NDArray[np.bool_], taken: npt.NDArray[np.bool_], numbers: Int64s
    ) -> None:
        """Take in the events a snapshot kept, of keys that have none yet, without searching.

        past: bool[n], events before their key's start; taken: bool[n], events that are in a match already; numbers:
        int64[n], matches found so far in their keys.
        """
        base = self.seen
        fresh = self._append(events)
        if len(events):
            state = self._keys
            state.pending[fresh.keys] = fresh.ends - fresh.begins
            self._taken.view[0][base:] = taken
            _place_starts(events.keys, np.ascontiguousarray(past), base, state.start)
            state.numbers[events.keys] = numbers
            waiting = fresh.keys[state.start[fresh.keys] >= 0]
            if self._program.within is not None:
                state.deadlines[waiting] = self._times.data[0, state.start[waiting]] + self._program.within
            if self._is_timed:  # when the absences under way end, a search will tell
                state.deadlines[waiting] = np.iinfo(np.int64).min

    def live(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """bool[seen]: is the event still needed; does it lie before its key's start; is it in a match already."""
        needed = np.zeros(self.seen, dtype=np.bool_)
        past = np.zeros(self.seen, dtype=np.bool_)
        _mark_live(self._following.data[0], self._keys.oldest, self._keys.start, needed, past)
        return needed, past, self._taken.view[0] != 0

    def shift(self, events: Int64s, steps: int) -> Int64s:
        """The events `steps` further in their partitions (negative: earlier); -1 where there is none."""
        links = self._following.data[0] if steps > 0 else self._preceding.data[0]
        for _ in range(abs(steps)):
            events = np.where(events >= 0, links[events], -1)
        return events

    def numbers_of(self, keys: Int64s) -> Int64s:
        """Matches found so far, for some keys."""
        return self._keys.numbers[keys]

    # --- a few events at a time (row_lane.py) ----------------------------------------------------------------
    @property
    def has_lane(self) -> bool:
        """Are there no questions for the general evaluator, no frames that events tell, which are checked, and no
        absences that last, whose searches time does not decide in the order of their starts?"""
        frame = self._program.frame
        return not self._calls and (frame is None or frame.column is None) and not self._is_timed

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def label_count(self) -> int:
        return self._labels

    @property
    def writer(self) -> CodeWriter:
        """Knows which column is where among the cells."""
        return self._writer

    @property
    def stores(self) -> list[GrowingRows]:
        """All that grows with every event."""
        links = [self._plays, self._following, self._preceding, self._taken]
        return [self._times, *links, *self._cells.stores]

    def list_targets(self) -> list[Target]:
        return [Target("_time", self._times.data[0]), *list_targets(self._writer, self._cells.view)]

    def make_machine(self) -> Machine:
        return build_machine(self._code, self._interner.ranks(), self._facts)

    @property
    def uses_ranks(self) -> bool:
        return self._code.uses_ranks

    @property
    def cells(self) -> Cells:
        return self._cells.view

    @property
    def keys(self) -> Keys:
        return self._keys

    def make_room_for_keys(self, count: int) -> None:
        self._grow_keys(count)

    def make_room(self, longest: int) -> Scratch:
        """For the search of a key with so many events."""
        self._make_room(longest)
        return self._scratch

    @property
    def scratch(self) -> Scratch:
        return self._scratch

    def answers(self) -> tuple[Answers, Int64s]:
        return self._answers.answers(), self._tested

    def make_output(self, room: int) -> Output:
        return self._make_output(room)

    def count_rare(self, begin: int, count: int) -> None:
        """Remember which of the new events need rare records."""
        self._view = self._cells.view
        if len(self._rules.aggregates):
            self._rare += count_rare(self._rules.aggregates, self._view, begin, begin + count)

    def search_rest(self, keys: Int64s, begins: Int64s, ends: Int64s, order: Int64s, horizon: int) -> Matches:
        """Go on with keys whose new events are in their chains already."""
        self._view = self._cells.view
        self._depth *= 2
        return self._search(keys, FreshEvents(keys, order, begins, ends), horizon, final=False)

    def raise_status(self, status: int) -> None:
        _raise_status(status, self._program)

    def _append(self, events: Events) -> FreshEvents:
        base = self.seen
        check_frame(self._program.frame, events)
        self._view = self._cells.append(events)
        if len(self._rules.aggregates):
            self._rare += count_rare(self._rules.aggregates, self._view, base, base + len(events))
        append_times(self._times, events.times)
        for links in (self._following, self._preceding):
            links.extend_blank(len(events))[:] = -1
        following, preceding = self._following.data[0], self._preceding.data[0]
        self._taken.extend(len(events))
        plays = self._plays.extend(len(events))[0]
        if not len(events):
            return FreshEvents.none()
        self._grow_keys(int(events.keys.max()) + 1)
        fresh = group_by_key(events.keys, base, len(self._keys.start))
        _link_events(
            fresh.keys, fresh.order, fresh.begins, fresh.ends, following, preceding,
            self._keys.oldest, self._keys.newest, self._keys.start,
        )  # fmt: skip
        self._find_plays(events, base, plays)
        return fresh

    def _find_plays(self, events: Events, base: int, plays: Int64s) -> None:
        """plays: int64[n], all 0: bit v will say that the event alone fits label v."""
        known: dict[tuple[str, int], Values] = {}

        def read_earlier(cell: Cell) -> Values:
            """The column at an event before each one."""
            wanted = (cell.column, cell.position.shift)
            if wanted not in known:
                is_float = cell.kind == "float"
                row = self._columns[is_float][cell.column]
                values, valid = (self._view.floats, self._view.floats_valid) if is_float else self._view[:2]
                links = self._preceding.data[0]
                known[wanted] = _read_before(values[row], valid[row], links, base, len(events), -cell.position.shift)
            return known[wanted]

        for number, condition in enumerate(self._alone):
            if condition is None:
                plays |= np.int64(1) << number
            else:
                set_bit(plays, find_true(condition, events, self._interner, read_earlier), number)

    def _grow_keys(self, count: int) -> None:
        size = len(self._keys.start)
        if count > size:
            size = max(count, 2 * size)
            self._keys = Keys(
                *(
                    np.concatenate([values, np.full(size - len(values), filler, dtype=np.int64)])
                    for values, filler in zip(self._keys, _NEW_KEY, strict=True)
                )
            )

    def _search(self, keys: Int64s, fresh: FreshEvents, horizon: int, final: bool) -> Matches:
        begins, ends = fresh.of_keys(keys)
        lengths = self._keys.pending[keys] + ends - begins
        longest = int(lengths.max()) if len(keys) else 0
        self._make_room(longest)
        machine = build_machine(self._code, self._interner.ranks(), self._facts)
        store = Store(self._times.data[0], self._plays.data[0], self._following.data[0], self._taken.data[0])
        room = int(lengths.sum()) + 64
        found: list[tuple[Output, int, int]] = []
        while True:
            output = self._make_output(room)
            status, stopped, matches, events = search_keys(
                keys, fresh.order, begins, ends, self._rules, machine, self._view, store, self._keys, self._scratch,
                self._answers.answers(), self._tested, output, horizon, final,
            )  # fmt: skip
            found.append((output, matches, events))
            if status not in (NO_ROOM, ASKS_HOST):
                break
            keys, begins, ends = keys[stopped:], begins[stopped:].copy(), ends[stopped:]
            begins[0] = ends[0]
            if status == ASKS_HOST:
                self._ask_host()
            else:
                room *= 2
                self._depth *= 2
        check_trouble(machine)
        _raise_status(status, self._program)
        return _join_output(self.automaton.variables, found)

    def _make_room(self, longest: int) -> None:
        """For the search of a key with so many events."""
        size, sums = len(self._scratch.events), self._scratch.sums
        if longest + 1 > size:
            size = 2 * longest + 1
        if size > len(self._scratch.events) or self._count_rare_records(size) > len(sums.rare):
            self._scratch = self._make_scratch(size)

    def _count_rare_records(self, size: int) -> int:
        """The most that a search needs: one for each aggregate of each event that has such a value."""
        return min(self._rare, size) * len(self._rules.aggregates)

    def _make_scratch(self, size: int) -> Scratch:
        rules = self._rules
        marks = int((rules.split_bits >= 0).sum()) << rules.slots
        events, plays, times, labels, same, partial, tops = (np.zeros(size, dtype=np.int64) for _ in range(7))
        return Scratch(
            events,
            plays,
            times,
            labels,
            same,
            hidden=np.zeros(size, dtype=np.uint8),
            partial=partial,
            marks=np.zeros((size, -(-marks // 64)), dtype=np.uint64),
            sums=make_sums(size + 1, rules.aggregates, 2 * self._count_rare_records(size)),
            rare_tops=tops,
            saved=np.zeros(max(1, rules.slots), dtype=np.int64),
            where=np.full(len(rules.positions), -1, dtype=np.int64),
            last_of=np.full(max(1, len(rules.names)), -1, dtype=np.int64),
            arguments=np.zeros(2 + self._answers.width, dtype=np.int64),  # the call, its events, and which are null
        )

    def _ask_host(self) -> None:
        """Answer what the search wants to know, also for the next events of the key: it will want those soon."""
        number, events = self._answers.wanted()
        tested = [int(self._tested[0])]
        links = self._following.data[0]
        while len(tested) < ASKED_AT_ONCE and links[tested[-1]] >= 0:
            tested.append(int(links[tested[-1]]))
        paths = self._guess_paths(tested) if self._calls[number].facts else None
        if paths is not None:
            tested = tested[: len(paths.begins)]
        asked = []
        for event, (_, position) in zip(events, self._calls[number].arguments, strict=True):
            moved = self.shift(np.array(tested), position.shift)
            moves_along = position.pick == "last" and position.offset == 0 and moved[0] == event
            asked.append(moved if moves_along else np.full(len(tested), event))
        self._answers.learn(number, asked, paths)

    def _count_question(self, first: int) -> None:
        """What has exponentially many ways to match must not ask for ever."""
        event, count = self._questions
        self._questions = (first, count + 1 if event == first else 1)
        if self._questions[1] > MOST_QUESTIONS:
            _raise_status(TOO_COSTLY, self._program)

    def _guess_paths(self, tested: list[int]) -> Paths:
        """The match under way with the event under test, and what will be wanted next: from a first event on other
        starts, from a later one the same match with more events of the label."""
        begin, place, number = (int(word) for word in self._tested[1:])
        self._count_question(int(self._scratch.events[begin]))
        visible = np.nonzero(self._scratch.labels[begin : place + 1] < self._rules.visible)[0] + begin
        label = int(self._scratch.labels[place])
        if len(visible) == 1:
            count = len(tested)
            events, labels = np.array(tested), np.full(count, label)
            begins, ends = np.arange(count), np.arange(1, count + 1)
        else:
            count = max(1, min(len(tested), MOST_PATH_ROWS // len(visible)))
            events = np.concatenate([self._scratch.events[visible], np.array(tested[1:count], dtype=np.int64)])
            labels = np.concatenate([self._scratch.labels[visible], np.full(count - 1, label)])
            begins, ends = np.zeros(count, dtype=np.int64), np.arange(len(visible), len(visible) + count)
        numbers = np.full(count, number)
        matches = Matches(
            self.automaton.variables, events, labels, np.array([len(events)]) if len(visible) > 1 else ends,
            events[begins[:1]] if len(visible) > 1 else events, numbers[:1] if len(visible) > 1 else numbers,
        )  # fmt: skip
        return Paths(matches, begins, ends, numbers, self.shift)

    def _make_output(self, room: int) -> Output:
        events, labels, ends, starts, numbers = (np.empty(room, dtype=np.int64) for _ in range(5))
        hidden, fates = (np.empty(room, dtype=np.uint8) for _ in range(2))
        frames = np.empty((self._depth, 3 + self._rules.slots), dtype=np.int64)
        return Output(events, labels, hidden, ends, starts, numbers, fates, frames)


def _looks_back(condition: Expression) -> bool:
    return any(cell.position.shift for cell in list_cells(condition))


def _join_output(variables: tuple[str, ...], found: list[tuple[Output, int, int]]) -> Matches:
    """Matches out of one or more outputs."""
    ends, so_far = [], 0
    for output, matches, events in found:
        ends.append(output.ends[:matches] + so_far)
        so_far += events

    def join(name: str, of_events: bool) -> npt.NDArray[Any]:
        parts = [getattr(output, name)[: events if of_events else matches] for output, matches, events in found]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    return Matches(
        variables,
        join("events", of_events=True),
        join("labels", of_events=True),
        ends[0] if len(ends) == 1 else np.concatenate(ends),
        join("starts", of_events=False),
        join("numbers", of_events=False),
        join("fates", of_events=False),
        join("hidden", of_events=True),
    )


@dataclass(frozen=True, slots=True)
class FreshEvents:
    """New events by key: order[begins[n]:ends[n]] are those of keys[n]; keys ascend."""

    keys: Int64s
    order: Int64s
    begins: Int64s
    ends: Int64s

    @staticmethod
    def none() -> FreshEvents:
        empty = np.empty(0, dtype=np.int64)
        return FreshEvents(empty, empty, empty, empty)

    def of_keys(self, keys: Int64s) -> tuple[Int64s, Int64s]:
        """Begins and ends for other keys, among which these are."""
        if len(keys) == len(self.keys):
            return self.begins, self.ends
        begins = np.zeros(len(keys), dtype=np.int64)
        ends = np.zeros(len(keys), dtype=np.int64)
        places = np.searchsorted(keys, self.keys)
        begins[places], ends[places] = self.begins, self.ends
        return begins, ends


def group_by_key(keys: Int64s, base: int, key_count: int) -> FreshEvents:
    """Events by key, in order; their indices count from `base`."""
    if 4 * len(keys) > key_count:
        starts, order = _sort_by_key(keys, base, key_count)
        found = np.nonzero(starts[1:] > starts[:-1])[0]
        return FreshEvents(found, order, starts[found], starts[found + 1])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    changes = np.concatenate([[0], np.nonzero(ordered[1:] != ordered[:-1])[0] + 1, [len(keys)]])
    return FreshEvents(ordered[changes[:-1]], order + base, changes[:-1], changes[1:])


@njit()
def _sort_by_key(keys: Int64s, base: int, key_count: int) -> Any:
    starts = np.zeros(key_count + 1, dtype=np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(key_count):
        starts[key + 1] += starts[key]
    places = starts[:-1].copy()
    order = np.empty(keys.shape[0], dtype=np.int64)
    for i in range(keys.shape[0]):
        order[places[keys[i]]] = base + i
        places[keys[i]] += 1
    return starts, order


def _write_rules(
    program: RowPatternProgram,
    automaton: Automaton,
    writer: CodeWriter,
    labels: tuple[str, ...],
    joint: list[list[Expression]],
    lookback: int,
) -> Rules:
    parts = [[leaf for part in others for leaf in list_leaves(part)] for others in joint]
    reads = [sorted({writer.positions[leaf.position] for leaf in leaves if isinstance(leaf, Cell)}) for leaves in parts]
    facts = [sorted({writer.facts[leaf] for leaf in leaves if not isinstance(leaf, Cell)}) for leaves in parts]
    aggregates = [fact for fact in writer.facts if isinstance(fact, Aggregate)]
    history_free = all(
        is_history_free(part, label) for label, others in zip(labels, joint, strict=True) for part in others
    )
    beginnings = find_beginnings(automaton)
    numbers = {variable: number for number, variable in enumerate(labels)}
    # one event before a search shows that it is not at the start of its partition
    anchored = any(row[0] == AT_START for row in automaton.instructions)
    shifts = [
        leaf.position.shift
        for _, condition in program.conditions
        for leaf in list_leaves(condition)
        if isinstance(leaf, Cell | Classifier)
    ]
    shifts += [
        position.shift
        for _, condition in program.conditions
        for leaf in list_leaves(condition)
        if isinstance(leaf, HostCall)
        for _, position in leaf.arguments
    ]
    frame = program.frame
    return Rules(
        instructions=np.ascontiguousarray(automaton.instructions.T),
        slots=automaton.slots,
        split_bits=_number_marks(automaton, history_free),
        marks_hold_across_starts=program.within is None and frame is None,
        unmarked=UNMARKED_STEPS,
        beginnings=-1 if beginnings is None else sum(1 << label for label in beginnings),
        visible=len(automaton.variables),
        positions=tabulate_positions(list(writer.positions), labels),
        reads=_flatten(reads),
        reads_bounds=np.cumsum([0, *map(len, reads)]).astype(np.int32),
        facts=_tabulate_facts(list(writer.facts), aggregates, writer),
        calls=_tabulate_calls(list(writer.facts), writer),
        fact_reads=_flatten(facts),
        fact_bounds=np.cumsum([0, *map(len, facts)]).astype(np.int32),
        aggregates=tabulate_aggregates(aggregates, labels, writer).reshape(-1, TABLE_WIDTH),
        names=np.array([writer.interner.number_of(label) for label in labels] or [0], dtype=np.int64),
        within=NEVER if program.within is None else program.within,
        skip_kind=_SKIP_KINDS[program.skip.kind],
        skip_members=sum(1 << numbers[variable] for variable in program.skip.variables),
        lookahead=program.lookahead,
        lookback=max([lookback, int(anchored), *(-shift for shift in shifts)]),
        budget=STEP_BUDGET,
        emits_unmatched=program.unmatched,
        emits_timeouts=program.timeouts,
        framed=frame is not None,
        seeks=frame is not None and frame.seek,
        following=_tabulate_following(frame, writer),
    )


def _tabulate_following(frame: Frame | None, writer: CodeWriter) -> int:
    if frame is not None and frame.column is not None:
        return -1 - writer.add_column(frame.column, "int")
    return NEVER if frame is None or frame.following is None else frame.following


def _flatten(lists: list[list[int]]) -> npt.NDArray[np.int32]:
    return np.array([value for row in lists for value in row] or [0], dtype=np.int32)


def _number_marks(automaton: Automaton, history_free: bool) -> Int64s:
    """Where the marks of each split begin: one for each way in which loops under way have or have not moved on."""
    bits = np.full(len(automaton.instructions), -1, dtype=np.int64)
    splits = np.nonzero(np.isin(automaton.instructions[:, 0], (SPLIT, RUN)))[0]
    if history_free and (len(splits) << automaton.slots) <= MOST_MARKS:
        bits[splits] = np.arange(len(splits)) << automaton.slots
    return bits


def _tabulate_facts(facts: list[Fact], aggregates: list[Aggregate], writer: CodeWriter) -> Int64s:
    table = np.zeros((max(1, len(facts)), 2), dtype=np.int64)
    for row, fact in enumerate(facts):
        match fact:
            case Aggregate():
                table[row] = (OF_AGGREGATE, aggregates.index(fact))
            case Classifier(position=position):
                table[row] = (OF_CLASSIFIER, writer.positions[position])
            case MatchNumber():
                table[row] = (OF_NUMBER, 0)
            case HostCall():
                calls = [other for other in facts if isinstance(other, HostCall)]
                table[row] = (OF_HOST, calls.index(fact))
    return table


def _tabulate_calls(facts: list[Fact], writer: CodeWriter) -> Int64s:
    calls = [fact for fact in facts if isinstance(fact, HostCall)]
    table = np.full((max(1, len(calls)), max([1, *map(count_words, calls)])), -1, dtype=np.int64)
    for row, call in enumerate(calls):
        table[row, : len(call.arguments)] = [writer.positions[position] for _, position in call.arguments]
        if call.facts:
            table[row, len(call.arguments)] = OF_PATH
    return table


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
            f"PATTERN ({show_pattern(program.pattern)}) took more than {STEP_BUDGET:,} steps in one partition",
            hint="bound its repetitions, add WITHIN, or make conditions exclude one another",
        )


@njit()
def _link_events(
    keys: Int64s, order: Int64s, begins: Int64s, ends: Int64s, following: Int64s, preceding: Int64s,
    oldest: Int64s, newest: Int64s, start: Int64s,
) -> None:  # fmt: skip
    """Chain new events behind those of their keys."""
    for n in range(keys.shape[0]):
        key = keys[n]
        last = newest[key] if oldest[key] >= 0 else -1
        for i in range(begins[n], ends[n]):
            event = order[i]
            if last >= 0:
                following[last] = event
                preceding[event] = last
            last = event
        first = order[begins[n]]
        if oldest[key] < 0:
            oldest[key] = first
        if start[key] < 0:
            start[key] = first
        newest[key] = last


@njit()
def _read_before(values: Any, valid: Any, preceding: Int64s, base: int, count: int, steps: int) -> Any:
    """The values of a column so many events before each new one, and where there are any."""
    found = np.zeros(count, dtype=values.dtype)
    is_known = np.zeros(count, dtype=np.bool_)
    for i in range(count):
        event = base + i
        for _ in range(steps):
            event = preceding[event]
            if event < 0:
                break
        if event >= 0 and valid[event]:
            found[i] = values[event]
            is_known[i] = True
    return found, is_known


@njit()
def _place_starts(keys: Int64s, past: Any, base: int, start: Int64s) -> None:
    """base: the index of the first of these events."""
    for event in range(keys.shape[0]):
        start[keys[event]] = -1
    for event in range(keys.shape[0]):
        if not past[event] and start[keys[event]] < 0:
            start[keys[event]] = base + event


@njit()
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
