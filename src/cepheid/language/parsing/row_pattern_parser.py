"""Read the row pattern out of PATTERN ( ... ), character by character.

    PATTERN (a b+? | {- c -}{2,3})
            ^ `opening` ... returns the tree and the offset behind the closing parenthesis

sqlglot's tokens cannot be trusted here: `??` and `||` are one token each, `{#` opens a comment, `1_000` is a
number.  So the text is read again from the opening parenthesis on; places stay offsets into the whole query.

    alternation    :=  concatenation ( | concatenation )*
    concatenation  :=  factor+
    factor         :=  primary quantifier?
    primary        :=  variable  ^  $  ()  ( alternation )  {- alternation -}  PERMUTE ( alternation, ... )
                       NOT variable, also written ~variable, with an optional FOR duration
    duration       :=  as behind WITHIN: INTERVAL '10' SECOND, 5 s, or 10 where event time is a number
    quantifier     :=  * + ? {n} {n,} {,m} {n,m}, each with an optional ? (reluctant)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from cepheid.errors import Span, SyntaxProblem
from cepheid.kernel.pattern import (
    Absence,
    Alternation,
    Anchor,
    Concatenation,
    EmptyPattern,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Term,
)
from cepheid.language.parsing.interval_parser import LENGTHS, MICROSECOND, scale_unit, split_amount

LEXEME = re.compile(
    r"""
      (?P<name> [^\W\d]\w* )
    | (?P<quoted> "(?:[^"]|"")+" | `(?:[^`]|``)+` )
    | (?P<text> '(?:[^']|'')*' )
    | (?P<number> (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? )
    | (?P<bounds> \{ \s* (?: (?P<exact>[0-9]+) | (?P<least>[0-9]*) \s* , \s* (?P<most>[0-9]*) ) \s* \} )
    | (?P<mark> \{- | -\} | [()|,*+?^$~] )
    | (?P<unknown> . )
    | (?P<end> \Z )
    """,
    re.VERBOSE | re.DOTALL,
)
GAP = re.compile(r"(?:\s+|--[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
SIMPLE_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
PATTERN_ENDS = frozenset({")", "|", ",", "-}", ""})
DEEPEST_NESTING = 100  # more is a generated text, and would overflow the stack of those who walk the tree
MOST_DIGITS = 9
ABSENCE_HINT = "NOT stands before one variable: a NOT b c; DEFINE b with OR for several conditions"
DURATION_HINT = "write for example NOT b FOR INTERVAL '10' SECOND, or NOT b FOR 10 s"
SEQUENCE_HINT = "variables that follow one another stand side by side, (a b); one of them is (a | b)"
OTHER_MARKS = {**dict.fromkeys((",", "-", "&", ">", "&&"), SEQUENCE_HINT), "!": "write NOT a, for no event like a"}
QUANTIFIER_HINT = "quantifiers are * + ? {n} {n,} {,m} {n,m}; {- ... -} leaves events out of the output"


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece of the pattern; `text` is empty behind the end of the query."""

    kind: str
    text: str
    span: Span
    bounds: tuple[str, str] = ("", "")  # of {n,m}: n and m, empty when left out

    @property
    def mark(self) -> str | None:
        """What the piece says to the grammar; None for variables, which may be called anything."""
        return None if self.kind == "quoted" else self.text


def parse_row_pattern(text: str, opening: int) -> tuple[RowPattern, int]:
    """The pattern in the parentheses that open at `opening`, and the offset behind the closing one."""
    reader = RowPatternReader(text, opening)
    return reader.read_group(reader.take()), reader.end_of_last


class RowPatternReader:
    """A recursive descent over lexemes, with one lexeme of lookahead."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.end_of_last = position
        self.depth = 0
        self.current = self.scan(position)

    def scan(self, position: int) -> Lexeme:
        gap = GAP.match(self.text, position)
        found = LEXEME.match(self.text, gap.end() if gap else position)
        if found is None or found.lastgroup is None:
            raise AssertionError("every text begins with a lexeme or is at its end")
        exact = found["exact"]
        bounds = (exact or found["least"] or "", exact or found["most"] or "")
        return Lexeme(found.lastgroup, found.group(), Span(*found.span()), bounds)

    def take(self) -> Lexeme:
        taken = self.current
        self.end_of_last = taken.span.end
        self.current = self.scan(taken.span.end)
        return taken

    def take_mark(self, mark: str) -> Lexeme | None:
        return self.take() if self.current.mark == mark else None

    def expect_mark(self, mark: str, opening: Lexeme) -> Lexeme:
        taken = self.take_mark(mark)
        if taken is not None:
            return taken
        if self.current.kind != "end":
            raise self.describe_unexpected(f'"{mark}"')
        raise SyntaxProblem(
            f'"{opening.text}" of the row pattern is never closed',
            span=opening.span,
            hint=f'close it with "{mark}"',
        )

    def describe_unexpected(self, expected: str) -> SyntaxProblem:
        found = self.current
        if found.kind == "end":
            message = f"the row pattern ends too early: expected {expected}"
            return SyntaxProblem(message, span=found.span, hint='close the pattern with ")"')
        message = f'unexpected "{found.text}" in the row pattern: expected {expected}'
        hint = "the empty pattern is written ()" if found.mark in PATTERN_ENDS else QUANTIFIER_HINT
        hint = OTHER_MARKS.get(found.text, hint)
        return SyntaxProblem(message, span=found.span, hint=hint)

    def read_alternation(self) -> RowPattern:
        options = [self.read_concatenation()]
        while self.take_mark("|"):
            options.append(self.read_concatenation())
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def read_concatenation(self) -> RowPattern:
        items = [self.read_factor()]
        while self.current.mark not in PATTERN_ENDS:
            items.append(self.read_factor())
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def read_factor(self) -> RowPattern:
        item = self.read_primary()
        bounds = self.read_bounds()
        if bounds is None:
            return item
        reluctant = self.take_mark("?")
        return Repetition(item, bounds[0], bounds[1], greedy=reluctant is None)

    def read_bounds(self) -> tuple[int, int | None] | None:
        if self.current.kind == "bounds":
            return parse_bounds(self.take())
        if self.current.mark in SIMPLE_BOUNDS:
            return SIMPLE_BOUNDS[self.take().text]
        return None

    def read_primary(self) -> RowPattern:
        match self.current:
            case Lexeme(kind="name"):
                return self.read_named(self.take())
            case Lexeme(kind="quoted"):
                quoted = self.take()
                return Term(name_variable(quoted), quoted.span)
            case Lexeme(mark="~"):
                return self.read_absence(self.take())
            case Lexeme(mark="("):
                return self.nested(self.read_group)
            case Lexeme(mark="{-"):
                return self.nested(self.read_exclusion)
            case Lexeme(mark="^" | "$" as mark):
                return Anchor("start" if mark == "^" else "end", self.take().span)
        raise self.describe_unexpected("a pattern variable")

    def read_named(self, name: Lexeme) -> RowPattern:
        if name.text.upper() == "PERMUTE" and self.current.mark == "(":
            return self.nested(lambda opening: self.read_permutation(name, opening))
        if name.text.upper() == "NOT":
            return self.read_absence(name)
        return Term(name_variable(name), name.span)

    def read_absence(self, mark: Lexeme) -> RowPattern:
        """NOT b: no event that is a b."""
        if self.current.kind not in ("name", "quoted"):
            found = f'"{self.current.text}"' if self.current.text else "the end"
            raise SyntaxProblem(
                f"expected a pattern variable behind {mark.text}, not {found}",
                span=self.current.span,
                hint=ABSENCE_HINT,
            )
        name = self.take()
        lasting, counted = None, False
        if self.current.kind == "name" and self.current.text.upper() == "FOR":
            self.take()
            lasting, counted = self.read_duration()
        place = Span(mark.span.start, self.end_of_last)
        return Absence(name_variable(name), lasting, counted, place)

    def read_duration(self) -> tuple[int, bool]:
        """How long FOR says, in microseconds; or in units of event time that is a number, where there is no unit."""
        is_interval = self.current.kind == "name" and self.current.text.upper() == "INTERVAL"
        if is_interval:
            self.take()
        start = self.current.span.start
        minus = self.take().text if self.current.text == "-" else ""
        if self.current.kind not in ("number", "text"):
            found = f'"{self.current.text}"' if self.current.text else "the end"
            raise SyntaxProblem(
                f"expected a duration behind FOR, not {found}", span=self.current.span, hint=DURATION_HINT
            )
        written = self.take()
        amount, unit = split_amount(written.text.strip("'"), written.span)
        if not unit and self.current.kind == "name" and (is_interval or self.current.text.lower() in LENGTHS):
            unit = self.take().text
        place = Span(start, self.end_of_last)
        if unit:
            return scale_unit(minus + amount, unit, place) // MICROSECOND, False
        if is_interval or not written.text.isdigit():
            raise SyntaxProblem(f'"{written.text}" has no unit of time', span=place, hint=DURATION_HINT)
        return int(minus + amount), True

    def nested(self, read: Callable[[Lexeme], RowPattern]) -> RowPattern:
        opening = self.take()
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise SyntaxProblem(
                "the row pattern is nested too deeply",
                span=opening.span,
                hint=f"at most {DEEPEST_NESTING} parentheses may be open",
            )
        pattern = read(opening)
        self.depth -= 1
        return pattern

    def read_group(self, opening: Lexeme) -> RowPattern:
        closing = self.take_mark(")")
        if closing is not None:
            return EmptyPattern(Span(opening.span.start, closing.span.end))
        inner = self.read_alternation()
        self.expect_mark(")", opening)
        return inner

    def read_exclusion(self, opening: Lexeme) -> RowPattern:
        item = self.read_alternation()
        closing = self.expect_mark("-}", opening)
        return Exclusion(item, Span(opening.span.start, closing.span.end))

    def read_permutation(self, name: Lexeme, opening: Lexeme) -> RowPattern:
        items = [self.read_alternation()]
        while self.take_mark(","):
            items.append(self.read_alternation())
        closing = self.expect_mark(")", opening)
        return Permutation(tuple(items), Span(name.span.start, closing.span.end))


def parse_bounds(lexeme: Lexeme) -> tuple[int, int | None]:
    """The numbers of {n}, {n,}, {,m} or {n,m}; a quantifier that no event can satisfy is refused."""
    check_digits(lexeme)
    least, most = lexeme.bounds
    low, high = int(least or 0), int(most) if most else None
    if high == 0:
        raise SyntaxProblem(
            f'quantifier "{lexeme.text}" allows no event',
            span=lexeme.span,
            hint="the upper bound starts at 1",
        )
    if high is not None and high < low:
        raise SyntaxProblem(
            f'quantifier "{lexeme.text}" ends below its start',
            span=lexeme.span,
            hint=f"did you mean {{{high},{low}}}?",
        )
    return low, high


def check_digits(lexeme: Lexeme) -> None:
    if any(len(number) > MOST_DIGITS for number in lexeme.bounds):
        raise SyntaxProblem(
            f'quantifier "{lexeme.text[:20]}" is too large',
            span=lexeme.span,
            hint=f"bounds have at most {MOST_DIGITS} digits",
        )


def name_variable(lexeme: Lexeme) -> str:
    """Names of variables are in capitals, unless they are quoted: a and A are one, "a" is another."""
    return unquote(lexeme.text) if lexeme.kind == "quoted" else lexeme.text.upper()


def unquote(text: str) -> str:
    """The name inside quotes, in which the quote itself is written twice."""
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)
