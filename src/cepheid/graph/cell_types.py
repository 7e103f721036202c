"""The Arrow type of each cell that a pattern or a window hands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.aggregates.catalog import find_aggregate
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
    if cell.of_rows is not None:
        return cell.of_rows.type
    if cell.aggregate is not None:
        return type_of_aggregate(cell.aggregate, layout)
    assert cell.column is not None, f"{cell.kind} reads a column"
    return layout[cell.column]


def type_of_aggregate(aggregate: Aggregate | WindowedAggregate, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    definition = find_aggregate(aggregate.function)
    if aggregate.column is None or definition.gives == "count":
        return pa.int64()
    return definition.type_of_answer(layout[aggregate.column])


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


def type_of_over_cell(
    cell: OverCell, layout: Mapping[str, pa.DataType], aggregates: Sequence[WindowedAggregate]
) -> pa.DataType:
    if cell.kind == "aggregate":
        return type_of_windowed(aggregates[cell.number], layout)
    if cell.column is not None:
        return layout[cell.column]
    return pa.bool_() if cell.kind == "found" else pa.int64()


def type_of_windowed(aggregate: WindowedAggregate, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    """The type of an aggregate's answer; `layout`: the types of the window's input columns."""
    if aggregate.python is not None:
        return aggregate.python.type
    return type_of_aggregate(aggregate, layout)
