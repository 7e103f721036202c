"""Show events to partial matches that wait on ways of their own, and let time take them along
(kernel/sequence_flow.py).

    runs[r]      as in sequence_runs.py, and behind that: its place, the moment at which it came there, bits of the ways
    that are
                 open, and when time takes it along
    lists[key]   one list of all runs of the key; and 1 + an event of it, once no attempt may begin any more

An event is shown to all runs of its key.  Before that, time takes along what was due: so each run finds events and
moments in their order, whenever they are told to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.array_table import int_table, ints
from cepheid.kernel.compiled.flow_plan import (
    ABSENT,
    AFTER,
    AGAIN,
    ALWAYS,
    ANY,
    ASKS_FOR_ALL,
    AT_FIRST,
    BEFORE,
    BEGINS,
    CONTIGUITY,
    FIRST_ONLY,
    FOLLOWED,
    KEEPS_MOMENT,
    NONE,
    ONCE,
    REFUSES,
    REPEATS,
    RESTART,
    RESTARTS,
    SCOPE,
    STEP,
    TARGET,
    UNBINDS,
    UNTIL_DEADLINE,
    WAYS,
    YIELDS,
)
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.sequence_automaton import KEEPS_FIRSTS, NEVER, TIMEOUTS, WIDEST, WITHIN
from cepheid.kernel.compiled.sequence_records import list_events
from cepheid.kernel.compiled.sequence_runs import (
    ACCEPTING,
    BOUND,
    CONDITION_BOUNDS,
    CONDITION_MASK,
    CONDITIONS,
    COUNTERS,
    DEADLINE,
    EARLIEST,
    EDGE_BOUNDS,
    EDGES,
    EMPTY,
    FIRST,
    FLAGS,
    FOUND,
    FOUND_ROWS,
    JUDGED,
    KEYS,
    LATE,
    LINK,
    LIVE,
    LOOPS,
    NODES,
    NODES_USED,
    NUMBERS,
    RESERVED,
    RUNS,
    TIMES,
    WANTS,
    WATCHED,
    all_hold,
    allocate,
    bind_event,
    clear_run,
    copy_run,
    emit,
    release,
    unlink,
)

DONE, NO_ROOM = range(2)
EXTRA = 4  # columns of a run behind the others
PLACE, SINCE, OPEN, DUE = range(-EXTRA, 0)
STALE = 4  # a flag: an event has come since the run came to its place
COUNT, MATCHED = 2, 3  # columns of a key
LAST_TIME = 7  # a counter behind those of all pools: of the events so far
SPENT = -1  # the place of what is written of a key that matches no more


# --- lists -----------------------------------------------------------------------------------------------


@njit()
def append(tables: Int64s, key: int, run: int) -> None:
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    runs[run, LINK] = -1
    if lists[key, 0] < 0:
        lists[key, 0] = run
    else:
        runs[lists[key, 1], LINK] = run
    lists[key, 1] = run


@njit()
def add_run(tables: Int64s, key: int, run: int) -> None:
    append(tables, key, run)
    int_table(tables, KEYS)[key, COUNT] += 1
    ints(tables, COUNTERS)[LIVE] += 1


@njit()
def drop_run(tables: Int64s, key: int, run: int) -> None:
    """The run is out of its list and gone."""
    int_table(tables, KEYS)[key, COUNT] -= 1
    ints(tables, COUNTERS)[LIVE] -= 1
    release(tables, run)


@njit()
def flow_room_needed(tables: Int64s, key: int) -> int:
    """The most runs, elements and matches that one event of the key can add."""
    return (int_table(tables, KEYS)[key, COUNT] + 2) * 2 * (ints(tables, NUMBERS)[WIDEST] + 1) + 4


@njit()
def has_room(tables: Int64s, need: int) -> bool:
    counters = ints(tables, COUNTERS)
    if int_table(tables, RUNS).shape[0] - RESERVED - counters[LIVE] < need:
        return False
    if int_table(tables, FOUND).shape[0] - counters[FOUND_ROWS] < need:
        return False
    return (
        ints(tables, NUMBERS)[KEEPS_FIRSTS] == 0 or int_table(tables, NODES).shape[0] - counters[NODES_USED] >= 2 * need
    )


# --- places ----------------------------------------------------------------------------------------------


@njit()
def rest_in(tables: Int64s, run: int, place: int, since: int) -> None:
    """The run is at a place, with all ways open."""
    runs, bounds = int_table(tables, RUNS), ints(tables, EDGE_BOUNDS)
    runs[run, PLACE] = place
    runs[run, SINCE] = since
    runs[run, OPEN] = (np.int64(1) << (bounds[place + 1] - bounds[place])) - 1
    runs[run, FLAGS] = 0
    find_due(tables, run)


@njit()
def find_due(tables: Int64s, run: int) -> None:
    """When time takes the run along."""
    runs, edges, bounds = int_table(tables, RUNS), int_table(tables, EDGES), ints(tables, EDGE_BOUNDS)
    place, due = runs[run, PLACE], NEVER
    for way in range(bounds[place], bounds[place + 1]):
        if (runs[run, OPEN] >> (way - bounds[place])) & 1 and edges[way, AFTER] != NONE:
            due = min(due, moment_of(tables, run, way))
    runs[run, DUE] = due
    counters = ints(tables, COUNTERS)
    counters[EARLIEST] = min(counters[EARLIEST], due)
    if ints(tables, NUMBERS)[TIMEOUTS]:
        counters[EARLIEST] = min(counters[EARLIEST], runs[run, DEADLINE])


@njit()
def moment_of(tables: Int64s, run: int, way: int) -> int:
    """When time takes the run along a way that waits for time; NEVER if WITHIN is over by then."""
    runs, after = int_table(tables, RUNS), int_table(tables, EDGES)[way, AFTER]
    if after == UNTIL_DEADLINE:
        return runs[run, DEADLINE]
    moment = runs[run, SINCE] + after
    return moment if moment <= runs[run, DEADLINE] else NEVER


@njit()
def move(tables: Int64s, key: int, run: int, way: int, moment: int, event: int) -> None:
    """A copy of the run goes along a way; event: -1 if time takes it."""
    runs, edges, bounds = int_table(tables, RUNS), int_table(tables, EDGES), ints(tables, EDGE_BOUNDS)
    numbers = ints(tables, NUMBERS)
    copy = allocate(tables)
    copy_run(tables, copy, run)
    if event >= 0:
        if not runs[copy, BOUND]:
            runs[copy, FIRST] = event
            runs[copy, DEADLINE] = NEVER if numbers[WITHIN] == NEVER else moment + numbers[WITHIN]
        bind_event(tables, copy, edges[way, STEP], event)
    if edges[way, RESTART] >= 0:
        begin_again(tables, key, copy, way, moment)
    target = edges[way, TARGET]
    since = runs[run, SINCE] if edges[way, KEEPS_MOMENT] else moment
    if ints(tables, ACCEPTING)[target]:
        runs[copy, DUE] = moment
        emit(tables, copy, 0)
        int_table(tables, KEYS)[key, MATCHED] = runs[copy, FIRST] + 1
    if bounds[target] < bounds[target + 1]:
        rest_in(tables, copy, target, since)
        add_run(tables, key, copy)
    else:
        release(tables, copy)


@njit()
def begin_again(tables: Int64s, key: int, run: int, way: int, moment: int) -> None:
    """A run with what this one took before the part that is repeated."""
    edges, runs = int_table(tables, EDGES), int_table(tables, RUNS)
    events, labels = list_events(tables, RUNS, run)
    again = allocate(tables)
    clear_run(tables, again, runs[run, FIRST], moment)
    runs[again, DEADLINE] = NEVER
    for place in range(events.shape[0]):
        if not (edges[way, UNBINDS] >> labels[place]) & 1:
            bind_event(tables, again, labels[place], events[place])
    if runs[again, BOUND]:
        runs[again, DEADLINE] = runs[run, DEADLINE]
    rest_in(tables, again, edges[way, RESTART], moment)
    add_run(tables, key, again)


# --- events ----------------------------------------------------------------------------------------------


@njit()
def fits_way(tables: Int64s, run: int, way: int, played: int, event: int) -> bool:
    step, bounds = int_table(tables, EDGES)[way, STEP], ints(tables, CONDITION_BOUNDS)
    if step < 0 or not (played >> step) & 1:
        return False
    return bounds[step] == bounds[step + 1] or all_hold(tables, run, step, event)


@njit()
def is_barred(tables: Int64s, run: int, bar: int, played: int, event: int) -> bool:
    absent = int_table(tables, JUDGED)[bar, ABSENT]
    return (played >> absent) & 1 != 0 and all_hold(tables, run, absent, event)


@njit()
def is_refused(tables: Int64s, run: int, bar: int, played: int, event: int) -> bool:
    """As is_barred, if all is bound that is said of such an event."""
    absent, bounds = int_table(tables, JUDGED)[bar, ABSENT], ints(tables, CONDITION_BOUNDS)
    unbound = ~int_table(tables, RUNS)[run, BOUND]
    for place in range(bounds[absent], bounds[absent + 1]):
        if ints(tables, CONDITION_MASK)[ints(tables, CONDITIONS)[place]] & unbound:
            return False
    return is_barred(tables, run, bar, played, event)


@njit()
def offer(tables: Int64s, key: int, run: int, played: int, event: int) -> Any:
    """Show an event to a run; did it take the event, and does it stay where it is?"""
    runs, edges, bars = int_table(tables, RUNS), int_table(tables, EDGES), int_table(tables, JUDGED)
    bounds, bar_bounds = ints(tables, EDGE_BOUNDS), ints(tables, WATCHED)
    place = runs[run, PLACE]
    begin, end = bounds[place], bounds[place + 1]
    now = ints(tables, TIMES)[event]
    left, refused = runs[run, OPEN], np.int64(0)
    for bar in range(bar_bounds[place], bar_bounds[place + 1]):
        if bars[bar, FIRST_ONLY] and runs[run, FLAGS] & STALE:
            continue
        if bars[bar, BEFORE] and is_barred(tables, run, bar, played, event):
            left &= ~bars[bar, WAYS]
        elif bars[bar, REFUSES] and is_refused(tables, run, bar, played, event):
            refused |= bars[bar, WAYS]
    fitting, scopes = np.int64(0), np.int64(0)
    if played & ints(tables, WANTS)[place]:
        for way in range(begin, end):
            bit = np.int64(1) << (way - begin)
            if left & bit and fits_way(tables, run, way, played, event):
                if not refused & bit:
                    fitting |= bit
                    scopes |= np.int64(1) << edges[way, SCOPE]
                elif edges[way, CONTIGUITY] != ANY:
                    left &= ~bit
    took = False
    asked = left
    for way in range(begin, end):
        bit = np.int64(1) << (way - begin)
        if not asked & bit:
            continue
        if edges[way, YIELDS] & fitting:
            left &= ~bit
            continue
        if fitting & bit:
            move(tables, key, run, way, now, event)
            took = True
        if edges[way, STEP] < 0 or edges[way, CONTIGUITY] == FOLLOWED:
            if (scopes >> edges[way, SCOPE]) & 1:
                left &= ~bit
        elif edges[way, CONTIGUITY] != ANY:
            left &= ~bit
    changed = left != runs[run, OPEN]
    for bar in range(bar_bounds[place], bar_bounds[place + 1]):
        if bars[bar, BEFORE] or bars[bar, REFUSES] or (bars[bar, FIRST_ONLY] and runs[run, FLAGS] & STALE):
            continue
        if is_barred(tables, run, bar, played, event):
            changed = True
            if bars[bar, RESTARTS]:
                runs[run, SINCE] = now
            else:
                left &= ~bars[bar, WAYS]
    runs[run, FLAGS] |= STALE
    if changed:
        runs[run, OPEN] = left
        if left:
            find_due(tables, run)
    return took, left != 0


@njit()
def may_begin(tables: Int64s, key: int) -> bool:
    runs, lists, begins = int_table(tables, RUNS), int_table(tables, KEYS), ints(tables, NUMBERS)[BEGINS]
    if begins >= ONCE:
        return lists[key, 0] < 0 and not lists[key, MATCHED]
    run = lists[key, 0]
    while begins == AGAIN and run >= 0:
        if ints(tables, LOOPS)[runs[run, PLACE]]:
            return False
        run = runs[run, LINK]
    return True


@njit()
def begin_run(tables: Int64s, key: int, played: int, event: int, took_part: bool) -> None:
    """Let an attempt begin, with this event or, if that was part of the attempt before, with a later one."""
    now = ints(tables, TIMES)[event]
    if ints(tables, NUMBERS)[BEGINS] == ALWAYS:
        if played & ints(tables, WANTS)[0]:
            clear_run(tables, EMPTY, event, now)
            rest_in(tables, EMPTY, 0, now)
            offer(tables, key, EMPTY, played, event)
        return
    if not may_begin(tables, key):
        return
    if ints(tables, NUMBERS)[BEGINS] == AT_FIRST:
        int_table(tables, KEYS)[key, MATCHED] = event + 1
    run = allocate(tables)
    clear_run(tables, run, event, now)
    int_table(tables, RUNS)[run, DEADLINE] = NEVER
    rest_in(tables, run, 0, now)
    stays = True
    if not took_part:
        _, stays = offer(tables, key, run, played, event)
    if stays:
        add_run(tables, key, run)
    else:
        release(tables, run)


@njit()
def advance_flow(keys: Int64s, plays: Int64s, base: int, begin: int, tables: Int64s) -> Any:
    """Take in the events from `begin` on; gives how far it came, and why it stopped."""
    runs, lists, counters = int_table(tables, RUNS), int_table(tables, KEYS), ints(tables, COUNTERS)
    asks_for_all = ints(tables, NUMBERS)[ASKS_FOR_ALL]
    for i in range(begin, keys.shape[0]):
        key, played, event = keys[i], plays[i], base + i
        if key < 0 or (played == 0 and not asks_for_all):
            continue
        now = ints(tables, TIMES)[event]
        if not pass_time(tables, key, now, False) or not has_room(tables, flow_room_needed(tables, key)):
            return i, NO_ROOM
        counters[LAST_TIME] = now
        took_part = False
        run = lists[key, 0]
        lists[key, 0], lists[key, 1] = -1, -1
        while run >= 0:
            after = runs[run, LINK]
            took, stays = offer(tables, key, run, played, event)
            took_part = took_part or (took and ints(tables, LOOPS)[runs[run, PLACE]] != 0)
            if stays:
                append(tables, key, run)
            else:
                drop_run(tables, key, run)
            run = after
        begin_run(tables, key, played, event, took_part)
    return keys.shape[0], DONE


# --- time ------------------------------------------------------------------------------------------------


@njit()
def pass_time(tables: Int64s, key: int, now: int, is_end: bool) -> bool:
    """Time takes along what is due before `now`, and what is too old leaves; False: there is no room for it yet."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    before, run = -1, lists[key, 0]
    while run >= 0:
        if runs[run, DUE] < now:
            if not has_room(tables, 4):
                return False
            unlink(tables, key, 0, before, run)
            fire(tables, key, run, is_end)
        elif runs[run, DEADLINE] < now:
            if not has_room(tables, 4):
                return False
            unlink(tables, key, 0, before, run)
            if ints(tables, NUMBERS)[TIMEOUTS] and not ints(tables, ACCEPTING)[runs[run, PLACE]]:
                runs[run, DUE] = runs[run, DEADLINE]
                emit(tables, run, LATE)
            drop_run(tables, key, run)
        else:
            before = run
        run = lists[key, 0] if before < 0 else runs[before, LINK]
    return True


@njit()
def fire(tables: Int64s, key: int, run: int, is_end: bool) -> None:
    """Time takes along a run that is out of its list; what is left of it comes behind the others."""
    runs, edges, bounds = int_table(tables, RUNS), int_table(tables, EDGES), ints(tables, EDGE_BOUNDS)
    place, moment = runs[run, PLACE], runs[run, DUE]
    way = bounds[place]
    while not (
        (runs[run, OPEN] >> (way - bounds[place])) & 1
        and edges[way, AFTER] != NONE
        and moment_of(tables, run, way) == moment
    ):
        way += 1
    move(tables, key, run, way, moment, -1)
    left = runs[run, OPEN]
    if edges[way, REPEATS]:
        runs[run, SINCE] = moment
        if is_end and moment > ints(tables, COUNTERS)[LAST_TIME]:
            left &= ~(np.int64(1) << (way - bounds[place]))
    else:
        for other in range(bounds[place], bounds[place + 1]):
            if edges[other, SCOPE] == edges[way, SCOPE]:
                left &= ~(np.int64(1) << (other - bounds[place]))
    runs[run, OPEN] = left
    if left:
        find_due(tables, run)
        append(tables, key, run)
    else:
        drop_run(tables, key, run)


@njit()
def settle_flow(tables: Int64s, horizon: int, is_end: bool) -> bool:
    """What is due before the horizon, of all keys; False: there is no room for it yet."""
    runs, lists, counters = int_table(tables, RUNS), int_table(tables, KEYS), ints(tables, COUNTERS)
    earliest = NEVER
    for key in range(lists.shape[0]):
        if lists[key, 0] < 0:
            continue
        if not pass_time(tables, key, horizon, is_end):
            return False
        run = lists[key, 0]
        while run >= 0:
            earliest = min(earliest, runs[run, DUE])
            if ints(tables, NUMBERS)[TIMEOUTS]:
                earliest = min(earliest, runs[run, DEADLINE])
            run = runs[run, LINK]
    counters[EARLIEST] = earliest
    return True


# --- snapshots -------------------------------------------------------------------------------------------


@njit()
def mark_rests(tables: Int64s, horizon: int, marked: Flags, anchors: bool) -> None:
    """Mark the events of all runs whose time is not over at the horizon; anchors: and those that only say whose they
    are."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    for key in range(lists.shape[0]):
        if anchors and ints(tables, NUMBERS)[BEGINS] >= ONCE and lists[key, MATCHED]:
            marked[lists[key, MATCHED] - 1] = 1
        run = lists[key, 0]
        while run >= 0:
            if runs[run, DEADLINE] >= horizon:
                events, _ = list_events(tables, RUNS, run)
                for event in events:
                    marked[event] = 1
                if anchors:
                    marked[runs[run, FIRST]] = 1
            run = runs[run, LINK]


@njit()
def write_rests(tables: Int64s, horizon: int, places: Int64s, written: Int64s) -> int:
    """Tell all runs as (place, flags, how many events, since, open, then event and variable of each), the first event
    being the one that the run began with, variable -1 if it is not bound; gives the length."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    length = 0
    for key in range(lists.shape[0]):
        if ints(tables, NUMBERS)[BEGINS] >= ONCE and lists[key, MATCHED]:
            if length + 7 <= written.shape[0]:
                written[length : length + 5] = np.array([SPENT, 0, 1, 0, 0])
                written[length + 5] = places[lists[key, MATCHED] - 1]
                written[length + 6] = -1
            length += 7
        run = lists[key, 0]
        while run >= 0:
            if runs[run, DEADLINE] >= horizon:
                events, labels = list_events(tables, RUNS, run)
                bare = 1 if events.shape[0] == 0 else 0
                count = events.shape[0] + bare
                if length + 5 + 2 * count <= written.shape[0]:
                    written[length] = runs[run, PLACE]
                    written[length + 1] = runs[run, FLAGS]
                    written[length + 2] = count
                    written[length + 3] = runs[run, SINCE]
                    written[length + 4] = runs[run, OPEN]
                    if bare:
                        written[length + 5] = places[runs[run, FIRST]]
                        written[length + 6] = -1
                    for place in range(events.shape[0]):
                        written[length + 5 + 2 * place] = places[events[place]]
                        written[length + 6 + 2 * place] = labels[place]
                length += 5 + 2 * count
            run = runs[run, LINK]
    return length


@njit()
def read_rests(tables: Int64s, written: Int64s, keys: Int64s) -> None:
    """Put the runs that were written where they were."""
    runs, times, numbers = int_table(tables, RUNS), ints(tables, TIMES), ints(tables, NUMBERS)
    at = 0
    while at < written.shape[0]:
        place, run_flags, count = written[at], written[at + 1], written[at + 2]
        first = written[at + 5]
        key = keys[first]
        if place == SPENT:
            int_table(tables, KEYS)[key, MATCHED] = first + 1
        else:
            run = allocate(tables)
            clear_run(tables, run, first, times[first])
            for number in range(count):
                if written[at + 6 + 2 * number] >= 0:
                    bind_event(tables, run, written[at + 6 + 2 * number], written[at + 5 + 2 * number])
            if not runs[run, BOUND] or numbers[WITHIN] == NEVER:
                runs[run, DEADLINE] = NEVER
            rest_in(tables, run, place, written[at + 3])
            runs[run, FLAGS] = run_flags
            runs[run, OPEN] = written[at + 4]
            find_due(tables, run)
            add_run(tables, key, run)
        at += 5 + 2 * count
