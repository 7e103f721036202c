"""From matches to rows of cells: every OutputCell of a pattern as one Arrow column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.event_log import EventLog
from cepheid.graph.cell_types import type_of_cell
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.positions import navigate_matches, tabulate_positions
from cepheid.kernel.matches import Matches


class Neighbours(Protocol):
    def shift(self, events: Int64s, steps: int) -> Int64s:
        """The events `steps` further in their partitions."""
        ...


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Rows of output, each over a stretch of the labels of its match.

    event: the row's own event; begin: where its match begins; running, final: where the stretch ends, seen
    from the row and from the end of the match; number: of the match.
    """

    event: Int64s
    begin: Int64s
    running: Int64s
    final: Int64s
    number: Int64s


def write_schema(node: RowPattern | Sequence, layout: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([(cell.name, type_of_cell(cell, layout)) for cell in node.cells])


def write_cells(
    node: RowPattern | Sequence, matches: Matches, log: EventLog, neighbours: Neighbours | None, schema: pa.Schema
) -> pa.Table:
    rows = _rows_of(node, matches)
    columns = [
        _row_cell(cell, rows, matches, log, neighbours).cast(schema.field(cell.name).type) for cell in node.cells
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _rows_of(node: RowPattern | Sequence, matches: Matches) -> OutputRows:
    """One row per match, or one per event of it; in the order in which matches are complete."""
    begins, ends = matches.begins, matches.ends
    last = np.where(
        ends > begins, matches.events[np.maximum(ends - 1, 0)] if len(matches.events) else 0, matches.starts
    )
    order = np.argsort(last, kind="stable")
    if isinstance(node, RowPattern) and not node.show_empty:
        order = order[ends[order] > begins[order]]
    starts, begins, ends, numbers = matches.starts[order], begins[order], ends[order], matches.numbers[order]
    if not isinstance(node, RowPattern) or not node.all_rows:
        return OutputRows(starts, begins, ends, ends, numbers)
    counts = np.maximum(ends - begins, 1)  # an empty match shows the event it was found at
    which = np.repeat(np.arange(len(order)), counts)
    within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    empty = (ends == begins)[which]
    flat = np.where(empty, 0, begins[which] + within)
    events = np.where(empty, starts[which], matches.events[flat] if len(matches.events) else 0)
    running = np.where(empty, begins[which], flat + 1)
    return OutputRows(events, begins[which], running, ends[which], numbers[which])


def _row_cell(
    cell: OutputCell, rows: OutputRows, matches: Matches, log: EventLog, neighbours: Neighbours | None
) -> pa.ChunkedArray | pa.Array:
    if cell.kind == "row":
        assert cell.column is not None, "a row cell reads a column"
        return log.take(cell.column, rows.event)
    if cell.kind == "match_number":
        return pa.array(rows.number)
    ends = rows.final if cell.final else rows.running
    if cell.kind == "aggregate":
        return _aggregate(cell, rows.begin, ends, matches, log)
    table = tabulate_positions([cell.position], matches.variables)
    found = navigate_matches(table, 0, matches.labels, rows.begin, ends)
    if cell.kind == "classifier":
        names = pa.array(matches.variables, pa.string())
        labels = np.where(found >= 0, matches.labels[found] if len(matches.labels) else 0, 0)
        return names.take(pa.array(labels, mask=found < 0))
    assert cell.column is not None, "a navigated cell reads a column"
    events = np.where(found >= 0, matches.events[found] if len(matches.events) else 0, -1)
    if cell.position.shift and neighbours is not None:
        events = neighbours.shift(events, cell.position.shift)
    return log.take(cell.column, events)


def _aggregate(
    cell: OutputCell, begins: Int64s, ends: Int64s, matches: Matches, log: EventLog
) -> pa.ChunkedArray | pa.Array:
    """Group the events of each row's stretch that are bound to the cell's variables."""
    counts = ends - begins
    which = np.repeat(np.arange(len(begins)), counts)
    flat = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begins, counts)
    assert cell.aggregate is not None, "an aggregate cell has an aggregate"
    if cell.aggregate.variables:
        wanted = [matches.variables.index(variable) for variable in cell.aggregate.variables]
        chosen = np.isin(matches.labels[flat], wanted)
        which, flat = which[chosen], flat[chosen]
    if cell.aggregate.column is None:
        return pa.array(np.bincount(which, minlength=len(begins)))
    values = log.take(cell.aggregate.column, matches.events[flat])
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    # one thread: floats are added in the order of events, so that a sum is the same whatever stands around it
    grouped = pa.table({"row": which, "value": values}).group_by("row", use_threads=False)
    name = {"avg": "mean"}.get(cell.aggregate.function, cell.aggregate.function)
    found = grouped.aggregate([("value", name)])
    place = np.full(len(begins), -1, dtype=np.int64)
    place[found.column("row").to_numpy()] = np.arange(len(found))
    result = found.column(f"value_{name}").take(pa.array(place, mask=place < 0))
    if name == "max" and pa.types.is_floating(values.type):
        has_nan = np.zeros(len(begins), dtype=np.bool_)
        has_nan[which[pc.is_nan(values).fill_null(False).to_numpy()]] = True
        result = pc.if_else(pa.array(has_nan), pa.scalar(np.nan, values.type), result)  # Arrow leaves NaN out
    return result.fill_null(0) if name == "count" else result
