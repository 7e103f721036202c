"""The way of a few events through an engine: past the gate if they are in order, then into the operator.

Whatever is unusual about them (late, out of order, without a time) is left to the way of large batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.disorder.gate import Gate
from cepheid.event_time import BEGINNING
from cepheid.execution.lane.few_rows import FewRows
from cepheid.execution.lane.holding import Holding, list_columns
from cepheid.execution.lane.intake import ROOM
from cepheid.execution.lane.open_lane import OperatorLane, open_lane
from cepheid.execution.lane.row_records import RowRecords
from cepheid.execution.lane.sources import Source, code_of, is_text, point_to_number, point_to_text, suits_lane
from cepheid.execution.operator import Operator
from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.take_in import (
    ABSENT,
    DELAY,
    NEWEST_SEEN,
    OUTCOME,
    REACHED,
    SHIFT,
    SOMETHING,
    TIES,
    TOO_MANY,
    TURN,
    WAITS,
)
from cepheid.measurement import Counts

MOST_FEW = ROOM


class EngineLane:
    """inputs: the schemas of what it is fed.

    The gate, the log and the counts hear of what has gone through when somebody asks (`settle`), not with every push.
    """

    def __init__(
        self, layout: pa.Schema, inputs: list[pa.Schema], gate: Gate, counts: Counts, lane: OperatorLane
    ) -> None:
        self._gate = gate
        self._counts = counts
        self._lane = lane
        self._intake = lane.intake
        self._push = lane.intake.push
        self._interner = lane.interner
        self._names = layout.names[:-1]
        self._codes = [None if is_text(field.type) else code_of(field.type) for field in layout][:-1]
        self.may_drop = lane.may_drop
        self.holding = None if gate.follows_one else Holding(layout, lane.interner, len(inputs))
        self._places = [list_columns(layout, schema) or [] for schema in inputs]
        self._turn = -1  # the input whose events come next, if they may have to wait and the intake knows the gate
        self._holders: list[object] = [None] * len(inputs)  # of what the sources of events that wait point to
        self._owner: object = None  # of what the sources point to
        self._in_step = False  # does the intake know what the gate knows?
        self.is_ahead = False  # has something happened that nobody has been told of?
        self.ahead = 0  # events that nobody has been told of
        self._rows = 0  # rows that nobody has been told of

    @property
    def interner(self) -> Interner:
        return self._interner

    @property
    def records(self) -> RowRecords | None:
        return self._lane.records

    def catch_up(self) -> None:
        """Events came another way."""
        assert not self.is_ahead, "they came when all was settled"
        self._intake.catch_up()
        self._in_step, self._turn = False, -1

    def settle(self) -> None:
        """Tell all who should know of what has gone through."""
        self._intake.settle()
        counts = self._counts
        if self._turn >= 0 and self.holding is not None:
            newest, reached = self._intake.inputs[:, NEWEST_SEEN].tolist(), int(self._intake.state[REACHED])
            self._gate.learn(newest, reached, self.holding.arrived)
        elif self._in_step and self.ahead:
            self._gate.pass_by(int(self._intake.state[REACHED]), self.ahead)
        counts.events += self.ahead
        counts.rows += self._rows
        counts.held = self.count_held
        self.ahead = self._rows = 0
        self.is_ahead = False

    # --- the events of a single stream, in the order of time -----------------------------------------------
    def point(self, sources: list[Source], owner: object = None) -> None:
        """Read the next events from here; the owner may ask whether that still is so."""
        self._intake.point(sources)
        self._owner = owner

    def points_to(self, owner: object) -> bool:
        return self._owner is owner

    def push_next(self, count: int, nulls: Sequence[str] = ()) -> int:
        """Take in the events that the sources point to, if they are in order: an outcome (take_in.py); below 1: they
        must go another way, and nothing has happened.  Only for a gate that follows one stream."""
        intake = self._intake
        if not self._in_step:
            if self.is_ahead:
                self.settle()
            gate = self._gate
            intake.set_time(gate.horizon, gate.horizon, gate.arrivals, follows=True)
            self._in_step = True
        intake.make_ready(count, nulls)
        outcome = self._push(count)
        if outcome > 0:
            self.ahead += count
            self.is_ahead = True
        return outcome

    def take(self, outcome: int) -> FewRows | None:
        """The rows of the push that this came of; None: there are none."""
        if outcome & OUTCOME != SOMETHING:
            return None
        lane, written = self._lane, outcome >> SHIFT
        if written and lane.records is not None:
            rows: FewRows | None = lane.records.take(written, bool(outcome & ABSENT))
        else:
            self._intake.settle()
            rows = lane.take_rows(int(self._intake.state[REACHED]))
        if rows is not None:
            self._rows += len(rows)
            self.is_ahead = True
        return rows

    def count_written(self, outcome: int) -> int:
        """The rows of the push that this came of, if they are records, which somebody reads now; else 0."""
        if self._lane.records is None:
            return 0
        self._rows += outcome >> SHIFT
        self.is_ahead = True
        return outcome >> SHIFT

    def point_to(self, columns: Sequence[pa.ChunkedArray]) -> tuple[list[Any], list[str]]:
        """Read the next events from columns of Arrow's: what must be held until they are taken in, and which columns
        have nulls."""
        sources: list[Source] = []
        held: list[Any] = []
        nulls: list[str] = []
        for name, column, code in zip(self._names, columns, self._codes, strict=True):
            source, behind = self._point_to_column(column, code)
            if source[3]:
                nulls.append(name)
            sources.append(source)
            held.append(behind)
        self.point(sources)
        return held, nulls

    def _point_to_column(self, column: pa.ChunkedArray, code: tuple[int, int] | None) -> tuple[Source, Any]:
        if column.num_chunks != 1:
            whole = column.combine_chunks() if column.num_chunks else pa.array([], column.type)
            column = whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])
        return point_to_text(column, self._interner) if code is None else point_to_number(column, *code)

    # --- events that may have to wait ----------------------------------------------------------------------
    @property
    def count_held(self) -> int:
        return 0 if self.holding is None else len(self.holding)

    def hold_columns(self, number: int, columns: Sequence[pa.ChunkedArray], count: int) -> int | None:
        """Let events of an input wait; gives the newest of their times.  None: they must go another way, and nothing
        has happened."""
        if not count:
            return BEGINNING
        held = self.point_held_to(number, columns)
        newest = self.hold_next(number, count)
        del held
        return newest

    def point_held_to(self, number: int, columns: Sequence[pa.ChunkedArray]) -> list[Any]:
        """Read the next events of an input from columns of Arrow's; what must be held until they are taken in."""
        assert self.holding is not None, "only where events may have to wait"
        sources: list[Source | None] = []
        held: list[Any] = []
        for place, code in zip(self._places[number], self._codes, strict=False):
            if place is None:
                sources.append(None)
                continue
            source, behind = self._point_to_column(columns[place], code)
            sources.append(source)
            held.append(behind)
        self._holders[number] = None
        self.holding.point(number, [*sources, None])
        return held

    def point_held(self, number: int, sources: list[Source], owner: object) -> None:
        """Read the next events of an input from here: one source for each of its columns."""
        assert self.holding is not None, "only where events may have to wait"
        self.holding.point(number, [None if place is None else sources[place] for place in self._places[number]])
        self._holders[number] = owner

    def points_held(self, number: int, owner: object) -> bool:
        return self._holders[number] is owner

    def push_held(self, number: int, count: int) -> int | None:
        """Let events wait that the sources point to, and those go that need not wait any longer: an outcome.  None:
        they must go another way, and nothing has happened; TOO_MANY: they wait, but must be released another way."""
        if number != self._turn and not self._take_turn(number):
            return None
        self._intake.make_ready(ROOM, self._names)
        outcome = self._push(count)
        if outcome <= 0 and outcome != TOO_MANY:
            return None
        self.ahead += count
        self.is_ahead = True
        return outcome

    def _take_turn(self, number: int) -> bool:
        """Events of this input come next; False: the gate must be asked each time."""
        intake, gate, holding = self._intake, self._gate, self.holding
        assert holding is not None, "only where events may have to wait"
        if self._turn < 0:
            if self.is_ahead:
                self.settle()
            told = gate.tell()
            if told is None:
                return False
            where = [
                (table.ctypes.data, len(table), *of_input) for table, of_input in zip(holding.tables, told, strict=True)
            ]
            if len(intake.inputs) != len(where):
                intake.inputs = np.zeros((len(where), DELAY + 1), dtype=np.int64)
                intake.catch_up()
            intake.inputs[:] = where
            self._point_to_held()
            intake.set_time(BEGINNING, gate.horizon, 0, follows=False)
            intake.state[WAITS], intake.state[TIES] = 1, gate.ties_by_arrival
            holding.arrived = gate.arrivals
        intake.state[TURN] = number
        self._turn = number
        return True

    def _point_to_held(self) -> None:
        if self._owner is not self.holding and self.holding is not None:
            self._intake.point_all(self.holding.sources)
            self._owner = self.holding

    def hold_next(self, number: int, count: int) -> int | None:
        """Let events wait that the sources point to; gives the newest of their times, None: as above."""
        holding, gate = self.holding, self._gate
        assert holding is not None, "only where events may have to wait"
        self._end_turns()
        newest = holding.hold(count, number, gate.horizon, gate.arrivals)
        if newest is not None:
            gate.arrivals += count
            self.ahead += count
            self.is_ahead = True
        return newest

    def _end_turns(self) -> None:
        if self._turn >= 0:
            self.settle()
            self._turn = -1

    def release(self) -> int | None:
        """Let events go that need not wait any longer: an outcome.  None: there are too many of them."""
        holding, gate, intake = self.holding, self._gate, self._intake
        assert holding is not None, "only where events may have to wait"
        self._end_turns()
        ready = holding.count_ready(gate.horizon, gate.ties_by_arrival)
        if ready > ROOM:
            return None
        self._point_to_held()
        intake.set_time(BEGINNING, gate.horizon, 0, follows=False)
        intake.make_ready(ready, self._names)
        outcome = self._push(ready)
        assert outcome > 0, "events that waited are in order"
        holding.let_go(ready)
        self.is_ahead = True
        return outcome

    # --- any events of one input ---------------------------------------------------------------------------

    def push_columns(self, columns: list[pa.ChunkedArray], count: int, horizon: int) -> int:
        """Take in events, given by the columns of the layout: an outcome; below 1: they must go another way, and
        nothing has happened.  horizon: that somebody else knows of."""
        if self.is_ahead:
            self.settle()
        self._in_step = False
        held, nulls = self.point_to(columns)
        gate, known = self._gate, self._gate.horizon
        gate.advance(horizon)
        intake = self._intake
        intake.set_time(known, gate.horizon, gate.arrivals, follows=False)
        intake.make_ready(count, nulls)
        outcome = self._push(count)
        del held
        if outcome <= 0:
            gate.horizon = known
            return outcome
        gate.arrivals += count
        self.ahead += count
        self.is_ahead = True
        return outcome


def open_engine_lane(
    layout: pa.Schema, inputs: list[pa.Schema], gate: Gate, counts: Counts, operator: Operator
) -> EngineLane | None:
    """None: the operator has no lane, or its events have columns that are neither numbers nor texts."""
    if not suits_lane(layout) or any(list_columns(layout, schema) is None for schema in inputs):
        return None
    lane = open_lane(operator, layout)
    return None if lane is None else EngineLane(layout, inputs, gate, counts, lane)
