"""Fields of times that EXTRACT gives, as each dialect counts them.

    of a Sunday, 9:05:07.25    default, duckdb   trino   flink   spark      risingwave
    EXTRACT(DOW FROM ts)       0                 7       1       1          0
    EXTRACT(SECOND FROM ts)    7                 7       7       7.250000   7.250000
    EXTRACT(YEAR FROM ts)      a whole number in all but risingwave, where it is a decimal

EXTRACT of an interval stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_of

DAY_NAMES = frozenset(("DOW", "DAYOFWEEK", "DAY_OF_WEEK"))
Field = Callable[[exp.Extract], exp.Expr]


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def day_from_sunday(time: exp.Expr, first: int) -> exp.Expr:
    """The day of the week; a Sunday is `first`."""
    day: exp.Expr = exp.Mod(this=exp.DayOfWeekIso(this=time), expression=_number(7))
    return exp.Paren(this=exp.Add(this=day, expression=_number(first)) if first else day)


def day_from_monday(time: exp.Expr) -> exp.Expr:
    """The day of the week; a Monday is 0."""
    return exp.Paren(this=exp.Sub(this=exp.DayOfWeekIso(this=time), expression=_number(1)))


def _rename(name: str) -> Field:
    return lambda node: exp.Extract(this=exp.Var(this=name), expression=node.expression)


def _decimal(tree: exp.Expr, digits: int) -> exp.Expr:
    return exp.Cast(this=tree, to=exp.DataType.build(f"decimal(20, {digits})"))


def _parts_of_second(microseconds: int, digits: int) -> Field:
    """With what is behind the point, of so many microseconds each."""

    def build(node: exp.Extract) -> exp.Expr:
        whole = exp.Extract(this=exp.Var(this="MICROSECOND"), expression=node.expression)
        unit = exp.Literal.number(f"0.{1:0{len(str(microseconds)) - 1}d}")
        fraction = exp.Mul(this=_decimal(whole, 0), expression=unit)
        return _decimal(exp.Paren(this=fraction), digits)

    return build


def _of_spark_second(node: exp.Extract) -> exp.Expr:
    cast = _parts_of_second(1_000_000, 6)(node)
    cast.set("to", exp.DataType.build("decimal(8, 6)"))
    return cast


def _whole_epoch(node: exp.Extract) -> exp.Expr:
    return exp.Cast(
        this=exp.Floor(this=_call("epoch", exp.Cast(this=node.expression, to=exp.DataType.build("timestamp")))),
        to=exp.DataType.build("bigint"),
    )


def _of_days(first: int | None) -> dict[str, Field]:
    """first: what a Sunday is; None: 7."""

    def build(node: exp.Extract) -> exp.Expr:
        return exp.DayOfWeekIso(this=node.expression) if first is None else day_from_sunday(node.expression, first)

    return dict.fromkeys(DAY_NAMES, build)


def _iso(node: exp.Extract) -> exp.Expr:
    return exp.DayOfWeekIso(this=node.expression)


TRINO: dict[str, Field] = {
    **_of_days(None),
    "DAY_OF_MONTH": _rename("DAY"),
    "DAY_OF_YEAR": _rename("DOY"),
    "YEAR_OF_WEEK": _rename("ISOYEAR"),
    "YOW": _rename("ISOYEAR"),
}
FLINK: dict[str, Field] = {
    **_of_days(1),
    "EPOCH": _whole_epoch,
    "DAYOFMONTH": _rename("DAY"),
    "DAYOFYEAR": _rename("DOY"),
}
SPARK: dict[str, Field] = {
    **_of_days(1),
    "DOW_ISO": _iso,
    "DAYOFWEEK_ISO": _iso,
    "SECOND": _of_spark_second,
    "SECONDS": _of_spark_second,
    "YEAROFWEEK": _rename("ISOYEAR"),
    "DAYS": _rename("DAY"),
    "HOURS": _rename("HOUR"),
    "MINUTES": _rename("MINUTE"),
}
RISINGWAVE: dict[str, Field] = {
    "SECOND": _parts_of_second(1_000_000, 6),
    "MILLISECOND": _parts_of_second(1_000, 3),
    "MILLISECONDS": _parts_of_second(1_000, 3),
}


def read_field(node: exp.Expr, fields: dict[str, Field], as_decimal: bool = False) -> exp.Expr:
    """EXTRACT as the dialect has it; as_decimal: every field is a decimal."""
    if not isinstance(node, exp.Extract):
        return node
    build = fields.get(node.name.upper())
    if build is not None:
        return build(node)
    return _decimal(node, 6 if node.name.upper() == "EPOCH" else 0) if as_decimal else node


def date_part(given: list[exp.Expr], fields: dict[str, Field], as_double: bool) -> exp.Expr:
    """date_part('hour', ts)."""
    if len(given) != 2 or not isinstance(given[0], exp.Literal):
        place = next((span_of(each) for each in given if span_of(each)), None)
        raise NotSupportedYet("date_part of a field that is no literal", span=place, hint="write date_part('hour', ts)")
    node = read_field(exp.Extract(this=exp.Var(this=given[0].name.upper()), expression=given[1]), fields)
    return exp.Cast(this=node, to=exp.DataType.build("double")) if as_double else node
