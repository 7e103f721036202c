"""What the parsers of written dialects do otherwise than ours: LIKE, SUBSTRING, CAST, EXTRACT, texts with escapes.

Each dialect says what it does (TextHabits, the fields of times); the trees that come out are ours.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError

from cepheid.errors import CepheidError, InvalidQuery, NotSupportedYet, Span
from cepheid.language.parsing.interval_parser import fold_span
from cepheid.language.parsing.text_habits import (
    TextHabits,
    cut_text,
    escape_pattern,
    match_similar,
    place_substring,
    take_backslashes,
)
from cepheid.language.parsing.time_fields import Field, read_field
from cepheid.language.parsing.token_reader import TokenReader

ARGUMENTS_HINT = "there are too few, or too many: write it as the dialect has it"
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class WrittenHabits(TokenReader):
    """fields_are_decimal: does EXTRACT give decimals?"""

    text_habits: ClassVar[TextHabits] = TextHabits()
    time_fields: ClassVar[dict[str, Field]] = {}
    fields_are_decimal: ClassVar[bool] = False

    def _parse_function_call(self, *given: Any, **named: Any) -> exp.Expr | None:
        """A call of which its builder makes nothing is told with its name, where it has no arguments to point at."""
        name = self._curr
        try:
            return super()._parse_function_call(*given, **named)
        except CepheidError as problem:
            if problem.span is None:
                problem.span = self.place(name)
            raise
        except ParseError:
            raise
        except (IndexError, ValueError, TypeError, AttributeError, AssertionError) as problem:
            raise InvalidQuery(
                f"{name.text} does not take these arguments", span=self.place(name), hint=ARGUMENTS_HINT
            ) from problem

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """A FILTER behind what was read as an aggregate with one is a second condition."""
        found = super()._parse_window(this, alias)
        outer = found.this if isinstance(found, exp.Window) else found
        if isinstance(outer, exp.Filter) and isinstance(outer.this, exp.Filter):
            inner = outer.this
            both = exp.and_(inner.expression.this, outer.expression.this, copy=False)
            outer.set("expression", exp.Where(this=both))
            outer.set("this", inner.this)
        return found

    def _parse_escape(self, this: exp.Expr | None) -> exp.Expr | None:
        found = super()._parse_escape(this)
        if found is None or isinstance(found, exp.Escape):
            return found
        if isinstance(found, exp.SimilarTo) and self.text_habits.similar:
            return match_similar(found)
        return escape_pattern(found) if self.text_habits.escapes else take_backslashes(found)

    def _parse_interval(self, require_interval: bool = True) -> exp.Expr | None:  # type: ignore[override]
        return fold_span(super()._parse_interval(require_interval))

    def _parse_extract(self) -> exp.Extract | exp.Anonymous:
        return read_field(super()._parse_extract(), self.time_fields, self.fields_are_decimal)  # type: ignore[return-value]

    def _parse_substring(self) -> exp.Substring:
        return place_substring(super()._parse_substring(), self.text_habits.position)  # type: ignore[return-value]

    def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
        cast = super().build_cast(strict, **kwargs)
        return cut_text(cast) if self.text_habits.cuts else cast


def read_escaped(parser: TokenReader, token: Token) -> exp.Expr:
    """E'a\\nb' of PostgreSQL and DuckDB."""
    place = parser.place(token)
    written = parser.sql[place.start : place.end]  # the tokenizer has undone some escapes, and not others
    return exp.Literal.string(unescape_text(written[written.index("'") + 1 : -1], place))


def unescape_text(written: str, place: Span) -> str:
    pieces, marks = [], iter(written)
    for mark in marks:
        if mark == "'":
            next(marks, "")  # two of them are one
        if mark != "\\":
            pieces.append(mark)
            continue
        escaped = next(marks, "\\")
        if escaped.isalnum() and escaped not in _ESCAPED:
            raise NotSupportedYet(f'"\\{escaped}" in a text', span=place, hint="write the character itself")
        pieces.append(_ESCAPED.get(escaped, escaped))
    return "".join(pieces)


ESCAPED_TEXTS: dict[TokenType, Any] = {TokenType.BYTE_STRING: read_escaped}
