"""A join of streams, given a few events at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.event_time import restore_values
from cepheid.execution.join_operator import JoinOperator
from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.intake import ROOM, Intake, KeyNumbers
from cepheid.execution.lane.row_records import RecordCell, RowRecords
from cepheid.execution.log_column import Picked
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.compiled.join_lane import MOST_ROWS
from cepheid.kernel.compiled.join_lane import JoinLane as Kernel


class JoinLane:
    def __init__(self, operator: JoinOperator, layout: pa.Schema, kernel: Kernel, keys: list[KeyNumbers]) -> None:
        self._operator = operator
        self._kernel = kernel
        self.intake = Intake(layout.names, operator.log, keys, kernel)
        self.interner = operator.interner
        self.may_drop = False
        self.shape = RowShape(operator.schemas[0])
        self.records = self._plan_records()
        if self.records is not None:
            kernel.list_cells = self.records.tabulate

    def take_rows(self, horizon: int) -> FewRows | None:  # noqa: ARG002 (as all lanes)
        found = self._kernel.take_found()
        columns = self._operator.log.columns
        assert columns is not None, "a lane has a log of arrays"
        picked: list[Picked] = []
        for cell, field in zip(self._operator.cells, self.shape.schema, strict=True):
            if cell.input < 0:
                picked.append(restore_values(found.moments, field.type))
                continue
            events = found.rows[:, cell.input]
            missing = events < 0
            picked.append(columns[cell.column].pick(events, missing if missing.any() else None))
        return FewRows(self.shape, picked, self.interner)

    def _plan_records(self) -> RowRecords | None:
        """None: a cell is the moment of its row, and not kept as a number of the kernel's."""
        kernel, schema = self._kernel, self.shape.schema
        cells: list[RecordCell] = []
        for cell, field in zip(self._operator.cells, schema, strict=True):
            if cell.input >= 0:
                cells.append(self._read_column(cell))
            elif field.type == pa.int64() or field.type == pa.timestamp("us", getattr(field.type, "tz", None)):
                cells.append(RecordCell(kernel.moments.dtype, lambda: (kernel.moments, None), None))
            else:
                return None
        return RowRecords(self.shape, cells, self.interner, MOST_ROWS)

    def _read_column(self, cell: JoinCell) -> RecordCell:
        columns, place = self._operator.log.columns, cell.input
        assert columns is not None, "a lane has a log of arrays"
        column = columns[cell.column]
        return RecordCell(column.arrays[0].dtype, lambda: column.arrays, lambda: self._kernel.indices[:, place])


def open_join_lane(operator: JoinOperator, layout: pa.Schema) -> JoinLane | None:
    kernel = operator.kernel
    if kernel is None or operator.has_conditions or len(kernel.programs) != 1 or operator.log.columns is None:
        return None
    numbers = [np.zeros(ROOM, dtype=np.int64) for _ in range(2)]
    keys = [
        KeyNumbers(numbering.columns, numbering.index, each, skips_null, numbering.rows)
        for numbering, each, skips_null in zip(operator.list_numberings(), numbers, (True, False), strict=True)
        if numbering.columns
    ]
    if any(each.rows is not None and each.rows.columns is None for each in keys):
        return None
    return JoinLane(operator, layout, Kernel(kernel, *numbers), keys)
