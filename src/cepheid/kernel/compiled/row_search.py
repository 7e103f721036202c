"""The depth-first search of a row pattern, in the order of preferment, over the events of each key.

    start ─▶ instructions (automaton.py) ─▶ the most preferred match, or none, or undecided until more events come
       ▲                                                     │
       └────────────── where the skip clause says ◀──────────┘

When conditions look only at the tested event and its neighbours, what fails once at (instruction, event) fails
always: such places are marked, and `(a* b*)* c` costs time in proportion to instructions times events instead
of growing exponentially.  Otherwise a budget of steps stops a search that runs wild.

What runs for every event or start is put in where it is called: the records of a search are some 300 numbers, which to
hand over takes longer than a short search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.kernel.automaton import (
    ACCEPT,
    AT_END,
    AT_START,
    CHECK,
    CONSUME,
    FIRST_TEST,
    JUMP,
    PASS,
    RUN,
    SAVE,
    SPAN,
    SPLIT,
    UNTIL,
)
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.evaluate import Cells, Machine, holds
from cepheid.kernel.compiled.host_answers import Answers, hash_row, look_up
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline
from cepheid.kernel.compiled.pattern_aggregates import (
    COLUMN,
    DISTINCT,
    KIND,
    MEMBERS,
    Sums,
    add_event,
    clear_sums,
    copy_sums,
    is_equal,
    is_known,
    read_aggregate,
)
from cepheid.kernel.compiled.positions import MISSING, UNKNOWN, find_logical
from cepheid.kernel.matches import TIMED_OUT, UNMATCHED, WHOLE

NEVER = np.iinfo(np.int64).max
MATCHED, FAILED, UNDECIDED, SKIP_MISSING, SKIP_NOWHERE, TOO_COSTLY, NO_ROOM, ASKS_HOST = range(8)
PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)
OF_AGGREGATE, OF_CLASSIFIER, OF_NUMBER, OF_HOST = range(4)
OF_PATH = -2  # an argument of a call: the rows of the match so far and its number, as two words
NO, YES, NOT_YET, OVER, TRIED, ASKS = range(6)
# The budget is of time: what takes longer counts for more steps.
STEPS_OF_CONDITION, STEPS_OF_AGGREGATE, STEPS_PER_EVENT = 20, 60, 5000


class Rules(NamedTuple):
    """The program of a row pattern as numbers; labels are variables, then absent variables."""

    instructions: Any  # int64[3, n]
    slots: int
    split_bits: Any  # int64[n]: where a split's marks begin, -1 for others and where marks are of no use
    marks_hold_across_starts: bool
    unmarked: int  # how many steps a search takes before it marks
    beginnings: int  # bits of the labels a match can begin with, -1 if it can begin without an event
    visible: int  # how many labels are variables
    positions: Any  # int64[k, 5]
    reads: Any  # int32[total]: positions that the condition of label v reads, at reads_bounds[v]:reads_bounds[v + 1]
    reads_bounds: Any
    facts: Any  # int64[f, 2]: what kind of fact, and which aggregate, position or call
    calls: Any  # int64[c, words]: positions of the arguments of calls of the general evaluator, -1 if none, OF_PATH
    fact_reads: Any  # int32[total]: facts that the condition of label v reads, likewise
    fact_bounds: Any
    aggregates: Any  # int64[k, 9]
    names: Int64s  # [labels] their names as interned strings
    within: int  # NEVER if there is none
    skip_kind: int
    skip_members: int
    lookahead: int
    lookback: int
    budget: int
    emits_unmatched: bool
    emits_timeouts: bool
    framed: bool
    seeks: bool
    following: int  # events of a frame behind its first; NEVER: all; -1 - c: as column c of the integers says


class Store(NamedTuple):
    """What is known of each event, by index."""

    times: Int64s
    plays: Int64s  # bit v: the event alone fits label v
    links: Int64s  # next event of the same key, -1 if none yet
    taken: Any  # uint8: is it in a match already


class Keys(NamedTuple):
    """What is known of each key."""

    oldest: Int64s  # first event still needed, -1: none
    newest: Int64s
    start: Int64s  # where the search starts, -1: at the next event to come
    numbers: Int64s  # matches found so far
    deadlines: Int64s  # when time alone decides a pending search, WITHIN or an absence that lasts
    pending: Int64s  # how many events are still needed


class Scratch(NamedTuple):
    """Room for the events of one key and for the search: as many as the longest key has, and one more."""

    events: Int64s
    plays: Int64s
    times: Int64s
    labels: Int64s
    same: Int64s  # where the last event of the same label was before this one
    hidden: Any  # uint8
    partial: Int64s  # labels of the first way that time cut off, doubled, and 1 more where hidden
    marks: Any  # uint64[n, words]
    sums: Sums  # states of the aggregates before each event: its place is the way of matching
    rare_tops: Int64s  # how many rare records the states up to this place have
    saved: Int64s  # [slots] where loops under way began
    where: Int64s  # [positions] the event that each position stands for
    last_of: Int64s  # [labels] the place of the last event of each, -1 if none
    arguments: Int64s  # of a call of the general evaluator


class Bounds(NamedTuple):
    """What a search can see: places from `lowest` to before `highest`, of which `available` are there.

    begin: its first place; began: the time there; number: that of the match; final: no more events will come.
    """

    begin: int
    began: int
    lowest: int
    highest: int
    available: int
    horizon: int
    number: int
    final: bool


class Output(NamedTuple):
    """Room for matches, and for the stack of the search: whoever calls gives more when it is used up.

    (An array that is replaced inside of a loop costs the counting of references at each turn.)
    """

    events: Int64s
    labels: Int64s
    hidden: Any  # uint8
    ends: Int64s
    starts: Int64s
    numbers: Int64s
    fates: Any  # uint8
    frames: Any  # int64[m, 3 + slots]: instruction, place, lowest place to give back to, guards of loops


@njit_no_refcount_inline
def _locate(positions: Any, row: int, scratch: Scratch, bounds: Bounds, tested: int) -> int:
    """The place a position stands for while place `tested` is under test; MISSING or UNKNOWN if there is none."""
    single = positions[row, 1]
    if single >= 0 and positions[row, 2] == 0 and positions[row, 3] == 0:
        index = scratch.last_of[single]
    else:
        index = find_logical(positions, row, scratch.labels, bounds.begin, tested + 1)
    if index < 0:
        return MISSING
    index += positions[row, 4]
    if index < bounds.lowest or index >= bounds.highest:
        return MISSING
    if index >= bounds.available:
        return MISSING if bounds.final else UNKNOWN
    return index


# --- aggregates ------------------------------------------------------------------------------------------


@njit_no_refcount_inline
def _add_to_sums(
    label: int, at: int, begin: int, aggregates: Any, scratch: Scratch, cells: Cells, ranks: Int64s
) -> int:
    """The states of the aggregates behind place `at`, which has the label; gives the steps it took."""
    count = aggregates.shape[0]
    steps = STEPS_OF_AGGREGATE * count
    tops = scratch.rare_tops
    tops[at + 1] = tops[at]
    for k in range(count):
        row = (at + 1) * count + k
        copy_sums(scratch.sums, row - count, row)
        members = aggregates[k, MEMBERS]
        if members != 0 and not (members >> label) & 1:
            continue
        if aggregates[k, DISTINCT]:
            steps += at - begin
            if not _is_new(aggregates, k, at, begin, scratch, cells):
                continue
        if add_event(aggregates, k, row, scratch.events[at], scratch.sums, tops[at + 1], cells, ranks):
            tops[at + 1] += 1
    return steps


@njit_no_refcount
def _is_new(aggregates: Any, k: int, at: int, begin: int, scratch: Scratch, cells: Cells) -> bool:
    """DISTINCT: has no event before the same value?"""
    members, column, kind = aggregates[k, MEMBERS], aggregates[k, COLUMN], aggregates[k, KIND]
    event = scratch.events[at]
    for earlier in range(begin, at):
        other = scratch.events[earlier]
        if (
            (members == 0 or (members >> scratch.labels[earlier]) & 1)
            and is_known(column, kind, other, cells)
            and is_equal(column, kind, other, event, cells)
        ):
            return False
    return True


@njit_no_refcount_inline
def _carry_sums(scratch: Scratch, count: int, source: int, target: int) -> None:
    """The states before one place are those before another."""
    scratch.rare_tops[target] = scratch.rare_tops[source]
    for k in range(count):
        copy_sums(scratch.sums, source * count + k, target * count + k)


# --- the event under test --------------------------------------------------------------------------------


@njit_no_refcount_inline
def _read_facts(
    label: int, at: int, bounds: Bounds, rules: Rules, machine: Machine, cells: Cells, scratch: Scratch,
    answers: Answers,
) -> int:  # fmt: skip
    """Fill in the facts that the condition of the label reads.

    NOT_YET if one needs an event that may still come, ASKS if one needs an answer of the general evaluator.
    """
    for read in range(rules.fact_bounds[label], rules.fact_bounds[label + 1]):
        slot = rules.fact_reads[read]
        kind, operand = rules.facts[slot, 0], rules.facts[slot, 1]
        if kind == OF_NUMBER:
            machine.fact_integers[slot] = bounds.number
            machine.fact_valid[slot] = 1
        elif kind == OF_AGGREGATE:
            row = (at + 1) * rules.aggregates.shape[0] + operand
            read_aggregate(rules.aggregates, operand, row, scratch.sums, cells, slot, machine)
        elif kind == OF_HOST:
            answer = _ask_host(operand, slot, at, bounds, rules, machine, scratch, answers)
            if answer != YES:
                return answer
        else:
            place = _locate(rules.positions, operand, scratch, bounds, at)
            if place == UNKNOWN:
                return NOT_YET
            in_match = bounds.begin <= place <= at and (scratch.labels[place] < rules.visible or place == at)
            machine.fact_valid[slot] = 1 if in_match else 0
            if in_match:
                machine.fact_integers[slot] = rules.names[scratch.labels[place]]
    return YES


@njit_no_refcount
def _hash_path(at: int, bounds: Bounds, visible: int, scratch: Scratch) -> tuple[int, int]:
    """Two words for the events of the match so far with their labels, and for its number."""
    low, high = bounds.number, ~bounds.number
    for place in range(bounds.begin, at + 1):
        if scratch.labels[place] < visible:
            low, high = hash_row(low, high, scratch.events[place], scratch.labels[place])
    return low, high


@njit_no_refcount
def _ask_host(
    call: int, slot: int, at: int, bounds: Bounds, rules: Rules, machine: Machine, scratch: Scratch, answers: Answers
) -> int:
    """What the general evaluator said about these events, if it was asked."""
    row = scratch.arguments
    for place in range(row.shape[0]):
        row[place] = 0
    row[0] = call
    for argument in range(rules.calls.shape[1]):
        if rules.calls[call, argument] == OF_PATH:
            row[1 + argument], row[2 + argument] = _hash_path(at, bounds, rules.visible, scratch)
            break
        if rules.calls[call, argument] < 0:
            break
        place = _locate(rules.positions, rules.calls[call, argument], scratch, bounds, at)
        if place == UNKNOWN:
            return NOT_YET
        row[1 + argument] = scratch.events[place] if place >= 0 else MISSING
    known = look_up(answers, call, row, slot, machine.fact_integers, machine.fact_floats, machine.fact_valid)
    return YES if known else ASKS


@njit_no_refcount_inline
def _holds_here(
    label: int, place: int, bounds: Bounds, rules: Rules, machine: Machine, cells: Cells, scratch: Scratch,
    answers: Answers,
) -> int:  # fmt: skip
    """Does the condition of the label hold for the event at a place, which is bound to it?"""
    for read in range(rules.reads_bounds[label], rules.reads_bounds[label + 1]):
        row = rules.reads[read]
        found = _locate(rules.positions, row, scratch, bounds, place)
        if found == UNKNOWN:
            return NOT_YET
        scratch.where[row] = scratch.events[found] if found >= 0 else MISSING
    if rules.fact_bounds[label] < rules.fact_bounds[label + 1]:
        answer = _read_facts(label, place, bounds, rules, machine, cells, scratch, answers)
        if answer != YES:
            return answer
    return YES if holds(label, scratch.where, machine, cells) else NO


@njit_no_refcount_inline
def _bind_event(
    label: int, place: int, at: int, bounds: Bounds, rules: Rules, machine: Machine, cells: Cells, scratch: Scratch
) -> int:
    """The event at a place has the label from now on; gives the steps it took."""
    scratch.labels[place] = label
    scratch.same[place] = scratch.last_of[label]
    scratch.last_of[label] = place
    count = rules.aggregates.shape[0]
    if count == 0:
        return 0
    if place > at:
        _carry_sums(scratch, count, at, place)
    return _add_to_sums(label, place, bounds.begin, rules.aggregates, scratch, cells, machine.ranks)


@njit_no_refcount_inline
def _judge_unseen(place: int, began: int, bounds: Bounds, lasting: int) -> int:
    """There is no event to test: NOT_YET if one may still come in time, `lasting` from `began` on, else OVER."""
    waits = bounds.available <= place < bounds.highest and not bounds.final
    return NOT_YET if waits and (lasting == NEVER or bounds.horizon - began <= lasting) else OVER


# --- ways of matching ------------------------------------------------------------------------------------


@njit_no_refcount_inline
def _mark(marks: Any, at: int, bit: int, slots: int, saved: Int64s) -> bool:
    """Was it tried before to go on from here?  From now on it was."""
    for slot in range(slots):
        if at > saved[slot]:
            bit += 1 << slot
    mark = np.uint64(1) << np.uint64(bit & 63)
    if marks[at, bit >> 6] & mark:
        return True
    marks[at, bit >> 6] |= mark
    return False


@njit_no_refcount_inline
def _push_frame(frames: Any, depth: int, pc: int, at: int, lowest: int, slots: int, saved: Int64s) -> None:
    """Another way to go on: from instruction `pc` at a place, or at any before it down to `lowest`."""
    frames[depth, 0] = pc
    frames[depth, 1] = at
    frames[depth, 2] = lowest
    for slot in range(slots):
        frames[depth, 3 + slot] = saved[slot]


@njit_no_refcount_inline
def _pop_frame(frames: Any, depth: int, at: int, slots: int, scratch: Scratch) -> tuple[int, int, int]:
    """Take back events as far as the last frame says; gives instruction, place and the frames that are left."""
    pc, back = frames[depth - 1, 0], frames[depth - 1, 1]
    for slot in range(slots):
        scratch.saved[slot] = frames[depth - 1, 3 + slot]
    if back > frames[depth - 1, 2]:
        frames[depth - 1, 1] = back - 1
    else:
        depth -= 1
    while at > back:
        at -= 1
        scratch.last_of[scratch.labels[at]] = scratch.same[at]
    return pc, back, depth


@njit_no_refcount_inline
def _keep_partial(begin: int, at: int, visible: int, scratch: Scratch) -> int:
    """Remember the way that time cut off; gives where it ends, -1 if it has no event to show."""
    cut = -1
    for place in range(begin, at):
        scratch.partial[place] = 2 * scratch.labels[place] + scratch.hidden[place]
        if scratch.labels[place] < visible:
            cut = at
    return cut


@njit_no_refcount_inline
def _begin_search(begin: int, rules: Rules, scratch: Scratch) -> bool:
    """False if no match can begin there."""
    if rules.beginnings >= 0 and (scratch.plays[begin] & rules.beginnings) == 0:
        return False
    for label in range(scratch.last_of.shape[0]):
        scratch.last_of[label] = -1
    for slot in range(rules.slots):
        scratch.saved[slot] = -1
    count = rules.aggregates.shape[0]
    if count:
        scratch.rare_tops[begin] = 0
        for k in range(count):
            clear_sums(scratch.sums, begin * count + k)
    return True


@njit_no_refcount_inline
def _search(
    bounds: Bounds, rules: Rules, machine: Machine, cells: Cells, scratch: Scratch, answers: Answers, tested: Int64s,
    frames: Any, steps: int, budget: int,
) -> tuple[int, int, int, int, int, int]:  # fmt: skip
    """The most preferred match from bounds.begin on.

    Gives the outcome, where it ended, where time cut it off (-1: nowhere), the furthest place it came to, the steps
    taken so far, and, if it is undecided, the end of the absence it waits for (NEVER: it waits for none).
    """
    begin, within, slots = bounds.begin, rules.within, rules.slots
    labels, hidden, saved = scratch.labels, scratch.hidden, scratch.saved
    has_sums = rules.aggregates.shape[0] > 0
    pc, at, depth, furthest, cut = 0, begin, 0, begin, -1
    run_from, looked = -1, -1  # where a run under way began; the next event that an UNTIL under way looks at
    span_from, began = -1, bounds.began  # where a SPAN under way began; the time of the first event of the match
    unmarked = steps + rules.unmarked
    if not _begin_search(begin, rules, scratch):
        return FAILED, at, cut, furthest, steps, NEVER
    while True:
        steps += 1
        if steps > budget:
            return TOO_COSTLY, at, cut, furthest, steps, NEVER
        operation = rules.instructions[0, pc]
        ahead = True
        if operation >= FIRST_TEST:
            # does the event at a place fit a label?
            label = rules.instructions[1, pc]
            if operation == RUN and run_from < 0:
                run_from = at
            place = max(looked, at) if operation == UNTIL else at
            answer = NO
            since, lasting = began, within
            if operation == SPAN:
                if span_from < 0:
                    span_from = at
                since, lasting = scratch.times[max(span_from - 1, begin)], rules.instructions[2, pc]
            is_open = place < bounds.available and place < bounds.highest
            is_open = is_open and (lasting == NEVER or scratch.times[place] - since <= lasting)
            may_mark = operation == RUN and rules.split_bits[pc] >= 0 and steps > unmarked
            if may_mark and _mark(scratch.marks, place, rules.split_bits[pc], slots, saved):
                is_open, answer = False, TRIED
            if is_open and (scratch.plays[place] >> label) & 1:
                answer = YES
                steps += _bind_event(label, place, at, bounds, rules, machine, cells, scratch)
                if machine.bounds[label] < machine.bounds[label + 1]:
                    steps += STEPS_OF_CONDITION
                    answer = _holds_here(label, place, bounds, rules, machine, cells, scratch, answers)
                if answer != YES or operation > RUN:
                    scratch.last_of[label] = scratch.same[place]
            elif not is_open and answer == NO:
                answer = _judge_unseen(place, since, bounds, lasting)
            if answer == NOT_YET:
                waits = operation == SPAN and lasting < NEVER - max(since, 0)
                return UNDECIDED, at, cut, furthest, steps, since + lasting if waits else NEVER
            if answer == ASKS:
                tested[0], tested[1], tested[2] = scratch.events[place], begin, place
                tested[3] = bounds.number
                return ASKS_HOST, at, cut, furthest, steps, NEVER
            if answer == OVER and rules.emits_timeouts and cut < 0 and operation < UNTIL:
                cut = _keep_partial(begin, at, rules.visible, scratch)
            # what follows from it
            if operation == CONSUME:
                ahead = answer == YES
                if ahead:
                    hidden[at] = rules.instructions[2, pc]
            elif operation == RUN:
                if answer == YES:
                    hidden[at] = rules.instructions[2, pc]
                    at += 1
                    continue
                furthest = max(furthest, at)
                if at > run_from:
                    if depth == frames.shape[0]:
                        return NO_ROOM, at, cut, furthest, steps, NEVER
                    _push_frame(frames, depth, pc + 1, at - 1, run_from, slots, saved)
                    depth += 1
                run_from = -1
                pc += 1
                if answer != TRIED:
                    continue
                ahead = False  # from here on all was tried before: nothing is left but to give back
            elif operation == SPAN and answer == OVER:
                if span_from == begin:  # WITHIN counts from the first event behind it
                    began = scratch.times[at] if at < bounds.available else bounds.horizon
                span_from = -1
                pc += 1
                continue
            elif operation in (PASS, SPAN):
                ahead = answer == NO
                if ahead:
                    labels[at] = label
                    scratch.same[at] = scratch.last_of[label]
                    scratch.last_of[label] = at
                    if has_sums:
                        _carry_sums(scratch, rules.aggregates.shape[0], at, at + 1)
            else:
                if answer == NO:
                    labels[place] = rules.visible  # it must not look as if it belonged to the match
                    looked = place + 1
                    continue
                looked = -1
                pc += 1
                ahead = answer == OVER
            if ahead and operation != UNTIL:
                at += 1
                pc += operation != SPAN
                furthest = max(furthest, at)
            elif operation == SPAN:
                span_from = -1
        elif operation == SPLIT:
            if rules.split_bits[pc] >= 0 and steps > unmarked:
                ahead = not _mark(scratch.marks, at, rules.split_bits[pc], slots, saved)
            if ahead:
                if depth == frames.shape[0]:
                    return NO_ROOM, at, cut, furthest, steps, NEVER
                _push_frame(frames, depth, rules.instructions[2, pc], at, at, slots, saved)
                depth += 1
                pc = rules.instructions[1, pc]
        elif operation == JUMP:
            pc = rules.instructions[1, pc]
        elif operation == SAVE:
            saved[rules.instructions[1, pc]] = at
            pc += 1
        elif operation == CHECK:
            pc = rules.instructions[2, pc] if saved[rules.instructions[1, pc]] == at else pc + 1
        elif operation == AT_START:
            ahead = at == 0  # if anything came before, one event of it is kept
            pc += 1
        elif operation == AT_END:
            if at >= bounds.available and not bounds.final:
                return UNDECIDED, at, cut, furthest, steps, NEVER
            ahead = at >= bounds.available
            pc += 1
        elif operation == ACCEPT:
            while at > begin and labels[at - 1] >= rules.visible:
                at -= 1  # what was passed over behind the last event is not of the match
            enough = bounds.final or at - 1 + rules.lookahead < bounds.available
            return MATCHED if enough else UNDECIDED, at, cut, furthest, steps, NEVER
        if not ahead:
            if depth == 0:
                return FAILED, at, cut, furthest, steps, NEVER
            pc, at, depth = _pop_frame(frames, depth, at, slots, scratch)


# --- the events of a key, and what is reported of them ---------------------------------------------------


@njit_no_refcount_inline
def _put_event(scratch: Scratch, store: Store, at: int, event: int) -> None:
    scratch.events[at] = event
    scratch.plays[at] = store.plays[event]
    scratch.times[at] = store.times[event]


@njit_no_refcount
def _gather_events(
    key: int, order: Int64s, begin: int, end: int, store: Store, state: Keys, scratch: Scratch
) -> tuple[int, int]:
    """The events of a key that are still needed, oldest first, then the new ones; gives how many, and the start."""
    available, start = 0, -1
    event = state.oldest[key]
    for _ in range(state.pending[key]):
        if event == state.start[key]:
            start = available
        _put_event(scratch, store, available, event)
        available += 1
        event = store.links[event]
    for i in range(begin, end):
        if order[i] == state.start[key]:
            start = available
        _put_event(scratch, store, available, order[i])
        available += 1
    return available, start if start >= 0 else available


@njit_no_refcount
def _clear_marks(marks: Any, begin: int, end: int) -> None:
    for place in range(begin, end):
        for word in range(marks.shape[1]):
            marks[place, word] = 0


@njit_no_refcount_inline
def _find_first(begin: int, until: int, visible: int, labels: Int64s) -> int:
    """The place of the first event of a match; where its search began, if it has none."""
    first = begin
    while first < until and labels[first] >= visible:
        first += 1
    return first if first < until else begin


@njit_no_refcount_inline
def _find_next_start(start: int, begin: int, at: int, rules: Rules, labels: Int64s) -> int:
    """Where the skip clause goes on after a match; below zero: minus the status that says why it cannot."""
    if at == begin or rules.skip_kind == TO_NEXT:
        return start + 1
    if rules.skip_kind == PAST_LAST:
        return at
    target, first = -1, _find_first(begin, at, rules.visible, labels)
    for place in range(begin, at):
        if (rules.skip_members >> labels[place]) & 1:
            target = place
            if rules.skip_kind == TO_FIRST:
                break
    if target <= first:
        return -SKIP_MISSING if target < 0 else -SKIP_NOWHERE
    return target


@njit_no_refcount_inline
def _write_match(
    start: int, begin: int, until: int, number: int, fate: int, count: int, total: int, rules: Rules,
    scratch: Scratch, taken: Any, output: Output,
) -> int:  # fmt: skip
    """One match, whole or partial or (in a frame) none; gives how many events of matches there are now."""
    if fate == TIMED_OUT:
        for place in range(begin, until):
            scratch.labels[place], scratch.hidden[place] = scratch.partial[place] >> 1, scratch.partial[place] & 1
    for place in range(begin, until):
        if scratch.labels[place] < rules.visible:
            output.events[total] = scratch.events[place]
            output.labels[total] = scratch.labels[place]
            output.hidden[total] = scratch.hidden[place]
            total += 1
            if rules.emits_unmatched:
                taken[scratch.events[place]] = 1
    if rules.emits_unmatched and until == begin:
        taken[scratch.events[begin]] = 1
    first = start if rules.framed else _find_first(begin, until, rules.visible, scratch.labels)
    _write_row(count, total, scratch.events[first], number, fate, output)
    return total


@njit_no_refcount_inline
def _write_row(count: int, total: int, start: int, number: int, fate: int, output: Output) -> None:
    output.ends[count] = total
    output.starts[count] = start
    output.numbers[count] = number
    output.fates[count] = fate


@njit_no_refcount_inline
def _write_unmatched(
    begin: int, end: int, framed: bool, count: int, total: int, scratch: Scratch, taken: Any, output: Output
) -> int:
    """The events between two starts that are in no match; gives how many rows there are now."""
    for place in range(begin, end):
        if framed or not taken[scratch.events[place]]:
            _write_row(count, total, scratch.events[place], 0, UNMATCHED, output)
            count += 1
    return count


@njit_no_refcount
def _keep_key(key: int, start: int, available: int, ends: int, rules: Rules, state: Keys, scratch: Scratch) -> None:
    """What the key still needs; ends: when the absence ends that its search waits for."""
    keep = max(0, start - rules.lookback)
    state.oldest[key] = scratch.events[keep] if keep < available else -1
    state.pending[key] = available - keep if keep < available else 0
    state.start[key] = scratch.events[start] if start < available else -1
    state.deadlines[key] = ends
    if start < available and rules.within != NEVER:
        state.deadlines[key] = min(ends, scratch.times[start] + rules.within)


@njit_no_refcount
def _search_key(
    key: int, start: int, available: int, count: int, total: int, rules: Rules, machine: Machine, cells: Cells,
    store: Store, state: Keys, scratch: Scratch, answers: Answers, tested: Int64s, output: Output, horizon: int,
    final: bool,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """All matches of one key that are decided; gives the status, the start, how many there are, and when the absence
    ends that the next search waits for."""
    framed, words = rules.framed, scratch.marks.shape[1]
    ends = NEVER
    steps, budget = 0, rules.budget + STEPS_PER_EVENT * available
    if words:
        _clear_marks(scratch.marks, 0, available + 1)
    begin = start  # where the search begins: at `start`, or further in a frame that is sought through
    while start < available:
        lowest = start if framed else 0
        following = rules.following
        if following < 0:
            following = cells.integers[-1 - following, scratch.events[start]]
        highest = start + 1 + following if framed and following < NEVER - available - 1 else NEVER
        number = state.numbers[key] + 1
        bounds = Bounds(begin, scratch.times[begin], lowest, highest, available, horizon, number, final)
        unmarked = steps + rules.unmarked
        outcome, at, cut, furthest, steps, ends = _search(
            bounds, rules, machine, cells, scratch, answers, tested, output.frames, steps, budget
        )
        if outcome in (TOO_COSTLY, NO_ROOM, ASKS_HOST):
            return outcome, start, count, total, NEVER
        if steps > unmarked and words and (outcome == MATCHED or not rules.marks_hold_across_starts):
            _clear_marks(scratch.marks, begin, furthest + 1)
        if outcome == FAILED and rules.seeks and begin + 1 < highest:
            begin += 1
            if begin < available:
                continue
            if not final:
                outcome = UNDECIDED
        if outcome == UNDECIDED:
            break
        if outcome == FAILED and cut >= 0 and not final and cut - 1 + rules.lookahead >= available:
            break  # a partial match is reported when all that its measures read is known
        reached = max(at, cut)
        if count + reached - start + 2 > output.ends.shape[0] or total + reached - begin + 1 > output.events.shape[0]:
            return NO_ROOM, start, count, total, NEVER
        # what to report, and where to go on
        next_start = start + 1
        if outcome == MATCHED:
            state.numbers[key] += 1
            next_start = _find_next_start(start, begin, at, rules, scratch.labels)
            if next_start < 0:
                return -next_start, start, count, total, NEVER
            total = _write_match(start, begin, at, number, WHOLE, count, total, rules, scratch, store.taken, output)
            count += 1
        elif framed or cut >= 0:
            until, fate = (begin, UNMATCHED) if framed else (cut, TIMED_OUT)
            total = _write_match(start, begin, until, 0, fate, count, total, rules, scratch, store.taken, output)
            count += 1
        if rules.emits_unmatched or framed:
            first_left = start + 1 if framed else start
            count = _write_unmatched(first_left, next_start, framed, count, total, scratch, store.taken, output)
        start = begin = next_start
        ends = NEVER
    return MATCHED, start, count, total, ends


@njit_no_refcount
def search_keys(
    keys: Int64s, order: Int64s, begins: Int64s, ends: Int64s, rules: Rules, machine: Machine, cells: Cells,
    store: Store, state: Keys, scratch: Scratch, answers: Answers, tested: Int64s, output: Output,
    horizon: int, final: bool,
) -> Any:  # fmt: skip
    """Search each key from its start on; fills in the output.

    order[begins[n]:ends[n]] are the new events of keys[n].  Gives the status, the key it stopped at, how many matches
    and how many events of matches there are.  With NO_ROOM and ASKS_HOST the key it stopped at has its new events among
    the pending; tested tells the event under test when the general evaluator is asked, the places of the first event of
    the match and of that one, and the number of the match.
    """
    count, total = 0, 0
    for n in range(keys.shape[0]):
        key = keys[n]
        available, start = _gather_events(key, order, begins[n], ends[n], store, state, scratch)
        status, start, count, total, absence_ends = _search_key(
            key, start, available, count, total, rules, machine, cells, store, state, scratch, answers, tested, output,
            horizon, final,
        )  # fmt: skip
        if status in (MATCHED, NO_ROOM, ASKS_HOST):
            _keep_key(key, start, available, absence_ends, rules, state, scratch)
        if status != MATCHED:
            return status, n, count, total
    return MATCHED, keys.shape[0], count, total
