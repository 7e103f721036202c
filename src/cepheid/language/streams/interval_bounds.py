"""How far apart in time two joined events can be, as their condition tells.

y.ts BETWEEN x.ts - INTERVAL '5' SECOND AND x.ts + INTERVAL '1' MINUTE        -5 s <= y.ts - x.ts <= 60 s
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from cepheid.language.parsing.interval_parser import read_interval

Owner = Callable[[exp.Column], int]
FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


@dataclass(frozen=True, slots=True)
class Bounds:
    """low <= time of input 1 - time of input 0 <= high, in microseconds; None: no bound."""

    low: int | None = None
    high: int | None = None

    def narrow(self, low: int | None, high: int | None) -> Bounds:
        lows = [bound for bound in (self.low, low) if bound is not None]
        highs = [bound for bound in (self.high, high) if bound is not None]
        return Bounds(max(lows, default=None), min(highs, default=None))


def find_settled(
    conditions: list[exp.Expr], times: list[list[str]], owner: Owner
) -> dict[tuple[str, str], tuple[int, int]]:
    """The pairs of time columns, one of each input, whose distance has a lower and an upper bound."""
    settled: dict[tuple[str, str], tuple[int, int]] = {}
    for pair in product(times[0], times[1]):
        bounds = find_bounds(conditions, pair, owner)
        if bounds.low is not None and bounds.high is not None:
            settled[pair] = (bounds.low, bounds.high)
    return settled


def find_bounds(conditions: list[exp.Expr], times: tuple[str, str], owner: Owner) -> Bounds:
    """`times`: the names of the time columns of both inputs; a strict bound is taken for one that is not, as it is
    asked again."""
    bounds = Bounds()
    for condition in conditions:
        for left, operator, right in _list_comparisons(condition):
            one, other = _read_side(left, times, owner), _read_side(right, times, owner)
            if one is None or other is None or one[0] == other[0]:
                continue
            turned = one[0] == 0  # then turn it round, so that input 1 stands on the left
            compared = FLIPPED.get(operator, operator) if turned else operator
            distance = one[1] - other[1] if turned else other[1] - one[1]
            if compared in (exp.LT, exp.LTE, exp.EQ):
                bounds = bounds.narrow(None, distance)
            if compared in (exp.GT, exp.GTE, exp.EQ):
                bounds = bounds.narrow(distance, None)
    return bounds


def _list_comparisons(condition: exp.Expr) -> list[tuple[exp.Expr, type[exp.Expr], exp.Expr]]:
    if isinstance(condition, exp.Between):
        low, high = condition.args["low"], condition.args["high"]
        return [(condition.this, exp.GTE, low), (condition.this, exp.LTE, high)]
    if isinstance(condition, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ):
        return [(condition.left, type(condition), condition.right)]
    return []


def _read_side(side: exp.Expr, times: tuple[str, str], owner: Owner) -> tuple[int, int] | None:
    """(input, microseconds) of `x.ts`, `x.ts + INTERVAL ...` or `x.ts - INTERVAL ...`."""
    match side.unnest():
        case exp.Column() as column:
            number = owner(column)
            return (number, 0) if column.name.lower() == times[number].lower() else None
        case exp.Add(this=inner, expression=exp.Interval() as interval):
            return _shift(_read_side(inner, times, owner), read_interval(interval), 1)
        case exp.Sub(this=inner, expression=exp.Interval() as interval):
            return _shift(_read_side(inner, times, owner), read_interval(interval), -1)
    return None


def _shift(found: tuple[int, int] | None, microseconds: int | None, sign: int) -> tuple[int, int] | None:
    return None if found is None or microseconds is None else (found[0], found[1] + sign * microseconds)
