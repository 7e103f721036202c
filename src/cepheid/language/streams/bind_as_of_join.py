"""An ASOF or temporal join of two streams or tables to a WindowJoin vertex.

    a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts

    WindowJoin (keys=1)
      Project (_time, _key0 = id, _part0 = id, ...)   b, the last event of each key
      Project (_time, _key0 = id, ...)                a, only what has just come

b comes first: of events of one time those of b are then there before those of a, and find nothing themselves, as those
of a that came before are gone.  For `>` a comes first, and a condition keeps b from finding what came with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, NotSupportedYet, TypeMismatch
from cepheid.event_time import can_order, is_event_time
from cepheid.graph.operators import WindowJoin
from cepheid.kernel.join import JoinInput, JoinProgram
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.as_of_condition import AsOf
from cepheid.language.streams.bind_window_join import WindowJoinSelect
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.schema import unify_schemas


@dataclass
class AsOfSelect(WindowJoinSelect):
    """sides: left and right."""

    asked: AsOf | None = None

    def bind_sides(self) -> AsOf:
        """Times and keys of both sides get their places."""
        asked = self.asked
        assert asked is not None, "it is given"
        self._put_times(asked)
        unequal = self._take_keys(asked.equalities)
        if unequal:
            raise TypeMismatch(
                f'"{unequal[0].sql()}" compares values that cannot be keys',
                span=span_of(unequal[0]) or self.at,
                hint="cast one side in a subquery",
            )
        return asked

    def bind(self) -> None:
        asked, right = self.bind_sides(), self.sides[1].layout
        for number in range(self.keys):
            right.places[f"_part{number}"] = right.places[f"_key{number}"]
        rest = self._filter_first(asked)
        strict = asked.comparison is exp.GT
        self.engine_order = (0, 1) if strict else (1, 0)
        if strict:
            rest.append(exp.GT(this=self._time_cell(0), expression=self._time_cell(1)))
        self.condition = self.columns.rewrite_all(rest)
        self.outputs = self.columns.bind_outputs(self.query)

    def node(self, timed: bool) -> WindowJoin:
        latest = JoinInput(kind="count", size=1, partitioned=self.keys > 0)
        passing = JoinInput(kind="time", size=0, inclusive=True)
        assert self.asked is not None, "it is given"
        self.inputs, self.preserved = (passing, latest), (self.asked.outer, False)
        whole = super().node(timed)
        order = self.engine_order
        return replace(
            whole,
            program=JoinProgram(
                inputs=tuple(whole.program.inputs[side] for side in order),
                preserved=tuple(self.preserved[side] for side in order),
                keyed=self.keys > 0,
            ),
            cells=tuple(
                replace(cell, input=order.index(cell.input)) if cell.input >= 0 else cell for cell in whole.cells
            ),
            streams=tuple(whole.streams[side] for side in order),
            parts=tuple((0, self.keys)[side] for side in order),
            parted_by_keys=self.keys > 0,
        )

    # --- what stands in the ON -----------------------------------------------------------------------------
    def _put_times(self, asked: AsOf) -> None:
        types = []
        for side, time in zip(self.sides, (asked.left, asked.right), strict=True):
            if time is None:
                types.append(put_only_time(side.layout))
                continue
            if not isinstance(time, exp.Column):
                raise NotSupportedYet(
                    f'"{time.sql()}" as the time of a side of an ASOF JOIN',
                    span=span_of(time) or self.at,
                    hint="compute it in a subquery",
                )
            types.append(side.layout.put("_time", time))
            if not can_order(types[-1]):
                raise InvalidOrder(
                    f'"{time.sql()}" of type {types[-1]} does not order events',
                    span=span_of(time) or self.at,
                    hint="compare timestamps or numbers",
                )
        if is_event_time(types[0]) != is_event_time(types[1]) or not _fit_one_column(types):
            raise TypeMismatch(
                f"the times of an ASOF or temporal join are {types[0]} and {types[1]}",
                span=self.at,
                hint="cast one side in a subquery",
            )

    def _filter_first(self, asked: AsOf) -> list[exp.Expr]:
        """What is left to be asked of pairs; of an ASOF JOIN, what is about the right side alone is asked before."""
        before = [part for part in asked.rest if asked.chosen and self.columns.owners(part) == {1}]
        if before:
            self.filters[1] = exp.and_(*before, copy=True)
        return [part for part in asked.rest if not any(part is other for other in before)]

    def _time_cell(self, side: int) -> exp.Expr:
        assert self.asked is not None, "it is given"
        time = (self.asked.left, self.asked.right)[side]
        assert time is not None, "a comparison without equality is written"
        return time.copy()


def put_only_time(layout: StreamLayout) -> pa.DataType:
    """The event time of a side of which FOR SYSTEM_TIME says nothing."""
    try:
        return layout.put_time(None)
    except InvalidOrder as problem:
        hint = f"say by which: a ASOF JOIN {layout.name} ON ... AND a.ts >= {layout.name}.<time>"
        raise InvalidOrder(problem.message, hint=f'{hint}; or cep.Table(data, valid_from="<time>")') from None


def _fit_one_column(types: list[pa.DataType]) -> bool:
    """Events of both sides stand in one order, so their times are made one type."""
    try:
        unify_schemas([pa.schema([("_time", each)]) for each in types])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True
