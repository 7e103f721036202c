"""A few events into all the arrays that remember them, with one call: the log, the cells of conditions, keys.

    sources ─▶ are they in order? ─▶ stores ─▶ numbers of keys

`intake` is a table of addresses (array_table.py) with the places below; whoever lays it out sees to it that there is
room for the events in every store.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import int_table, ints
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

SOURCES, TARGETS, KEY_COLUMNS, NUMBERINGS, ROW, ARRIVALS, STATE = range(7)
"""Places of an intake: int64[n, 6], int64[n, 4] (memory.py), int64[n] sources of keys, int64[n, 11], room for the cells
of a key, int64[room] numbers of arrivals, int64[...] as below."""

FIRST_KEY, LAST_KEY, SLOTS, SLOT_COUNT, KEYS, KEY_ROOM, TALLY, NUMBERS, SKIPS_NULL, FIRST_ROW, LAST_ROW = range(11)
"""Of a numbering: its key columns; slots, rows and count of its index, by address and length; where numbers are
written; 1: keys with a null have the number -1; the targets that a new key is written to, at its number."""

TIME_SOURCE, HORIZON, ARRIVED, REACHED, FOLLOWS, STORED, LOCAL, LIMIT = range(8)
"""Of the state: the source of times; events before this are not taken; how many events have arrived; how far time has
come, and 1 if that is the time of the last event; how many targets are stores, and how many are those and the ones that
hold the events at hand only, from place 0 on (behind them: values of keys); events behind the limit are not taken
either."""

TAKEN, NOT_IN_ORDER, NEEDS_KEYS = 0, -1, -2
NOTHING, SOMETHING, TROUBLED = 1, 2, 5
"""What came of events that have been taken in, by the kernels that do so: nothing to give out, or something; or an
integer left its range."""

_NAN = np.int64(0x7FF8000000000000)


@njit()
def take_in(intake: Int64s, begin: int, count: int) -> int:
    """Take in `count` events from place `begin` on: TAKEN, or why nothing was."""
    sources, targets, state = int_table(intake, SOURCES), int_table(intake, TARGETS), ints(intake, STATE)
    numberings = int_table(intake, NUMBERINGS)
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
    for n in range(numberings.shape[0]):
        needed = load_int64(numberings[n, TALLY]) + count
        if needed > numberings[n, KEY_ROOM] or 2 * needed > numberings[n, SLOT_COUNT]:
            return NEEDS_KEYS
    if state[FOLLOWS] and count:
        state[REACHED] = time
        state[HORIZON] = time
    arrivals, arrived = ints(intake, ARRIVALS), state[ARRIVED]
    for i in range(count):
        arrivals[i] = arrived + i
    state[ARRIVED] = arrived + count
    copy_rows(sources, targets, 0, state[STORED], begin, 0, count)
    copy_rows(sources, targets, state[STORED], state[LOCAL], 0, 0, count)
    for n in range(numberings.shape[0]):
        _number_events(intake, n, count)
    return TAKEN


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
