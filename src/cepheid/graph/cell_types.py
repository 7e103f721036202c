"""The Arrow type of each cell a pattern hands out."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.graph.operators.row_pattern import OutputCell


def type_of_cell(cell: OutputCell, layout: Mapping[str, pa.DataType]) -> pa.DataType:
    """`layout`: the types of the pattern's input columns."""
    if cell.kind == "classifier":
        return pa.string()
    if cell.kind == "match_number" or cell.aggregate == "count":
        return pa.int64()
    assert cell.column is not None, f"{cell.kind} reads a column"
    column = layout[cell.column]
    if cell.aggregate == "mean":
        return pa.float64()
    if cell.aggregate == "sum":
        return pa.int64() if pa.types.is_integer(column) else column if pa.types.is_decimal(column) else pa.float64()
    return column
