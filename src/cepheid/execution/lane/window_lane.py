"""A window, given a few events at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.intake import ROOM, Intake, KeyNumbers
from cepheid.execution.log_column import NumberColumn, Picked
from cepheid.execution.window_operator import WindowOperator
from cepheid.kernel.columns import Column, Int64s
from cepheid.kernel.compiled.window_lane import WindowLane as Kernel
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import WindowRows


class WindowLane:
    def __init__(self, operator: WindowOperator, layout: pa.Schema, kernel: Kernel, keys: list[KeyNumbers]) -> None:
        self._operator = operator
        self._kernel = kernel
        self.intake = Intake(layout.names, operator.log, keys, kernel)
        kernel.state = self.intake.state
        self.interner = operator.interner
        self.vertices = 1
        self.may_drop = False
        self._schema = operator.schemas[0]
        self._shape = RowShape(self._schema)
        self._picks = operator.can_pick
        self._quick = self._plan_quick() if self._picks else None

    @property
    def seen(self) -> int:
        return len(self._operator.log)

    def take_rows(self, horizon: int) -> list[FewRows | None]:  # noqa: ARG002 (as all lanes)
        """The rows of each vertex, after a push that something came of."""
        if self._quick is not None:
            answers = self._kernel.take_quick()
            if answers is not None:
                return [self._read_quick(*answers)]
        rows = self._kernel.take_found()
        if not self._picks:
            table = self._operator.write_rows(0, rows)
            return [FewRows(self._shape, table.columns, self.interner) if len(table) else None]
        picked = [self._pick(number, rows) for number in range(len(self._schema))]
        return [FewRows(self._shape, picked, self.interner)]

    def _plan_quick(self) -> list[int | tuple[bool, NumberColumn]] | None:
        """For each cell the number of an aggregate, or whether it is of a group, and the column that it is read from;
        None: there are others."""
        plan: list[int | tuple[bool, NumberColumn]] = []
        for cell, field in zip(self._operator.cells, self._schema, strict=True):
            if cell.kind == "aggregate" and field.type == pa.float64():
                plan.append(cell.number)
            elif cell.kind in ("row", "group") and cell.column is not None:
                plan.append((cell.kind == "group", self._operator.column_of(cell)))
            else:
                return None
        return plan

    def _read_quick(self, groups: Int64s, events: Int64s, values: list[Picked]) -> FewRows:
        assert self._quick is not None, "there is a plan"
        picked = [
            values[each] if isinstance(each, int) else each[1].pick(groups if each[0] else events, None)
            for each in self._quick
        ]
        return FewRows(self._shape, picked, self.interner)

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
