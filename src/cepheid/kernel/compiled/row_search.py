"""The depth-first search of a row pattern, in the order of preferment, over the events of each key.

    start ─▶ instructions (automaton.py) ─▶ the most preferred match, or none, or undecided until more events come
       ▲                                                     │
       └────────────── where the skip clause says ◀──────────┘

When conditions look only at the tested event and its neighbours, what fails once at (instruction, event) fails
always: such places are marked, and `(a* b*)* c` costs time in proportion to instructions times events instead
of growing exponentially.  Otherwise a budget of steps stops a search that runs wild.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

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
    SPLIT,
    UNTIL,
)
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.aggregates import add_event, is_equal, read_aggregate
from cepheid.kernel.compiled.evaluate import Cells, Machine, holds
from cepheid.kernel.compiled.host_answers import Answers, look_up
from cepheid.kernel.compiled.positions import MISSING, UNKNOWN, find_logical
from cepheid.kernel.matches import TIMED_OUT, UNMATCHED, WHOLE

NEVER = np.iinfo(np.int64).max
MATCHED, FAILED, UNDECIDED, SKIP_MISSING, SKIP_NOWHERE, TOO_COSTLY, NO_ROOM, ASKS_HOST = range(8)
PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)
OF_AGGREGATE, OF_CLASSIFIER, OF_NUMBER, OF_HOST = range(4)
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
    calls: Any  # int64[c, arguments]: positions of the arguments of calls of the general evaluator, -1 if none
    fact_reads: Any  # int32[total]: facts that the condition of label v reads, likewise
    fact_bounds: Any
    aggregates: Any  # int64[k, 8]
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
    following: int  # events of a frame behind its first; NEVER: all


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
    deadlines: Int64s  # when WITHIN decides a pending search
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
    sums_i: Any  # int64[n, k, 2]: states of the aggregates before each event
    sums_f: Any  # float64[n, k, 2]


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


@njit(cache=True, forceinline=True)
def _locate(
    positions: Any, row: int, labels: Any, last_of: Any, start: int, tested: int, lowest: int, highest: int,
    available: int, final: bool,
) -> int:  # fmt: skip
    """The place a position stands for while place `tested` is under test; MISSING or UNKNOWN if there is none.

    Only places from `lowest` to before `highest` can be seen.
    """
    single = positions[row, 1]
    if single >= 0 and positions[row, 2] == 0 and positions[row, 3] == 0:
        index = last_of[single]
    else:
        index = find_logical(positions, row, labels, start, tested + 1)
    if index < 0:
        return MISSING
    index += positions[row, 4]
    if index < lowest or index >= highest:
        return MISSING
    if index >= available:
        return MISSING if final else UNKNOWN
    return index


@njit(cache=True)
def _add_to_sums(
    label: int, at: int, start: int, aggregates: Any, scratch: Scratch, cells: Cells, ranks: Int64s, trouble: Int64s
) -> int:
    """The states of the aggregates behind place `at`, which has the label; gives the steps it took."""
    steps = STEPS_OF_AGGREGATE * aggregates.shape[0]
    events, _, _, labels, _, _, _, _, sums_i, sums_f = scratch
    cells_i, cells_i_valid, cells_f, cells_f_valid = cells
    for k in range(aggregates.shape[0]):
        sums_i[at + 1, k] = sums_i[at, k]
        sums_f[at + 1, k] = sums_f[at, k]
        members = aggregates[k, 1]
        if members != 0 and not (members >> label) & 1:
            continue
        is_new = True
        if aggregates[k, 6]:
            for earlier in range(start, at):
                steps += 1
                if (members == 0 or (members >> labels[earlier]) & 1) and is_equal(
                    aggregates[k, 2], aggregates[k, 3], events[earlier], events[at], cells_i, cells_f
                ):
                    is_new = False
                    break
        if is_new:
            add_event(
                aggregates, k, events[at], sums_i[at + 1], sums_f[at + 1], cells_i, cells_i_valid, cells_f,
                cells_f_valid, ranks, trouble,
            )  # fmt: skip
    return steps


@njit(cache=True)
def _read_facts(
    label: int, at: int, start: int, lowest: int, highest: int, available: int, final: bool, number: int,
    rules: Rules, machine: Machine, cells: Cells, scratch: Scratch, answers: Answers, last_of: Int64s,
) -> int:  # fmt: skip
    """Fill in the facts that the condition of the label reads.

    NOT_YET if one needs an event that may still come, ASKS if one needs an answer of the general evaluator.
    """
    facts, fact_reads, fact_bounds, visible = rules.facts, rules.fact_reads, rules.fact_bounds, rules.visible
    for read in range(fact_bounds[label], fact_bounds[label + 1]):
        slot = fact_reads[read]
        kind, operand = facts[slot, 0], facts[slot, 1]
        if kind == OF_NUMBER:
            machine.fact_integers[slot] = number
            machine.fact_valid[slot] = 1
        elif kind == OF_AGGREGATE:
            read_aggregate(
                rules.aggregates, operand, scratch.sums_i[at + 1], scratch.sums_f[at + 1], slot,
                cells.integers, cells.integers_valid, cells.floats, cells.floats_valid,
                machine.fact_integers, machine.fact_floats, machine.fact_valid,
            )  # fmt: skip
        elif kind == OF_HOST:
            row = np.zeros(answers.rows.shape[1], dtype=np.int64)
            row[0] = operand
            for argument in range(rules.calls.shape[1]):
                if rules.calls[operand, argument] < 0:
                    break
                place = _locate(
                    rules.positions, rules.calls[operand, argument], scratch.labels, last_of, start, at, lowest,
                    highest, available, final,
                )  # fmt: skip
                if place == UNKNOWN:
                    return NOT_YET
                row[1 + argument] = scratch.events[place] if place >= 0 else MISSING
            if not look_up(answers, operand, row, slot, machine.fact_integers, machine.fact_floats, machine.fact_valid):
                return ASKS
        else:
            place = _locate(
                rules.positions, operand, scratch.labels, last_of, start, at, lowest, highest, available, final
            )
            if place == UNKNOWN:
                return NOT_YET
            in_match = start <= place <= at and (scratch.labels[place] < visible or place == at)
            machine.fact_valid[slot] = 1 if in_match else 0
            if in_match:
                machine.fact_integers[slot] = rules.names[scratch.labels[place]]
    return YES


@njit(cache=True, forceinline=True)
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


@njit(cache=True)
def search_keys(
    keys: Int64s, order: Int64s, begins: Int64s, ends: Int64s, rules: Rules, machine: Machine, cells: Cells,
    store: Store, state: Keys, scratch: Scratch, answers: Answers, tested: Int64s, output: Output,
    horizon: int, final: bool,
) -> Any:  # fmt: skip
    """Search each key from its start on; fills in the output.

    order[begins[n]:ends[n]] are the new events of keys[n].  Gives the status, the key it stopped at, how many matches
    and how many events of matches there are.  With NO_ROOM and ASKS_HOST the key it stopped at has its new events among
    the pending; tested[0] is the event under test when the general evaluator is asked.
    """
    rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank, facts_i, facts_f, facts_valid = machine
    cells_i, cells_i_valid, cells_f, cells_f_valid = cells
    positions, reads, reads_bounds, fact_bounds = rules.positions, rules.reads, rules.reads_bounds, rules.fact_bounds
    operations, first_of, second_of = rules.instructions[0], rules.instructions[1], rules.instructions[2]
    slots, split_bits, beginnings = rules.slots, rules.split_bits, rules.beginnings
    within, skip_kind, skip_members, visible = rules.within, rules.skip_kind, rules.skip_members, rules.visible
    lookahead, lookback, framed = rules.lookahead, rules.lookback, rules.framed
    aggregates = rules.aggregates
    sums = aggregates.shape[0]
    times, all_plays, links, taken = store
    oldest, _, starts, numbers, deadlines, pending = state
    events, plays, at_times, labels, same, hidden, partial, marks, _, _ = scratch
    words = marks.shape[1]
    saved = np.zeros(max(1, slots), dtype=np.int64)
    where = np.full(rules.positions.shape[0], MISSING, dtype=np.int64)
    last_of = np.full(max(1, rules.names.shape[0]), -1, dtype=np.int64)
    out_events, out_labels, out_hidden, out_ends, out_starts, out_numbers, out_fates, frames = output
    deepest, most, longest = frames.shape[0], out_ends.shape[0], out_events.shape[0]
    count, total, stopped = 0, 0, keys.shape[0]
    status = MATCHED

    for n in range(keys.shape[0]):
        key = keys[n]
        # the events of this key that are still needed, oldest first, then the new ones
        available, start = 0, -1
        event = oldest[key]
        for _ in range(pending[key]):
            if event == starts[key]:
                start = available
            events[available], plays[available], at_times[available] = event, all_plays[event], times[event]
            available += 1
            event = links[event]
        for i in range(begins[n], ends[n]):
            event = order[i]
            if event == starts[key]:
                start = available
            events[available], plays[available], at_times[available] = event, all_plays[event], times[event]
            available += 1
        if start < 0:
            start = available
        if words:
            marks[: available + 1] = 0
        steps = 0
        budget = rules.budget + STEPS_PER_EVENT * available

        begin = start  # where the search begins: at `start`, or further in a frame that is sought through
        while start < available:
            lowest = start if framed else 0
            highest = start + 1 + rules.following if framed and rules.following != NEVER else NEVER
            pc, at, depth, furthest, cut = 0, begin, 0, begin, -1
            unmarked = steps + rules.unmarked
            run_from, place_tested = -1, -1
            outcome = FAILED
            searching = beginnings < 0 or (plays[begin] & beginnings) != 0
            if searching:
                for label in range(last_of.shape[0]):
                    last_of[label] = -1
                for slot in range(slots):
                    saved[slot] = -1
                if sums:
                    scratch.sums_i[begin] = 0
                    scratch.sums_f[begin] = 0.0
            began = at_times[begin]
            while searching:
                steps += 1
                if steps > budget:
                    outcome = TOO_COSTLY
                    break
                operation = operations[pc]
                ahead = False
                if operation >= FIRST_TEST:
                    # does the event at a place fit a label?
                    label = first_of[pc]
                    if operation == RUN and run_from < 0:
                        run_from = at
                    place_tested = max(place_tested, at) if operation == UNTIL else at
                    answer = NO
                    is_open = place_tested < available and place_tested < highest
                    is_open = is_open and (within == NEVER or at_times[place_tested] - began <= within)
                    may_mark = operation == RUN and split_bits[pc] >= 0 and steps > unmarked
                    if may_mark and _mark(marks, place_tested, split_bits[pc], slots, saved):
                        is_open, answer = False, TRIED
                    if is_open and (plays[place_tested] >> label) & 1:
                        answer = YES
                        labels[place_tested] = label
                        same[place_tested] = last_of[label]
                        last_of[label] = place_tested
                        if sums:
                            if place_tested > at:
                                scratch.sums_i[place_tested] = scratch.sums_i[at]
                                scratch.sums_f[place_tested] = scratch.sums_f[at]
                            steps += _add_to_sums(
                                label, place_tested, begin, aggregates, scratch, cells, ranks, trouble
                            )
                        if bounds[label] < bounds[label + 1]:
                            steps += STEPS_OF_CONDITION
                            for read in range(reads_bounds[label], reads_bounds[label + 1]):
                                row = reads[read]
                                place = _locate(
                                    positions,
                                    row,
                                    labels,
                                    last_of,
                                    begin,
                                    place_tested,
                                    lowest,
                                    highest,
                                    available,
                                    final,
                                )
                                if place == UNKNOWN:
                                    answer = NOT_YET
                                    break
                                where[row] = events[place] if place >= 0 else MISSING
                            if answer == YES and fact_bounds[label] < fact_bounds[label + 1]:
                                answer = _read_facts(
                                    label, place_tested, begin, lowest, highest, available, final, numbers[key] + 1,
                                    rules, machine, cells, scratch, answers, last_of,
                                )  # fmt: skip
                            if answer == YES and not holds(
                                label, where, rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank,
                                facts_i, facts_f, facts_valid, cells_i, cells_i_valid, cells_f, cells_f_valid,
                            ):  # fmt: skip
                                answer = NO
                        if answer != YES or operation > RUN:
                            last_of[label] = same[place_tested]
                    elif not is_open and answer == NO:
                        waits = available <= place_tested < highest and not final
                        answer = NOT_YET if waits and (within == NEVER or horizon - began <= within) else OVER
                    if answer == NOT_YET:
                        outcome = UNDECIDED
                        break
                    if answer == ASKS:
                        outcome = ASKS_HOST
                        tested[0] = events[place_tested]
                        break
                    if answer == OVER and rules.emits_timeouts and cut < 0 and operation != UNTIL:
                        for place in range(begin, at):
                            partial[place] = 2 * labels[place] + hidden[place]
                            if labels[place] < visible:
                                cut = at
                    # what follows from it
                    if operation == CONSUME:
                        ahead = answer == YES
                        if ahead:
                            hidden[at] = second_of[pc]
                    elif operation == RUN:
                        ahead = True
                        if answer == YES:
                            hidden[at] = second_of[pc]
                            at += 1
                            continue
                        furthest = max(furthest, at)
                        if at > run_from:
                            if depth == deepest:
                                outcome = NO_ROOM
                                break
                            frames[depth, 0] = pc + 1
                            frames[depth, 1] = at - 1
                            frames[depth, 2] = run_from
                            for slot in range(slots):
                                frames[depth, 3 + slot] = saved[slot]
                            depth += 1
                        run_from = -1
                        pc += 1
                        if answer != TRIED:
                            continue
                        ahead = False  # from here on all was tried before: nothing is left but to give back
                    elif operation == PASS:
                        ahead = answer == NO
                        if ahead:
                            labels[at] = label
                            same[at] = last_of[label]
                            last_of[label] = at
                            if sums:
                                scratch.sums_i[at + 1] = scratch.sums_i[at]
                                scratch.sums_f[at + 1] = scratch.sums_f[at]
                    else:
                        if answer == NO:
                            labels[place_tested] = visible  # it must not look as if it belonged to the match
                            place_tested += 1
                            continue
                        place_tested = -1
                        pc += 1
                        ahead = answer == OVER
                    if ahead and operation != UNTIL:
                        at += 1
                        pc += 1
                        furthest = max(furthest, at)
                elif operation == SPLIT:
                    ahead = True
                    if split_bits[pc] >= 0 and steps > unmarked:
                        ahead = not _mark(marks, at, split_bits[pc], slots, saved)
                    if ahead:
                        if depth == deepest:
                            outcome = NO_ROOM
                            break
                        frames[depth, 0] = second_of[pc]
                        frames[depth, 1] = at
                        frames[depth, 2] = at
                        for slot in range(slots):
                            frames[depth, 3 + slot] = saved[slot]
                        depth += 1
                        pc = first_of[pc]
                elif operation == JUMP:
                    pc = first_of[pc]
                    ahead = True
                elif operation == SAVE:
                    saved[first_of[pc]] = at
                    pc += 1
                    ahead = True
                elif operation == CHECK:
                    pc = second_of[pc] if saved[first_of[pc]] == at else pc + 1
                    ahead = True
                elif operation == AT_START:
                    ahead = at == 0  # if anything came before, one event of it is kept
                    pc += 1
                elif operation == AT_END:
                    if at >= available and not final:
                        outcome = UNDECIDED
                        break
                    ahead = at >= available
                    pc += 1
                elif operation == ACCEPT:
                    enough = final or at - 1 + lookahead < available
                    outcome = MATCHED if enough else UNDECIDED
                    break
                if not ahead:
                    if depth == 0:
                        break
                    pc = frames[depth - 1, 0]
                    back = frames[depth - 1, 1]
                    for slot in range(slots):
                        saved[slot] = frames[depth - 1, 3 + slot]
                    if back > frames[depth - 1, 2]:
                        frames[depth - 1, 1] = back - 1
                    else:
                        depth -= 1
                    while at > back:
                        at -= 1
                        last_of[labels[at]] = same[at]

            if outcome in (TOO_COSTLY, NO_ROOM, ASKS_HOST):
                status = outcome
                break
            if steps > unmarked and words and (outcome == MATCHED or not rules.marks_hold_across_starts):
                marks[begin : furthest + 1] = 0
            if outcome == FAILED and rules.seeks and begin + 1 < highest:
                begin += 1
                if begin < available:
                    continue
                if not final:
                    outcome = UNDECIDED
            if outcome == UNDECIDED:
                break

            # what to report, and where to go on
            reached = max(at, cut)
            if outcome == FAILED and cut >= 0 and not final and cut - 1 + lookahead >= available:
                break  # a partial match is reported when all that its measures read is known
            if count + reached - start + 2 > most or total + reached - begin + 1 > longest:
                status = NO_ROOM
                break
            fate, until = WHOLE, at
            emits = outcome == MATCHED
            following_start = start + 1
            if outcome == MATCHED:
                numbers[key] += 1
                if at > begin and skip_kind == PAST_LAST:
                    following_start = at
                elif at > begin and skip_kind != TO_NEXT:
                    target = -1
                    for place in range(begin, at):
                        if (skip_members >> labels[place]) & 1:
                            target = place
                            if skip_kind == TO_FIRST:
                                break
                    if target <= begin:
                        status = SKIP_MISSING if target < 0 else SKIP_NOWHERE
                        break
                    following_start = target
            elif framed:
                emits, fate, until = True, UNMATCHED, begin
            elif cut >= 0:
                emits, fate, until = True, TIMED_OUT, cut
                for place in range(begin, cut):
                    labels[place], hidden[place] = partial[place] >> 1, partial[place] & 1
            if emits:
                for place in range(begin, until):
                    if labels[place] < visible:
                        out_events[total] = events[place]
                        out_labels[total] = labels[place]
                        out_hidden[total] = hidden[place]
                        total += 1
                        if rules.emits_unmatched:
                            taken[events[place]] = 1
                if rules.emits_unmatched and until == begin:
                    taken[events[begin]] = 1
                out_ends[count] = total
                out_starts[count] = events[start]
                out_numbers[count] = numbers[key] if fate == WHOLE else 0
                out_fates[count] = fate
                count += 1
            if rules.emits_unmatched or framed:
                first_left = start + 1 if framed else start
                for place in range(first_left, following_start):
                    if framed or not taken[events[place]]:
                        out_ends[count] = total
                        out_starts[count] = events[place]
                        out_numbers[count] = 0
                        out_fates[count] = UNMATCHED
                        count += 1
            start = following_start
            begin = start
        if status != MATCHED:
            stopped = n
            if status not in (NO_ROOM, ASKS_HOST):
                break
        # what the key still needs
        keep = max(0, start - lookback)
        oldest[key] = events[keep] if keep < available else -1
        pending[key] = available - keep if keep < available else 0
        starts[key] = events[start] if start < available else -1
        deadlines[key] = NEVER
        if start < available and within != NEVER:
            deadlines[key] = at_times[start] + within
        if status != MATCHED:
            break
    return status, stopped, count, total
