"""A few events into all the arrays that remember them, with one call: the log, the cells of conditions, keys.

    sources ─▶ are they in order? ─▶ stores ─▶ numbers of keys

`intake` is a table of addresses (array_table.py) with the places below; whoever lays it out sees to it that there is
room for the events in every store.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import int_table, ints, table_at
from cepheid.kernel.compiled.hold import count_held, count_ready, find_newest, hold_events, mark_gone
from cepheid.kernel.compiled.key_index import number_row
from cepheid.kernel.compiled.memory import (
    CODE,
    FLOAT32,
    copy_rows,
    is_known,
    load_int64,
    read_float,
    read_integer,
    store_float64,
    store_int64,
)
from cepheid.kernel.compiled.njit_options import njit

SOURCES, TARGETS, KEY_COLUMNS, NUMBERINGS, ROW, ARRIVALS, STATE, INPUTS = range(8)
"""Places of an intake: int64[n, 6], int64[n, 4] (memory.py), int64[n] sources of keys, int64[n, 11], room for the cells
of a key, int64[room] numbers of arrivals, int64[...] and int64[inputs, 5] as below."""

FIRST_KEY, LAST_KEY, SLOTS, SLOT_COUNT, KEYS, KEY_ROOM, TALLY, NUMBERS, SKIPS_NULL, FIRST_ROW, LAST_ROW = range(11)
"""Of a numbering: its key columns; slots, rows and count of its index, by address and length; where numbers are
written; 1: keys with a null have the number -1; the targets that a new key is written to, at its number."""

TIME_SOURCE, HORIZON, ARRIVED, REACHED, FOLLOWS, STORED, LOCAL, LIMIT, WAITS, TURN, TIES, COUNT = range(12)
"""Of the state: the source of times; events before this are not taken; how many events have arrived; how far time has
come, and 1 if that is the time of the last event; how many targets are stores, and how many are those and the ones that
hold the events at hand only, from place 0 on (behind them: values of keys); events behind the limit are not taken
either; 1 if events may have to wait for others (hold.py): then also which input the events at hand are of, 1 if arrival
decides between those of one time; at last how many events were taken in."""

HOLD_TABLES, HOLD_LENGTH, NEWEST_SEEN, CAME_TO, DELAY = range(5)
"""Of an input whose events may have to wait: address and length of its tables; its newest time, how far it has come,
and how late its events may be: what the gate (disorder/gate.py) is told of when somebody asks."""

NOT_IN_ORDER, NEEDS_KEYS, TOO_MANY = -1, -2, -3
"""Why no events were taken in.  TOO_MANY: they wait, but more of them may leave than there is room for."""
NOTHING, SOMETHING, TROUBLED = 1, 2, 5
"""What came of events that have been taken in, by the kernels that do so: nothing to give out, or something; or an
integer left its range."""
OUTCOME, ABSENT, SHIFT = 7, 8, 4
"""An outcome is one number: a code in its lowest bits, whether a cell of some row is absent, and above that a number:
how many rows were written as records, or what the code needs."""

_NAN = np.int64(0x7FF8000000000000)


@njit()
def encode(code: int, number: int, some_absent: bool = False) -> int:
    return (number << SHIFT) | (ABSENT if some_absent else 0) | code


@njit()
def take_in(intake: Int64s, begin: int, count: int) -> int:
    """Take in events from place `begin` on: how many, or why none was.  Those at hand, or, where events may have to
    wait, those that need not wait any longer."""
    state = ints(intake, STATE)
    taken = _hold_back(intake, count) if state[WAITS] else _pass_gate(intake, count)
    if taken < 0:
        return taken
    sources, targets = int_table(intake, SOURCES), int_table(intake, TARGETS)
    copy_rows(sources, targets, 0, state[STORED], begin, 0, taken)
    copy_rows(sources, targets, state[STORED], state[LOCAL], 0, 0, taken)
    for n in range(int_table(intake, NUMBERINGS).shape[0]):
        _number_events(intake, n, taken)
    state[COUNT] = taken
    return taken


@njit()
def _pass_gate(intake: Int64s, count: int) -> int:
    """Events of one stream, if they are in order."""
    sources, state = int_table(intake, SOURCES), ints(intake, STATE)
    source, time = state[TIME_SOURCE], state[HORIZON]
    for i in range(count):
        if not is_known(sources, source, i):
            return NOT_IN_ORDER
        moment = read_integer(sources, source, i)
        if moment < time:
            return NOT_IN_ORDER
        time = moment
    if not state[FOLLOWS] and count and time > state[LIMIT]:
        return NOT_IN_ORDER
    if not _has_keys(intake, count):
        return NEEDS_KEYS
    if state[FOLLOWS] and count:
        state[REACHED] = time
        state[HORIZON] = time
    arrivals, arrived = ints(intake, ARRIVALS), state[ARRIVED]
    for i in range(count):
        arrivals[i] = arrived + i
    state[ARRIVED] = arrived + count
    return count


@njit()
def _hold_back(intake: Int64s, count: int) -> int:
    """Put events among those that wait; how many may leave, which the sources point to already."""
    state, inputs, turn = ints(intake, STATE), int_table(intake, INPUTS), ints(intake, STATE)[TURN]
    tables = table_at(inputs[turn, HOLD_TABLES], inputs[turn, HOLD_LENGTH])
    most = ints(intake, ARRIVALS).shape[0]
    if not _has_keys(intake, min(most, count_held(tables) + count)):
        return NEEDS_KEYS
    if not hold_events(tables, count, turn, state[REACHED]):
        return NOT_IN_ORDER
    newest = max(inputs[turn, NEWEST_SEEN], find_newest(tables))
    inputs[turn, NEWEST_SEEN] = newest
    inputs[turn, CAME_TO] = max(inputs[turn, CAME_TO], newest - inputs[turn, DELAY])
    slowest = inputs[turn, CAME_TO]
    for other in range(inputs.shape[0]):
        slowest = min(slowest, inputs[other, CAME_TO])
    state[REACHED] = max(state[REACHED], slowest)
    ready = count_ready(tables, state[REACHED], state[TIES] != 0)
    if ready > most:
        return TOO_MANY
    mark_gone(tables, ready)
    return ready


@njit()
def _has_keys(intake: Int64s, count: int) -> bool:
    """Is there room for so many new keys?"""
    numberings = int_table(intake, NUMBERINGS)
    for n in range(numberings.shape[0]):
        needed = load_int64(numberings[n, TALLY]) + count
        if needed > numberings[n, KEY_ROOM] or 2 * needed > numberings[n, SLOT_COUNT]:
            return False
    return True


@njit()
def _number_events(intake: Int64s, n: int, count: int) -> None:
    sources, targets, numberings = int_table(intake, SOURCES), int_table(intake, TARGETS), int_table(intake, NUMBERINGS)
    columns, row = ints(intake, KEY_COLUMNS), ints(intake, ROW)
    first, last, tally = numberings[n, FIRST_KEY], numberings[n, LAST_KEY], numberings[n, TALLY]
    width = last - first
    for i in range(count):
        nulls = 0
        for place in range(width):
            source = columns[first + place]
            row[place] = 0
            if not is_known(sources, source, i):
                nulls |= 1 << place
            elif sources[source, CODE] >= FLOAT32:
                row[place] = _float_cell(intake, read_float(sources, source, i))
            else:
                row[place] = read_integer(sources, source, i)
        row[width] = nulls
        number = number_row(row, width + 1, numberings[n, SLOTS], numberings[n, SLOT_COUNT], numberings[n, KEYS], tally)
        if number < 0:  # a new one
            number = -number - 1
            copy_rows(sources, targets, numberings[n, FIRST_ROW], numberings[n, LAST_ROW], number, i, 1)
        if nulls and numberings[n, SKIPS_NULL]:
            number = -1
        store_int64(numberings[n, NUMBERS] + 8 * i, number)


@njit()
def _float_cell(intake: Int64s, value: float) -> Any:
    """The bits of a float; -0.0 is 0.0, and there is one NaN."""
    if value != value:
        return _NAN
    address = intake[3 * ROW] + 8 * (intake[3 * ROW + 1] - 1)  # the last place is free
    store_float64(address, value + 0.0)
    return load_int64(address)
