"""Read WITHIN <interval> into a duration.

    WITHIN INTERVAL '10' SECOND     WITHIN INTERVAL '1.5' MINUTE     WITHIN INTERVAL 10 SECONDS
    WITHIN INTERVAL '2 hours'       WITHIN 5 s                       WITHIN 100 ms       WITHIN 10 (of a number)
    WITHIN INTERVAL '1 02:30' DAY TO MINUTE

Negative and zero durations are read as written: whether they make sense is the binder's question.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from sqlglot import TokenType, exp

from cepheid.errors import Span, SyntaxProblem, suggest_name
from cepheid.language.parsing.places import span_near
from cepheid.language.parsing.syntax import Within
from cepheid.language.parsing.token_reader import TokenReader

UNITS = {
    timedelta(microseconds=1): "us microsecond microseconds",
    timedelta(milliseconds=1): "ms millisecond milliseconds",
    timedelta(seconds=1): "s sec secs second seconds",
    timedelta(minutes=1): "m min mins minute minutes",
    timedelta(hours=1): "h hr hrs hour hours",
    timedelta(days=1): "d day days",
    timedelta(weeks=1): "w week weeks",
}
LENGTHS = {name: length for length, names in UNITS.items() for name in names.split()}
LONG_NAMES = [names.split()[-1] for names in UNITS.values()]
NO_FIXED_LENGTH = re.compile(r"(month|quarter|year|decade|century|centurie)s?\Z")
WRITTEN = re.compile(r"\s*(?P<amount>[+-]?[0-9]*\.?[0-9]*(?:e[+-]?[0-9]+)?)\s*(?P<unit>\w*)\s*\Z", re.IGNORECASE)
HINT = "write for example INTERVAL '10' SECOND, or 10 s behind WITHIN"
BEHIND_NUMBER = frozenset((
    "AND", "AS", "CONSUME", "DEFINE", "FOLLOWED", "GROUP", "LIMIT", "NEXT", "NOT", "ONCE", "ORDER", "OUTPUT", "PER",
    "REUSE", "SLIDE", "STRATEGY", "SUBSET", "TIMEOUT", "WHERE",
))  # words that go on with a clause, and are no unit  # fmt: skip
MICROSECOND = timedelta(microseconds=1)
LONGEST = -timedelta.min // MICROSECOND


def read_within(reader: TokenReader) -> Within | None:
    start = reader.position
    if not reader.take_words("WITHIN"):
        return None
    duration = read_span(reader)
    return Within(duration, reader.span_from(start))


def read_timeouts(reader: TokenReader) -> Span | None:
    """TIMEOUT ROWS behind WITHIN; gives its place."""
    start = reader.position
    if not reader.take_words("TIMEOUT"):
        return None
    reader.expect_words("ROWS", hint="write WITHIN INTERVAL '10' MINUTE TIMEOUT ROWS")
    return reader.span_from(start)


def read_span(reader: TokenReader) -> timedelta | int:
    """A duration, or a whole number without a unit: of event time that is a number."""
    unit = reader.word_after(TokenType.NUMBER)
    if reader.at_mark(TokenType.NUMBER) and (not unit.isidentifier() or unit in BEHIND_NUMBER):
        start = reader.position
        written = reader.take_text(TokenType.NUMBER) or ""
        if not written.isdigit():
            reader.refuse("a number of event time is a whole one", hint=HINT, span=reader.span_from(start))
        return int(written)
    return read_duration(reader)


def read_duration(reader: TokenReader) -> timedelta:
    reader.take_mark(TokenType.INTERVAL)
    start = reader.position
    minus = reader.take_mark(TokenType.DASH)
    written = reader.take_text(TokenType.STRING, TokenType.NUMBER)
    if written is None:
        reader.refuse_next("an interval", hint=HINT)
    if reader.word_behind() == "TO":
        first = reader.read_name("a unit of time", hint=SPAN_HINT).text
        reader.take_words("TO")
        last = reader.read_name("a unit of time", hint=SPAN_HINT).text
        amount, unit = add_up_span(f"-{written}" if minus else written, first, last, reader.span_from(start))
        return scale_unit(amount, unit, reader.span_from(start))
    amount, unit = split_amount(written, reader.span_from(start))
    unit = unit or reader.read_name("a unit of time", hint=HINT).text
    return scale_unit(f"-{amount}" if minus else amount, unit, reader.span_from(start))


def read_interval(node: exp.Interval) -> int | None:
    """Microseconds of INTERVAL '5' SECOND in a tree; None if it is no literal."""
    if not isinstance(node.this, exp.Literal):
        return None
    place = span_near(node)
    amount, unit = split_amount(node.this.name, place)
    unit = unit or (node.unit.name if node.unit is not None else "")
    return scale_unit(amount, unit, place) // MICROSECOND


SPAN_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
SPAN_HINT = "write for example INTERVAL '1 02:30:00' DAY TO SECOND"


def fold_span(node: exp.Expr | None) -> exp.Expr | None:
    """INTERVAL '1:30' HOUR TO MINUTE as so many seconds, '2-3' YEAR TO MONTH as so many months."""
    span = node.args.get("unit") if isinstance(node, exp.Interval) else None
    if node is None or not isinstance(span, exp.IntervalSpan) or not isinstance(node.this, exp.Literal):
        return node
    amount, unit = add_up_span(node.this.name, span.this.name, span.expression.name, span_near(node))
    return exp.Interval(this=exp.Literal.string(amount), unit=exp.Var(this=unit))


def add_up_span(text: str, first: str, last: str, place: Span | None) -> tuple[str, str]:
    """'1:30' from HOUR to MINUTE: so many of one unit, and that unit."""
    first, last = first.upper().removesuffix("S"), last.upper().removesuffix("S")
    written = text.strip()
    sign, written = (-1, written[1:]) if written.startswith("-") else (1, written.removeprefix("+"))
    numbers = re.split(r"-" if first == "YEAR" else r"[ :]", written)
    names = ("YEAR", "MONTH") if first == "YEAR" else SPAN_UNITS
    wanted = names[names.index(first) : names.index(last) + 1] if first in names and last in names else ()
    if (
        len(wanted) < 2
        or len(numbers) != len(wanted)
        or not all(re.fullmatch(r"\d+(\.\d*)?", each) for each in numbers)
    ):
        raise SyntaxProblem(f'"{text}" is no interval {first} TO {last}', span=place, hint=SPAN_HINT)
    if first == "YEAR":
        amount, unit = Decimal(numbers[0]) * 12 + Decimal(numbers[1]), "MONTH"
    else:
        lengths = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
        amount = sum((Decimal(each) * lengths[name] for each, name in zip(numbers, wanted, strict=True)), Decimal(0))
        unit = "SECOND"
    return str(sign * amount), unit


def split_amount(written: str, span: Span | None) -> tuple[str, str]:
    """Amount and unit of "10 s"; the unit is empty when it stands elsewhere."""
    found = WRITTEN.match(written)
    if found is None or not any(character.isdigit() for character in found["amount"]):
        raise SyntaxProblem(f'"{written}" is not an interval', span=span, hint=HINT)
    return found["amount"], found["unit"]


def scale_unit(amount: str, unit: str, span: Span | None) -> timedelta:
    """`amount` times the length of `unit`, which must be a whole number of microseconds."""
    length = find_length(unit, span) // MICROSECOND
    try:
        microseconds = Decimal(amount) * length
        too_long = abs(microseconds) > LONGEST
    except ArithmeticError:
        raise SyntaxProblem(f'"{amount}" is not an amount of time', span=span, hint=HINT) from None
    if too_long:
        raise SyntaxProblem("the interval is too long", span=span, hint="an interval is at most 999999999 days")
    if microseconds != int(microseconds):
        raise SyntaxProblem(
            "the interval is finer than a microsecond", span=span, hint="event time is kept in microseconds"
        )
    return timedelta(microseconds=int(microseconds))


def find_length(unit: str, span: Span | None) -> timedelta:
    name = unit.lower()
    if NO_FIXED_LENGTH.match(name):
        raise SyntaxProblem(f'"{unit}" has no fixed length', span=span, hint="count in days or weeks instead")
    if name not in LENGTHS:
        raise SyntaxProblem(f'"{unit}" is not a unit of time', span=span, hint=suggest_name(unit, LONG_NAMES))
    return LENGTHS[name]
