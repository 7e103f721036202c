"""Aggregates of a list of values, written from their definitions.

Floats are added in the order of the events, as the compiled twin does: sums are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from cepheid.errors import MatchFailure
from cepheid.kernel.expression import AggregateFunction

Compare = Callable[[Any, Any], int]


def aggregate_values(
    function: AggregateFunction, values: Sequence[Any], measures: Sequence[Any] | None, distinct: bool, compare: Compare
) -> Any:
    """`measures`: the second argument of min_by and max_by, one for each value."""
    if function == "array_agg":
        return (drop_equals(values, compare) if distinct else list(values)) or None
    if function in ("min_by", "max_by"):
        assert measures is not None, "min_by and max_by have two arguments"
        return pick_extreme(function, values, measures, compare)
    known = [value for value in values if value is not None]
    if distinct:
        known = drop_equals(known, compare)
    if function == "count":
        return len(known)
    return OF_SOME[function](known, compare) if known else None


def drop_equals(values: Sequence[Any], compare: Compare) -> list[Any]:
    """Each value once, at its first place; null equals null."""
    kept: list[Any] = []
    for value in values:
        if not any((value is None and old is None) or _equal(value, old, compare) for old in kept):
            kept.append(value)
    return kept


def _equal(left: Any, right: Any, compare: Compare) -> bool:
    return left is not None and right is not None and compare(left, right) == 0


def pick_extreme(function: str, values: Sequence[Any], measures: Sequence[Any], compare: Compare) -> Any:
    """The value where the measure is least or greatest, the first of equals; null measures are left out."""
    places = [place for place, measure in enumerate(measures) if measure is not None]
    if not places:
        return None
    in_order = cmp_to_key(compare)
    best = (min if function == "min_by" else max)(places, key=lambda place: in_order(measures[place]))
    return values[best]


def add_up(values: Sequence[Any]) -> Any:
    total = 0 if isinstance(values[0], int) else 0.0
    for value in values:
        total += value
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise MatchFailure("a sum of integers left the range of 64 bits", hint="cast the column to DOUBLE")
    return total


def take_mean(values: Sequence[Any]) -> float:
    total = 0.0
    for value in values:
        total += float(value)
    return total / len(values)


def spread(values: Sequence[Any]) -> float:
    """The sum of squared distances from the mean, by Welford's recurrence."""
    mean, squares = 0.0, 0.0
    for count, value in enumerate(values, 1):
        distance = float(value) - mean
        mean += distance / count
        squares += distance * (float(value) - mean)
    return squares


def variance(values: Sequence[Any], spared: int) -> float | None:
    return None if len(values) <= spared else spread(values) / (len(values) - spared)


def deviation(values: Sequence[Any], spared: int) -> float | None:
    found = variance(values, spared)
    return None if found is None else math.sqrt(found) if found == found else found


OF_SOME: dict[str, Callable[[Sequence[Any], Compare], Any]] = {
    "sum": lambda values, _: add_up(values),
    "avg": lambda values, _: take_mean(values),
    "min": lambda values, compare: min(values, key=cmp_to_key(compare)),
    "max": lambda values, compare: max(values, key=cmp_to_key(compare)),
    "var_samp": lambda values, _: variance(values, 1),
    "var_pop": lambda values, _: variance(values, 0),
    "stddev_samp": lambda values, _: deviation(values, 1),
    "stddev_pop": lambda values, _: deviation(values, 0),
}
