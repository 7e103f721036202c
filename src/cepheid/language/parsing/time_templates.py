"""Templates of times as to_char has them, written as formats that both hosts know.

    'YYYY-MM-DD HH12:MI AM'   =>   '%Y-%m-%d %I:%M %p'

The words are those of Trino (yyyy, yy, mm, dd, hh, hh24, mi, ss) and, where both hosts can write them, of PostgreSQL.
A letter that is no word of a template must stand in double quotes: a template is never half understood.
"""

from __future__ import annotations

import re

from sqlglot import TokenType, exp

from cepheid.language.parsing.token_reader import TokenReader

_ANY_CASE = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DDD": "%j", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M",
    "SS": "%S", "US": "%f", "FMMM": "%-m", "FMDD": "%-d", "FMHH24": "%-H", "FMHH12": "%-I", "FMHH": "%-I",
    "FMMI": "%-M", "FMSS": "%-S",
}  # fmt: skip
_AS_WRITTEN = {"AM": "%p", "PM": "%p", "Mon": "%b", "FMMonth": "%B", "Dy": "%a", "FMDay": "%A"}
_WORDS = re.compile(
    "|".join((*sorted(_AS_WRITTEN, key=len, reverse=True), r'"[^"]*"', r'[^A-Za-z0-9"]+'))
    + "|"
    + "|".join(f"(?i:{word})" for word in sorted(_ANY_CASE, key=len, reverse=True))
)
KNOWN = ", ".join((*(word for word in _ANY_CASE if not word.startswith("FM")), "AM", "Mon", "FMMonth", "Dy", "FMDay"))


class UnknownTemplate(ValueError):
    """The part of a template that is no word."""


def translate_template(template: str) -> str:
    """The same as a format of strftime."""
    written, at = [], 0
    while at < len(template):
        found = _WORDS.match(template, at)
        if found is None:
            raise UnknownTemplate(re.match(r"[A-Za-z]+|.", template[at:], re.DOTALL)[0])  # type: ignore[index]
        word, at = found[0], found.end()
        literal = word.strip('"').replace("%", "%%")
        written.append(_AS_WRITTEN.get(word) or _ANY_CASE.get(word.upper()) or literal)
    return "".join(written)


def read_to_char(parser: TokenReader) -> exp.Expr:
    """to_char(ts, 'HH24:MI'), behind its opening parenthesis."""
    hint = "write to_char(ts, 'YYYY-MM-DD HH24:MI:SS')"
    time = parser.read_expression("a time", hint)
    parser.expect_mark(TokenType.COMMA, ",", hint=hint)
    start = parser.position
    template = parser.read_expression("a template", hint)
    span = parser.span_from(start)
    if not isinstance(template, exp.Literal) or not template.is_string:
        parser.refuse("the template of to_char is a text that is written out", span=span, hint=hint)
    try:
        format_ = translate_template(template.name)
    except UnknownTemplate as problem:
        hint = f"it knows {KNOWN}; other letters stand in double quotes: 'YYYY\"T\"HH24'"
        parser.refuse(f'"{problem}" is nothing that to_char can write', span=span, hint=hint)
    return exp.TimeToStr(this=time, format=exp.Literal.string(format_))
