"""Which operators can be given a few events at a time."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from cepheid.execution.lane.few_rows import FewRows
from cepheid.execution.lane.intake import Intake
from cepheid.execution.operator import Operator
from cepheid.kernel.columns import Interner


class OperatorLane(Protocol):
    intake: Intake
    interner: Interner
    vertices: int  # how many there are
    may_drop: bool  # may the operator drop partial matches?

    @property
    def seen(self) -> int:
        """How many events there are in the log."""
        ...

    def take_rows(self, horizon: int) -> list[FewRows | None]:
        """The rows of each vertex, after a push that something came of; None: no rows."""
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
