"""From matches to rows of cells: every OutputCell of a pattern as one Arrow column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.event_time import restore_values
from cepheid.execution.event_log import EventLog
from cepheid.execution.log_column import Picked
from cepheid.execution.measured_aggregates import Stretches, write_aggregate
from cepheid.execution.row_aggregates import write_row_aggregate
from cepheid.graph.cell_types import type_of_cell
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.positions import find_in_matches, navigate_matches, tabulate_positions
from cepheid.kernel.expression import Position
from cepheid.kernel.matches import TIMED_OUT, UNMATCHED, WHOLE, Matches, Paths
from cepheid.kernel.pattern import Frame


class Neighbours(Protocol):
    def shift(self, events: Int64s, steps: int) -> Int64s:
        """The events `steps` further in their partitions."""
        ...


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Rows of output, each over a stretch of the labels of its match.

    event: the row's own event; begin: where its match begins; running, final: where the stretch ends, seen
    from the row and from the end of the match; number: of the match; fate: WHOLE, UNMATCHED or TIMED_OUT; place: the
    event by which the rows are ordered; moment: the time at which the match was complete, None: that of `place`.
    """

    event: Int64s
    begin: Int64s
    running: Int64s
    final: Int64s
    number: Int64s
    fate: npt.NDArray[np.uint8]
    place: Int64s
    moment: Int64s | None = None


def write_schema(node: RowPattern | Sequence, layout: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([(cell.name, type_of_cell(cell, layout)) for cell in node.cells])


def write_cells(
    node: RowPattern | Sequence,
    rows: OutputRows,
    matches: Matches,
    log: EventLog,
    neighbours: Neighbours | None,
    schema: pa.Schema,
) -> pa.Table:
    """`neighbours`: who knows the partitions, for cells before and after the events of a match."""
    frame = node.program.frame if isinstance(node, RowPattern) else None
    columns = [_write_cell(cell, rows, matches, log, neighbours, frame) for cell in node.cells]
    fitting = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(fitting, schema=schema)


def order_rows(node: RowPattern | Sequence, matches: Matches) -> OutputRows:
    """One row per match (there is at least one), or one per event of it; in the order in which matches are complete."""
    begins, ends = matches.begins, matches.ends
    fates = np.full(len(matches), WHOLE, dtype=np.uint8) if matches.fates is None else matches.fates
    last = np.where(
        ends > begins, matches.events[np.maximum(ends - 1, 0)] if len(matches.events) else 0, matches.starts
    )
    is_framed = isinstance(node, RowPattern) and node.program.frame is not None
    decides = matches.starts if is_framed else last
    order = _order_by_last(decides)
    if isinstance(node, RowPattern) and not node.show_empty:
        order = order[(ends[order] > begins[order]) | (fates[order] == UNMATCHED)]
    starts, begins, ends = matches.starts[order], begins[order], ends[order]
    numbers, fates, places = matches.numbers[order], fates[order], decides[order]
    if not isinstance(node, RowPattern) or not node.all_rows:
        moments = None if matches.moments is None else matches.moments[order]
        return OutputRows(starts, begins, ends, ends, numbers, fates, places, moments)
    counts = np.maximum(ends - begins, 1)  # an empty match shows the event it was found at
    which = np.repeat(np.arange(len(order)), counts)
    within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    empty = (ends == begins)[which]
    flat = np.where(empty, 0, begins[which] + within)
    if matches.hidden is not None and len(matches.hidden):
        shown = empty | (matches.hidden[flat] == 0)
        which, empty, flat = which[shown], empty[shown], flat[shown]
    events = np.where(empty, starts[which], matches.events[flat] if len(matches.events) else 0)
    running = np.where(empty, begins[which], flat + 1)
    return OutputRows(events, begins[which], running, ends[which], numbers[which], fates[which], places[which])


def _order_by_last(last: Int64s) -> Int64s:
    """The places of matches by their last events, which mostly are different ones."""
    lowest = int(last.min())
    span = int(last.max()) - lowest + 1
    if span < 8 * len(last):
        places = np.full(span, -1, dtype=np.int64)
        places[last - lowest] = np.arange(len(last))
        order = places[places >= 0]
        if len(order) == len(last):
            return order
    return np.argsort(last, kind="stable")


def _stay_in_frame(events: Int64s, rows: OutputRows, frame: Frame, neighbours: Neighbours, log: EventLog) -> Int64s:
    """PREV and NEXT in a WINDOW clause see the frame of the row only."""
    inside = events >= rows.event
    if frame.column is not None:
        inside &= events <= _find_frame_ends(rows.event, log.take(frame.column, rows.event), neighbours)
    elif frame.following is not None:
        last = neighbours.shift(rows.event, frame.following) if frame.following else rows.event
        inside &= (last < 0) | (events <= last)
    return np.where(inside, events, -1)


def _find_frame_ends(first: Int64s, told: pa.ChunkedArray, neighbours: Neighbours) -> Int64s:
    """The last event of each frame, as its first one tells."""
    left = np.asarray(told.to_numpy(), dtype=np.int64)
    ends = first.copy()
    going = np.nonzero(left > 0)[0]
    steps = 0
    while len(going):
        further = neighbours.shift(ends[going], 1)
        going, further = going[further >= 0], further[further >= 0]
        ends[going] = further
        steps += 1
        going = going[left[going] > steps]
    return ends


def pick_cells(
    node: RowPattern | Sequence, matches: Matches, log: EventLog, neighbours: Neighbours | None, schema: pa.Schema
) -> list[Picked]:
    """As `write_cells`, for a log of arrays: what is read from a column stays an array."""
    rows = order_rows(node, matches)
    frame = node.program.frame if isinstance(node, RowPattern) else None
    columns = log.columns
    assert columns is not None, "a lane has a log of arrays"
    found: list[Picked] = []
    for cell, field in zip(node.cells, schema, strict=True):
        if cell.kind in ("row", "navigate") and cell.column is not None:
            events = rows.event if cell.kind == "row" else _navigate(cell, rows, matches, neighbours, frame, log)[0]
            missing = events < 0
            found.append(columns[cell.column].pick(events, missing if missing.any() else None))
        else:
            column = _write_cell(cell, rows, matches, log, neighbours, frame)
            found.append(column if column.type == field.type else column.cast(field.type))
    return found


def _write_cell(
    cell: OutputCell,
    rows: OutputRows,
    matches: Matches,
    log: EventLog,
    neighbours: Neighbours | None,
    frame: Frame | None,
) -> pa.ChunkedArray | pa.Array:
    ends = rows.final if cell.final else rows.running
    match cell.kind:
        case "row":
            assert cell.column is not None, "a row cell reads a column"
            return log.take(cell.column, rows.event)
        case "match_number":
            return pa.array(rows.number, mask=rows.fate != WHOLE)
        case "timed_out":
            return pa.array(rows.fate == TIMED_OUT)
        case "moment":
            last = log.take("_time", rows.place)
            return last if rows.moment is None else restore_values(rows.moment, last.type)
        case "aggregate":
            assert cell.aggregate is not None, "an aggregate cell has an aggregate"
            return write_aggregate(cell.aggregate, Stretches(rows.begin, ends), matches, log)
        case "row_aggregate":
            assert cell.of_rows is not None, "it has an aggregate over rows"
            return write_row_aggregate(cell.of_rows, Stretches(rows.begin, ends), matches, log)
    events, found = _navigate(cell, rows, matches, neighbours, frame, log)
    if cell.kind == "classifier":
        if cell.position.shift:
            found = find_in_matches(events, matches.events, rows.begin, rows.final)
        return _name_labels(found, matches)
    assert cell.column is not None, "a navigated cell reads a column"
    return log.take(cell.column, events)


def _name_labels(found: Int64s, matches: Matches) -> pa.Array:
    """The variables of events by their places among those of matches, null for -1."""
    names = pa.array(matches.variables, pa.string())
    labels = np.where(found >= 0, matches.labels[found] if len(matches.labels) else 0, 0)
    return names.take(pa.array(labels, mask=found < 0))


def write_classifier(position: Position, paths: Paths) -> pa.Array:
    """The variable of an event of each match under way; null for what is not in it yet."""
    matches = paths.matches
    table = _tabulate_position(position, matches.variables)
    found = navigate_matches(table, 0, matches.labels, paths.begins, paths.ends)
    if position.shift:
        events = paths.shift(np.where(found >= 0, matches.events[found], -1), position.shift)
        found = find_in_matches(events, matches.events, paths.begins, paths.ends)
    return _name_labels(found, matches)


def _navigate(
    cell: OutputCell,
    rows: OutputRows,
    matches: Matches,
    neighbours: Neighbours | None,
    frame: Frame | None,
    log: EventLog,
) -> tuple[Int64s, Int64s]:
    """The event that a cell is read at, -1 if there is none, and its place among the events of matches."""
    ends = rows.final if cell.final else rows.running
    table = _tabulate_position(cell.position, matches.variables)
    found = navigate_matches(table, 0, matches.labels, rows.begin, ends)
    events = np.where(found >= 0, matches.events[found] if len(matches.events) else 0, -1)
    if cell.position.shift and neighbours is not None:
        events = neighbours.shift(events, cell.position.shift)
        if frame is not None:
            events = _stay_in_frame(events, rows, frame, neighbours, log)
    return events, found


@cache
def _tabulate_position(position: Position, variables: tuple[str, ...]) -> Int64s:
    """The same for every batch of a query."""
    return tabulate_positions([position], variables)
