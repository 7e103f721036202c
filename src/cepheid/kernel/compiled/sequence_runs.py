"""Partial matches of SEQ as runs of its automaton, each resting in a list of its key and state.

    lists[key]     head and tail of the list of each state, how many runs, how many of them pending, and the latest
                   event of each absence that is judged later
    runs[r]        next in its list, deadline, bound variables, flags, tail of its chain, first event,
                   last event of each variable, first event of each repeated one
    nodes[n]       an element of a repeated step: event, variable, the element before; shared where runs part

An event visits only the lists of states that wait for what it can be, the latest state first, so that it moves no run
twice.  Runs whose time is over leave when something is put behind them, or when they are met: an event costs nothing
for what it cannot advance.  Before each event there must be room for all it can add (see sequence_advance.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import (
    flag_table,
    flags,
    float_table,
    floats,
    int_table,
    ints,
    small_ints,
    small_table,
)
from cepheid.kernel.compiled.evaluate import Cells, Machine, holds
from cepheid.kernel.compiled.exact_sums import RARE
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.pattern_aggregates import (
    BY,
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
    move_rare,
    read_aggregate,
)
from cepheid.kernel.compiled.sequence_automaton import (
    ACCEPTS,
    ANY,
    AT_START,
    CONTIGUOUS,
    DONE_AFTER,
    DONE_BEFORE,
    DONE_FULL,
    FULL_ACCEPTS,
    FULL_TARGET,
    GROUP,
    IS_LOOP,
    LISTS,
    MODE,
    NEVER,
    NOWHERE,
    PENDING,
    TARGET,
    TIMEOUTS,
    VARIABLE,
    VARIABLES,
    WALKED,
    WITHIN,
)

# places on the tables: the plan, the runs, what conditions read
(
    NUMBERS, EDGES, EDGE_BOUNDS, WANTS, WATCHED, LOOPS, ACCEPTING, REPEATED, CONDITION_BOUNDS, CONDITIONS, TESTS_ALONE,
    CONDITION_MASK, POSITION_BOUNDS, POSITIONS, POSITION_TABLE, FACT_BOUNDS, FACTS, FACT_TABLE, AGGREGATES, JUDGED,
    RUNS, NODES, SUMS_I, SUMS_F, SUMS_RARE, KEYS, FOUND, LINKS, ENTRIES, COUNTERS, WHERE, TIMES,
    CODE, CODE_BOUNDS, CODE_INTEGERS, CODE_FLOATS, RANKS, REGISTERS_I, REGISTERS_F, REGISTERS_VALID, TROUBLE, BY_RANK,
    FACTS_I, FACTS_F, FACTS_VALID, CELLS_I, CELLS_I_VALID, CELLS_F, CELLS_F_VALID,
) = range(49)  # fmt: skip

# columns of a run
LINK, DEADLINE, BOUND, FLAGS, TAIL, FIRST, LASTS = range(7)
BARRED, LATE = 1, 2  # flags: an absence failed since the last element; time ran out
# columns of a node
EVENT, LABEL, PARENT = range(3)
# counters
FREE, USED, NODES_USED, FOUND_ROWS, LIVE, EARLIEST, DROPPED = range(7)
COUNTS = 7
SPARE, BEST, EMPTY = range(3)  # rows of `runs` to try things on
RESERVED = 3


# --- lists -----------------------------------------------------------------------------------------------


@njit()
def allocate(tables: Int64s) -> int:
    counters = ints(tables, COUNTERS)
    run = counters[FREE]
    if run >= 0:
        counters[FREE] = int_table(tables, RUNS)[run, LINK]
        return run
    run = counters[USED]
    counters[USED] = run + 1
    return run


@njit()
def release(tables: Int64s, run: int) -> None:
    counters = ints(tables, COUNTERS)
    int_table(tables, RUNS)[run, LINK] = counters[FREE]
    counters[FREE] = run


@njit()
def unlink(tables: Int64s, key: int, state: int, before: int, run: int) -> None:
    """Take a run out of its list; `before` is the one in front of it, -1 if there is none."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    after = runs[run, LINK]
    if before < 0:
        lists[key, 2 * state] = after
    else:
        runs[before, LINK] = after
    if after < 0:
        lists[key, 2 * state + 1] = before


@njit()
def emit(tables: Int64s, run: int, flags_of_match: int) -> None:
    """Give out the run; a copy, since the run may go on."""
    runs, found, counters = int_table(tables, RUNS), int_table(tables, FOUND), ints(tables, COUNTERS)
    count = counters[FOUND_ROWS]
    for column in range(runs.shape[1]):
        found[count, column] = runs[run, column]
    found[count, FLAGS] = flags_of_match
    counters[FOUND_ROWS] = count + 1


@njit()
def forget(tables: Int64s, key: int, state: int, run: int) -> None:
    """The run is out of its list and gone."""
    numbers, lists = ints(tables, NUMBERS), int_table(tables, KEYS)
    column = 2 * numbers[LISTS]
    lists[key, column] -= 1
    if state == numbers[PENDING]:
        lists[key, column + 1] -= 1
    ints(tables, COUNTERS)[LIVE] -= 1
    release(tables, run)


@njit()
def expire(tables: Int64s, key: int, state: int, run: int) -> None:
    """The time of a run is over, and it is out of its list: a proof of absence, a partial match, or nothing."""
    numbers = ints(tables, NUMBERS)
    if state == numbers[PENDING]:
        emit(tables, run, 0)
    elif numbers[TIMEOUTS] and not ints(tables, ACCEPTING)[state] and not int_table(tables, RUNS)[run, FLAGS] & BARRED:
        emit(tables, run, LATE)
    forget(tables, key, state, run)


@njit()
def drop_old(tables: Int64s, key: int, state: int, now: int) -> None:
    """What is too old at the head of a list leaves."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    run = lists[key, 2 * state]
    while run >= 0 and runs[run, DEADLINE] < now:
        unlink(tables, key, state, -1, run)
        expire(tables, key, state, run)
        run = lists[key, 2 * state]


@njit()
def put(tables: Int64s, key: int, state: int, run: int, now: int) -> None:
    """Append a run to a list; what is too old in front leaves."""
    drop_old(tables, key, state, now)
    runs, lists, numbers, counters = (
        int_table(tables, RUNS),
        int_table(tables, KEYS),
        ints(tables, NUMBERS),
        ints(tables, COUNTERS),
    )
    runs[run, LINK] = -1
    if lists[key, 2 * state] < 0:
        lists[key, 2 * state] = run
    else:
        runs[lists[key, 2 * state + 1], LINK] = run
    lists[key, 2 * state + 1] = run
    column = 2 * numbers[LISTS]
    lists[key, column] += 1
    if state == numbers[PENDING]:
        lists[key, column + 1] += 1
    counters[LIVE] += 1
    if (state == numbers[PENDING] or numbers[TIMEOUTS]) and runs[run, DEADLINE] < counters[EARLIEST]:
        counters[EARLIEST] = runs[run, DEADLINE]


@njit()
def copy_run(tables: Int64s, target: int, source: int) -> None:
    runs = int_table(tables, RUNS)
    for column in range(runs.shape[1]):
        runs[target, column] = runs[source, column]
    count = int_table(tables, AGGREGATES).shape[0]
    if count:
        sums = sums_of(tables)
        for aggregate in range(count):
            row = target * count + aggregate
            copy_sums(sums, source * count + aggregate, row)
            if sums.floats.shape[1] > 0 and sums.floats[row, RARE] > 0.0:
                move_rare(sums, row, row)


@njit()
def clear_run(tables: Int64s, run: int, event: int, time: int) -> None:
    """A run that has bound nothing yet, and will begin with the event."""
    runs, within = int_table(tables, RUNS), ints(tables, NUMBERS)[WITHIN]
    runs[run, DEADLINE] = NEVER if within == NEVER else time + within
    runs[run, BOUND] = 0
    runs[run, FLAGS] = 0
    runs[run, TAIL] = -1
    runs[run, FIRST] = event
    for column in range(LASTS, runs.shape[1]):
        runs[run, column] = -1
    count = int_table(tables, AGGREGATES).shape[0]
    if count:
        sums = sums_of(tables)
        for aggregate in range(count):
            clear_sums(sums, run * count + aggregate)


@njit(forceinline=True)
def sums_of(tables: Int64s) -> Sums:
    return Sums(int_table(tables, SUMS_I), float_table(tables, SUMS_F), float_table(tables, SUMS_RARE))


@njit(forceinline=True)
def cells_of(tables: Int64s) -> Cells:
    return Cells(
        int_table(tables, CELLS_I), flag_table(tables, CELLS_I_VALID), float_table(tables, CELLS_F),
        flag_table(tables, CELLS_F_VALID),
    )  # fmt: skip


@njit(forceinline=True)
def machine_of(tables: Int64s) -> Machine:
    return Machine(
        small_table(tables, CODE), small_ints(tables, CODE_BOUNDS), ints(tables, CODE_INTEGERS),
        floats(tables, CODE_FLOATS), ints(tables, RANKS), ints(tables, REGISTERS_I), floats(tables, REGISTERS_F),
        flags(tables, REGISTERS_VALID), ints(tables, TROUBLE), ints(tables, BY_RANK), ints(tables, FACTS_I),
        floats(tables, FACTS_F), flags(tables, FACTS_VALID),
    )  # fmt: skip


# --- conditions ------------------------------------------------------------------------------------------


@njit()
def walk_back(nodes: Any, node: int, variable: int, steps: int) -> int:
    """The element `steps` before the last one of a variable, from the end of a chain; -1 if there is none."""
    while node >= 0:
        if nodes[node, LABEL] == variable:
            if steps == 0:
                return nodes[node, EVENT]
            steps -= 1
        node = nodes[node, PARENT]
    return -1


@njit()
def count_elements(nodes: Any, node: int, variable: int) -> int:
    count = 0
    while node >= 0:
        count += nodes[node, LABEL] == variable
        node = nodes[node, PARENT]
    return count


@njit()
def locate(tables: Int64s, run: int, position: int, tested: int, event: int) -> int:
    """The event that a position stands for, with `event` bound to variable `tested`; -1 if there is none."""
    places, runs = int_table(tables, POSITION_TABLE), int_table(tables, RUNS)
    variable, first, offset = places[position, 0], places[position, 1], places[position, 2]
    under_test = variable == tested
    if offset == 0 and not first and under_test:
        return event
    variables = ints(tables, NUMBERS)[VARIABLES]
    if variable >= variables:
        return -1
    kept = ints(tables, REPEATED)[variable]
    if offset == 0:
        if not (runs[run, BOUND] >> variable) & 1:
            return event if under_test else -1
        return runs[run, LASTS + variables + kept] if first and kept >= 0 else runs[run, LASTS + variable]
    if kept < 0:
        return -1
    nodes, tail = int_table(tables, NODES), runs[run, TAIL]
    if first:
        offset = count_elements(nodes, tail, variable) + under_test - 1 - offset
        if offset < 0:
            return -1
    if under_test:
        if offset == 0:
            return event
        offset -= 1
    return walk_back(nodes, tail, variable, offset)


@njit()
def is_new(tables: Int64s, run: int, aggregate: int, event: int) -> bool:
    """DISTINCT: has no element before the same value?"""
    table = int_table(tables, AGGREGATES)
    column, kind = table[aggregate, COLUMN], table[aggregate, KIND]
    if not table[aggregate, DISTINCT] or column < 0 or table[aggregate, BY] >= 0:
        return True
    cells = cells_of(tables)
    if not is_known(column, kind, event, cells):
        return True
    nodes, node = int_table(tables, NODES), int_table(tables, RUNS)[run, TAIL]
    while node >= 0:
        other = nodes[node, EVENT]
        if (
            (table[aggregate, MEMBERS] >> nodes[node, LABEL]) & 1
            and is_known(column, kind, other, cells)
            and is_equal(column, kind, other, event, cells)
        ):
            return False
        node = nodes[node, PARENT]
    return True


@njit()
def add_element(tables: Int64s, aggregate: int, row: int, event: int) -> None:
    """A rare record has the number of its row."""
    table, ranks = int_table(tables, AGGREGATES), ints(tables, RANKS)
    add_event(table, aggregate, row, event, sums_of(tables), row, cells_of(tables), ranks)


@njit()
def read_facts(tables: Int64s, run: int, condition: int, tested: int, event: int) -> None:
    """Write the aggregates that a condition reads into the machine's facts."""
    bounds, facts, table = ints(tables, FACT_BOUNDS), ints(tables, FACTS), int_table(tables, AGGREGATES)
    sums, cells, machine = sums_of(tables), cells_of(tables), machine_of(tables)
    count = table.shape[0]
    for place in range(bounds[condition], bounds[condition + 1]):
        slot = facts[place]
        aggregate, before = int_table(tables, FACT_TABLE)[slot, 0], int_table(tables, FACT_TABLE)[slot, 1]
        row = run * count + aggregate
        if not before and (table[aggregate, MEMBERS] >> tested) & 1:
            spare = sums.integers.shape[0] - count + aggregate  # the last way is that of no run
            copy_sums(sums, row, spare)
            if is_new(tables, run, aggregate, event):
                add_element(tables, aggregate, spare, event)
            row = spare
        read_aggregate(table, aggregate, row, sums, cells, slot, machine)


@njit()
def all_hold(tables: Int64s, run: int, tested: int, event: int) -> bool:
    """Do the conditions that name a variable hold for an event, as far as all that they name is bound?"""
    by_variable = ints(tables, CONDITION_BOUNDS)
    bound = int_table(tables, RUNS)[run, BOUND]
    if tested < ints(tables, NUMBERS)[VARIABLES]:
        bound |= np.int64(1) << tested
    where = ints(tables, WHERE)
    for place in range(by_variable[tested], by_variable[tested + 1]):
        condition = ints(tables, CONDITIONS)[place]
        if ints(tables, CONDITION_MASK)[condition] & ~bound:
            continue
        positions, reads = ints(tables, POSITIONS), ints(tables, POSITION_BOUNDS)
        for at in range(reads[condition], reads[condition + 1]):
            where[positions[at]] = locate(tables, run, positions[at], tested, event)
        if ints(tables, FACT_BOUNDS)[condition] < ints(tables, FACT_BOUNDS)[condition + 1]:
            read_facts(tables, run, condition, tested, event)
        if not holds(condition, where, machine_of(tables), cells_of(tables)):
            return False
    return True


@njit()
def fits_edge(tables: Int64s, run: int, edge: int, played: int, event: int) -> bool:
    edges, bounds = int_table(tables, EDGES), ints(tables, CONDITION_BOUNDS)
    variable = edges[edge, VARIABLE]
    if not (played >> variable) & 1:
        return False
    if edges[edge, GROUP] and (int_table(tables, RUNS)[run, BOUND] >> variable) & 1:
        return False
    return bounds[variable] == bounds[variable + 1] or all_hold(tables, run, variable, event)


@njit()
def bind_event(tables: Int64s, run: int, variable: int, event: int) -> None:
    """The event becomes one of the run's."""
    runs, table = int_table(tables, RUNS), int_table(tables, AGGREGATES)
    count = table.shape[0]
    for aggregate in range(count):
        if (table[aggregate, MEMBERS] >> variable) & 1 and is_new(tables, run, aggregate, event):
            add_element(tables, aggregate, run * count + aggregate, event)
    kept = ints(tables, REPEATED)[variable]
    if kept >= 0:
        nodes, counters = int_table(tables, NODES), ints(tables, COUNTERS)
        node = counters[NODES_USED]
        counters[NODES_USED] = node + 1
        nodes[node, EVENT] = event
        nodes[node, LABEL] = variable
        nodes[node, PARENT] = runs[run, TAIL]
        runs[run, TAIL] = node
        if not (runs[run, BOUND] >> variable) & 1:
            runs[run, LASTS + ints(tables, NUMBERS)[VARIABLES] + kept] = event
    runs[run, BOUND] |= np.int64(1) << variable
    runs[run, LASTS + variable] = event
    runs[run, FLAGS] &= ~BARRED


# --- absences --------------------------------------------------------------------------------------------


@njit()
def is_ended(tables: Int64s, run: int, state: int, played: int, event: int) -> bool:
    """Is the event one that must not come while the run rests in the state?"""
    hit = played & ints(tables, WATCHED)[state]
    if not hit:
        return False
    variables = ints(tables, NUMBERS)[VARIABLES]
    for absence in range(int_table(tables, JUDGED).shape[0]):
        if (hit >> (variables + absence)) & 1 and all_hold(tables, run, variables + absence, event):
            return True
    return False


@njit()
def passes_walked(tables: Int64s, run: int, before: int, after: int) -> bool:
    """Judge absences that were held against later events, now that `after` items are decided instead of `before`."""
    runs, judged, repeated = int_table(tables, RUNS), int_table(tables, JUDGED), ints(tables, REPEATED)
    variables = ints(tables, NUMBERS)[VARIABLES]
    for absence in range(judged.shape[0]):
        if judged[absence, 0] != WALKED or not before <= judged[absence, 1] < after:
            continue
        low, high = -1, NEVER
        for variable in range(variables):
            if not (runs[run, BOUND] >> variable) & 1:
                continue
            if (judged[absence, 2] >> variable) & 1:
                low = max(low, runs[run, LASTS + variable])
            elif (judged[absence, 3] >> variable) & 1:
                kept = repeated[variable]
                high = min(high, runs[run, LASTS + variable if kept < 0 else LASTS + variables + kept])
        chain = judged[absence, 4]
        candidate = int_table(tables, ENTRIES)[chain, high]
        while candidate > low:
            if all_hold(tables, run, variables + absence, candidate):
                return False
            candidate = int_table(tables, LINKS)[chain, candidate]
    return True


@njit()
def passes_start(tables: Int64s, run: int, time: int) -> bool:
    """Nothing that must not be there before the first event, from the last event's time - WITHIN on."""
    judged, numbers = int_table(tables, JUDGED), ints(tables, NUMBERS)
    for absence in range(judged.shape[0]):
        if judged[absence, 0] != AT_START:
            continue
        chain, times = judged[absence, 4], ints(tables, TIMES)
        candidate = int_table(tables, ENTRIES)[chain, int_table(tables, RUNS)[run, FIRST]]
        while candidate >= 0 and times[candidate] >= time - numbers[WITHIN]:
            if all_hold(tables, run, numbers[VARIABLES] + absence, candidate):
                return False
            candidate = int_table(tables, LINKS)[chain, candidate]
    return True


# --- moves -----------------------------------------------------------------------------------------------


@njit()
def take_edge(tables: Int64s, run: int, edge: int, event: int) -> Any:
    """Bind the event along an edge; gives the state reached (NOWHERE if none), whether it is a match, and whether the
    absences that are judged on the way hold."""
    edges = int_table(tables, EDGES)
    bind_event(tables, run, edges[edge, VARIABLE], event)
    target, accepts, after = edges[edge, TARGET], edges[edge, ACCEPTS], edges[edge, DONE_AFTER]
    group = edges[edge, GROUP]
    if group and int_table(tables, RUNS)[run, BOUND] & group == group:
        target, accepts, after = edges[edge, FULL_TARGET], edges[edge, FULL_ACCEPTS], edges[edge, DONE_FULL]
    before = edges[edge, DONE_BEFORE]
    passes = before == after or int_table(tables, JUDGED).shape[0] == 0 or passes_walked(tables, run, before, after)
    return target, accepts, passes


@njit()
def wait_or_emit(tables: Int64s, key: int, run: int, now: int) -> None:
    """A match: give it out, or let a copy of it wait for the end of an absence."""
    pending = ints(tables, NUMBERS)[PENDING]
    if not passes_start(tables, run, now):
        return
    if pending < 0:
        emit(tables, run, 0)
        return
    waiting = allocate(tables)
    copy_run(tables, waiting, run)
    put(tables, key, pending, waiting, now)


@njit()
def follow_edge(tables: Int64s, key: int, run: int, edge: int, event: int) -> None:
    """Move a run that is in no list along an edge that the event fits."""
    now = ints(tables, TIMES)[event]
    target, accepts, passes = take_edge(tables, run, edge, event)
    if passes and accepts:
        wait_or_emit(tables, key, run, now)
    if passes and target != NOWHERE:
        put(tables, key, target, run, now)
    else:
        release(tables, run)


@njit()
def choose_edges(tables: Int64s, run: int, state: int, played: int, event: int) -> Any:
    """The edge to itself that the event fits, and the first other one; -1 where there is none."""
    edges, bounds = int_table(tables, EDGES), ints(tables, EDGE_BOUNDS)
    again, further = -1, -1
    for edge in range(bounds[state], bounds[state + 1]):
        is_loop = edges[edge, IS_LOOP]
        if (further >= 0 and not is_loop) or not fits_edge(tables, run, edge, played, event):
            continue
        if is_loop:
            again = edge
        else:
            further = edge
    return again, further


@njit()
def offer_event(tables: Int64s, key: int, state: int, run: int, played: int, event: int) -> bool:
    """Offer an event to a run that is in a list; does the run stay there?

    A run that moves is copied, and the copy put elsewhere: so the list stays whole until the caller takes it out.
    """
    edges, mode = int_table(tables, EDGES), ints(tables, NUMBERS)[MODE]
    barred = int_table(tables, RUNS)[run, FLAGS] & BARRED
    if mode == ANY:
        bounds = ints(tables, EDGE_BOUNDS)
        for edge in range(bounds[state], bounds[state + 1]):
            if (barred and not edges[edge, IS_LOOP]) or not fits_edge(tables, run, edge, played, event):
                continue
            copy = allocate(tables)
            copy_run(tables, copy, run)
            follow_edge(tables, key, copy, edge, event)
        return True
    again, further = choose_edges(tables, run, state, played, event)
    if again < 0 and further < 0:
        return mode != CONTIGUOUS
    if further >= 0 and not barred:
        copy = allocate(tables)
        copy_run(tables, copy, run)
        follow_edge(tables, key, copy, further, event)
    if again >= 0:
        bind_event(tables, run, edges[again, VARIABLE], event)
        if edges[again, ACCEPTS]:
            wait_or_emit(tables, key, run, ints(tables, TIMES)[event])
    return again >= 0


@njit()
def visit(tables: Int64s, key: int, state: int, played: int, event: int, takes: bool) -> None:
    """Show an event to all runs of a list; `takes`: they may bind it."""
    runs, lists, numbers = int_table(tables, RUNS), int_table(tables, KEYS), ints(tables, NUMBERS)
    is_pending = state == numbers[PENDING]
    loops = ints(tables, LOOPS)[state]
    now = ints(tables, TIMES)[event]
    last = lists[key, 2 * state + 1]
    before, run = -1, lists[key, 2 * state]
    while run >= 0:
        is_last = run == last
        after = runs[run, LINK]
        if runs[run, DEADLINE] < now:
            unlink(tables, key, state, before, run)
            expire(tables, key, state, run)
        else:
            tail = runs[run, TAIL]
            stays = True
            if not is_pending:
                stays = offer_event(tables, key, state, run, played, event) if takes else numbers[MODE] != CONTIGUOUS
            took_it = runs[run, TAIL] != tail
            if stays and not took_it and is_ended(tables, run, state, played, event):
                if loops:
                    runs[run, FLAGS] |= BARRED
                else:
                    stays = False
            if stays:
                before = run
            else:
                unlink(tables, key, state, before, run)
                forget(tables, key, state, run)
        if is_last:
            return
        run = after
