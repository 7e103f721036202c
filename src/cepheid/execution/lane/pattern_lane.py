"""A pattern, given a few events at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.execution.cells import pick_cells
from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.intake import ROOM, Intake, KeyNumbers
from cepheid.execution.lane.row_records import RecordCell, RowRecords
from cepheid.execution.pattern_operator import PatternOperator
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.kernel.automaton import build_automaton
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.positions import tabulate_positions
from cepheid.kernel.compiled.row_lane import MOST_ROWS, RowLane
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.compiled.sequence_lane import SequenceLane


class PatternLane:
    def __init__(
        self, operator: PatternOperator, layout: pa.Schema, kernel: SequenceLane | RowLane, keys: KeyNumbers
    ) -> None:
        self._operator = operator
        self._kernel = kernel
        numbered = [keys] if keys.columns else []
        self.intake = Intake(layout.names, operator.log, numbered, kernel)
        self.interner = operator.interner
        node = operator.node
        self.may_drop = isinstance(node, Sequence) and node.program.limit is not None
        self.shape = RowShape(operator.schemas[0])
        self.records = self._plan_records(kernel) if isinstance(kernel, RowLane) and len(kernel.picked) else None
        matcher = operator.matcher
        self._neighbours = matcher if isinstance(matcher, CompiledRowPattern) else None

    def take_rows(self, horizon: int) -> FewRows | None:
        found = self._kernel.take_found(horizon)
        if not len(found):
            return None
        operator = self._operator
        picked = pick_cells(operator.node, found, operator.log, self._neighbours, self.shape.schema)
        if not len(picked) or not _count(picked[0]):
            return None
        return FewRows(self.shape, picked, operator.interner)

    def _plan_records(self, kernel: RowLane) -> RowRecords:
        cells = [self._read_cell(kernel, number, cell.column) for number, cell in enumerate(self._operator.node.cells)]
        records = RowRecords(self.shape, cells, self.interner, MOST_ROWS)
        kernel.list_cells = records.tabulate
        return records

    def _read_cell(self, kernel: RowLane, number: int, name: str | None) -> RecordCell:
        columns = self._operator.log.columns
        assert columns is not None, "a lane has a log of arrays"
        assert name is not None, "plain cells read a column"
        column = columns[name]
        return RecordCell(column.arrays[0].dtype, lambda: column.arrays, lambda: kernel.picked[number])


def _tabulate_plain(node: RowPattern | Sequence) -> tuple[Int64s, Int64s] | None:
    """The positions of all cells, and which of them are read at the row itself; None: rows are not simply that."""
    if not isinstance(node, RowPattern) or node.all_rows or not node.show_empty or node.program.frame is not None:
        return None
    plain = all(cell.kind in ("row", "navigate") and cell.column and not cell.position.shift for cell in node.cells)
    if not plain or not node.cells:
        return None
    variables = build_automaton(node.program.pattern).variables
    positions = tabulate_positions([cell.position for cell in node.cells], variables)
    return positions, np.array([cell.kind == "row" for cell in node.cells], dtype=np.int64)


def _count(column: object) -> int:
    return len(column[0]) if isinstance(column, tuple) else len(column)  # type: ignore[arg-type]


def open_pattern_lane(operator: PatternOperator, layout: pa.Schema) -> PatternLane | None:
    node, matcher = operator.node, operator.matcher
    if node.predicates or operator.log.columns is None:
        return None
    numbers = np.zeros(ROOM, dtype=np.int64)
    columns = [f"_key{number}" for number in range(node.keys)]
    keys = KeyNumbers(columns, operator.key_index, numbers, skips_null=isinstance(node, Sequence))
    kernel: SequenceLane | RowLane
    if isinstance(matcher, CompiledSequence):
        if not matcher.has_lane:
            return None
        kernel = SequenceLane(matcher, operator.interner, numbers, many="_stream" in layout.names)
    elif isinstance(matcher, CompiledRowPattern) and matcher.has_lane:
        kernel = RowLane(matcher, operator.interner, numbers, _tabulate_plain(node))
    else:
        return None
    return PatternLane(operator, layout, kernel, keys)
