"""Aggregates over the events of a window, written from their definitions: a list of values in, one value out.

Numbers are added as fractions, so that a sum is the true one, rounded once, in whatever order its values came.
Null is None; times and durations are ints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from cepheid.errors import MatchFailure
from cepheid.kernel.expression import Kind
from cepheid.kernel.reference.aggregates import drop_equals, pick_extreme
from cepheid.kernel.reference.evaluate import compare
from cepheid.kernel.window import PythonAggregate, WindowedAggregate

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as in the tables)

in_order = cmp_to_key(compare)


def fold_window(aggregate: WindowedAggregate, values: Sequence[Any], measures: Sequence[Any] | None) -> Any:
    """values: of the aggregate's column, one for each event, oldest first (of count(*): anything but None).

    measures: those of the second column of min_by and max_by.
    """
    if aggregate.function in ("first", "last", "array_agg"):
        return _pick_members(aggregate.function, values)
    if aggregate.function in ("min_by", "max_by"):
        assert measures is not None, "min_by and max_by have two arguments"
        return pick_extreme(aggregate.function, values, measures, compare)
    known = [value for value in values if value is not None]
    if aggregate.function == "count":
        return len(known)
    if aggregate.function == "count_distinct":
        return len(drop_equals(known, compare))
    return OF_SOME[aggregate.function](aggregate, known) if known else None


def _pick_members(function: str, values: Sequence[Any]) -> Any:
    """Nulls are members too."""
    if not values:
        return None
    return list(values) if function == "array_agg" else values[0 if function == "first" else -1]


def add_up(values: Sequence[Any]) -> Any:
    if isinstance(values[0], float):
        return to_float(sum_exactly(values))
    total = sum(values)
    if not -(2**63) <= total < 2**63:
        raise MatchFailure("a sum of integers left the range of 64 bits", hint="cast the column to DOUBLE")
    return total


def sum_exactly(values: Sequence[Any]) -> Fraction | float:
    """The true sum; NaN or infinity where a value is not finite."""
    if all(math.isfinite(value) for value in values):
        return sum(map(Fraction, values), Fraction(0))
    return sum(float(value) for value in values if not math.isfinite(value))


def to_float(number: Fraction | float) -> float:
    """Rounded once; what is beyond all floats is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def take_mean(values: Sequence[Any], kind: Kind) -> Any:
    mean = sum_exactly(values) / len(values)
    return math.trunc(mean) if kind == "duration" else to_float(mean)


def variance(values: Sequence[Any], spared: int) -> float | None:
    """The squared distances from the mean, divided by how many there are less `spared`."""
    if len(values) <= spared:
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return to_float(sum(((value - mean) ** 2 for value in exact), Fraction(0)) / (len(exact) - spared))


def deviation(values: Sequence[Any], spared: int) -> float | None:
    found = variance(values, spared)
    return None if found is None else math.sqrt(found)


def interpolate(values: Sequence[Any], share: float, kind: Kind) -> Any:
    """The value at place share * (n - 1), between two values by proportion."""
    ordered = sorted(values, key=in_order)
    place = share * (len(ordered) - 1)
    low, part = ordered[math.floor(place)], place - math.floor(place)
    high = ordered[math.ceil(place)]
    if kind in ("time", "duration"):
        return low + math.trunc((high - low) * part)
    if part == 0 or low == high:
        return float(low)
    if math.isfinite(low) and math.isfinite(high):
        return to_float(Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(part))
    return low * (1 - part) + high * part


def pick_share(values: Sequence[Any], share: float) -> Any:
    """The first value whose share of the values up to it is at least `share`."""
    ordered = sorted(values, key=in_order)
    return next(value for number, value in enumerate(ordered, 1) if number / len(ordered) >= share)


def run_python(aggregate: PythonAggregate | None, values: Sequence[Any], kind: Kind | None) -> Any:
    """Only init, add and result: remove and merge are short cuts that must not change the answer."""
    assert aggregate is not None, "an aggregate in Python has its functions"
    state = aggregate.init()
    for value in values:
        state = aggregate.add(state, as_python(value, kind))
    return aggregate.result(state)


def as_python(value: Any, kind: Kind | None) -> Any:
    """Times and durations as Python knows them."""
    if kind == "time":
        return EPOCH + timedelta(microseconds=value)
    return timedelta(microseconds=value) if kind == "duration" else value


def take_greatest(values: Sequence[Any], count: int) -> list[Any]:
    return sorted(values, key=in_order, reverse=True)[:count]


OF_SOME: dict[str, Callable[[WindowedAggregate, list[Any]], Any]] = {
    "sum": lambda _, values: add_up(values),
    "avg": lambda aggregate, values: take_mean(values, aggregate.kind),
    "min": lambda _, values: min(values, key=in_order),
    "max": lambda _, values: max(values, key=in_order),
    "var_samp": lambda _, values: variance(values, 1),
    "var_pop": lambda _, values: variance(values, 0),
    "stddev_samp": lambda _, values: deviation(values, 1),
    "stddev_pop": lambda _, values: deviation(values, 0),
    "percentile_cont": lambda aggregate, values: interpolate(values, aggregate.parameter, aggregate.kind),
    "percentile_disc": lambda aggregate, values: pick_share(values, aggregate.parameter),
    "least": lambda aggregate, values: sorted(values, key=in_order)[: int(aggregate.parameter)],
    "greatest": lambda aggregate, values: take_greatest(values, int(aggregate.parameter)),
    "python": lambda aggregate, values: run_python(aggregate.python, values, aggregate.column_kind),
}
