"""Functions that differ between systems in what null, or nothing found, gives; built when they are read.

                      nothing found          greatest(1, NULL)
Trino, Flink          null                   null
PostgreSQL, DuckDB    ''                     1
Spark                 ''                     1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, suggest_name
from cepheid.language.parsing.own_functions import SPLIT_PART, WHOLE_UNITS, call_own
from cepheid.language.parsing.places import span_of


def extract_or_null(given: list[Any]) -> exp.Expr:
    """regexp_extract(s, pattern[, group]), null where the pattern is not found."""
    text, pattern, *group = given
    found = exp.RegexpExtract(this=text, expression=pattern, group=group[0] if group else exp.Literal.number(0))
    fits = exp.RegexpLike(this=text.copy(), expression=pattern.copy())
    return exp.Case(ifs=[exp.If(this=fits, true=found)])


def split_or_null(given: list[Any]) -> exp.Expr:
    """split_part(s, mark, n), null where there are fewer parts."""
    text, mark, number = given
    if not isinstance(number, exp.Literal) or not number.name.isdigit() or number.name == "0":
        hint = "write split_part(s, '/', 2)"
        raise NotSupportedYet("split_part with a number that is no literal", span=span_of(text), hint=hint)
    return call_own(SPLIT_PART, text, mark, number)


def whole_units_between(given: list[Any]) -> exp.Expr:
    """date_diff(unit, a, b) counts whole units; DuckDB's counts the bounds between them."""
    written, begin, end = given
    return call_own(WHOLE_UNITS, exp.Literal.string(read_unit(written).lower()), begin, end)


UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def read_unit(written: exp.Expr) -> str:
    """The name of a unit of time, in capitals and of one."""
    name = written.name.upper().removesuffix("S")
    if name not in UNITS:
        hint = suggest_name(written.name.upper(), UNITS)
        raise InvalidQuery(f'"{written.name}" is not a unit of time', span=span_of(written), hint=hint)
    return name


def greatest(given: list[Any]) -> exp.Expr:
    """Of the values that are not null."""
    first, *others = given
    return exp.Anonymous(this="LIST_MAX", expressions=[exp.Array(expressions=[first, *others])])


def least(given: list[Any]) -> exp.Expr:
    first, *others = given
    return exp.Anonymous(this="LIST_MIN", expressions=[exp.Array(expressions=[first, *others])])


def replace_all(given: list[Any]) -> exp.Expr:
    """regexp_replace(s, pattern, by, 'g'); without g, PostgreSQL and DuckDB replace the first one only."""
    flags = given[3].name if len(given) == 4 and isinstance(given[3], exp.Literal) else ""
    if flags != "g":
        hint = "write regexp_replace(s, pattern, by, 'g'), which replaces all"
        raise NotSupportedYet("regexp_replace of the first match only", span=span_of(given[0]), hint=hint)
    return exp.RegexpReplace(this=given[0], expression=given[1], replacement=given[2])


def day_from_sunday(given: list[Any]) -> exp.Expr:
    """dayofweek(ts): 0 is Sunday."""
    return exp.Paren(this=exp.Mod(this=exp.DayOfWeekIso(this=given[0]), expression=exp.Literal.number(7)))


def side_of_text(name: str) -> Callable[[list[Any]], exp.Expr]:
    """left(s, n), right(s, n): below zero, all but so many characters of the other side."""

    def build(given: list[Any]) -> exp.Expr:
        is_plain = len(given) == 2 and isinstance(given[1], exp.Literal)
        return exp.func(name, *given) if is_plain else exp.Anonymous(this=name, expressions=given)

    return build


def mark_between(tree: exp.Expr, mark: str) -> exp.Expr:
    """What stands between the texts of listagg and string_agg, where nothing is said."""
    for call in tree.find_all(exp.GroupConcat):
        if call.args.get("separator") is None:
            call.set("separator", exp.Literal.string(mark))
    return tree


def keep_name(name: str) -> Callable[[list[Any]], exp.Expr]:
    """What DuckDB has, sqlglot would say otherwise, and Trino has not."""
    return lambda given: exp.Anonymous(this=name, expressions=given)


def leave_null_values_out(call: exp.Expr) -> exp.Expr:
    """max_by(x, y), min_by(x, y) of DuckDB: where x is null, the row is left out."""
    if call.args.get("count") is not None or isinstance(call.this, exp.Distinct):
        return call
    there = exp.Not(this=exp.Is(this=exp.Paren(this=call.this.copy()), expression=exp.null()))
    return exp.Filter(this=call, expression=exp.Where(this=there))


TRINO = {"REGEXP_EXTRACT": extract_or_null, "SPLIT_PART": split_or_null, "DATE_DIFF": whole_units_between}
WITHOUT_NULLS = {"GREATEST": greatest, "LEAST": least}
SIDES = {"LEFT": side_of_text("LEFT"), "RIGHT": side_of_text("RIGHT")}
BESIDE_TRINO = {
    **SIDES,
    "DAYOFWEEK": day_from_sunday,
    "QUANTILE": keep_name("QUANTILE_DISC"),
    "XOR": lambda given: exp.BitwiseXor(this=given[0], expression=given[1]),
}  # DuckDB's, in the default dialect
KEPT = (
    "JARO_WINKLER_SIMILARITY", "RANGE", "EPOCH_MS", "LIST_HAS_ANY", "ARRAY_HAS_ANY", "LIST_HAS_ALL", "ARRAY_HAS_ALL",
    "LIST_REVERSE_SORT", "ARRAY_REVERSE_SORT",
)  # fmt: skip
DUCKDB = {
    **WITHOUT_NULLS,
    **SIDES,
    **{name: keep_name(name) for name in KEPT},
    "REGEXP_REPLACE": replace_all,
    "DAYOFWEEK": day_from_sunday,
    "WEEKDAY": day_from_sunday,
    "CONTAINS": lambda given: exp.GT(
        this=exp.StrPosition(this=given[0], substr=given[1]), expression=exp.Literal.number(0)
    ),
}
