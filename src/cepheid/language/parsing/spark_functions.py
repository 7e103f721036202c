"""Functions of Spark SQL that mean the same when they are translated and computed in this process.

On Spark itself every function is Spark's own.  Here only these are known; others stay unknown names, which the host
refuses, or are refused by name, since a translation that is not exact would be wrong in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.java_formats import read_java_format
from cepheid.language.parsing.null_habits import WITHOUT_NULLS, read_unit
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.text_habits import replace_by_groups
from cepheid.language.parsing.time_fields import SPARK, date_part, day_from_monday, day_from_sunday

Build = Callable[[list[Any]], exp.Expr]
HINT = "write it in the default dialect, or give Spark DataFrames, where every function is Spark's own"
SAME = frozenset((
    "COALESCE", "NULLIF", "IF", "ABS", "SQRT", "EXP", "POWER",
    "POW", "SIN", "COS", "TAN", "UPPER", "LOWER", "LENGTH", "CHAR_LENGTH", "REPLACE", "YEAR", "MONTH", "DAY", "HOUR",
    "MINUTE", "SECOND", "QUARTER", "DATE_TRUNC", "COUNT", "SUM", "AVG", "MIN", "MAX", "MIN_BY", "MAX_BY", "STDDEV",
    "STDDEV_SAMP", "STDDEV_POP", "VARIANCE", "VAR_SAMP", "VAR_POP", "BOOL_AND", "BOOL_OR", "ANY_VALUE",
    "COUNT_IF", "MEDIAN", "ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD",
    "FIRST_VALUE", "LAST_VALUE", "NTILE", "APPROX_COUNT_DISTINCT", "RLIKE", "REGEXP_LIKE", "CURRENT_TIMESTAMP",
    "CURRENT_DATE", "STARTSWITH", "ENDSWITH", "PERCENT_RANK", "CUME_DIST",
))  # fmt: skip
SYNTAX = frozenset(("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "MIN_BY", "MAX_BY"))


def _refuse(name: str) -> Build:
    def build(given: list[Any]) -> exp.Expr:
        place = next((span_of(each) for each in given if isinstance(each, exp.Expr) and span_of(each)), None)
        raise NotSupportedYet(f"Spark's {name.lower()} in this process", span=place, hint=HINT)

    return build


def date_format(given: list[Any]) -> exp.Expr:
    return exp.TimeToStr(this=given[0], format=read_java_format(given[1]))


def rename_unknown(name: str) -> Build:
    return lambda given: exp.func(name, *given, dialect="trino")


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _number(value: int | str) -> exp.Expr:
    return exp.Literal.number(value)


def _cast(tree: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=tree, to=exp.DataType.build(kind))


def _with(name: str, count: int, build: Build) -> Build:
    """Of so many arguments; with another number of them it is refused."""
    return lambda given: build(given) if len(given) == count else _refuse(name)(given)


def _if(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def _above_zero(name: str) -> Build:
    """Logarithms are null of zero and less."""

    def build(given: list[Any]) -> exp.Expr:
        positive = exp.GT(this=exp.Paren(this=given[0].copy()), expression=_number(0))
        return _if(positive, _call(name, given[0]))

    return build


def _is_null(given: list[Any]) -> exp.Expr:
    return exp.Paren(this=exp.Is(this=exp.Paren(this=given[0]), expression=exp.null()))


def _rounded_to_bigint(kind: type[exp.Expr]) -> Build:
    """floor and ceil give whole numbers."""
    return lambda given: _cast(kind(this=given[0]), "bigint")


def _pmod(given: list[Any]) -> exp.Expr:
    """The remainder, brought above zero by the divisor."""
    rest = exp.Mod(this=exp.Paren(this=given[0]), expression=exp.Paren(this=given[1]))
    again = exp.Add(this=exp.Paren(this=rest.copy()), expression=exp.Paren(this=given[1].copy()))
    below = exp.LT(this=exp.Paren(this=rest.copy()), expression=_number(0))
    return _if(below, exp.Mod(this=exp.Paren(this=again), expression=exp.Paren(this=given[1].copy())), rest)


def _shift_days(sign: int) -> Build:
    def build(given: list[Any]) -> exp.Expr:
        day, days = _cast(given[0], "date"), exp.Paren(this=given[1])
        moved = exp.Add(this=day, expression=days) if sign > 0 else exp.Sub(this=day, expression=days)
        return exp.Paren(this=moved)

    return build


def _days_between(given: list[Any]) -> exp.Expr:
    return _cast(exp.Paren(this=exp.Sub(this=_cast(given[0], "date"), expression=_cast(given[1], "date"))), "int")


def _epoch(given: list[Any]) -> exp.Expr:
    return _cast(exp.Floor(this=_call("epoch", _cast(given[0], "timestamp"))), "bigint")


def _times(given: list[Any], factor: int) -> exp.Expr:
    return _call("make_timestamp", exp.Mul(this=exp.Paren(this=_cast(given[0], "bigint")), expression=_number(factor)))


def _parse_time(kind: str) -> Build:
    def build(given: list[Any]) -> exp.Expr:
        if len(given) == 2:
            return _cast(exp.StrToTime(this=given[0], format=read_java_format(given[1])), kind)
        return _cast(given[0], kind)

    return build


def _regexp_extract(given: list[Any]) -> exp.Expr:
    """The first group if none is named; an empty text where nothing is found."""
    group = given[2] if len(given) == 3 else _number(1)
    return exp.RegexpExtract(this=given[0], expression=given[1], group=group)


def _field(build: Callable[[exp.Expr], exp.Expr]) -> Build:
    return lambda given: build(given[0])


def _without_nulls(given: list[Any]) -> exp.Expr:
    """collect_list leaves nulls out."""
    there = exp.Not(this=exp.Is(this=given[0].copy(), expression=exp.null()))
    gathered = exp.Filter(this=exp.ArrayAgg(this=given[0]), expression=exp.Where(this=there))
    return exp.Coalesce(this=gathered, expressions=[exp.Array(expressions=[])])


def _first_or_last(kind: type[exp.Expr]) -> Build:
    """The second argument is an offset in a pattern; elsewhere it says whether nulls are left out."""

    def build(given: list[Any]) -> exp.Expr:
        value, *others = given
        if others and isinstance(others[0], exp.Boolean):
            there = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
            plain = kind(this=value)
            return exp.Filter(this=plain, expression=exp.Where(this=there)) if others[0].this else plain
        return kind(this=value, expression=others[0] if others else None)

    return build


def _join_texts(given: list[Any]) -> exp.Expr:
    """listagg(x), string_agg(x): without a separator there is nothing between the texts."""
    text, *mark = given
    return exp.GroupConcat(this=text, separator=mark[0] if mark else exp.Literal.string(""))


def _concat(given: list[Any]) -> exp.Expr:
    """Of texts, and of arrays; null if one of them is null."""
    if len(given) < 2:
        return exp.Concat(expressions=given, safe=True)
    first, *others = (exp.Paren(this=each) for each in given)
    joined: exp.Expr = first
    for other in others:
        joined = exp.DPipe(this=joined, expression=other)
    return exp.Paren(this=joined)


def _array_contains(given: list[Any]) -> exp.Expr:
    """Null if it is not found, and one of the elements is null."""
    elements, value = given
    known = exp.EQ(this=_call("len", elements.copy()), expression=_call("list_count", elements.copy()))
    there = exp.Not(this=exp.Is(this=exp.Paren(this=value.copy()), expression=exp.null()))
    found = exp.If(this=_call("list_contains", elements, value), true=exp.true())
    absent = exp.If(this=exp.And(this=known, expression=there), true=exp.false())
    return exp.Case(ifs=[found, absent])


def _transform(given: list[Any]) -> exp.Expr:
    """With an index, it would be counted from one."""
    if len(given) != 2 or not isinstance(given[1], exp.Lambda) or len(given[1].expressions) != 1:
        return _refuse("TRANSFORM")(given)
    return exp.Transform(this=given[0], expression=given[1])


def _from_seconds(given: list[Any]) -> exp.Expr:
    seconds = exp.Cast(this=given[0], to=exp.DataType.build("decimal(20, 6)"))
    return _call(
        "make_timestamp", _cast(exp.Paren(this=exp.Mul(this=seconds, expression=_number(1_000_000))), "bigint")
    )


def _diff_units(given: list[Any]) -> exp.Expr:
    return _call("datesub", exp.Literal.string(read_unit(given[0]).lower()), given[1], given[2])


OWN: dict[str, Build] = {
    "DATE_FORMAT": date_format,
    "NVL": rename_unknown("COALESCE"),
    "IFNULL": rename_unknown("COALESCE"),
    # --- numbers
    "FLOOR": _with("FLOOR", 1, _rounded_to_bigint(exp.Floor)),
    "CEIL": _with("CEIL", 1, _rounded_to_bigint(exp.Ceil)),
    "CEILING": _with("CEILING", 1, _rounded_to_bigint(exp.Ceil)),
    "SIGN": lambda given: _cast(exp.Sign(this=given[0]), "double"),
    "SIGNUM": lambda given: _cast(exp.Sign(this=given[0]), "double"),
    "ROUND": lambda given: exp.Round(this=given[0], decimals=given[1] if len(given) > 1 else None),
    "MOD": lambda given: exp.Mod(this=exp.Paren(this=given[0]), expression=exp.Paren(this=given[1])),
    "PMOD": _with("PMOD", 2, _pmod),
    "PI": lambda _: _call("pi"),
    "LN": _with("LN", 1, _above_zero("ln")),
    "LOG": _with("LOG", 1, _above_zero("ln")),
    "LOG10": _with("LOG10", 1, _above_zero("log10")),
    "LOG2": _with("LOG2", 1, _above_zero("log2")),
    "CBRT": lambda given: exp.Cbrt(this=given[0]),
    "DEGREES": lambda given: exp.Degrees(this=given[0]),
    "RADIANS": lambda given: exp.Radians(this=given[0]),
    "NEGATIVE": lambda given: exp.Neg(this=exp.Paren(this=given[0])),
    "TRY_DIVIDE": _refuse("TRY_DIVIDE"),
    # --- choices
    "ISNULL": _with("ISNULL", 1, _is_null),
    "ISNOTNULL": _with("ISNOTNULL", 1, lambda given: exp.Not(this=_is_null(given))),
    "NVL2": _with("NVL2", 3, lambda given: _if(exp.Not(this=_is_null(given)), given[1], given[2])),
    # --- texts
    "LEFT": rename_unknown("LEFT"),
    "RIGHT": rename_unknown("RIGHT"),
    "UCASE": rename_unknown("UPPER"),
    "LCASE": rename_unknown("LOWER"),
    "CHARACTER_LENGTH": rename_unknown("LENGTH"),
    "LEN": rename_unknown("LENGTH"),
    "LPAD": _with("LPAD", 3, lambda given: _call("lpad", *given)),
    "RPAD": _with("RPAD", 3, lambda given: _call("rpad", *given)),
    "LTRIM": _with("LTRIM", 1, lambda given: exp.Trim(this=given[0], position="LEADING")),
    "RTRIM": _with("RTRIM", 1, lambda given: exp.Trim(this=given[0], position="TRAILING")),
    "INSTR": _with("INSTR", 2, lambda given: exp.StrPosition(this=given[0], substr=given[1])),
    "LOCATE": _with("LOCATE", 2, lambda given: exp.StrPosition(this=given[1], substr=given[0])),
    "CONTAINS": _with("CONTAINS", 2, lambda given: exp.GT(
        this=exp.StrPosition(this=given[0], substr=given[1]), expression=_number(0))),
    "CONCAT": _concat,
    "CONCAT_WS": lambda given: _call("concat_ws", *given),
    "REVERSE": lambda given: _call("reverse", *given),
    "REPEAT": lambda given: exp.Repeat(this=given[0], times=given[1]),
    "SPLIT_PART": _with("SPLIT_PART", 3, lambda given: _call("split_part", *given)),
    "TRANSLATE": _with("TRANSLATE", 3, lambda given: _call("translate", *given)),
    "ASCII": lambda given: _call("ascii", *given),
    "REGEXP_EXTRACT": _regexp_extract,
    "REGEXP_REPLACE": lambda given: replace_by_groups(given, "Spark"),
    "LEVENSHTEIN": _with("LEVENSHTEIN", 2, lambda given: _call("levenshtein", *given)),
    # --- times
    "DAYOFWEEK": _field(lambda time: day_from_sunday(time, 1)),
    "WEEKDAY": _field(day_from_monday),
    "DAYOFMONTH": _field(lambda time: exp.Extract(this=exp.Var(this="DAY"), expression=time)),
    "DAYOFYEAR": _field(lambda time: exp.Extract(this=exp.Var(this="DOY"), expression=time)),
    "WEEKOFYEAR": _field(lambda time: exp.Extract(this=exp.Var(this="WEEK"), expression=time)),
    "DATE_PART": lambda given: date_part(given, SPARK, as_double=False),
    "DATEPART": lambda given: date_part(given, SPARK, as_double=False),
    "DATE_ADD": _with("DATE_ADD", 2, _shift_days(1)),
    "DATE_SUB": _with("DATE_SUB", 2, _shift_days(-1)),
    "DATEDIFF": _with("DATEDIFF", 2, _days_between),
    "DATE_DIFF": _with("DATE_DIFF", 2, _days_between),
    "TIMESTAMPDIFF": _with("TIMESTAMPDIFF", 3, _diff_units),
    "LAST_DAY": lambda given: exp.LastDay(this=given[0]),
    "UNIX_TIMESTAMP": _with("UNIX_TIMESTAMP", 1, _epoch),
    "TIMESTAMP_SECONDS": _with("TIMESTAMP_SECONDS", 1, _from_seconds),
    "TIMESTAMP_MILLIS": lambda given: _times(given, 1000),
    "TIMESTAMP_MICROS": lambda given: _times(given, 1),
    "TO_TIMESTAMP": _parse_time("timestamp"),
    "TO_DATE": _parse_time("date"),
    "MAKE_DATE": _with("MAKE_DATE", 3, lambda given: _call("make_date", *given)),
    # --- arrays
    "ARRAY": lambda given: exp.Array(expressions=given),
    "ARRAY_SIZE": lambda given: exp.ArraySize(this=given[0]),
    "ARRAY_CONTAINS": _with("ARRAY_CONTAINS", 2, _array_contains),
    "TRANSFORM": _transform,
    "ARRAY_MAX": lambda given: _call("list_max", *given),
    "ARRAY_MIN": lambda given: _call("list_min", *given),
    "COLLECT_LIST": _with("COLLECT_LIST", 1, _without_nulls),
    "ARRAY_AGG": _with("ARRAY_AGG", 1, _without_nulls),
    "MEAN": rename_unknown("AVG"),
    "FIRST": _first_or_last(exp.First),
    "LAST": _first_or_last(exp.Last),
    "LISTAGG": _join_texts,
    "STRING_AGG": _join_texts,
    # --- names that DuckDB has with another meaning
    **{name: _refuse(name) for name in (
        "HASH", "RANGE", "USER", "VERSION", "TIME_BUCKET", "BIN", "JSON_ARRAY_LENGTH", "MAP_CONCAT", "MAP_ENTRIES",
        "MAP_VALUES", "URL_DECODE", "URL_ENCODE", "MAKE_TIME", "JARO_WINKLER_SIMILARITY", "OCTET_LENGTH",
        "ASSERT_TRUE", "COLLATIONS",
    )},
    **WITHOUT_NULLS,
}  # fmt: skip


def only_exact(known: Mapping[str, Any]) -> dict[str, Any]:
    """Of sqlglot's functions those that are the same, and what is built here; the others refuse themselves."""
    return {name: build if name in SAME else _refuse(name) for name, build in known.items()} | OWN


def only_exact_syntax(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: parse for name, parse in known.items() if name in SYNTAX}
