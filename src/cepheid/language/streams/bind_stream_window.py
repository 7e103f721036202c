"""A window of FROM to the kernel's record: sizes are checked, conditions get columns of their own."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from cepheid.errors import InvalidOrder, InvalidWindow, NotSupportedYet, Span, TypeMismatch
from cepheid.event_time import in_microseconds, is_event_time
from cepheid.kernel.window import Evaluation, Window, WindowKind
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import OutputClause, StreamWindowClause
from cepheid.language.streams.stream_layout import StreamLayout

MOST_OVERLAPS = 1_000_000  # hopping windows that hold one event: each is a row at least
KINDS: dict[str, WindowKind] = {"rows": "count", "range": "time", "session": "session", "semantic": "semantic"}


def bind_stream_window(clause: StreamWindowClause, layout: StreamLayout) -> Window:
    """Puts time, keys and conditions of the window into the layout."""
    time_type = layout.put_time(clause)
    layout.put_keys(clause.partition_by, "_key", "PARTITION BY")
    kind = KINDS[clause.kind]
    if kind in ("time", "session") and clause.size is not None:
        _check_extent(clause, time_type)
    size = _read_size(clause.size, clause.size_span, "the window")
    slide = _read_size(clause.slide, clause.slide_span, "the slide")
    if slide is not None and size is None and kind != "semantic":
        raise NotSupportedYet("a slide of an unbounded window", span=clause.slide_span, hint="use OUTPUT EVERY")
    if slide is not None and size is not None and slide > size:
        raise InvalidWindow(
            "the slide is larger than the window: events between two windows would be in none",
            span=clause.slide_span,
            hint="make the slide at most as long as the window, or filter the events",
        )
    if slide is not None and size is not None and size // slide > MOST_OVERLAPS:
        raise InvalidWindow(
            f"each event would be in {size // slide} windows, more than {MOST_OVERLAPS}",
            span=clause.slide_span,
            hint="make the slide longer, or leave it out: then the window moves with every event",
        )
    if kind == "count" and slide == 1 and size != 1:
        slide = None  # it moves with every event
    return Window(
        kind=kind,
        size=size,
        slide=slide,
        opens=_put_condition(clause, layout, "opens"),
        closes=_put_condition(clause, layout, "closes"),
    )


def _check_extent(clause: StreamWindowClause, time_type: pa.DataType) -> None:
    """A duration is of a point in time, a number of a whole number."""
    is_number = [isinstance(each, int) for each in (clause.size, clause.slide) if each is not None]
    if all(is_number) and pa.types.is_integer(time_type):
        return
    if any(is_number):
        raise InvalidWindow(
            f"a window of {clause.size if is_number[0] else clause.slide} has no unit of time",
            span=clause.size_span if is_number[0] else clause.slide_span,
            hint="write RANGE 10 SECONDS; a number alone is for events ordered by one, [ORDER BY n RANGE 10]",
        )
    if not is_event_time(time_type):
        raise InvalidOrder(
            f"a window of time needs event time, but events are ordered by a column of type {time_type}",
            span=clause.span,
            hint="order by a timestamp, or use ROWS",
        )


def _read_size(written: int | timedelta | None, span: Span | None, what: str) -> int | None:
    if written is None:
        return None
    size = in_microseconds(written) if isinstance(written, timedelta) else written
    if size <= 0:
        told = f"{written.total_seconds():g} s" if isinstance(written, timedelta) else str(written)
        raise InvalidWindow(
            f"{what} must be larger than zero, not {told}",
            span=span,
            hint="write for instance ROWS 100 or RANGE 1 HOUR",
        )
    return size


def _put_condition(clause: StreamWindowClause, layout: StreamLayout, name: str) -> str | None:
    condition = clause.opens if name == "opens" else clause.closes
    if condition is None:
        return None
    if layout.put(f"_{name}", condition) != pa.bool_():
        hint = "compare it with something, as in [FROM speed > 50]"
        raise TypeMismatch(f'"{condition.sql()}" is neither true nor false', span=span_of(condition), hint=hint)
    return f"_{name}"


def bind_output(output: OutputClause | None, window: Window) -> Evaluation:
    """When the window is looked at."""
    if output is None:
        moves = window.is_sliding or (window.is_landmark and window.slide is None)
        return Evaluation(when="event" if moves else "close")
    if output.when in ("time", "count"):
        every = _read_size(output.every, output.span, "the distance of outputs")
        assert every is not None, "the parser read an amount"
        return Evaluation(when=output.when, every=every)
    return Evaluation(when=output.when)
