"""The way of a few events through an engine: past the gate if they are in order, then into the operator.

Whatever is unusual about them (late, out of order, without a time) is left to the way of large batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheid.disorder.gate import Gate
from cepheid.event_time import BEGINNING
from cepheid.execution.lane.few_rows import FewRows
from cepheid.execution.lane.holding import Holding, list_columns
from cepheid.execution.lane.intake import ROOM
from cepheid.execution.lane.open_lane import OperatorLane, open_lane
from cepheid.execution.lane.sources import Source, code_of, is_text, point_to_number, point_to_text, suits_lane
from cepheid.execution.operator import Operator
from cepheid.kernel.columns import Interner
from cepheid.kernel.compiled.take_in import REACHED, SOMETHING
from cepheid.measurement import Counts

MOST_FEW = ROOM


class EngineLane:
    """inputs: the schemas of what it is fed."""

    def __init__(
        self, layout: pa.Schema, inputs: list[pa.Schema], gate: Gate, counts: Counts, lane: OperatorLane
    ) -> None:
        self._gate = gate
        self._counts = counts
        self._lane = lane
        self._intake = lane.intake
        self._interner = lane.interner
        self._names = layout.names[:-1]
        self._codes = [None if is_text(field.type) else code_of(field.type) for field in layout][:-1]
        self.may_drop = lane.may_drop
        self._no_rows: list[FewRows | None] = [None] * lane.vertices
        self.holding = None if gate.follows_one else Holding(layout, lane.interner)
        self._places = [list_columns(layout, schema) or [] for schema in inputs]
        self._holder: tuple[object, int] | None = None  # of what the sources of events that wait point to
        self._owner: object = None  # of what the sources point to
        self._in_step = False  # does the intake know what the gate knows?

    @property
    def interner(self) -> Interner:
        return self._interner

    def catch_up(self) -> None:
        """Events came another way."""
        self._intake.catch_up()
        self._in_step = False

    # --- the events of a single stream, in the order of time -----------------------------------------------
    def point(self, sources: list[Source], owner: object = None) -> None:
        """Read the next events from here; the owner may ask whether that still is so."""
        self._intake.point(sources)
        self._owner = owner

    def points_to(self, owner: object) -> bool:
        return self._owner is owner

    def push_next(self, count: int, nulls: Sequence[str] = ()) -> list[FewRows | None] | None:
        """Take in the events that the sources point to, if they are in order: the rows of each vertex, or None: they
        must go another way, and nothing has happened.  Only for a gate that follows one stream."""
        intake, lane, gate = self._intake, self._lane, self._gate
        if not self._in_step:
            intake.set_time(gate.horizon, gate.horizon, gate.arrivals, follows=True)
            self._in_step = True
        seen = lane.seen
        intake.make_ready(seen, count, nulls)
        outcome = intake.push(seen, count)
        if outcome <= 0:
            return None
        reached = int(intake.state[REACHED])
        gate.pass_by(reached, count)
        self._counts.events += count
        return lane.take_rows(reached) if outcome == SOMETHING else self._no_rows

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
        holding, places = self.holding, self._places[number]
        assert holding is not None, "only where events may have to wait"
        if not count:
            return BEGINNING
        sources: list[Source | None] = []
        held: list[Any] = []
        for place, code in zip(places, self._codes, strict=False):
            if place is None:
                sources.append(None)
                continue
            source, behind = self._point_to_column(columns[place], code)
            sources.append(source)
            held.append(behind)
        self._holder = None
        holding.point([*sources, None])
        newest = self.hold_next(number, count)
        del held
        return newest

    def point_held(self, number: int, sources: list[Source], owner: object) -> None:
        """Read the next events of an input from here: one source for each of its columns."""
        holding = self.holding
        assert holding is not None, "only where events may have to wait"
        holding.point([*(None if place is None else sources[place] for place in self._places[number])])
        self._holder = (owner, number)

    def points_held(self, number: int, owner: object) -> bool:
        return self._holder is not None and self._holder[0] is owner and self._holder[1] == number

    def hold_next(self, number: int, count: int) -> int | None:
        """Let events wait that the sources point to; gives the newest of their times, None: as above."""
        holding, gate = self.holding, self._gate
        assert holding is not None, "only where events may have to wait"
        newest = holding.hold(count, number, gate.horizon, gate.arrivals)
        if newest is not None:
            gate.arrivals += count
            self._counts.events += count
        return newest

    def release(self) -> list[FewRows | None] | None:
        """Let events go that need not wait any longer; the rows of each vertex.  None: there are too many of them."""
        holding, gate, intake, lane = self.holding, self._gate, self._intake, self._lane
        assert holding is not None, "only where events may have to wait"
        ready = holding.count_ready(gate.horizon, gate.ties_by_arrival)
        if ready > ROOM:
            return None
        if self._owner is not holding:
            intake.point_all(holding.sources)
            self._owner = holding
        intake.set_time(BEGINNING, gate.horizon, 0, follows=False)
        self._in_step = False
        seen = lane.seen
        intake.make_ready(seen, ready, self._names)
        outcome = intake.push(seen, ready)
        assert outcome > 0, "events that waited are in order"
        holding.let_go(ready)
        return lane.take_rows(gate.horizon) if outcome == SOMETHING else self._no_rows

    # --- any events of one input ---------------------------------------------------------------------------

    def push_columns(self, columns: list[pa.ChunkedArray], count: int, horizon: int) -> list[FewRows | None] | None:
        """Take in events, given by the columns of the layout; the rows of each vertex, or None: they must go another
        way, and nothing has happened.  horizon: that somebody else knows of."""
        held, nulls = self.point_to(columns)
        self._in_step = False
        gate, known = self._gate, self._gate.horizon
        gate.advance(horizon)
        intake, lane = self._intake, self._lane
        intake.set_time(known, gate.horizon, gate.arrivals, follows=False)
        seen = lane.seen
        intake.make_ready(seen, count, nulls)
        outcome = intake.push(seen, count)
        del held
        if outcome <= 0:
            gate.horizon = known
            return None
        gate.arrivals += count
        self._counts.events += count
        return lane.take_rows(int(intake.state[REACHED])) if outcome == SOMETHING else self._no_rows


def open_engine_lane(
    layout: pa.Schema, inputs: list[pa.Schema], gate: Gate, counts: Counts, operator: Operator
) -> EngineLane | None:
    """None: the operator has no lane, or its events have columns that are neither numbers nor texts."""
    if not suits_lane(layout) or any(list_columns(layout, schema) is None for schema in inputs):
        return None
    lane = open_lane(operator, layout)
    return None if lane is None else EngineLane(layout, inputs, gate, counts, lane)
