"""What users say of streams that may be silent: idle_after="30 s", timedelta(seconds=30), {"cancels": "30 s"}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from cepheid.errors import InvalidInput, SyntaxProblem
from cepheid.language.parsing.interval_parser import scale_unit, split_amount

Span = str | timedelta
IdleAfter = Span | Mapping[str, Span]
HINT = 'idle_after="30 s", timedelta(seconds=30), or by stream: {"cancels": "30 s"}'


def read_idle_after(
    given: IdleAfter | None, streams: Iterable[str] | None = None
) -> timedelta | dict[str, timedelta] | None:
    """After how long streams are idle.  streams: those that there are; None: not known yet."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return read_span(given)
    known = None if streams is None else list(streams)
    for name in given:
        if known is not None and name not in known:
            raise InvalidInput(f'idle_after names "{name}", which is no stream', hint=f"streams: {', '.join(known)}")
    return {name: read_span(span) for name, span in given.items()}


def read_span(given: Span) -> timedelta:
    """A span of time, longer than nothing."""
    span = given if isinstance(given, timedelta) else _read_text(given)
    if span is None or span <= timedelta(0):
        raise InvalidInput(f"idle_after is {given!r}, which is no span of time", hint=HINT)
    return span


def _read_text(text: object) -> timedelta | None:
    if not isinstance(text, str):
        return None
    try:
        amount, unit = split_amount(text, None)
        return scale_unit(amount, unit, None) if unit else None
    except SyntaxProblem as problem:
        raise InvalidInput(f"idle_after cannot be read: {problem.message}", hint=HINT) from None
