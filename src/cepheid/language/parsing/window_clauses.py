"""A window as a table function to a window of ours: its sizes are checked, its alignment is found."""

from __future__ import annotations

from datetime import timedelta
from math import gcd

from cepheid.errors import InvalidWindow, NotSupportedYet
from cepheid.event_time import in_microseconds
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import OrderTerm, StreamWindowClause
from cepheid.language.parsing.window_function_parser import WindowCall

ZERO = timedelta(0)
MOST_WINDOWS = 2000  # that an event is in, or that are looked at for one with an offset


def make_window(call: WindowCall) -> StreamWindowClause:
    slide = None if call.kind == "session" else slide_of(call)
    if slide is not None and call.offset % slide:
        step = timedelta(microseconds=gcd(in_microseconds(slide), in_microseconds(call.offset)))
        if slide // step > MOST_WINDOWS:
            raise NotSupportedYet(
                f"an offset of {call.offset} of windows that start every {slide}",
                span=call.places.get("OFFSET", call.span),
                hint="use an offset of which the distance of windows is a small multiple: whole seconds or minutes",
            )
        slide = step
    return StreamWindowClause(
        placeholder="",
        source=call.source,
        partition_by=call.partition_by,
        order_by=(OrderTerm(call.time, span=span_of(call.time)),),
        kind="session" if call.kind == "session" else "range",
        size=call.size,
        slide=slide,
        opens=None,
        closes=None,
        span=call.span,
        size_span=call.places.get("SIZE", call.places.get("GAP")),
        slide_span=call.places.get("SLIDE", call.places.get("STEP")),
    )


def slide_of(call: WindowCall) -> timedelta:
    return call.size if call.step is None else call.step


def check_sizes(call: WindowCall) -> None:
    for name, duration in (("SIZE", call.size), ("STEP", call.step)):
        if duration is not None and duration <= ZERO:
            hint = "write for instance INTERVAL '10' SECOND"
            raise InvalidWindow("a window must be longer than zero", span=call.places.get(name, call.span), hint=hint)
    if call.kind == "cumulate" and call.step is not None and call.size % call.step:
        raise InvalidWindow(
            "the size of CUMULATE is no multiple of its step", span=call.places.get("SIZE"), hint="the step comes first"
        )
