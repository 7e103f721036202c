"""Functions of Trino that DuckDB has by the same name with another meaning, or by none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sqlglot import TokenType, exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.java_formats import read_java_format
from cepheid.language.parsing.own_functions import (
    EACH_ONCE,
    IS_IN,
    LARGEST,
    PLACE_OF,
    REPEATED,
    SLICE,
    SMALLEST,
    SPLIT,
    call_own,
)
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.text_habits import replace_by_groups
from cepheid.language.parsing.token_reader import TokenReader

JSON_HINT = "write json_extract_scalar(s, '$.a')"


def _refuse(name: str, hint: str) -> Callable[[list[Any]], exp.Expr]:
    def build(given: list[Any]) -> exp.Expr:
        place = next((span_of(each) for each in given if isinstance(each, exp.Expr) and span_of(each)), None)
        raise NotSupportedYet(f"Trino's {name.lower()}", span=place, hint=hint)

    return build


def millisecond(given: list[Any]) -> exp.Expr:
    """Of the second, not of the minute."""
    whole = exp.Extract(this=exp.Var(this="MILLISECOND"), expression=given[0])
    return exp.Paren(this=exp.Mod(this=whole, expression=exp.Literal.number(1000)))


def iso_year(given: list[Any]) -> exp.Expr:
    return exp.Extract(this=exp.Var(this="ISOYEAR"), expression=given[0])


def format_datetime(given: list[Any]) -> exp.Expr:
    return exp.TimeToStr(this=given[0], format=read_java_format(given[1]))


def euler(given: list[Any]) -> exp.Expr:
    assert not given, "e() takes nothing"
    return exp.Literal.number(repr(math.e) + "e0")


def _own(name: str, own: str, count: int) -> Callable[[list[Any]], exp.Expr]:
    """One of our functions, of so many arguments; with another number of them it stays as it is written."""

    def build(given: list[Any]) -> exp.Expr:
        return call_own(own, *given) if len(given) == count else exp.func(name, *given)

    return build


def to_base(given: list[Any]) -> exp.Expr:
    """In small letters."""
    written = exp.Anonymous(this="TO_BASE", expressions=given)
    return exp.Anonymous(this="LOWER", expressions=[written])


def read_json_value(parser: TokenReader) -> exp.Expr:
    """JSON_VALUE(s, '$.a') or 'lax $.a', without more."""
    text = parser.read_expression("a text", JSON_HINT)
    parser.expect_mark(TokenType.COMMA, ",", hint=JSON_HINT)
    path = parser.read_expression("a path", JSON_HINT)
    if not isinstance(path, exp.Literal) or path.name.split()[0].lower() == "strict" or parser.next_word != ")":
        raise NotSupportedYet("this JSON_VALUE", span=span_of(path) or span_of(text), hint=JSON_HINT)
    return exp.JSONExtractScalar(
        this=text,
        expression=parser.dialect.to_json_path(exp.Literal.string(path.name.removeprefix("lax").strip())),
        only_json_types=False,
    )


FUNCTIONS: dict[str, Callable[[list[Any]], exp.Expr]] = {
    "MILLISECOND": millisecond,
    "YOW": iso_year,
    "YEAR_OF_WEEK": iso_year,
    "REGEXP_REPLACE": lambda given: replace_by_groups(given, "Trino"),
    "FORMAT_DATETIME": format_datetime,
    "E": euler,
    "SLICE": _own("SLICE", SLICE, 3),
    "ARRAY_POSITION": _own("ARRAY_POSITION", PLACE_OF, 2),
    "ARRAY_DISTINCT": _own("ARRAY_DISTINCT", EACH_ONCE, 1),
    "CONTAINS": _own("ARRAY_CONTAINS", IS_IN, 2),
    "ARRAY_MAX": _own("ARRAY_MAX", LARGEST, 1),
    "ARRAY_MIN": _own("ARRAY_MIN", SMALLEST, 1),
    "REPEAT": _own("REPEAT", REPEATED, 2),
    "SPLIT": _own("SPLIT", SPLIT, 3),
    "TO_BASE": to_base,
    "FORMAT": _refuse("FORMAT", hint="write concat, lpad and round"),
    "TYPEOF": _refuse("TYPEOF", hint="types are those of the schema"),
    "PARSE_DATETIME": _refuse("PARSE_DATETIME", hint="write date_parse(s, '%Y-%m-%d %H:%i')"),
    "JSON_QUERY": _refuse("JSON_QUERY", hint="write json_extract(s, '$.a')"),
    "JSON_EXISTS": _refuse("JSON_EXISTS", hint="write json_extract(s, '$.a') IS NOT NULL"),
}
