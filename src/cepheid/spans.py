"""Spans of time as users give them: "30 s", "5 minutes", timedelta(seconds=30)."""

from __future__ import annotations

from datetime import timedelta

from cepheid.errors import InvalidInput, SyntaxProblem
from cepheid.language.parsing.interval_parser import scale_unit, split_amount

Span = str | timedelta


def read_span(given: object, name: str, hint: str, may_be_zero: bool = False) -> timedelta:
    """name: what it is called where it was given."""
    span = given if isinstance(given, timedelta) else _read_text(given, name, hint)
    least = timedelta(0)
    if span is None or span < least or (span == least and not may_be_zero):
        raise InvalidInput(f"{name} is {given!r}, which is no span of time", hint=hint)
    return span


def _read_text(text: object, name: str, hint: str) -> timedelta | None:
    if not isinstance(text, str):
        return None
    try:
        amount, unit = split_amount(text, None)
        return scale_unit(amount, unit, None) if unit else None
    except SyntaxProblem as problem:
        raise InvalidInput(f"{name} cannot be read: {problem.message}", hint=hint) from None
