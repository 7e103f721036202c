"""Casts, and sums of days, whose meaning depends on types.

                                 default   trino   flink   spark   risingwave
CAST(2.5 AS INT)                 3         3       2       2       3
CAST(2.5e0 AS INT), a double     2         3       2       2       2
CAST('2.7' AS INT)               3         -       2       -       -            -: the cast fails, as there
CAST(true AS VARCHAR)            true      true    TRUE    true    true
CAST(1e7 AS VARCHAR), a double   1e7 in full       1.0E7 in all three          10000000
DATE '2026-03-08' + INTERVAL '1' DAY: a DATE in trino, flink and spark, else a TIMESTAMP
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.dialects.column_types import TypeOf
from cepheid.language.parsing.own_functions import WHOLE, call_own
from cepheid.language.parsing.places import span_of

DAYS = exp.Add | exp.Sub | exp.DateAdd | exp.TimestampTrunc | exp.DateTrunc
UNITS = frozenset(("DAY", "WEEK", "MONTH", "QUARTER", "YEAR"))


@dataclass(frozen=True, slots=True)
class CastHabits:
    """To whole numbers: cuts_digits: are digits behind the point left out, not rounded?  halves_up: are halves of
    doubles rounded away from zero?  text_is_whole: must a text be a whole number?  cuts_text: are the digits of a text
    left out?  To texts: text_of_double: our function that writes doubles; capital_booleans: TRUE, not true.
    keeps_dates: is a date a date when days are added, or a timestamp?  None: as the host has it."""

    cuts_digits: bool = False
    halves_up: bool = False
    text_is_whole: bool = False
    cuts_text: bool = False
    text_of_double: str | None = None
    capital_booleans: bool = False
    keeps_dates: bool | None = None


NO_CASTS = CastHabits()


def settle_cast(node: exp.Cast, type_of: TypeOf, habits: CastHabits) -> exp.Expr:
    """The cast as the dialect has it; the node itself if nothing is to be changed."""
    if node.to.this in exp.DataType.INTEGER_TYPES:
        return _to_whole(node, type_of, habits)
    if node.to.this in exp.DataType.TEXT_TYPES:
        return _to_text(node, type_of, habits)
    return node


def _to_whole(node: exp.Cast, type_of: TypeOf, habits: CastHabits) -> exp.Expr:
    given = type_of(node.this)
    if given is None:
        if not habits.cuts_digits and not habits.halves_up:
            return node
        hint = "write FLOOR or CEIL of it"
        raise NotSupportedYet(f'"{node.sql()}" of a type that is not known', span=span_of(node), hint=hint)
    is_double = pa.types.is_floating(given)
    if habits.cuts_digits and (is_double or (pa.types.is_decimal(given) and given.scale > 0)):
        return _recast(node, call_own(WHOLE, node.this.copy()))
    if habits.halves_up and is_double:
        return _recast(node, exp.Round(this=node.this.copy()))
    is_text = pa.types.is_string(given) or pa.types.is_large_string(given)
    if is_text and not (isinstance(node.this, exp.Literal) and node.this.name.strip().isdigit()):
        if habits.cuts_text:
            behind, nothing = exp.Literal.string(r"\.[0-9]*\s*$"), exp.Literal.string("")
            bare = exp.RegexpReplace(this=node.this.copy(), expression=behind, replacement=nothing)
            return _recast(node, bare)
        if habits.text_is_whole:  # DuckDB would round 2.7 and take 1e3: marks that it does not know make them fail
            marks = [exp.Literal.string(".eE"), exp.Literal.string("???")]
            return _recast(node, exp.Anonymous(this="TRANSLATE", expressions=[node.this.copy(), *marks]))
    return node


def _to_text(node: exp.Cast, type_of: TypeOf, habits: CastHabits) -> exp.Expr:
    given = type_of(node.this) if habits.text_of_double or habits.capital_booleans else None
    if given is None:
        return node
    if pa.types.is_floating(given) and habits.text_of_double is not None:
        return call_own(habits.text_of_double, exp.Paren(this=node.this.copy()))
    if pa.types.is_boolean(given) and habits.capital_booleans:
        return exp.Upper(this=node.copy())
    return node


def _recast(node: exp.Cast, inner: exp.Expr) -> exp.Expr:
    changed = node.copy()
    changed.set("this", inner)
    return changed


def keep_date(node: exp.Expr, type_of: TypeOf, keeps: bool) -> exp.Expr:
    """A date to which days are added, or that is cut to a month, is a date, or else a timestamp."""
    if isinstance(node, exp.Add | exp.Sub):
        sides = (node.this, node.expression)
        spans = [side for side in sides if _is_of_days(side)]
        days = [side for side in sides if not _is_of_days(side)]
        if len(spans) != 1:
            return node
    else:
        if node.text("unit").upper() not in UNITS:
            return node
        days = [node.this]
    given = type_of(days[0])
    if given is None or not pa.types.is_date(given):
        return node
    return exp.Cast(this=node.copy(), to=exp.DataType.build("date" if keeps else "timestamp"))


def _is_of_days(tree: exp.Expr) -> bool:
    inner = tree.unnest()
    if isinstance(inner, exp.Mul):
        return _is_of_days(inner.this) or _is_of_days(inner.expression)
    unit = inner.args.get("unit") if isinstance(inner, exp.Interval) else None
    return unit is not None and unit.name.upper().removesuffix("S") in UNITS
