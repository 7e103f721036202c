"""The Arrow type of each cell a pattern hands out."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Aggregate


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
