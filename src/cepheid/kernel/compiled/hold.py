"""Events that wait for others: records in the order in which they will leave, for a few events at a time.

    sources of one stream ─▶ hold_events: each goes to its place ─▶ the first so many leave, read in place

Who may leave, the gate says (disorder/gate.py).  Records have a word for each column, floats by their bits, and a byte
that says whether it is null.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import flag_table, int_table, ints
from cepheid.kernel.compiled.memory import CODE, FLOAT32, is_known, read_float, read_integer, store_float64
from cepheid.kernel.compiled.njit_options import njit

SOURCES, RECORDS, VALID, NUMBERS = range(4)
"""Places of the table: int64[columns, 6] (memory.py; code -1: the stream has no such column), int64[room, columns],
uint8[room, columns], int64[...] as below."""

HELD, TIME, STREAM, ARRIVAL, ARRIVED, NEWEST, GONE = range(7)
"""How many wait; which column is the time, the number of the stream (-1: there is one), the number of arrival; how many
events have arrived; the newest time of those at hand; how many of the first have left since."""


@njit()
def hold_events(tables: Int64s, count: int, stream: int, horizon: int) -> bool:
    """Put events where they belong; False: one has no time or is late, or there is no room, and nothing has
    happened."""
    sources, numbers = int_table(tables, SOURCES), ints(tables, NUMBERS)
    time, newest = numbers[TIME], horizon
    if count_held(tables) + count > int_table(tables, RECORDS).shape[0]:
        return False
    for i in range(count):
        if not is_known(sources, time, i):
            return False
        moment = read_integer(sources, time, i)
        if moment < horizon:
            return False
        newest = max(newest, moment)
    let_go(tables)
    numbers[NEWEST] = newest
    for i in range(count):
        place = find_place(tables, read_integer(sources, time, i), stream)
        write_record(tables, place, i, stream)
    return True


@njit()
def count_held(tables: Int64s) -> int:
    numbers = ints(tables, NUMBERS)
    return numbers[HELD] - numbers[GONE]


@njit()
def find_newest(tables: Int64s) -> int:
    """The newest time of the events that were last held, or the horizon."""
    return ints(tables, NUMBERS)[NEWEST]


@njit()
def mark_gone(tables: Int64s, count: int) -> None:
    """The first so many have left; they lie where they are until others come."""
    ints(tables, NUMBERS)[GONE] = count


@njit()
def find_place(tables: Int64s, moment: int, stream: int) -> int:
    """Make a gap behind all that leave before such an event."""
    records, valid, numbers = int_table(tables, RECORDS), flag_table(tables, VALID), ints(tables, NUMBERS)
    time, by_stream = numbers[TIME], numbers[STREAM]
    place = numbers[HELD]
    while place > 0 and (
        records[place - 1, time] > moment
        or (by_stream >= 0 and records[place - 1, time] == moment and records[place - 1, by_stream] > stream)
    ):
        for column in range(records.shape[1]):
            records[place, column] = records[place - 1, column]
            valid[place, column] = valid[place - 1, column]
        place -= 1
    numbers[HELD] += 1
    return place


@njit()
def write_record(tables: Int64s, place: int, row: int, stream: int) -> None:
    sources, records, valid = int_table(tables, SOURCES), int_table(tables, RECORDS), flag_table(tables, VALID)
    numbers = ints(tables, NUMBERS)
    for column in range(records.shape[1]):
        code = sources[column, CODE]
        known = code >= 0 and is_known(sources, column, row)
        valid[place, column] = np.uint8(known)
        records[place, column] = 0
        if known and code >= FLOAT32:
            address = tables[3 * RECORDS] + 8 * (place * records.shape[1] + column)
            store_float64(address, read_float(sources, column, row))
        elif known:
            records[place, column] = read_integer(sources, column, row)
    if numbers[STREAM] >= 0:
        records[place, numbers[STREAM]] = stream
        valid[place, numbers[STREAM]] = 1
    records[place, numbers[ARRIVAL]] = numbers[ARRIVED]
    valid[place, numbers[ARRIVAL]] = 1
    numbers[ARRIVED] += 1


@njit()
def count_ready(tables: Int64s, horizon: int, at_horizon: bool) -> int:
    """How many may leave: those before the horizon, and those at it if arrival decides between them.  None has left
    since events were last held."""
    records, numbers = int_table(tables, RECORDS), ints(tables, NUMBERS)
    time, ready = numbers[TIME], 0
    while ready < numbers[HELD] and (
        records[ready, time] < horizon or (at_horizon and records[ready, time] == horizon)
    ):
        ready += 1
    return ready


@njit()
def let_go(tables: Int64s) -> None:
    """Close the gap of those that have left."""
    records, valid, numbers = int_table(tables, RECORDS), flag_table(tables, VALID), ints(tables, NUMBERS)
    gone = numbers[GONE]
    if not gone:
        return
    left = numbers[HELD] - gone
    for row in range(left):
        for column in range(records.shape[1]):
            records[row, column] = records[row + gone, column]
            valid[row, column] = valid[row + gone, column]
    numbers[HELD], numbers[GONE] = left, 0
