"""What users say of streams that may be silent: idle_after="30 s", timedelta(seconds=30), {"cancels": "30 s"}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from cepheid.errors import InvalidInput
from cepheid.spans import Span, read_span

IdleAfter = Span | Mapping[str, Span]
HINT = 'idle_after="30 s", timedelta(seconds=30), or by stream: {"cancels": "30 s"}'


def read_idle_after(
    given: IdleAfter | None, streams: Iterable[str] | None = None
) -> timedelta | dict[str, timedelta] | None:
    """After how long streams are idle.  streams: those that there are; None: not known yet."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return read_idle_span(given)
    known = None if streams is None else list(streams)
    for name in given:
        if known is not None and name not in known:
            raise InvalidInput(f'idle_after names "{name}", which is no stream', hint=f"streams: {', '.join(known)}")
    return {name: read_idle_span(span) for name, span in given.items()}


def read_idle_span(given: Span) -> timedelta:
    """A span of time, longer than nothing."""
    return read_span(given, "idle_after", HINT)
