"""Aggregates over the events of a match, one event at a time.

    state_i[k] = (how many values, integer sum or best event)        int64[k, 2]
    state_f[k] = (sum or mean, sum of squared distances)             float64[k, 2]

A matcher keeps one such state for each way of matching that it follows, and copies it where ways part: so a
condition like `sum(b.x) < 100` costs the same for the thousandth event of a match as for the first.  Floats are
added in the order of events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.kernel.columns import Flags, Floats, Int64s
from cepheid.kernel.compiled.evaluate import less_float
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import Aggregate, Kind

FUNCTIONS = (
    "count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop", "min_by", "max_by",
)  # fmt: skip
COUNT, SUM, AVG, MIN, MAX, STDDEV_SAMP, STDDEV_POP, VAR_SAMP, VAR_POP, MIN_BY, MAX_BY = range(len(FUNCTIONS))
INTEGER, FLOAT, STRING = range(3)
WIDTH = 8


def tabulate_aggregates(
    aggregates: list[Aggregate], variables: tuple[str, ...], writer: CodeWriter
) -> npt.NDArray[np.int64]:
    """int64[k, 8]: (function, variables as bits, 0 for any; column, its kind; `by`, its kind; distinct; before)."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    table = np.zeros((len(aggregates), WIDTH), dtype=np.int64)
    for row, aggregate in enumerate(aggregates):
        table[row] = (
            FUNCTIONS.index(aggregate.function),
            sum(1 << numbers[variable] for variable in aggregate.variables),
            *_place(aggregate.column, aggregate.column_kind, writer),
            *_place(aggregate.by, aggregate.by_kind, writer),
            aggregate.distinct,
            aggregate.before,
        )
    return table


def _place(column: str | None, kind: Kind | None, writer: CodeWriter) -> tuple[int, int]:
    if column is None or kind is None:
        return -1, INTEGER
    return writer.add_column(column, kind), {"float": FLOAT, "string": STRING}.get(kind, INTEGER)


@njit(cache=True)
def is_known(column: int, kind: int, event: int, cells_i_valid: Any, cells_f_valid: Any) -> bool:
    if column < 0:
        return True
    return (cells_f_valid[column, event] if kind == FLOAT else cells_i_valid[column, event]) != 0


@njit(cache=True)
def is_less(column: int, kind: int, left: int, right: int, cells_i: Any, cells_f: Any, ranks: Int64s) -> bool:
    """Is the value at event `left` less than that at `right`?"""
    if kind == FLOAT:
        return less_float(cells_f[column, left], cells_f[column, right])
    if kind == STRING:
        return ranks[cells_i[column, left]] < ranks[cells_i[column, right]]
    return cells_i[column, left] < cells_i[column, right]


@njit(cache=True)
def is_equal(column: int, kind: int, left: int, right: int, cells_i: Any, cells_f: Any) -> bool:
    if kind == FLOAT:
        x, y = cells_f[column, left], cells_f[column, right]
        return x == y or (x != x and y != y)
    return cells_i[column, left] == cells_i[column, right]


@njit(cache=True)
def add_event(
    table: Any, k: int, event: int, state_i: Any, state_f: Any,
    cells_i: Any, cells_i_valid: Any, cells_f: Any, cells_f_valid: Any, ranks: Int64s, trouble: Int64s,
) -> None:  # fmt: skip
    """Let aggregate k take in an event of one of its variables, whose value is new if that matters."""
    function, column, kind = table[k, 0], table[k, 2], table[k, 3]
    if function in (MIN_BY, MAX_BY):
        by, by_kind = table[k, 4], table[k, 5]
        if not is_known(by, by_kind, event, cells_i_valid, cells_f_valid):
            return
        best = state_i[k, 1]
        if state_i[k, 0] == 0 or (
            is_less(by, by_kind, event, best, cells_i, cells_f, ranks)
            if function == MIN_BY
            else is_less(by, by_kind, best, event, cells_i, cells_f, ranks)
        ):
            state_i[k, 1] = event
        state_i[k, 0] += 1
        return
    if not is_known(column, kind, event, cells_i_valid, cells_f_valid):
        return
    state_i[k, 0] += 1
    if function == COUNT:
        return
    if function in (MIN, MAX):
        best = state_i[k, 1]
        if state_i[k, 0] == 1 or (
            is_less(column, kind, event, best, cells_i, cells_f, ranks)
            if function == MIN
            else is_less(column, kind, best, event, cells_i, cells_f, ranks)
        ):
            state_i[k, 1] = event
        return
    if function == SUM and kind != FLOAT:
        value = cells_i[column, event]
        total = state_i[k, 1] + value
        if ((state_i[k, 1] ^ total) & (value ^ total)) < 0:
            trouble[0] = 1
        state_i[k, 1] = total
        return
    number = cells_f[column, event] if kind == FLOAT else float(cells_i[column, event])
    if function in (SUM, AVG):
        state_f[k, 0] += number
        return
    distance = number - state_f[k, 0]
    state_f[k, 0] += distance / state_i[k, 0]
    state_f[k, 1] += distance * (number - state_f[k, 0])


@njit(cache=True)
def read_number(table: Any, k: int, state_i: Any, state_f: Any) -> float:
    """The value of aggregate k, where it is a float that is not read from an event; there are values."""
    function, count = table[k, 0], state_i[k, 0]
    if function == SUM:
        return state_f[k, 0]
    if function == AVG:
        return state_f[k, 0] / count
    variance = state_f[k, 1] / (count - 1 if function in (STDDEV_SAMP, VAR_SAMP) else count)
    return np.sqrt(variance) if function in (STDDEV_SAMP, STDDEV_POP) else variance


@njit(cache=True)
def has_value(table: Any, k: int, state_i: Any) -> bool:
    """False if aggregate k is null."""
    function = table[k, 0]
    if function == COUNT:
        return True
    return state_i[k, 0] > (1 if function in (STDDEV_SAMP, VAR_SAMP) else 0)


@njit(cache=True)
def read_aggregate(
    table: Any, k: int, state_i: Any, state_f: Any, slot: int,
    cells_i: Any, cells_i_valid: Any, cells_f: Any, cells_f_valid: Any,
    facts_i: Int64s, facts_f: Floats, facts_valid: Flags,
) -> None:  # fmt: skip
    """Write the value of aggregate k into the facts of a machine."""
    function, column, kind = table[k, 0], table[k, 2], table[k, 3]
    facts_valid[slot] = 1 if has_value(table, k, state_i) else 0
    if not facts_valid[slot]:
        return
    if function == COUNT:
        facts_i[slot] = state_i[k, 0]
    elif function in (MIN, MAX, MIN_BY, MAX_BY):
        event = state_i[k, 1]
        if not is_known(column, kind, event, cells_i_valid, cells_f_valid):
            facts_valid[slot] = 0
        elif kind == FLOAT:
            facts_f[slot] = cells_f[column, event]
        else:
            facts_i[slot] = cells_i[column, event]
    elif function == SUM and kind != FLOAT:
        facts_i[slot] = state_i[k, 1]
    else:
        facts_f[slot] = read_number(table, k, state_i, state_f)


@njit(cache=True)
def run_aggregate(
    table: Any, chosen: Any, begins: Int64s, ends: Int64s,
    cells_i: Any, cells_i_valid: Any, cells_f: Any, cells_f_valid: Any, ranks: Int64s, trouble: Int64s,
) -> Any:  # fmt: skip
    """One aggregate along each match: its value after each event.

    chosen: uint8[events], the events it takes in; match m has events begins[m]:ends[m].  Gives int64[events]
    (counts, integer sums, best events), float64[events] and uint8[events]: is there a value?
    """
    count = chosen.shape[0]
    integers = np.zeros(count, dtype=np.int64)
    floats = np.zeros(count, dtype=np.float64)
    valid = np.zeros(count, dtype=np.uint8)
    state_i = np.zeros((1, 2), dtype=np.int64)
    state_f = np.zeros((1, 2), dtype=np.float64)
    function, kind = table[0, 0], table[0, 3]
    in_integers = function in (COUNT, MIN, MAX, MIN_BY, MAX_BY) or (function == SUM and kind != FLOAT)
    for match in range(begins.shape[0]):
        state_i[:] = 0
        state_f[:] = 0.0
        for event in range(begins[match], ends[match]):
            if chosen[event]:
                add_event(
                    table, 0, event, state_i, state_f, cells_i, cells_i_valid, cells_f, cells_f_valid, ranks, trouble
                )
            if not has_value(table, 0, state_i):
                continue
            valid[event] = 1
            if function == COUNT:
                integers[event] = state_i[0, 0]
            elif in_integers:
                integers[event] = state_i[0, 1]
            else:
                floats[event] = read_number(table, 0, state_i, state_f)
    return integers, floats, valid
