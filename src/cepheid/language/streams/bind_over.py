"""SQL's OVER frames over a stream: each distinct window is a WindowAggregate that adds columns to the rows of its
input.

    avg(a1) OVER (PARTITION BY id ORDER BY ts ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)       [PARTITION BY id ROWS 10]
    sum(a1) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)      [t - 1 hour, t], events
    of one time
                                                                                              seen together
    count(*) OVER (ORDER BY ts)                                                               all since the first,
    likewise

Over whole tables these are left to the host, which says the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, NotSupportedYet
from cepheid.event_time import is_event_time
from cepheid.graph.cell_types import type_of_window_cell
from cepheid.graph.operators import Project, WindowAggregate
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowProgram
from cepheid.language.expressions.decimals import put_scale_back, write_mean
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.parsing.interval_parser import read_interval
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.language.streams.window_aggregates import bind_windowed_aggregate, is_windowed_aggregate, split_mean

FRAME_HINT = (
    "a stream can look back: ROWS BETWEEN n PRECEDING AND CURRENT ROW, RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND "
    "CURRENT ROW, or UNBOUNDED PRECEDING"
)


@dataclass
class OverWindow:
    """One window and the calls over it; `outputs`: the columns that stand for them; `answers`: made of these."""

    written: exp.Window
    calls: list[exp.Window] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    answers: list[exp.Expr] = field(default_factory=list)


def find_overs(query: exp.Select) -> list[exp.Window]:
    """What stands with OVER in the SELECT itself, not in subqueries."""
    return [
        window
        for window in query.find_all(exp.Window, bfs=False)
        if window.arg_key != "windows" and window.find_ancestor(exp.Select) is query
    ]


def group_overs(query: exp.Select, calls: list[exp.Window]) -> list[OverWindow]:
    """Calls over equal windows together; names of WINDOW are looked up."""
    named = {window.this.name.lower(): window for window in query.args.get("windows") or []}
    found: dict[str, OverWindow] = {}
    for number, call in enumerate(calls):
        window = named.get(call.alias.lower(), call) if call.alias else call
        parts = [*(window.args.get("partition_by") or []), window.args.get("order"), window.args.get("spec")]
        key = " ".join(part.sql() if isinstance(part, exp.Expr) else "-" for part in parts)
        group = found.setdefault(key, OverWindow(window))
        group.calls.append(call)
        group.outputs.append(f"_over{number}")
    return list(found.values())


def bind_over(
    over: OverWindow, label: str, name: str, schema: pa.Schema, describe: HostTypes
) -> tuple[Project, WindowAggregate, pa.Schema]:
    """The layout, the vertex, and the schema of its rows: the columns of the input and one more for each call.  What
    stands for each call in the SELECT is put into `over.answers`."""
    layout = StreamLayout(label, name, schema, describe)
    window = _bind_frame(over.written, layout)
    partition = cast(tuple[exp.Expression, ...], tuple(over.written.args.get("partition_by") or ()))
    layout.put_keys(partition, "_key", "PARTITION BY")
    aggregates: dict[WindowedAggregate, pa.DataType] = {}
    cells = [
        WindowCell(name=column, kind="row", column=layout.read(exp.column(column, quoted=True))[0])
        for column in schema.names
    ]

    def bind_one(written: exp.Expr, output: str) -> exp.Expr:
        bound = bind_windowed_aggregate(written, layout, {})
        aggregates.setdefault(bound.aggregate, bound.type)
        cells.append(WindowCell(name=output, kind="aggregate", number=list(aggregates).index(bound.aggregate)))
        answer = exp.column(output, quoted=True)
        return answer if bound.decimal is None else put_scale_back(answer, bound.decimal)

    for call, output in zip(over.calls, over.outputs, strict=True):
        written = _summary_of(call)
        mean = split_mean(written, layout)
        if mean is None:
            over.answers.append(bind_one(written, output))
        else:
            total, count, given = mean
            over.answers.append(write_mean(bind_one(total, output), bind_one(count, f"{output}_n"), given))
    node = WindowAggregate(
        program=WindowProgram(window=window, evaluation=Evaluation(when="event"), aggregates=tuple(aggregates)),
        cells=tuple(cells),
        keys=len(partition),
    )
    types = layout.types()
    made = pa.schema([(cell.name, type_of_window_cell(cell, types, list(aggregates.values()))) for cell in cells])
    return layout.project(), node, made


def _summary_of(call: exp.Window) -> exp.Expr:
    function = call.this
    if not is_windowed_aggregate(function, {}):
        name = function.sql_name() if isinstance(function, exp.Func) else function.sql()
        raise NotSupportedYet(
            f"{name} OVER a stream", span=span_of(call), hint="aggregates are there; MATCH_RECOGNIZE has PREV"
        )
    return function


def _bind_frame(written: exp.Window, layout: StreamLayout) -> Window:
    order = written.args.get("order")
    if order is None or len(order.expressions) != 1:
        raise InvalidOrder(
            "OVER a stream needs ORDER BY event time", span=span_of(written), hint="OVER (... ORDER BY ts ...)"
        )
    (term,) = order.expressions
    column = term.this if isinstance(term, exp.Ordered) else term
    if isinstance(term, exp.Ordered) and term.args.get("desc"):
        raise NotSupportedYet("ORDER BY ... DESC OVER a stream", span=span_of(term), hint="time only goes forward")
    if not is_event_time(layout.put("_time", column)):
        raise InvalidOrder("OVER a stream is ordered by event time", span=span_of(term), hint="order by a timestamp")
    spec = written.args.get("spec")
    if spec is None:
        return Window(kind="time", peers=True)
    return _read_spec(spec, written)


def _read_spec(spec: exp.Expr, written: exp.Window) -> Window:
    kind = (spec.args.get("kind") or "").upper()
    start, end = spec.args.get("start"), spec.args.get("end")
    ends_here = end is None or (isinstance(end, str) and end.upper() == "CURRENT ROW")
    if kind not in ("ROWS", "RANGE") or not ends_here or (spec.args.get("start_side") or "").upper() == "FOLLOWING":
        raise NotSupportedYet(f'the frame "{spec.sql()}" over a stream', span=span_of(written), hint=FRAME_HINT)
    if isinstance(start, str) and start.upper() == "UNBOUNDED":
        return Window(kind="count") if kind == "ROWS" else Window(kind="time", peers=True)
    if isinstance(start, str):  # CURRENT ROW
        return (
            Window(kind="count", size=1) if kind == "ROWS" else Window(kind="time", size=0, inclusive=True, peers=True)
        )
    if kind == "ROWS":
        if not isinstance(start, exp.Literal) or not start.name.isdigit():
            raise InvalidQuery("a frame of rows needs a whole number", span=span_of(written), hint=FRAME_HINT)
        return Window(kind="count", size=int(start.name) + 1)
    size = read_interval(start) if isinstance(start, exp.Interval) else None
    if size is None or size < 0:
        raise InvalidQuery("a frame of time needs an interval", span=span_of(written), hint=FRAME_HINT)
    return Window(kind="time", size=size, inclusive=True, peers=True)
