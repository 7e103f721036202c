"""Functions OVER a stream that pick rows or number them, to an OverRows vertex that adds columns to its input.

    lag(x, 2, 0) OVER (PARTITION BY k ORDER BY ts)      CASE WHEN _over0_found THEN _over0 ELSE 0 END
    first_value(x) IGNORE NULLS OVER (... ROWS 5 PRECEDING)
    row_number() OVER (PARTITION BY k ORDER BY ts, id)  _over0

A row comes out once it is settled: LEAD when the row that it asks for is there, a frame that ends behind the row when
its end has passed, RANGE up to the CURRENT ROW when no event of the same time can come any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.graph.cell_types import type_of_over_cell
from cepheid.graph.operators import OverRows, Project
from cepheid.graph.operators.over_rows import OverCell
from cepheid.kernel.over import Numbers, OverFrame, OverFunction, OverProgram, Picks
from cepheid.kernel.window import WindowedAggregate
from cepheid.language.expressions.decimals import put_scale_back, write_mean
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.over_window import OverWindow, put_order, read_frame
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.language.streams.window_aggregates import bind_windowed_aggregate, is_windowed_aggregate, split_mean

PICKING: dict[str, Picks] = {
    "lag": "lag",
    "lead": "lead",
    "first_value": "first",
    "last_value": "last",
    "nth_value": "nth",
}
NUMBERING: dict[str, Numbers] = {"row_number": "row_number", "rank": "rank", "dense_rank": "dense_rank"}
FUNCTIONS_HINT = "aggregates are there, LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE, ROW_NUMBER, RANK and DENSE_RANK"
OF_WHOLE = ("ntile", "percent_rank", "cume_dist")  # they ask how many rows there are in the end


def name_function(call: exp.Expr) -> str:
    """What stands in front of OVER, in lower case."""
    function = _without_nulls(call.this)
    if isinstance(function, exp.Anonymous):
        return function.name.lower()
    return function.sql_name().lower() if isinstance(function, exp.Func) else ""


def picks_rows(call: exp.Expr, window: exp.Window) -> bool:
    """Is it a function that picks or numbers rows, or an aggregate over a frame that does not end at its row?"""
    if name_function(call) in (*PICKING, *NUMBERING, *OF_WHOLE):
        return True
    end = window.args["spec"].args.get("end") if window.args.get("spec") is not None else None
    return end is not None and not (isinstance(end, str) and end.upper() == "CURRENT ROW")


def bind_over_rows(
    over: OverWindow, label: str, name: str, schema: pa.Schema, describe: HostTypes
) -> tuple[Project, OverRows, pa.Schema]:
    """The layout, the vertex, and the schema of its rows: the columns of the input and those for each call.  What
    stands for each call in the SELECT is put into `over.answers`."""
    layout = StreamLayout(label, name, schema, describe)
    numbered = [name_function(call) for call in over.calls]
    summed = [each not in (*PICKING, *NUMBERING, *OF_WHOLE) for each in numbered]
    framed = any(summed) or any(each in ("first_value", "last_value", "nth_value") for each in numbered)
    frame = read_frame(over.written) if framed else OverFrame()
    if any(summed) and frame.start is None:
        raise NotSupportedYet(
            f'the frame "{over.written.args["spec"].sql(dialect="duckdb")}" of an aggregate over a stream',
            span=span_of(over.written),
            hint="bound its start as well: ROWS BETWEEN 100 PRECEDING AND 1 FOLLOWING",
        )
    by_time = (framed and frame.kind == "range") or any(each in ("rank", "dense_rank") for each in numbered)
    order = put_order(over.written, layout, alone=by_time)
    partition = cast(tuple[exp.Expression, ...], tuple(over.written.args.get("partition_by") or ()))
    layout.put_keys(partition, "_key", "PARTITION BY")
    bound = _Functions(layout)
    for column in schema.names:
        place, _ = layout.read(exp.column(column, quoted=True))
        bound.cells.append(OverCell(name=column, kind="row", column=place))
    for call, output, aggregates in zip(over.calls, over.outputs, summed, strict=True):
        over.answers.append(bound.add_aggregate(call.this, output) if aggregates else bound.add(call, output))
    program = OverProgram(functions=tuple(bound.functions), frame=frame, spans=any(summed))
    node = OverRows(
        program=program,
        cells=tuple(bound.cells),
        keys=len(partition),
        order=order,
        aggregates=tuple(bound.aggregates),
    )
    types = layout.types()
    made = pa.schema([(cell.name, type_of_over_cell(cell, types, bound.aggregates)) for cell in bound.cells])
    return layout.project(), node, made


@dataclass
class _Functions:
    layout: StreamLayout
    functions: list[OverFunction] = field(default_factory=list)
    cells: list[OverCell] = field(default_factory=list)
    aggregates: list[WindowedAggregate] = field(default_factory=list)

    def add_aggregate(self, written: exp.Expr, output: str) -> exp.Expr:
        if not is_windowed_aggregate(written, {}):
            raise NotSupportedYet(f"{written.sql()} OVER a stream", span=span_of(written), hint=FUNCTIONS_HINT)
        mean = split_mean(written, self.layout)
        if mean is None:
            return self._aggregate(written, output)
        total, count, given = mean
        return write_mean(self._aggregate(total, output), self._aggregate(count, f"{output}_n"), given)

    def _aggregate(self, written: exp.Expr, output: str) -> exp.Expr:
        bound = bind_windowed_aggregate(written, self.layout, {})
        if bound.aggregate not in self.aggregates:
            self.aggregates.append(bound.aggregate)
        number = self.aggregates.index(bound.aggregate)
        self.cells.append(OverCell(name=output, kind="aggregate", number=number))
        answer = exp.column(output, quoted=True)
        return answer if bound.decimal is None else put_scale_back(answer, bound.decimal)

    def add(self, call: exp.Window, output: str) -> exp.Expr:
        """The cells of a call, and what is read of them."""
        written, ignores = _without_nulls(call.this), isinstance(call.this, exp.IgnoreNulls)
        name, arguments = name_function(call), _list_arguments(written)
        if name in OF_WHOLE:
            raise NotSupportedYet(
                f"{name.upper()} OVER a stream",
                span=span_of(call),
                hint="it depends on how many rows there are in the end; ROW_NUMBER and RANK do not",
            )
        answer = exp.column(output, quoted=True)
        if name in NUMBERING:
            number = self._number(OverFunction(function=NUMBERING[name]))
            self.cells.append(OverCell(name=output, kind="number", number=number))
            return answer
        if not arguments:
            raise InvalidQuery(f"{name.upper()} of nothing", span=span_of(call), hint=f"write {name}(x) OVER (...)")
        column, _ = self.layout.read(arguments[0])
        offset = _read_offset(arguments[1], name) if len(arguments) > 1 else 1
        function = OverFunction(function=PICKING[name], number=offset, column=column if ignores else None)
        number = self._number(function)
        self.cells.append(OverCell(name=output, kind="picked", column=column, number=number))
        if len(arguments) < 3 or isinstance(arguments[2], exp.Null):
            return answer
        found = OverCell(name=f"{output}_found", kind="found", number=number)
        self.cells.append(found)
        return exp.Case(
            ifs=[exp.If(this=exp.column(found.name, quoted=True), true=answer)], default=arguments[2].copy()
        )

    def _number(self, function: OverFunction) -> int:
        if function not in self.functions:
            self.functions.append(function)
        return self.functions.index(function)


def _without_nulls(function: exp.Expr) -> exp.Expr:
    return function.this if isinstance(function, exp.IgnoreNulls | exp.RespectNulls) else function


def _list_arguments(function: exp.Expr) -> list[exp.Expr]:
    if isinstance(function, exp.Anonymous):
        return list(function.expressions)
    return [value for part in ("this", "offset", "default") if (value := function.args.get(part)) is not None]


def _read_offset(written: exp.Expr, name: str) -> int:
    least = 1 if name == "nth_value" else 0
    is_whole = isinstance(written, exp.Literal) and not written.is_string and written.name.isdigit()
    if not is_whole or int(written.name) < least:
        raise NotSupportedYet(
            f'"{written.sql()}" as the offset of {name.upper()}',
            span=span_of(written),
            hint=f"give a whole number, {least} or more",
        )
    return int(written.name)
