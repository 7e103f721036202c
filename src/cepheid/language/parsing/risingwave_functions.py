"""Functions of RisingWave whose name means something else here, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.null_habits import SIDES, WITHOUT_NULLS, replace_all
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.time_fields import RISINGWAVE, date_part


def regexp_match(given: list[Any]) -> exp.Expr:
    """The groups of the first match, or the whole of it if there are none; null where nothing is found."""
    pattern = given[1] if len(given) == 2 else None
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        hint = "write regexp_match(s, '(a)(b)')"
        raise NotSupportedYet("regexp_match without a literal pattern", span=span_of(given[0]), hint=hint)
    try:
        groups = re.compile(pattern.name).groups
    except re.error:
        groups = 0
    numbers = range(1, groups + 1) if groups else range(1)
    found = [
        exp.RegexpExtract(this=given[0].copy(), expression=pattern.copy(), group=exp.Literal.number(number))
        for number in numbers
    ]
    fits = exp.RegexpLike(this=given[0].copy(), expression=pattern.copy())
    return exp.Case(ifs=[exp.If(this=fits, true=exp.Array(expressions=found))])


_LETTERS = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M", "SS": "%S",
    "MS": "%g", "US": "%f", "AM": "%p", "PM": "%p",
}  # fmt: skip
_PIECES = re.compile(
    rf'"(?P<quoted>[^"]*)"|(?P<letters>{"|".join(_LETTERS)})|(?P<other>[^A-Za-z"]+)|(?P<bad>[A-Za-z]+)'
)


def to_char(given: list[Any]) -> exp.Expr:
    """Of times, by the letters that have an exact counterpart."""
    if len(given) != 2 or not isinstance(given[1], exp.Literal) or not given[1].is_string:
        hint = "write to_char(ts, 'YYYY-MM-DD HH24:MI:SS')"
        raise NotSupportedYet("to_char without a literal format", span=span_of(given[0]), hint=hint)
    pieces: list[str] = []
    for found in _PIECES.finditer(given[1].name):
        if found["bad"] is not None:
            hint = f"there are {', '.join(_LETTERS)}"
            raise NotSupportedYet(f'"{found["bad"]}" in a format', span=span_of(given[1]), hint=hint)
        plain = found["quoted"] if found["quoted"] is not None else found["other"]
        pieces.append(_LETTERS[found["letters"]] if found["letters"] else (plain or "").replace("%", "%%"))
    return exp.TimeToStr(this=given[0], format=exp.Literal.string("".join(pieces)))


FUNCTIONS: dict[str, Callable[[list[Any]], exp.Expr]] = {
    "REGEXP_MATCH": regexp_match,
    "TO_CHAR": to_char,
    "REGEXP_REPLACE": replace_all,
    "DATE_PART": lambda given: date_part(given, RISINGWAVE, as_double=True),
    "TO_HEX": lambda given: exp.Lower(this=exp.Anonymous(this="to_hex", expressions=given)),
    **SIDES,
    **WITHOUT_NULLS,
}
