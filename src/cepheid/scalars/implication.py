"""Does one condition follow from another?  Said only where it surely does: rows that pass the one pass the other.

    x > 5 AND y = 2        implies  x > 3
    x = 4                  implies  x IN (4, 5)
    x BETWEEN 2 AND 3      implies  x < 10 OR z = 1
    x < 5                  implies  x IS NOT NULL

Comparisons with numbers are compared as ranges; texts and other constants only by equality, since their order is the
host's.  Hosts may round a constant to the type of the column, so two different numbers count as different only if they
stay so as 32-bit floats.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction

from cepheid.scalars.value import (
    NULL,
    Literal,
    Operation,
    Scalar,
    binary,
    split_conjunction,
    split_disjunction,
)

_MIRRORED = {"eq": "eq", "neq": "neq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
MOST_WAYS = 64  # alternatives of a condition that are looked at one by one


def implies(premise: Scalar, conclusion: Scalar) -> bool:
    """Is the conclusion true wherever the premise is true?"""
    if premise == conclusion:
        return True
    known = _Known.of(premise)
    return all(_follows(known, part) for part in split_conjunction(conclusion))


@dataclass(frozen=True)
class _Known:
    """What holds: conditions that are all true."""

    conditions: tuple[Scalar, ...]

    @staticmethod
    def of(premise: Scalar) -> _Known:
        return _Known(tuple(part for each in split_conjunction(premise) for part in _spell_out(each)))


def _follows(known: _Known, wanted: Scalar) -> bool:
    options = split_disjunction(wanted)
    if len(options) > 1 and any(_follows(known, part) for part in options):
        return True
    if wanted in known.conditions or any(_follows_from_one(condition, wanted) for condition in known.conditions):
        return True
    parts = _spell_out(wanted)
    if parts != (wanted,):
        return all(_follows(known, part) for part in parts)
    if isinstance(wanted, Operation) and wanted.kind == "and":
        return all(_follows(known, part) for part in split_conjunction(wanted))
    return any(_follows_in_each_case(known, condition, wanted) for condition in known.conditions)


def _follows_in_each_case(known: _Known, condition: Scalar, wanted: Scalar) -> bool:
    """A condition with alternatives: does it follow from each of them?"""
    options = split_disjunction(condition)
    if not 1 < len(options) <= MOST_WAYS:
        return False
    rest = tuple(other for other in known.conditions if other != condition)
    return all(_follows(_Known((*rest, *_Known.of(option).conditions)), wanted) for option in options)


def _spell_out(condition: Scalar) -> tuple[Scalar, ...]:
    """BETWEEN as two comparisons, IN as alternatives, constants on the right; all of what comes out must hold."""
    if not isinstance(condition, Operation):
        return (condition,)
    this = condition.part("this")
    if condition.kind == "between" and condition.part("symmetric") is None:
        low, high = condition.part("low"), condition.part("high")
        return (*_spell_out(binary("gte", this, low)), *_spell_out(binary("lte", this, high)))  # type: ignore[arg-type]
    if condition.kind == "in" and condition.part("query") is None and condition.part("unnest") is None:
        options = condition.part("expressions")
        if isinstance(options, tuple) and options:
            equal = tuple(binary("eq", this, option) for option in options)  # type: ignore[arg-type]
            return equal if len(equal) == 1 else (Operation("or", (("operands", equal),)),)
    if condition.kind in _MIRRORED and _read_number(this) is not None:  # type: ignore[arg-type]
        return (binary(_MIRRORED[condition.kind], condition.part("expression"), this),)  # type: ignore[arg-type]
    return (condition,)


def _follows_from_one(premise: Scalar, wanted: Scalar) -> bool:
    """From one comparison of something with a constant, another about the same thing."""
    if not isinstance(premise, Operation) or not isinstance(wanted, Operation) or premise.kind not in _MIRRORED:
        return False
    subject, constant = premise.part("this"), premise.part("expression")
    if _says_not_null(wanted, subject) or _says_not_null(wanted, constant):
        return True
    if wanted.kind not in _MIRRORED or wanted.part("this") != subject:
        return False
    limit = wanted.part("expression")
    if limit == constant:
        return _kinds_follow(premise.kind, wanted.kind)
    first, second = _read_number(constant), _read_number(limit)  # type: ignore[arg-type]
    if first is None or second is None:
        return _texts_differ(premise, wanted)
    return _ranges_follow(premise.kind, first, wanted.kind, second)


def _says_not_null(wanted: Operation, subject: object) -> bool:
    inner = wanted.part("this")
    return (
        wanted.kind == "not"
        and isinstance(inner, Operation)
        and inner.kind == "is"
        and inner.part("expression") == NULL
        and inner.part("this") == subject
        and not isinstance(subject, Literal)
    )


def _kinds_follow(premise: str, wanted: str) -> bool:
    """Of the same two sides."""
    follows = {"eq": ("lte", "gte"), "lt": ("lte", "neq"), "gt": ("gte", "neq")}
    return premise == wanted or wanted in follows.get(premise, ())


def _texts_differ(premise: Operation, wanted: Operation) -> bool:
    """x = 'a' implies x <> 'b'."""
    sides = (premise.part("expression"), wanted.part("expression"))
    texts = [side.text for side in sides if isinstance(side, Literal) and side.is_text]
    return premise.kind == "eq" and wanted.kind == "neq" and len(texts) == 2 and _surely_differ(*texts)


def _surely_differ(first: str, second: str) -> bool:
    """As texts, as times and as numbers: a host may read them as any of these."""
    plain = [text.strip().casefold() for text in (first, second)]
    return plain[0] != plain[1] and all(text and text[0].isalpha() and text.isalnum() for text in plain)


def _ranges_follow(premise: str, first: Fraction, wanted: str, second: Fraction) -> bool:
    """`x premise first` implies `x wanted second`, for two different numbers."""
    apart = _stay_apart(first, second)
    if wanted in ("gt", "gte"):
        if first < second or premise not in ("gt", "gte", "eq"):
            return False
        return wanted == "gte" or premise == "gt" or apart
    if wanted in ("lt", "lte"):
        if first > second or premise not in ("lt", "lte", "eq"):
            return False
        return wanted == "lte" or premise == "lt" or apart
    if wanted == "neq":
        above, below = premise in ("gt", "gte") and first > second, premise in ("lt", "lte") and first < second
        return (above or below or premise == "eq") and (apart or (premise in ("gt", "lt") and (above or below)))
    return False


def _stay_apart(first: Fraction, second: Fraction) -> bool:
    return _round_to_float32(first) != _round_to_float32(second)


def _round_to_float32(number: Fraction) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", float(number)))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return rounded


def _read_number(value: Scalar) -> Fraction | None:
    match value:
        case Literal(text=text, is_text=False):
            try:
                return Fraction(text)
            except ValueError:
                return None
        case Operation(kind="neg"):
            inner = _read_number(value.part("this"))  # type: ignore[arg-type]
            return None if inner is None else -inner
        case Operation(kind="cast") if _casts_to_double(value):
            return _read_number(value.part("this"))  # type: ignore[arg-type]
    return None


def _casts_to_double(value: Operation) -> bool:
    target = value.part("to")
    return isinstance(target, Operation) and target.kind == "datatype" and target.part("this") == "DOUBLE"
