"""The window of an OVER: what orders its rows, and which of them are in its frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, NotSupportedYet
from cepheid.event_time import can_order, is_event_time
from cepheid.kernel.over import OverFrame
from cepheid.language.parsing.interval_parser import read_interval
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.stream_layout import StreamLayout

FRAME_HINT = (
    "a stream can look back, and ahead if that has an end: ROWS BETWEEN n PRECEDING AND m FOLLOWING, RANGE BETWEEN "
    "INTERVAL '1' HOUR PRECEDING AND CURRENT ROW, or UNBOUNDED PRECEDING"
)


@dataclass
class OverWindow:
    """One window and the calls over it; `outputs`: the columns that stand for them; `answers`: made of these."""

    written: exp.Window
    calls: list[exp.Window] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    answers: list[exp.Expr] = field(default_factory=list)


def resolve_window(written: exp.Window, named: dict[str, exp.Window]) -> exp.Window:
    """The window with what it takes over from the one that it names."""
    base = named.pop(written.alias.lower(), None) if written.alias else None
    if base is None:
        return written
    whole = resolve_window(base, named)
    named[written.alias.lower()] = base
    parts = {part: written.args.get(part) or whole.args.get(part) for part in ("partition_by", "order", "spec")}
    return exp.Window(this=written.this.copy(), **{part: _copy(value) for part, value in parts.items() if value})


def _copy(value: exp.Expr | list[exp.Expr]) -> exp.Expr | list[exp.Expr]:
    return [each.copy() for each in value] if isinstance(value, list) else value.copy()


def put_order(written: exp.Window, layout: StreamLayout, alone: bool) -> int:
    """Give ORDER BY its places, event time first; how many there are.  alone: nothing else may order rows."""
    order = written.args.get("order")
    if order is None or (alone and len(order.expressions) != 1):
        hint = "OVER (... ORDER BY ts ...)"
        raise InvalidOrder("OVER a stream needs ORDER BY event time", span=span_of(written), hint=hint)
    for number, term in enumerate(order.expressions):
        column = term.this if isinstance(term, exp.Ordered) else term
        if isinstance(term, exp.Ordered) and term.args.get("desc"):
            raise NotSupportedYet("ORDER BY ... DESC OVER a stream", span=span_of(term), hint="time only goes forward")
        given = layout.put(f"_order{number}" if number else "_time", column)
        if not number and not is_event_time(given):
            hint = "order by a timestamp"
            raise InvalidOrder("OVER a stream is ordered by event time", span=span_of(term), hint=hint)
        if not can_order(given):
            raise NotSupportedYet(
                f"ORDER BY a column of type {given} OVER a stream",
                span=span_of(term),
                hint="order by event time, then by numbers or times",
            )
    return len(order.expressions)


def read_frame(written: exp.Window) -> OverFrame:
    spec = written.args.get("spec")
    if spec is None:
        return OverFrame()
    kind, shown = (spec.args.get("kind") or "").upper(), spec.sql(dialect="duckdb")
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") is not None:
        raise NotSupportedYet(f'the frame "{shown}" over a stream', span=span_of(written), hint=FRAME_HINT)
    start = _read_bound(spec, "start", written)
    end = 0 if spec.args.get("end") is None else _read_bound(spec, "end", written)
    ends_before = kind == "RANGE" and start is None and end is not None and end < 0
    if end is None or ends_before or ((spec.args.get("start_side") or "").upper() == "FOLLOWING" and start is None):
        raise NotSupportedYet(f'the frame "{shown}" over a stream', span=span_of(written), hint=FRAME_HINT)
    if start is not None and start > end:
        raise InvalidQuery(f'the frame "{shown}" ends before it starts', span=span_of(written), hint=FRAME_HINT)
    return OverFrame(kind="rows" if kind == "ROWS" else "range", start=start, end=end)


def _read_bound(spec: exp.Expr, place: str, written: exp.Window) -> int | None:
    """Rows or microseconds, below zero if it is PRECEDING; None: UNBOUNDED."""
    bound = spec.args.get(place)
    if isinstance(bound, str):
        return None if bound.upper() == "UNBOUNDED" else 0
    sign = -1 if (spec.args.get(f"{place}_side") or "").upper() == "PRECEDING" else 1
    if (spec.args.get("kind") or "").upper() == "ROWS":
        if not isinstance(bound, exp.Literal) or not bound.name.isdigit():
            raise InvalidQuery("a frame of rows needs a whole number", span=span_of(written), hint=FRAME_HINT)
        return sign * int(bound.name)
    size = read_interval(bound) if isinstance(bound, exp.Interval) else None
    if size is None or size < 0:
        raise InvalidQuery("a frame of time needs an interval", span=span_of(written), hint=FRAME_HINT)
    return sign * size
