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

from typing import cast

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.graph.cell_types import type_of_window_cell
from cepheid.graph.operators import Project, WindowAggregate
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowProgram
from cepheid.language.expressions.decimals import put_scale_back, write_mean
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.bind_over_rows import FUNCTIONS_HINT, picks_rows
from cepheid.language.streams.over_window import OverWindow, put_order, read_frame, resolve_window
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.language.streams.window_aggregates import bind_windowed_aggregate, is_windowed_aggregate, split_mean


def find_overs(query: exp.Select) -> list[exp.Window]:
    """What stands with OVER in the SELECT itself, not in subqueries."""
    return [
        window
        for window in query.find_all(exp.Window, bfs=False)
        if window.arg_key != "windows" and window.find_ancestor(exp.Select) is query
    ]


def group_overs(query: exp.Select, calls: list[exp.Window]) -> list[OverWindow]:
    """Calls over equal windows together; names of WINDOW are looked up, also where a window adds to another."""
    named = {window.this.name.lower(): window for window in query.args.get("windows") or []}
    found: dict[str, OverWindow] = {}
    for number, call in enumerate(calls):
        window = resolve_window(call, named)
        kind = "rows" if picks_rows(call, window) else "window"
        parts = [*(window.args.get("partition_by") or []), window.args.get("order"), window.args.get("spec")]
        key = kind + " ".join(part.sql(dialect="duckdb") if isinstance(part, exp.Expr) else "-" for part in parts)
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
    put_order(over.written, layout, alone=True)
    window = _make_window(over.written)
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
            f"{name} OVER a stream",
            span=span_of(call),
            hint=FUNCTIONS_HINT,
        )
    return function


def _make_window(written: exp.Window) -> Window:
    frame = read_frame(written)
    assert not frame.end, "others are left to bind_over_rows.py"
    if frame.kind == "range":
        size = None if frame.start is None else -frame.start
        return Window(kind="time", size=size, inclusive=size is not None, peers=True)
    return Window(kind="count", size=None if frame.start is None else 1 - frame.start)
