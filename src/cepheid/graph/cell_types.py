"""The Arrow type of each cell a pattern hands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.expression import Aggregate
from cepheid.kernel.window import WindowedAggregate


def type_of_cell(cell: OutputCell, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    """`layout`: the types of the pattern's input columns."""
    if cell.kind == "classifier":
        return pa.string()
    if cell.kind == "match_number":
        return pa.int64()
    if cell.kind == "timed_out":
        return pa.bool_()
    if cell.aggregate is not None:
        return type_of_aggregate(cell.aggregate, layout)
    assert cell.column is not None, f"{cell.kind} reads a column"
    return layout[cell.column]


def type_of_aggregate(aggregate: Aggregate, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    if aggregate.function == "count":
        return pa.int64()
    assert aggregate.column is not None, f"{aggregate.function} reads a column"
    column = layout[aggregate.column]
    match aggregate.function:
        case "sum":
            return (
                pa.int64() if pa.types.is_integer(column) else column if pa.types.is_decimal(column) else pa.float64()
            )
        case "min" | "max" | "min_by" | "max_by":
            return column
        case "array_agg":
            return pa.list_(column)
    return pa.float64()


def type_of_window_cell(
    cell: WindowCell, layout: Mapping[str, pa.DataType], aggregates: Sequence[pa.DataType]
) -> pa.DataType:
    """`aggregates`: the types of the answers of the window's aggregates."""
    match cell.kind:
        case "aggregate":
            return aggregates[cell.number]
        case "start" | "end" | "moment":
            return layout["_time"]
        case "rank" | "evaluation" | "sign":
            return pa.int64()
    assert cell.column is not None, f"{cell.kind} reads a column"
    return layout[cell.column]


def type_of_windowed(aggregate: WindowedAggregate, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    """The type of an aggregate's answer; `layout`: the types of the window's input columns."""
    if aggregate.python is not None:
        return aggregate.python.type
    if aggregate.column is None or aggregate.function in ("count", "count_distinct"):
        return pa.int64()
    column = layout[aggregate.column]
    if aggregate.function in ("least", "greatest", "array_agg"):
        return pa.list_(column)
    keeps = ("min", "max", "min_by", "max_by", "first", "last", "percentile_disc")
    if aggregate.function in keeps or aggregate.kind in ("time", "duration"):
        return column
    return pa.int64() if aggregate.kind == "int" else pa.float64()
