"""Show events to the runs of their keys, one by one, and settle what time decides.

An event is shown to matches that wait for an absence, to the runs of each state from the last to the first, and may
then begin a run itself.  With CONSUME MATCHED it is first asked whether it completes a match: if so, its events are
gone before anybody else sees the event.

What most events do, to begin a run and to end those that waited for a neighbour, is written out in `advance`; all
else is called.  If there is no room for what the next event may add, `advance` stops before it and is called again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import fetch_row, int_table, ints
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.sequence_automaton import (
    ANY,
    AT_ONCE,
    CONSUME,
    CONTIGUOUS,
    DROPS_OLDEST,
    IS_LOOP,
    KEEPS_FIRSTS,
    LIMIT,
    LISTS,
    MODE,
    NEVER,
    PENDING,
    PLAIN_START,
    STATES,
    TARGET,
    TIMEOUTS,
    VARIABLE,
    VARIABLES,
    WIDEST,
    WITHIN,
)
from cepheid.kernel.compiled.sequence_records import is_before, list_events
from cepheid.kernel.compiled.sequence_runs import (
    BARRED,
    BEST,
    BOUND,
    COUNTERS,
    DEADLINE,
    DROPPED,
    EARLIEST,
    EDGE_BOUNDS,
    EDGES,
    EMPTY,
    ENTRIES,
    EVENT,
    FIRST,
    FLAGS,
    FOUND,
    FOUND_ROWS,
    FREE,
    JUDGED,
    KEYS,
    LASTS,
    LINK,
    LINKS,
    LIVE,
    LOOPS,
    NODES,
    NODES_USED,
    NUMBERS,
    PARENT,
    RESERVED,
    RUNS,
    SPARE,
    SUMS_I,
    TAIL,
    TESTS_ALONE,
    TIMES,
    USED,
    WANTS,
    WATCHED,
    all_hold,
    allocate,
    choose_edges,
    clear_run,
    copy_run,
    drop_old,
    emit,
    expire,
    fits_edge,
    follow_edge,
    forget,
    passes_start,
    release,
    take_edge,
    unlink,
    visit,
)

# why `advance` stopped
DONE, NO_ROOM, OVER_LIMIT = range(3)
AHEAD = 12  # so many events before a run is looked at, its row is asked for


@njit()
def room_needed(tables: Int64s, key: int) -> int:
    """The most runs, elements and matches that one event of the key can add."""
    numbers = ints(tables, NUMBERS)
    return (int_table(tables, KEYS)[key, 2 * numbers[LISTS]] + 2) * (numbers[WIDEST] + 2) + 4


@njit()
def advance(keys: Int64s, plays: Int64s, base: int, begin: int, tables: Int64s) -> Any:
    """Take in the events from `begin` on; gives how far it came, and why it stopped."""
    numbers, counters, times = ints(tables, NUMBERS), ints(tables, COUNTERS), ints(tables, TIMES)
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    wants, watched, loops = ints(tables, WANTS), ints(tables, WATCHED), ints(tables, LOOPS)
    edges, edge_bounds = int_table(tables, EDGES), ints(tables, EDGE_BOUNDS)
    mode, pending, within = numbers[MODE], numbers[PENDING], numbers[WITHIN]
    consume, limit, at_once, many = numbers[CONSUME], numbers[LIMIT], numbers[AT_ONCE], numbers[LISTS]
    column = 2 * many
    start = numbers[STATES] + 1
    has_chains = lists.shape[1] > column + 2
    quiet = not numbers[TIMEOUTS]  # runs that run out of time leave without a word
    first_edge = edge_bounds[start]
    plain_start = numbers[PLAIN_START] and int_table(tables, SUMS_I).shape[0] == 0
    first_variable, first_state = edges[first_edge, VARIABLE], edges[first_edge, TARGET]
    room = runs.shape[0] - RESERVED
    found_room = int_table(tables, FOUND).shape[0]
    node_room = int_table(tables, NODES).shape[0] if numbers[KEEPS_FIRSTS] else NEVER
    for i in range(begin, keys.shape[0]):
        key, played = keys[i], plays[i]
        if plain_start and i + AHEAD < keys.shape[0] and keys[i + AHEAD] >= 0:
            fetch_row(tables, RUNS, lists[keys[i + AHEAD], 2 * first_state])
        if key < 0 or (played == 0 and mode != CONTIGUOUS):
            continue
        need = room_needed(tables, key)
        if (
            room - counters[LIVE] < need
            or found_room - counters[FOUND_ROWS] < need
            or node_room - counters[NODES_USED] < 2 * need
        ):
            return i, NO_ROOM
        event = base + i
        if has_chains:
            chain_absences(tables, key, played, event)
        takes = True
        if consume and find_winner(tables, key, played, event):
            take_away(tables, key, event)
            takes = False
        for state in range(many - 1, -1, -1):
            run = lists[key, 2 * state]
            if run < 0:
                continue
            waits = played & wants[state]
            ends = played & watched[state]
            contiguous = mode == CONTIGUOUS and state != pending
            if quiet and not waits and state != pending and (contiguous or (ends & at_once and not loops[state])):
                # nobody in the list can take the event, and all end by it
                count = 1
                while runs[run, LINK] >= 0:
                    run = runs[run, LINK]
                    count += 1
                runs[run, LINK] = counters[FREE]
                counters[FREE] = lists[key, 2 * state]
                lists[key, 2 * state] = -1
                lists[key, 2 * state + 1] = -1
                lists[key, column] -= count
                counters[LIVE] -= count
            elif waits or ends or contiguous:
                visit(tables, key, state, played, event, takes)
        if takes and played & wants[start]:
            if plain_start:
                now = times[event]
                run = lists[key, 2 * first_state]
                is_old = run >= 0 and runs[run, DEADLINE] < now
                if is_old and not quiet:
                    drop_old(tables, key, first_state, now)
                    is_old = False
                if is_old:  # the new run takes the place of the oldest; to look at the next one would cost a cache miss
                    lists[key, 2 * first_state] = runs[run, LINK]
                    lists[key, column] -= 1
                    counters[LIVE] -= 1
                elif counters[FREE] >= 0:
                    run = counters[FREE]
                    counters[FREE] = runs[run, LINK]
                else:
                    run = counters[USED]
                    counters[USED] = run + 1
                deadline = NEVER if within == NEVER else now + within
                runs[run, LINK] = -1
                runs[run, DEADLINE] = deadline
                runs[run, BOUND] = np.int64(1) << first_variable
                runs[run, FLAGS] = 0
                runs[run, TAIL] = -1
                runs[run, FIRST] = event
                for place in range(LASTS, runs.shape[1]):
                    runs[run, place] = -1
                runs[run, LASTS + first_variable] = event
                if lists[key, 2 * first_state] < 0:
                    lists[key, 2 * first_state] = run
                else:
                    runs[lists[key, 2 * first_state + 1], LINK] = run
                lists[key, 2 * first_state + 1] = run
                lists[key, column] += 1
                counters[LIVE] += 1
                if not quiet:
                    counters[EARLIEST] = min(counters[EARLIEST], deadline)
            else:
                begin_run(tables, key, played, event)
        if limit and not keep_limit(tables, key, times[event]):
            return i, OVER_LIMIT
    return keys.shape[0], DONE


@njit()
def chain_absences(tables: Int64s, key: int, played: int, event: int) -> None:
    """Remember the events that may end an absence which is judged later."""
    numbers, judged, lists = ints(tables, NUMBERS), int_table(tables, JUDGED), int_table(tables, KEYS)
    first = 2 * numbers[LISTS] + 2
    for absence in range(judged.shape[0]):
        chain = judged[absence, 4]
        if chain < 0:
            continue
        int_table(tables, ENTRIES)[chain, event] = lists[key, first + chain]
        if (played >> (numbers[VARIABLES] + absence)) & 1:
            int_table(tables, LINKS)[chain, event] = lists[key, first + chain]
            lists[key, first + chain] = event


@njit()
def chain_kept(tables: Int64s, keys: Int64s, plays: Int64s) -> None:
    """The same for events that a snapshot kept."""
    for event in range(keys.shape[0]):
        if keys[event] >= 0:
            chain_absences(tables, keys[event], plays[event], event)


@njit()
def begin_run(tables: Int64s, key: int, played: int, event: int) -> None:
    """Let an event begin a run; with skip_till_any one for each step it can play."""
    numbers, bounds = ints(tables, NUMBERS), ints(tables, EDGE_BOUNDS)
    start = numbers[STATES] + 1
    for edge in range(bounds[start], bounds[start + 1]):
        variable = int_table(tables, EDGES)[edge, VARIABLE]
        if not (played >> variable) & 1:
            continue
        run = allocate(tables)
        clear_run(tables, run, event, ints(tables, TIMES)[event])
        if ints(tables, TESTS_ALONE)[variable] and not all_hold(tables, run, variable, event):
            release(tables, run)
            continue
        follow_edge(tables, key, run, edge, event)
        if numbers[MODE] != ANY:
            return


# --- CONSUME MATCHED -------------------------------------------------------------------------------------


@njit()
def try_match(tables: Int64s, run: int, edge: int, event: int, found: bool) -> bool:
    """Keep what the edge makes of the run in BEST, if it is a match and began before the one there."""
    copy_run(tables, SPARE, run)
    _, accepts, passes = take_edge(tables, SPARE, edge, event)
    if not accepts or not passes or not passes_start(tables, SPARE, ints(tables, TIMES)[event]):
        return found
    if not found or is_before(tables, SPARE, BEST):
        copy_run(tables, BEST, SPARE)
    return True


@njit()
def find_winner(tables: Int64s, key: int, played: int, event: int) -> bool:
    """Does the event complete a match?  The one that began first is left in BEST."""
    runs, numbers, now = int_table(tables, RUNS), ints(tables, NUMBERS), ints(tables, TIMES)[event]
    found = False
    for state in range(numbers[STATES]):
        run = int_table(tables, KEYS)[key, 2 * state] if played & ints(tables, WANTS)[state] else -1
        while run >= 0:
            if runs[run, DEADLINE] >= now:
                found = try_edges(tables, run, state, played, event, found)
            run = runs[run, LINK]
    clear_run(tables, EMPTY, event, now)
    return try_edges(tables, EMPTY, numbers[STATES] + 1, played, event, found)


@njit()
def try_edges(tables: Int64s, run: int, state: int, played: int, event: int, found: bool) -> bool:
    barred = int_table(tables, RUNS)[run, FLAGS] & BARRED
    if ints(tables, NUMBERS)[MODE] == ANY:
        bounds = ints(tables, EDGE_BOUNDS)
        for edge in range(bounds[state], bounds[state + 1]):
            may_leave = not barred or int_table(tables, EDGES)[edge, IS_LOOP]
            if may_leave and fits_edge(tables, run, edge, played, event):
                found = try_match(tables, run, edge, event, found)
        return found
    again, further = choose_edges(tables, run, state, played, event)
    if again >= 0:
        found = try_match(tables, run, again, event, found)
    if further >= 0 and not barred:
        found = try_match(tables, run, further, event, found)
    return found


@njit()
def take_away(tables: Int64s, key: int, event: int) -> None:
    """Give out the match in BEST; runs that hold one of its events end."""
    emit(tables, BEST, 0)
    runs, now = int_table(tables, RUNS), ints(tables, TIMES)[event]
    gone, _ = list_events(tables, RUNS, BEST)
    for state in range(ints(tables, NUMBERS)[STATES]):
        before, run = -1, int_table(tables, KEYS)[key, 2 * state]
        while run >= 0:
            after = runs[run, LINK]
            if runs[run, DEADLINE] < now:
                unlink(tables, key, state, before, run)
                expire(tables, key, state, run)
            elif shares_event(tables, run, gone):
                unlink(tables, key, state, before, run)
                forget(tables, key, state, run)
            else:
                before = run
            run = after


@njit()
def shares_event(tables: Int64s, run: int, gone: Int64s) -> bool:
    runs, nodes = int_table(tables, RUNS), int_table(tables, NODES)
    for variable in range(ints(tables, NUMBERS)[VARIABLES]):
        if (runs[run, BOUND] >> variable) & 1 and is_among(runs[run, LASTS + variable], gone):
            return True
    node = runs[run, TAIL]
    while node >= 0:
        if is_among(nodes[node, EVENT], gone):
            return True
        node = nodes[node, PARENT]
    return False


@njit()
def is_among(event: int, events: Int64s) -> bool:
    """events: ascending."""
    place = np.searchsorted(events, event)
    return place < events.shape[0] and events[place] == event


# --- LIMIT PARTIALS --------------------------------------------------------------------------------------


@njit()
def keep_limit(tables: Int64s, key: int, now: int) -> bool:
    """Drop the oldest partial matches of a key if there are too many; False: that is refused."""
    numbers, lists = ints(tables, NUMBERS), int_table(tables, KEYS)
    column = 2 * numbers[LISTS]
    if lists[key, column] - lists[key, column + 1] <= numbers[LIMIT]:
        return True
    for state in range(numbers[STATES]):
        drop_expired(tables, key, state, now)
    while lists[key, column] - lists[key, column + 1] > numbers[LIMIT]:
        if not numbers[DROPS_OLDEST]:
            return False
        drop_oldest(tables, key)
    return True


@njit()
def drop_oldest(tables: Int64s, key: int) -> None:
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    oldest, state_of, before_it = -1, 0, -1
    for state in range(ints(tables, NUMBERS)[STATES]):
        before, run = -1, lists[key, 2 * state]
        while run >= 0:
            if oldest < 0 or is_before(tables, run, oldest):
                oldest, state_of, before_it = run, state, before
            before, run = run, runs[run, LINK]
    unlink(tables, key, state_of, before_it, oldest)
    forget(tables, key, state_of, oldest)
    ints(tables, COUNTERS)[DROPPED] += 1


# --- what time decides -----------------------------------------------------------------------------------


@njit()
def drop_expired(tables: Int64s, key: int, state: int, now: int) -> int:
    """Runs of a list whose deadline is before `now` leave; gives the earliest deadline of those that stay."""
    runs = int_table(tables, RUNS)
    earliest = NEVER
    before, run = -1, int_table(tables, KEYS)[key, 2 * state]
    while run >= 0:
        after = runs[run, LINK]
        if runs[run, DEADLINE] < now:
            unlink(tables, key, state, before, run)
            expire(tables, key, state, run)
        else:
            earliest = min(earliest, runs[run, DEADLINE])
            before = run
        run = after
    return earliest


@njit()
def settle(tables: Int64s, horizon: int) -> None:
    """What ran out of time before the horizon is reported: absences are proved, partial matches have timed out."""
    numbers = ints(tables, NUMBERS)
    first = 0 if numbers[TIMEOUTS] else numbers[PENDING]
    earliest = NEVER
    for key in range(int_table(tables, KEYS).shape[0]):
        for state in range(first, numbers[LISTS]):
            earliest = min(earliest, drop_expired(tables, key, state, horizon))
    ints(tables, COUNTERS)[EARLIEST] = earliest
