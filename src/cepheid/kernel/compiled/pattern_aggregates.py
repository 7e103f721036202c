"""Aggregates over the events of a match in conditions, one event at a time.

    integers[row] = count | best event, or a sum of integers: see exact_integers.py        int64[rows, 3]
    floats[row]   = an exact sum of floats, see exact_sums.py                               float64[rows, 0, 5 or 9]

A matcher keeps one such row for each aggregate of each way of matching that it follows, and copies it where ways part:
so a condition like `sum(b.x) < 100` costs the same for the thousandth event of a match as for the first.  The
arithmetic is that of windows, and so are the answers, to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.aggregates.catalog import find_aggregate, list_names
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.evaluate import Cells, Machine, less_float
from cepheid.kernel.compiled.exact_integers import (
    COUNT,
    HIGH,
    LOW,
    add_value,
    divide_to_float,
    divide_whole,
    fits_64_bits,
)
from cepheid.kernel.compiled.exact_sums import COUNT as FLOAT_COUNT
from cepheid.kernel.compiled.exact_sums import (
    LARGEST,
    RARE,
    RARE_WIDTH,
    SQUARES,
    WIDTH,
    add_integer,
    add_number,
    add_rare,
    finish_variance,
    has_rare_values,
    read_deviations,
    read_rare,
    read_total,
)
from cepheid.kernel.compiled.njit_options import njit_no_refcount, njit_no_refcount_inline
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import Aggregate, Kind

FUNCTIONS = list_names("condition")
SUM, AVG, MIN, MAX, MIN_BY, MAX_BY, STDDEV_SAMP, STDDEV_POP, VAR_SAMP = (
    FUNCTIONS.index(name)
    for name in ("sum", "avg", "min", "max", "min_by", "max_by", "stddev_samp", "stddev_pop", "var_samp")
)
COUNTS, INTEGER_SUM, FLOAT_SUM, VARIANCE, EXTREME = range(5)
"""How an aggregate is computed."""
INTEGER, FLOAT, STRING, DURATION = range(4)
FUNCTION, MEMBERS, COLUMN, KIND, BY, BY_KIND, DISTINCT, BEFORE, WAY, TABLE_WIDTH = range(10)
BEST = HIGH
INTEGERS_WIDTH = LOW + 1


class Sums(NamedTuple):
    """The states: of aggregate k in the way with number w it is row w * aggregates + k.

    rare: float64[m, RARE_WIDTH], for values that exact_sums.py keeps apart; empty as long as there are none.
    """

    integers: Any
    floats: Any
    rare: Any


def tabulate_aggregates(
    aggregates: list[Aggregate], variables: tuple[str, ...], writer: CodeWriter
) -> npt.NDArray[np.int64]:
    """int64[k, 9]: FUNCTION, MEMBERS (variables as bits, 0 for any), COLUMN, ..., WAY."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    table = np.zeros((len(aggregates), TABLE_WIDTH), dtype=np.int64)
    for row, aggregate in enumerate(aggregates):
        table[row] = (
            FUNCTIONS.index(aggregate.function),
            sum(1 << numbers[variable] for variable in aggregate.variables),
            *_place(aggregate.column, aggregate.column_kind, writer),
            *_place(aggregate.by, aggregate.by_kind, writer),
            aggregate.distinct,
            aggregate.before,
            _choose_way(aggregate),
        )
    return table


def _place(column: str | None, kind: Kind | None, writer: CodeWriter) -> tuple[int, int]:
    if column is None or kind is None:
        return -1, INTEGER
    kinds = {"float": FLOAT, "string": STRING, "duration": DURATION}
    return writer.add_column(column, kind), kinds.get(kind, INTEGER)


def _choose_way(aggregate: Aggregate) -> int:
    family = find_aggregate(aggregate.function).family
    if family == "sums":
        return FLOAT_SUM if aggregate.column_kind == "float" else INTEGER_SUM
    return {"count": COUNTS, "extreme": EXTREME, "variances": VARIANCE}[family]


def width_of_floats(table: npt.NDArray[np.int64]) -> int:
    """How many floats a row needs."""
    ways = table[:, WAY]
    return WIDTH if (ways == VARIANCE).any() else SQUARES if (ways == FLOAT_SUM).any() else 0


def make_sums(ways: int, table: npt.NDArray[np.int64], rare: int = 0) -> Sums:
    """For so many ways of matching and rare records."""
    rows = ways * len(table)
    return Sums(
        np.zeros((rows, INTEGERS_WIDTH), dtype=np.int64),
        np.zeros((rows, width_of_floats(table))),
        np.zeros((rare, RARE_WIDTH)),
    )


def count_rare(table: npt.NDArray[np.int64], cells: Cells, begin: int, end: int) -> int:
    """How many events from begin to end have a value, of a column that is summed, that needs a rare record."""
    is_summed = (table[:, KIND] == FLOAT) & np.isin(table[:, WAY], (FLOAT_SUM, VARIANCE))
    most = 0
    for column in np.unique(table[is_summed, COLUMN]):
        values = cells.floats[column, begin:end]
        if has_rare_values(values):
            most += int((~(np.abs(values) < LARGEST)).sum())
    return most


@njit_no_refcount_inline
def is_known(column: int, kind: int, event: int, cells: Cells) -> bool:
    if column < 0:
        return True
    return (cells.floats_valid[column, event] if kind == FLOAT else cells.integers_valid[column, event]) != 0


@njit_no_refcount
def is_less(column: int, kind: int, left: int, right: int, cells: Cells, ranks: Int64s) -> bool:
    """Is the value at event `left` less than that at `right`?"""
    if kind == FLOAT:
        return less_float(cells.floats[column, left], cells.floats[column, right])
    if kind == STRING:
        return ranks[cells.integers[column, left]] < ranks[cells.integers[column, right]]
    return cells.integers[column, left] < cells.integers[column, right]


@njit_no_refcount
def is_equal(column: int, kind: int, left: int, right: int, cells: Cells) -> bool:
    if kind == FLOAT:
        x, y = cells.floats[column, left], cells.floats[column, right]
        return x == y or (x != x and y != y)
    return cells.integers[column, left] == cells.integers[column, right]


@njit_no_refcount_inline
def copy_sums(sums: Sums, source: int, target: int) -> None:
    """A row; its rare record is the same one."""
    for at in range(sums.integers.shape[1]):
        sums.integers[target, at] = sums.integers[source, at]
    for at in range(sums.floats.shape[1]):
        sums.floats[target, at] = sums.floats[source, at]


@njit_no_refcount_inline
def clear_sums(sums: Sums, row: int) -> None:
    for at in range(sums.integers.shape[1]):
        sums.integers[row, at] = 0
    for at in range(sums.floats.shape[1]):
        sums.floats[row, at] = 0.0


@njit_no_refcount
def move_rare(sums: Sums, row: int, place: int) -> None:
    """Give a row a rare record of its own, at this place: that which it has, or an empty one."""
    old = int(sums.floats[row, RARE]) - 1
    for at in range(RARE_WIDTH):
        sums.rare[place, at] = sums.rare[old, at] if old >= 0 else 0.0
    sums.floats[row, RARE] = place + 1.0


@njit_no_refcount
def add_event(
    table: Any, k: int, row: int, event: int, sums: Sums, rare_place: int, cells: Cells, ranks: Int64s
) -> bool:
    """Let aggregate k take in an event of one of its variables, whose value is new if that matters.

    rare_place: where it may put a rare record; gives whether it did.
    """
    way, column, kind = table[k, WAY], table[k, COLUMN], table[k, KIND]
    if way == EXTREME:
        add_candidate(table, k, row, event, sums, cells, ranks)
        return False
    if not is_known(column, kind, event, cells):
        return False
    if way == COUNTS:
        sums.integers[row, COUNT] += 1
        return False
    if way == INTEGER_SUM:
        add_value(sums.integers, row, cells.integers[column, event])
        return False
    if kind != FLOAT:
        add_integer(sums.floats, row, cells.integers[column, event], 1.0, True)
        return False
    value = cells.floats[column, event]
    if abs(value) < LARGEST:
        add_number(sums.floats, row, value, 1.0, way == VARIANCE)
        return False
    move_rare(sums, row, rare_place)
    add_rare(sums.floats, sums.rare, row, value, 1.0)
    return True


@njit_no_refcount
def add_candidate(table: Any, k: int, row: int, event: int, sums: Sums, cells: Cells, ranks: Int64s) -> None:
    """The event is the best so far, or it is not; of equals the earlier one stays."""
    function, column, kind = table[k, FUNCTION], table[k, COLUMN], table[k, KIND]
    if function in (MIN_BY, MAX_BY):
        column, kind = table[k, BY], table[k, BY_KIND]
    if not is_known(column, kind, event, cells):
        return
    best = sums.integers[row, BEST]
    if sums.integers[row, COUNT] == 0 or (
        is_less(column, kind, event, best, cells, ranks)
        if function in (MIN, MIN_BY)
        else is_less(column, kind, best, event, cells, ranks)
    ):
        sums.integers[row, BEST] = event
    sums.integers[row, COUNT] += 1


@njit_no_refcount
def read_aggregate(table: Any, k: int, row: int, sums: Sums, cells: Cells, slot: int, machine: Machine) -> None:
    """Write the value of aggregate k into the facts of a machine."""
    way, column, kind = table[k, WAY], table[k, COLUMN], table[k, KIND]
    if way in (FLOAT_SUM, VARIANCE):
        read_number(table, k, row, sums, slot, machine)
        return
    count = sums.integers[row, COUNT]
    machine.fact_valid[slot] = 1 if count > 0 or way == COUNTS else 0
    if way == COUNTS:
        machine.fact_integers[slot] = count
    elif count == 0:
        return
    elif way == INTEGER_SUM:
        high, low = sums.integers[row, HIGH], sums.integers[row, LOW]
        if table[k, FUNCTION] == SUM:
            if not fits_64_bits(high):
                machine.trouble[0] = 1
            machine.fact_integers[slot] = (high << 32) + low
        elif kind == DURATION:
            machine.fact_integers[slot] = divide_whole(high, low, count)
        else:
            machine.fact_floats[slot] = divide_to_float(high, low, count)
    else:
        event = sums.integers[row, BEST]
        if not is_known(column, kind, event, cells):
            machine.fact_valid[slot] = 0
        elif kind == FLOAT:
            machine.fact_floats[slot] = cells.floats[column, event] + 0.0  # no sign of zero, as in windows
        else:
            machine.fact_integers[slot] = cells.integers[column, event]


@njit_no_refcount
def read_number(table: Any, k: int, row: int, sums: Sums, slot: int, machine: Machine) -> None:
    """The same of floats that were added up."""
    function, way, count = table[k, FUNCTION], table[k, WAY], sums.floats[row, FLOAT_COUNT]
    spared = 1 if function in (STDDEV_SAMP, VAR_SAMP) else 0
    machine.fact_valid[slot] = 1 if count > spared else 0
    if count <= spared:
        return
    if sums.floats[row, RARE] > 0.0:
        total, mean, deviations = read_rare(sums.floats, sums.rare, row)
    else:
        total = mean = deviations = 0.0
        if way == VARIANCE:
            deviations = read_deviations(sums.floats, row) if count > 1.0 else 0.0
        else:
            total = read_total(sums.floats, row)
            mean = total / count
    if way == VARIANCE:
        is_root = function in (STDDEV_SAMP, STDDEV_POP)
        machine.fact_floats[slot] = finish_variance(deviations, count, spared, is_root)
    else:
        machine.fact_floats[slot] = total if function == SUM else mean
