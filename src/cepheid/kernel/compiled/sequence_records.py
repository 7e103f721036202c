"""Runs of SEQ as lists of events: for matches, for comparisons, and for snapshots.

A run holds its plain events by variable and the elements of repeated steps in a chain, latest first; here both are
brought into the order of events.  A snapshot writes a run as (state, flags, how many events, then event and variable of
each), events counted among those that are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.array_table import int_table, ints
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.sequence_automaton import LISTS, NEVER, VARIABLES
from cepheid.kernel.compiled.sequence_runs import (
    BOUND,
    DEADLINE,
    EVENT,
    FIRST,
    FLAGS,
    FOUND,
    KEYS,
    LABEL,
    LASTS,
    LATE,
    LINK,
    NODES,
    NUMBERS,
    PARENT,
    REPEATED,
    RUNS,
    TAIL,
    TIMES,
    allocate,
    bind_event,
    clear_run,
    put,
)

HEAD = 3  # state, flags, how many events


@njit()
def count_events(tables: Int64s, rows: int, run: int) -> int:
    """How many events a run holds; `rows`: RUNS, or FOUND for matches."""
    runs, nodes, repeated = int_table(tables, rows), int_table(tables, NODES), ints(tables, REPEATED)
    count = 0
    for variable in range(ints(tables, NUMBERS)[VARIABLES]):
        if repeated[variable] < 0:
            count += (runs[run, BOUND] >> variable) & 1
    node = runs[run, TAIL]
    while node >= 0:
        count += 1
        node = nodes[node, PARENT]
    return count


@njit()
def fill_events(tables: Int64s, rows: int, run: int, events: Int64s, labels: Int64s) -> None:
    """The events of a run in order, with their variables."""
    runs, nodes, repeated = int_table(tables, rows), int_table(tables, NODES), ints(tables, REPEATED)
    count = events.shape[0]
    begin = count
    node = runs[run, TAIL]
    while node >= 0:
        begin -= 1
        events[begin] = nodes[node, EVENT]
        labels[begin] = nodes[node, LABEL]
        node = nodes[node, PARENT]
    for variable in range(ints(tables, NUMBERS)[VARIABLES]):
        if repeated[variable] >= 0 or not (runs[run, BOUND] >> variable) & 1:
            continue
        begin -= 1
        event = runs[run, LASTS + variable]
        place = begin
        while place + 1 < count and events[place + 1] < event:
            events[place], labels[place] = events[place + 1], labels[place + 1]
            place += 1
        events[place], labels[place] = event, variable


@njit()
def list_events(tables: Int64s, rows: int, run: int) -> Any:
    count = count_events(tables, rows, run)
    events, labels = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    fill_events(tables, rows, run, events, labels)
    return events, labels


@njit()
def is_before(tables: Int64s, left: int, right: int) -> bool:
    """Did the left run begin first?  Of runs with the same first event, the one with the earlier events did."""
    runs = int_table(tables, RUNS)
    if runs[left, FIRST] != runs[right, FIRST]:
        return runs[left, FIRST] < runs[right, FIRST]
    left_events, left_labels = list_events(tables, RUNS, left)
    right_events, right_labels = list_events(tables, RUNS, right)
    shorter = min(left_events.shape[0], right_events.shape[0])
    for place in range(shorter):
        if left_events[place] != right_events[place]:
            return left_events[place] < right_events[place]
    if left_events.shape[0] != right_events.shape[0]:
        return left_events.shape[0] < right_events.shape[0]
    for place in range(shorter):
        if left_labels[place] != right_labels[place]:
            return left_labels[place] < right_labels[place]
    return False


@njit()
def count_found(tables: Int64s, count: int) -> Int64s:
    """int64[matches]: where the events of each match end."""
    ends = np.empty(count, dtype=np.int64)
    total = 0
    for match in range(count):
        total += count_events(tables, FOUND, match)
        ends[match] = total
    return ends


@njit()
def expand_found(tables: Int64s, ends: Int64s) -> Any:
    """Events, labels, starts and fates (1: timed out) of the matches."""
    found = int_table(tables, FOUND)
    total = ends[-1] if ends.shape[0] else 0
    events, labels = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    starts = np.empty(ends.shape[0], dtype=np.int64)
    late = np.zeros(ends.shape[0], dtype=np.uint8)
    begin = 0
    for match in range(ends.shape[0]):
        fill_events(tables, FOUND, match, events[begin : ends[match]], labels[begin : ends[match]])
        starts[match] = found[match, FIRST]
        late[match] = (found[match, FLAGS] & LATE) != 0
        begin = ends[match]
    return events, labels, starts, late


# --- snapshots -------------------------------------------------------------------------------------------


@njit()
def mark_held(tables: Int64s, horizon: int, marked: Flags) -> None:
    """Mark the events of all runs whose time is not over at the horizon."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    for key in range(lists.shape[0]):
        for state in range(ints(tables, NUMBERS)[LISTS]):
            run = lists[key, 2 * state]
            while run >= 0:
                if runs[run, DEADLINE] >= horizon:
                    events, _ = list_events(tables, RUNS, run)
                    for event in events:
                        marked[event] = 1
                run = runs[run, LINK]


@njit()
def write_runs(tables: Int64s, horizon: int, places: Int64s, written: Int64s) -> int:
    """Tell all runs whose time is not over; gives the length, and leaves out what `written` is too short for."""
    runs, lists = int_table(tables, RUNS), int_table(tables, KEYS)
    length = 0
    for key in range(lists.shape[0]):
        for state in range(ints(tables, NUMBERS)[LISTS]):
            run = lists[key, 2 * state]
            while run >= 0:
                if runs[run, DEADLINE] >= horizon:
                    events, labels = list_events(tables, RUNS, run)
                    count = events.shape[0]
                    if length + 3 + 2 * count <= written.shape[0]:
                        written[length] = state
                        written[length + 1] = runs[run, FLAGS]
                        written[length + 2] = count
                        for place in range(count):
                            written[length + 3 + 2 * place] = places[events[place]]
                            written[length + 4 + 2 * place] = labels[place]
                    length += 3 + 2 * count
                run = runs[run, LINK]
    return length


@njit()
def count_written(written: Int64s, head: int) -> Any:
    """How many runs are written, and how many events of runs; head: how many numbers stand before the events."""
    runs, events, at = 0, 0, 0
    while at < written.shape[0]:
        runs += 1
        events += written[at + 2]
        at += head + 2 * written[at + 2]
    return runs, events


@njit()
def list_written(written: Int64s, starts: Int64s, head: int) -> None:
    """starts: int64[runs], filled with where each run begins."""
    at = 0
    for run in range(starts.shape[0]):
        starts[run] = at
        at += head + 2 * written[at + 2]


@njit()
def read_runs(tables: Int64s, written: Int64s, keys: Int64s) -> None:
    """Put the runs that were written where they were."""
    at = 0
    while at < written.shape[0]:
        state, run_flags, count = written[at], written[at + 1], written[at + 2]
        first = written[at + 3]
        run = allocate(tables)
        clear_run(tables, run, first, ints(tables, TIMES)[first])
        for place in range(count):
            bind_event(tables, run, written[at + 4 + 2 * place], written[at + 3 + 2 * place])
        int_table(tables, RUNS)[run, FLAGS] = run_flags
        put(tables, keys[first], state, run, -NEVER)
        at += 3 + 2 * count


@njit()
def compact_nodes(tables: Int64s, used: int) -> int:
    """Drop the elements that no run holds any more; gives how many are left."""
    runs, nodes, lists = int_table(tables, RUNS), int_table(tables, NODES), int_table(tables, KEYS)
    states = ints(tables, NUMBERS)[LISTS]
    places = np.full(used, -1, dtype=np.int64)
    for key in range(lists.shape[0]):
        for state in range(states):
            run = lists[key, 2 * state]
            while run >= 0:
                node = runs[run, TAIL]
                while node >= 0 and places[node] < 0:
                    places[node] = 0
                    node = nodes[node, PARENT]
                run = runs[run, LINK]
    count = 0
    for node in range(used):
        if places[node] < 0:
            continue
        places[node] = count
        nodes[count, EVENT], nodes[count, LABEL] = nodes[node, EVENT], nodes[node, LABEL]
        parent = nodes[node, PARENT]
        nodes[count, PARENT] = places[parent] if parent >= 0 else -1
        count += 1
    for key in range(lists.shape[0]):
        for state in range(states):
            run = lists[key, 2 * state]
            while run >= 0:
                if runs[run, TAIL] >= 0:
                    runs[run, TAIL] = places[runs[run, TAIL]]
                run = runs[run, LINK]
    return count
