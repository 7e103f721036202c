"""Functions of Flink whose name means something else here, or nothing: built into trees of ours when they are read.

One line for each, by Flink's name; a call that has no exact counterpart is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.language.parsing.java_formats import read_java_format
from cepheid.language.parsing.null_habits import extract_or_null, read_unit, whole_units_between
from cepheid.language.parsing.own_functions import SPLIT_PART, call_own
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.text_habits import replace_by_groups
from cepheid.language.parsing.time_fields import day_from_sunday

Build = Callable[[list[Any]], exp.Expr]
TIMESTAMP = exp.DataType.build("timestamp")
BIGINT = exp.DataType.build("bigint")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _cast(value: exp.Expr, to: exp.DataType) -> exp.Expr:
    return exp.Cast(this=value, to=to.copy())


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _take(name: str, given: list[Any], least: int, most: int) -> list[Any]:
    if not least <= len(given) <= most:
        place = next((span_of(each) for each in given if span_of(each)), None)
        raise InvalidQuery(
            f"{name} takes {least if least == most else f'{least} to {most}'} arguments, not {len(given)}",
            span=place,
            hint="write it as Flink has it",
        )
    return given


def date_format(given: list[Any]) -> exp.Expr:
    time, written = _take("DATE_FORMAT", given, 2, 2)
    return exp.TimeToStr(this=time, format=read_java_format(written))


def to_timestamp(given: list[Any]) -> exp.Expr:
    text, *written = _take("TO_TIMESTAMP", given, 1, 2)
    return exp.StrToTime(this=text, format=read_java_format(written[0])) if written else _cast(text, TIMESTAMP)


def to_timestamp_ltz(given: list[Any]) -> exp.Expr:
    number, *scales = _take("TO_TIMESTAMP_LTZ", given, 1, 2)
    if isinstance(number, exp.Literal) and number.is_string:
        hint = "write TO_TIMESTAMP(s, 'yyyy-MM-dd HH:mm:ss')"
        raise NotSupportedYet("TO_TIMESTAMP_LTZ of a text", span=span_of(number), hint=hint)
    scale = scales[0] if scales else _number(3)
    factor = {"0": 1_000_000, "3": 1000}.get(scale.name if isinstance(scale, exp.Literal) else "")
    if factor is None:
        hint = "write TO_TIMESTAMP_LTZ(n, 3) for milliseconds, 0 for seconds"
        raise NotSupportedYet("TO_TIMESTAMP_LTZ of this precision", span=span_of(number), hint=hint)
    return _call("make_timestamp", exp.Mul(this=exp.Paren(this=_cast(number, BIGINT)), expression=_number(factor)))


def unix_timestamp(given: list[Any]) -> exp.Expr:
    if len(given) != 1:
        raise NotSupportedYet(
            "UNIX_TIMESTAMP with a format or alone", hint="write UNIX_TIMESTAMP(CAST(s AS TIMESTAMP))"
        )
    return _cast(exp.Floor(this=_call("epoch", _cast(given[0], TIMESTAMP))), BIGINT)


def from_unixtime(given: list[Any]) -> exp.Expr:
    number, *written = _take("FROM_UNIXTIME", given, 1, 2)
    moment = _call("make_timestamp", exp.Mul(this=exp.Paren(this=_cast(number, BIGINT)), expression=_number(1_000_000)))
    pattern = written[0] if written else exp.Literal.string("yyyy-MM-dd HH:mm:ss")
    return exp.TimeToStr(this=moment, format=read_java_format(pattern))


def timestamp_diff(given: list[Any]) -> exp.Expr:
    """Whole units between two times, cut towards zero."""
    return whole_units_between(_take("TIMESTAMPDIFF", given, 3, 3))


def timestamp_add(given: list[Any]) -> exp.Expr:
    unit, amount, time = _take("TIMESTAMPADD", given, 3, 3)
    negative = isinstance(amount, exp.Neg)
    if not isinstance(amount.this if negative else amount, exp.Literal):
        one = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=read_unit(unit)))
        return exp.Add(this=time, expression=exp.Mul(this=exp.Paren(this=amount), expression=one))
    interval = exp.Interval(
        this=exp.Literal.string((amount.this if negative else amount).name), unit=exp.Var(this=read_unit(unit))
    )
    return (exp.Sub if negative else exp.Add)(this=time, expression=interval)


def day_of_week(given: list[Any]) -> exp.Expr:
    """1 is Sunday."""
    (time,) = _take("DAYOFWEEK", given, 1, 1)
    return day_from_sunday(time, 1)


def split_index(given: list[Any]) -> exp.Expr:
    """The part with this number, from 0; null where there is none, and of an empty text."""
    text, mark, number = _take("SPLIT_INDEX", given, 3, 3)
    if not isinstance(number, exp.Literal) or not isinstance(mark, exp.Literal):
        hint = "write SPLIT_INDEX(url, '/', 3)"
        raise NotSupportedYet("SPLIT_INDEX with a separator or a number that is no literal", hint=hint)
    separator = mark if mark.is_string else exp.Literal.string(chr(int(mark.name)))
    some = exp.Nullif(this=text, expression=exp.Literal.string(""))
    return call_own(SPLIT_PART, some, separator, _number(int(number.name) + 1))


def regexp_extract(given: list[Any]) -> exp.Expr:
    return extract_or_null(_take("REGEXP_EXTRACT", given, 2, 3))


def to_date(given: list[Any]) -> exp.Expr:
    text, *written = _take("TO_DATE", given, 1, 2)
    moment = exp.StrToTime(this=text, format=read_java_format(written[0])) if written else text
    return _cast(moment, exp.DataType.build("date"))


def regexp(given: list[Any]) -> exp.Expr:
    text, pattern = _take("REGEXP", given, 2, 2)
    return exp.RegexpLike(this=text, expression=pattern)


def regexp_replace(given: list[Any]) -> exp.Expr:
    return replace_by_groups(_take("REGEXP_REPLACE", given, 3, 3), "Flink")


def listagg(given: list[Any]) -> exp.Expr:
    text, *mark = _take("LISTAGG", given, 1, 2)
    return exp.GroupConcat(this=text, separator=mark[0] if mark else exp.Literal.string(","))


def floor_time(node: exp.Expr) -> exp.Expr:
    """FLOOR(ts TO HOUR)."""
    unit = node.args.get("to")
    if unit is None:
        return node
    if not isinstance(node, exp.Floor):
        raise NotSupportedYet("CEIL of a time", span=span_of(node), hint="write FLOOR(ts TO HOUR) + INTERVAL '1' HOUR")
    return exp.TimestampTrunc(this=node.this, unit=exp.Literal.string(read_unit(unit)))


def _rename(name: str) -> Build:
    return lambda given: exp.func(name, *given, dialect="trino")


def _refuse(name: str, hint: str) -> Build:
    def build(given: list[Any]) -> exp.Expr:
        place = next((span_of(each) for each in given if span_of(each)), None)
        raise NotSupportedYet(f"Flink's {name}", span=place, hint=hint)

    return build


def euler(given: list[Any]) -> exp.Expr:
    _take("E", given, 0, 0)
    return exp.Literal.number(repr(math.e) + "e0")


FUNCTIONS: dict[str, Build] = {
    "DATE_FORMAT": date_format,
    "TO_TIMESTAMP": to_timestamp,
    "TO_TIMESTAMP_LTZ": to_timestamp_ltz,
    "UNIX_TIMESTAMP": unix_timestamp,
    "FROM_UNIXTIME": from_unixtime,
    "TIMESTAMPDIFF": timestamp_diff,
    "TIMESTAMPADD": timestamp_add,
    "DAYOFWEEK": day_of_week,
    "SPLIT_INDEX": split_index,
    "REGEXP_EXTRACT": regexp_extract,
    "REGEXP": regexp,
    "REGEXP_REPLACE": regexp_replace,
    "LISTAGG": listagg,
    "IFNULL": _rename("COALESCE"),
    "CHAR_LENGTH": _rename("LENGTH"),
    "CHARACTER_LENGTH": _rename("LENGTH"),
    "CURRENT_WATERMARK": _refuse(
        "CURRENT_WATERMARK", hint="rows come when they are settled: no watermark is to be asked"
    ),
    "COLLECT": _refuse("COLLECT", hint="a multiset has no order: use ARRAY_AGG"),
    "STR_TO_MAP": _refuse("STR_TO_MAP", hint="split the text, and take its parts by SPLIT_INDEX"),
    "TO_DATE": to_date,
    "INITCAP": _refuse("INITCAP", hint="use UPPER and LOWER of SUBSTRING"),
    "MD5": _refuse("MD5", "it gives bytes here, and a text in Flink"),
    "SHA1": _refuse("SHA1", "it gives bytes here, and a text in Flink"),
    "SHA256": _refuse("SHA256", "it gives bytes here, and a text in Flink"),
    "SHA512": _refuse("SHA512", "it gives bytes here, and a text in Flink"),
    "PARSE_URL": _refuse("PARSE_URL", hint="use REGEXP_EXTRACT"),
    "BTRIM": _rename("TRIM"),
    "E": euler,
    "FROM_BASE64": lambda given: _call("decode", exp.func("FROM_BASE64", *given)),
    "REGEXP_SUBSTR": regexp_extract,
    "JSON_QUERY": _refuse("JSON_QUERY", hint="use JSON_VALUE"),
    "TYPEOF": _refuse("TYPEOF", hint="types are those of the schema"),
}
