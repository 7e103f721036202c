"""An engine: a gate and an operator behind it, the same for every host.

    tables in the event layout ─▶ reject ─▶ gate (disorder/gate.py): late apart, hold back, sort ─▶ operator ─▶ rows

All that an engine knows can be told by the events it keeps: released ones that the operator may still need, and held
ones (and a few numbers of the operator's own).  A snapshot is just those; to go on from it, they are fed in again.
The same way an engine forgets: when most of what it keeps is no longer needed, it starts afresh from its own snapshot.

Several vertices over the same events (windows of different sizes, say) share one engine: events are kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.disorder.gate import Gate, sort_events
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.event_time import BEGINNING, END, order_values
from cepheid.execution.engine_identity import NO_IDENTITY, EngineIdentity
from cepheid.execution.key_group_operator import KeyGroupOperator
from cepheid.execution.operator import HELD, KeptEvents, Operator, Piece, PlacedOperator, step_pieces
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import OverRows, RowPattern, Sequence, WindowAggregate, WindowJoin
from cepheid.kernel.columns import Int64s
from cepheid.measurement import Counts
from cepheid.placement.core_split import ONE_CORE, split_among_cores
from cepheid.schema import empty_table, unify_schemas

if TYPE_CHECKING:  # loaded with the kernels, when it is needed
    from cepheid.execution.lane.engine_lane import EngineLane

MOST_FEW = 512  # events that take the way for a few
MOST_AHEAD = 1024  # events that go that way before everybody is told of them
MOST_AT_ONCE = 1_048_576  # events that an operator is given at once
SPARE_EVENTS = 8192  # forgotten events that are not worth starting afresh for
_rehearsed: set[type[EngineNode]] = set()  # of which an engine of this process has started afresh


def make_operator(
    nodes: list[EngineNode],
    layout: pa.Schema,
    many: bool,
    twin: str,
    engines: int = 1,
    keeps_state: bool = False,
    few: bool = False,
) -> Operator:
    """The operator for vertices that share an engine; `engines`: among how many their events are split, if they may
    be; `keeps_state`: what it knows must be told; `few`: events will come a few at a time as well."""
    split = split_among_cores(nodes) if engines > 1 else ONE_CORE
    if not split.columns or (keeps_state and not split.keyed):
        return _make_single(nodes, layout, many, twin, counts=False, few=few)
    return KeyGroupOperator(lambda: _make_single(nodes, layout, many, twin, split.counts), split, engines)


def _make_single(
    nodes: list[EngineNode], layout: pa.Schema, many: bool, twin: str, counts: bool, few: bool = False
) -> PlacedOperator:
    """Its kernels are loaded when they are needed, as that takes a while."""
    first = nodes[0]
    if isinstance(first, RowPattern | Sequence):
        from cepheid.execution.pattern_operator import PatternOperator

        return PatternOperator(first, layout, many, twin, few)
    if isinstance(first, WindowJoin):
        from cepheid.execution.join_operator import JoinOperator

        return JoinOperator([node for node in nodes if isinstance(node, WindowJoin)], layout, twin, few)
    if isinstance(first, OverRows):
        from cepheid.execution.over_operator import OverOperator

        return OverOperator(first, layout, twin)
    windows = [node for node in nodes if isinstance(node, WindowAggregate)]
    assert len(windows) == len(nodes), f"{type(first).__name__} has no operator"
    from cepheid.execution.window_operator import WindowOperator

    return WindowOperator(windows, layout, twin, counts, few)


class Engine:
    """`identity`: under what its state is kept; an engine without one has no state to be kept.

    delays_us, streams: what the gate is told of each input, see there.  engines: how many operators share the events,
    if they may be split."""

    def __init__(
        self,
        nodes: list[EngineNode],
        inputs: list[pa.Schema],
        twin: str = "compiled",
        identity: EngineIdentity = NO_IDENTITY,
        delays_us: list[int] | None = None,
        streams: list[int] | None = None,
        engines: int = 1,
        few: bool = False,
    ) -> None:
        """few: events will come a few at a time as well."""
        self._few = few and twin == "compiled" and nodes[0].order == 1
        self._lane: EngineLane | None = None
        self._ready: EngineLane | None = None  # the lane, if it can be used as it is
        self._came_otherwise = False  # have events come in large batches since the lane was last used?
        self._nodes = nodes
        self._engines = engines
        self.identity = identity
        self._twin = twin
        self._many = len(inputs) > 1
        self._order = nodes[0].order
        self._inputs = inputs
        self._layout = unite_schemas(inputs, self._many)
        self._no_events = empty_table(self._layout)
        self._counts = Counts()
        self._gate = Gate(delays_us or [0] * len(inputs), not self._many and self._order == 1, streams)
        self._needed = 0  # events that were needed when we last looked
        self._held_table = self._no_events
        self.late: list[pa.Table] = []
        self._operator = self._make_operator()
        self._no_rows = [empty_table(schema) for schema in self._operator.schemas]

    @property
    def gate(self) -> Gate:
        self._settle()
        return self._gate

    @property
    def counts(self) -> Counts:
        self._settle()
        return self._counts

    @counts.setter
    def counts(self, counts: Counts) -> None:
        assert self._lane is None, "a lane has counts of its own"
        self._counts = counts

    @property
    def operator(self) -> Operator:
        self._settle()
        return self._operator

    @property
    def layout(self) -> pa.Schema:
        return self._layout

    @property
    def schemas(self) -> list[pa.Schema]:
        """Of the rows of each vertex."""
        return self._operator.schemas

    def push(self, tables: list[pa.Table], horizon: int = BEGINNING) -> list[pa.Table]:
        """Take in one table per input; give the rows of each vertex that are settled by what the gate knows of time, or
        by a horizon that somebody else knows."""
        if self._few and sum(map(len, tables)) <= MOST_FEW:
            found = self._push_few(tables, horizon)
            if found is not None:
                return found
        fresh = self._accept(tables)
        self.gate.advance(horizon)
        return self._release(fresh, final=False)

    # --- a few events at a time ----------------------------------------------------------------------------
    def _push_few(self, tables: list[pa.Table], horizon: int) -> list[pa.Table] | None:
        """The rows of each vertex; None: these events must go the other way."""
        lane = self.lane
        if lane is None:
            return None
        if lane.holding is None:
            outcome = lane.push_columns(tables[0].columns, len(tables[0]), horizon)
            if outcome <= 0:
                return None
        else:
            for number, table in enumerate(tables):
                if lane.hold_columns(number, table.columns, len(table)) is None:
                    return self._push_rest(tables, number, horizon)
            self._gate.advance(horizon)
            released = lane.release()
            if released is None:
                return self._push_rest(tables, len(tables), horizon)
            outcome = released
        rows = lane.take(outcome)
        self.look_after_lane()
        return self._no_rows if rows is None else [rows.as_table()]

    @property
    def inputs(self) -> list[pa.Schema]:
        return self._inputs

    def _push_rest(self, tables: list[pa.Table], first: int, horizon: int) -> list[pa.Table]:
        """Go the other way with the inputs from `first` on; the events of those before are among the held ones."""
        rest = [table if number >= first else table.slice(0, 0) for number, table in enumerate(tables)]
        fresh = self._accept(rest)
        self.gate.advance(horizon)
        return self._release(fresh, final=False)

    @property
    def _held(self) -> pa.Table:
        """Events that wait, in the order of arrival."""
        if self._lane is not None and self._lane.count_held:
            assert self._lane.holding is not None, "they wait there"
            self._held_table = _by_arrival(pa.concat_tables([self._held_table, self._lane.holding.give()]))
            self._ready = None
        return self._held_table

    @_held.setter
    def _held(self, table: pa.Table) -> None:
        assert self._lane is None or not self._lane.count_held, "events wait in one place"
        self._held_table = table
        self._ready = None

    @property
    def lane(self) -> EngineLane | None:
        """The way for a few events; None: now, or always, they must go the other way."""
        return self._ready or self._prepare_lane()

    def _prepare_lane(self) -> EngineLane | None:
        if self._lane is None and self._few:
            from cepheid.execution.lane.engine_lane import open_engine_lane

            self._lane = open_engine_lane(self._layout, self._inputs, self._gate, self._counts, self._operator)
            self._few = self._lane is not None
        if len(self._held_table):
            holding = None if self._lane is None else self._lane.holding
            if holding is None or not holding.take(self._held_table):
                return None
            self._held_table = self._no_events
        if self._came_otherwise and self._lane is not None:
            self._lane.catch_up()
            self._came_otherwise = False
        self._ready = self._lane
        return self._lane

    def _settle(self) -> None:
        """Let gate, operator and counts know of all that went through the lane."""
        lane = self._lane
        if lane is not None and lane.is_ahead:
            lane.settle()
            self._counts.kept = self._operator.count_kept()
            if lane.may_drop:
                self._counts.dropped += self._operator.take_dropped()

    def look_after_lane(self) -> None:
        """What is to be done now and then when events go through the lane."""
        lane = self._lane
        if lane is not None and lane.ahead > MOST_AHEAD:
            self._settle()
            self._rehearse()
        if self._counts.kept > 2 * self._needed + SPARE_EVENTS:
            self._settle()
            self._forget()
            self._counts.kept = self._operator.count_kept()

    def _rehearse(self) -> None:
        """Start afresh soon for the first time, while there is little to be done: kernels are loaded for it, which
        takes tens of milliseconds."""
        kind = type(self._nodes[0])
        if kind not in _rehearsed:
            _rehearsed.add(kind)
            self.restore(self.keep())

    def run(self, tables: list[pa.Table]) -> list[pa.Table]:
        """All events that there are, one table per input: the rows of each vertex."""
        return self._release(self._accept(tables), final=True)

    def finish(self) -> list[pa.Table]:
        """No more events: settle everything."""
        return self._release(self._no_events, final=True)

    def keep(self) -> KeptEvents:
        """A snapshot."""
        kept = self.operator.keep(self.gate.horizon)
        held = len(self._held)
        return replace(
            kept,
            table=pa.concat_tables([kept.table, self._held]),
            roles=np.concatenate([kept.roles, np.full(held, HELD, dtype=np.uint8)]),
            numbers=np.concatenate([kept.numbers, np.zeros(held, dtype=np.int64)]),
            taken=np.concatenate([kept.taken, np.zeros(held, dtype=np.bool_)]),
            horizon=self.gate.horizon,
            arrivals=self.gate.arrivals,
        )

    def floor(self) -> int:
        """No row that is still to come is about an event older than this."""
        return self.operator.floor(self.gate.horizon)

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        return self._count_held() > 0 or self.operator.is_waiting()

    def pick(self, kept: KeptEvents, members: list[int]) -> KeptEvents:
        """A snapshot of an engine with more vertices, for these of them only."""
        return replace(kept, partials=self._operator.pick(kept.partials, members))

    def restore(self, kept: KeptEvents) -> None:
        """Go on from a snapshot; its events may be in any order."""
        self.gate.horizon, self.gate.arrivals = kept.horizon, kept.arrivals
        self._lane = self._ready = None
        held = kept.roles == HELD
        self._held = _by_arrival(kept.table.filter(pa.array(held)))
        released = kept.table.filter(pa.array(~held))
        times, _ = order_values(released.column("_time"))
        ties = self._ties(released) or [released.column("_arrival").to_numpy()]
        order = sort_events(times, ties)
        self._operator = self._make_operator()
        self._operator.replay(
            replace(
                kept, table=released, roles=kept.roles[~held], numbers=kept.numbers[~held], taken=kept.taken[~held]
            ),
            times if order is None else times[order],
            order,
        )
        self._count_state()

    @property
    def owners(self) -> list[int]:
        """By key group: the number of the operator that has it; empty if there is one for all."""
        return self._operator.owners.tolist() if isinstance(self._operator, KeyGroupOperator) else []

    @property
    def can_scale(self) -> bool:
        return split_among_cores(self._nodes).keyed

    def scale(self, engines: int) -> None:
        """Go on with another number of operators, which share the key groups among them."""
        if engines > 1 and not self.can_scale:
            why = split_among_cores(self._nodes).why or "groups of the whole stream are split over whole tables only"
            raise NotSupportedYet(f"more than one engine for this vertex: {why}", hint="PARTITION BY gives it keys")
        kept, self._engines = self.keep(), engines
        self.restore(kept)

    def move_groups(self, groups: Iterable[int], engine: int) -> None:
        """Give key groups, with the state of their keys, to another operator."""
        operator = self._operator
        if not isinstance(operator, KeyGroupOperator):
            raise InvalidInput("there is one engine, which has all key groups", hint="scale it first")
        chosen = list(groups)
        known = len(operator.owners)
        if any(not 0 <= group < known for group in chosen) or not 0 <= engine < self._engines:
            hint = f"groups 0 to {known - 1}, engines 0 to {self._engines - 1}"
            raise InvalidInput(f"key groups {chosen} cannot go to engine {engine}", hint=hint)
        operator.move_groups(chosen, engine, self.gate.horizon)

    def _make_operator(self) -> Operator:
        keeps_state = self.identity is not NO_IDENTITY
        return make_operator(self._nodes, self._layout, self._many, self._twin, self._engines, keeps_state, self._few)

    def _accept(self, tables: list[pa.Table]) -> pa.Table:
        """The events of all inputs that have a place in the order and are not late."""
        fresh = unite_tables(tables, self._layout, self._many, self.gate.arrivals)
        offered = len(fresh)
        self.counts.events += offered
        times, placed = order_values(fresh.column("_time"))
        for number in range(1, self._order):
            _, also = order_values(fresh.column(f"_order{number}"))
            placed = also if placed is None else placed if also is None else placed & also
        if placed is not None:
            self.counts.rejected += len(fresh) - int(placed.sum())
            fresh, times = fresh.filter(pa.array(placed)), times[placed]
        late = self.gate.find_late(times)
        if late is not None:
            self.counts.late += int(late.sum())
            self.late.append(fresh.filter(pa.array(late)))
            fresh = fresh.filter(pa.array(~late))
        first = self.gate.count_arrivals(len(fresh))
        if len(fresh) < offered or fresh.column("_arrival").null_count:
            arrivals = pa.array(np.arange(first, first + len(fresh)))
            fresh = fresh.set_column(fresh.schema.get_field_index("_arrival"), "_arrival", arrivals)
        return fresh

    def _release(self, fresh: pa.Table, final: bool) -> list[pa.Table]:
        waiting = (
            fresh if not len(self._held) else self._held if not len(fresh) else pa.concat_tables([self._held, fresh])
        )
        times, _ = order_values(waiting.column("_time"))
        go = self.gate.release(times, self._ties(waiting), final)
        released, self._held = waiting, self._no_events
        if go.ready is not None and not go.ready.any():
            released, self._held, times = self._no_events, waiting, times[:0]
        elif go.ready is not None:
            ready = pa.array(go.ready)
            released, self._held, times = waiting.filter(ready), waiting.filter(pc.invert(ready)), times[go.ready]
        if go.order is not None:
            released, times = released.take(pa.array(go.order)), times[go.order]
        rows = self._step_through(released, times, final)
        self.counts.rows += sum(map(len, rows))
        self.counts.dropped += self._operator.take_dropped()
        if not final:
            self._forget()
        self._count_state()
        return rows

    def _ties(self, table: pa.Table) -> list[Int64s]:
        """What decides between events of one time, before arrival."""
        ties = [order_values(table.column(f"_order{number}"))[0] for number in range(1, self._order)]
        if self._many:
            ties = [table.column("_stream").to_numpy(), *ties]
        return [*ties, table.column("_arrival").to_numpy()] if ties else []

    def _step_through(self, released: pa.Table, times: Int64s, final: bool) -> list[pa.Table]:
        """Large releases go piece by piece: what is needed for a while only is then small enough to be used again."""
        self._settle()
        self._came_otherwise, self._ready = True, None
        if len(released) <= MOST_AT_ONCE:
            return self._operator.step(released, times, END if final else self.gate.horizon, final)
        self._operator.expect(len(released))
        pieces = []
        for begin in range(0, len(released), MOST_AT_ONCE):
            moments = times[begin : begin + MOST_AT_ONCE]
            is_last = begin + MOST_AT_ONCE >= len(released)
            horizon = int(moments[-1]) if not is_last else END if final else self.gate.horizon
            pieces.append(Piece(released.slice(begin, MOST_AT_ONCE), moments, horizon, final and is_last))
        found = step_pieces(self._operator, pieces)
        return [pa.concat_tables(tables) for tables in zip(*found, strict=True)]

    def _forget(self) -> None:
        """Start afresh once most events are no longer needed."""
        if self._operator.count_kept() <= 2 * self._needed + SPARE_EVENTS:
            return
        self._needed = self._operator.count_needed(self.gate.horizon)
        if self._operator.count_kept() > 2 * self._needed + SPARE_EVENTS:
            self.restore(self.keep())

    def _count_held(self) -> int:
        return len(self._held_table) + (0 if self._lane is None else self._lane.count_held)

    def _count_state(self) -> None:
        self.counts.held = self._count_held()
        self.counts.kept = self._operator.count_kept()


def name_events(events: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Events in the layout, under the names that users know; what has none was computed, and is left out."""
    named: dict[str, pa.ChunkedArray] = {}
    for layout in events.column_names:
        name, values = names.get(layout), events.column(layout)
        if name is not None and name not in named:
            named[name] = values
        elif name is not None and named[name].type == values.type:
            named[name] = pc.coalesce(named[name], values)  # of another input: one of them is null
    return pa.table(named)


def unite_schemas(inputs: list[pa.Schema], many: bool) -> pa.Schema:
    united = unify_schemas(inputs)
    if many:
        united = united.append(pa.field("_stream", pa.int64()))
    return united.append(pa.field("_arrival", pa.int64()))


def unite_tables(tables: list[pa.Table], layout: pa.Schema, many: bool, arrivals: int = 0) -> pa.Table:
    """All inputs in one table, each event marked with its input; columns of other inputs are null.

    In the usual case, with nothing to fill in or cast, events are numbered as well, as if all of them will be accepted.
    """
    if not many and tables[0].schema.names == layout.names[:-1] and tables[0].schema.types == layout.types[:-1]:
        numbers = pa.array(np.arange(arrivals, arrivals + len(tables[0])))
        return pa.Table.from_arrays([*tables[0].columns, numbers], schema=layout)
    marked = []
    for number, table in enumerate(tables):
        columns = dict(zip(table.column_names, table.columns, strict=True))
        if many:
            columns["_stream"] = pa.array(np.full(len(table), number, dtype=np.int64))
        for field in layout:
            if field.name not in columns:
                columns[field.name] = pa.nulls(len(table), field.type)
        marked.append(pa.table([columns[name] for name in layout.names], names=layout.names).cast(layout))
    return pa.concat_tables(marked)


def _by_arrival(table: pa.Table) -> pa.Table:
    return table.take(pc.sort_indices(table.column("_arrival"))) if len(table) > 1 else table
