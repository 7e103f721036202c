"""What depends on the order of values: percentiles, and the least and greatest k of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from cepheid.kernel.aggregates.definition import WINDOW_ONLY, AggregateDefinition, FoldOptions
from cepheid.kernel.aggregates.exact_numbers import to_float
from cepheid.kernel.aggregates.value_order import in_order


def _interpolate(values: Sequence[Any], options: FoldOptions) -> Any:
    """The value at place share * (n - 1), between two values by proportion."""
    ordered = sorted(values, key=in_order)
    place = options.parameter * (len(ordered) - 1)
    low, part = ordered[math.floor(place)], place - math.floor(place)
    high = ordered[math.ceil(place)]
    if options.kind in ("time", "duration"):
        return low + math.trunc((high - low) * part)
    if part == 0 or low == high:
        return float(low)
    if math.isfinite(low) and math.isfinite(high):
        return to_float(Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(part))
    return low * (1 - part) + high * part


def _pick_share(values: Sequence[Any], options: FoldOptions) -> Any:
    """The first value whose share of the values up to it is at least the one asked for."""
    ordered = sorted(values, key=in_order)
    return next(value for number, value in enumerate(ordered, 1) if number / len(ordered) >= options.parameter)


def _take_least(values: Sequence[Any], options: FoldOptions) -> list[Any]:
    return sorted(values, key=in_order)[: int(options.parameter)]


def _take_greatest(values: Sequence[Any], options: FoldOptions) -> list[Any]:
    return sorted(values, key=in_order, reverse=True)[: int(options.parameter)]


PERCENTILE_CONT = AggregateDefinition(
    name="percentile_cont",
    sql_names=("PERCENTILE_CONT", "QUANTILE_CONT", "QUANTILE", "PERCENTILE", "MEDIAN"),
    fold=_interpolate,
    family="ranked",
    gives="mean",
    takes=("int", "float", "time", "duration"),
    places=WINDOW_ONLY,
    parameter="share",
    mergeable=False,
)

PERCENTILE_DISC = AggregateDefinition(
    name="percentile_disc",
    sql_names=("PERCENTILE_DISC", "QUANTILE_DISC", "APPROX_PERCENTILE", "APPROX_QUANTILE"),
    fold=_pick_share,
    family="ranked",
    gives="value",
    places=WINDOW_ONLY,
    parameter="share",
    mergeable=False,
)

# max(x, 3) and min(x, 3): the language reads them as these
LEAST = AggregateDefinition(
    name="least",
    sql_names=(),
    fold=_take_least,
    family="ranked",
    gives="value",
    places=WINDOW_ONLY,
    gives_list=True,
    parameter="number",
    mergeable=False,
)

GREATEST = AggregateDefinition(
    name="greatest",
    sql_names=(),
    fold=_take_greatest,
    family="ranked",
    gives="value",
    places=WINDOW_ONLY,
    gives_list=True,
    parameter="number",
    mergeable=False,
)
