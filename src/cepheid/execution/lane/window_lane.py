"""A window, given a few events at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.intake import ROOM, Intake, KeyNumbers
from cepheid.execution.lane.row_records import RecordCell, RowRecords
from cepheid.execution.log_column import Picked
from cepheid.execution.window_operator import WindowOperator
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.kernel.columns import Column
from cepheid.kernel.compiled.window_lane import MOST_ROWS
from cepheid.kernel.compiled.window_lane import WindowLane as Kernel
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import WindowRows


class WindowLane:
    def __init__(self, operator: WindowOperator, layout: pa.Schema, kernel: Kernel, keys: list[KeyNumbers]) -> None:
        self._operator = operator
        self._kernel = kernel
        self.intake = Intake(layout.names, operator.log, keys, kernel)
        self.interner = operator.interner
        self.may_drop = False
        self._schema = operator.schemas[0]
        self.shape = RowShape(self._schema)
        self._picks = operator.can_pick
        self.records = self._plan_records() if self._picks and kernel.answers else None
        if self.records is not None:
            kernel.list_cells = self.records.tabulate

    def take_rows(self, horizon: int) -> FewRows | None:  # noqa: ARG002 (as all lanes)
        rows = self._kernel.take_found()
        if not self._picks:
            table = self._operator.write_rows(0, rows)
            return FewRows(self.shape, table.columns, self.interner) if len(table) else None
        picked = [self._pick(number, rows) for number in range(len(self._schema))]
        return FewRows(self.shape, picked, self.interner)

    def _plan_records(self) -> RowRecords | None:
        """None: a cell is neither a plain answer nor a value of an event or a group."""
        cells: list[RecordCell] = []
        for cell, field in zip(self._operator.cells, self._schema, strict=True):
            if cell.kind == "aggregate" and field.type in (pa.float64(), pa.int64()):
                cells.append(self._read_answer(cell.number, np.dtype(field.type.to_pandas_dtype())))
            elif cell.kind in ("row", "group") and cell.column is not None:
                cells.append(self._read_column(cell))
            else:
                return None
        return RowRecords(self.shape, cells, self.interner, MOST_ROWS)

    def _read_answer(self, number: int, dtype: np.dtype[Any]) -> RecordCell:
        words, valid = self._kernel.answers[number]
        return RecordCell(dtype, lambda: (words.view(dtype), valid), None)

    def _read_column(self, cell: WindowCell) -> RecordCell:
        column, place = self._operator.column_of(cell), 0 if cell.kind == "group" else 1
        return RecordCell(column.arrays[0].dtype, lambda: column.arrays, lambda: self._kernel.indices[place])

    def _pick(self, number: int, rows: WindowRows) -> Picked:
        cell, arrow_type = self._operator.cells[number], self._schema.field(number).type
        if cell.kind == "aggregate":
            answer = rows.values[cell.number]
            as_it_is = arrow_type in (pa.float64(), pa.int64())
            if as_it_is and isinstance(answer, Column) and answer.values.dtype == arrow_type.to_pandas_dtype():
                all_known = answer.valid is None or bool(answer.valid.all())
                return answer.values, None if all_known or answer.valid is None else answer.valid == 0
        elif cell.kind in ("row", "group") and cell.column is not None:
            return self._operator.pick_cell(cell, rows)
        return self._operator.write_cell(0, cell, rows, arrow_type)


def open_window_lane(operator: WindowOperator, layout: pa.Schema) -> WindowLane | None:
    windows = operator.kernel
    if not isinstance(windows, CompiledWindows) or windows.only is None or operator.log.columns is None:
        return None
    columns = operator.aggregated
    if columns is None:
        return None
    zeros = np.zeros(ROOM, dtype=np.int64)
    numbered: list[KeyNumbers] = []
    found = []
    for numbering in operator.list_numberings():
        if not numbering.columns:
            found.append(zeros)
            continue
        if numbering.rows.columns is None:
            return None
        numbers = np.zeros(ROOM, dtype=np.int64)
        numbered.append(KeyNumbers(numbering.columns, numbering.index, numbers, rows=numbering.rows))
        found.append(numbers)
    kernel = Kernel(windows, columns, found[0], found[-1])
    return WindowLane(operator, layout, kernel, numbered)
