"""Which operators can be given a few events at a time."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from cepheid.execution.lane.few_rows import FewRows, RowShape
from cepheid.execution.lane.intake import Intake
from cepheid.execution.lane.row_records import RowRecords
from cepheid.execution.operator import Operator
from cepheid.kernel.columns import Interner


class OperatorLane(Protocol):
    intake: Intake
    interner: Interner
    may_drop: bool  # may the operator drop partial matches?
    shape: RowShape
    records: RowRecords | None  # where compiled code writes rows, if it does

    def take_rows(self, horizon: int) -> FewRows | None:
        """The rows of a push that something came of, if they are not there; None: no rows."""
        ...


def open_lane(operator: Operator, layout: pa.Schema) -> OperatorLane | None:
    """None: this one has no lane.  Kinds are told by their names, so that a pattern does not load what windows need."""
    match type(operator).__name__:
        case "PatternOperator":
            from cepheid.execution.lane.pattern_lane import open_pattern_lane

            return open_pattern_lane(operator, layout)  # type: ignore[arg-type]
        case "WindowOperator":
            from cepheid.execution.lane.window_lane import open_window_lane

            return open_window_lane(operator, layout)  # type: ignore[arg-type]
        case "JoinOperator":
            from cepheid.execution.lane.join_lane import open_join_lane

            return open_join_lane(operator, layout)  # type: ignore[arg-type]
    return None
