"""The short way of a few events of one stream: what a push does is decided once, when the query is opened.

    columns of the stream ─▶ those of the engine's layout ─▶ engine ─▶ columns of the answer

That is for queries with one engine that columns of one stream feed as they are; what is behind the engine may be
anything that looks at single rows.  All others, and events that are unusual, go through the graph (stream_host.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from cepheid.execution.embedded.engine_feed import EngineFeed
from cepheid.execution.embedded.row_wise import PreparedVertex
from cepheid.execution.embedded.stream_host import StreamHost
from cepheid.execution.engine import MOST_AHEAD, MOST_FEW
from cepheid.execution.lane.engine_lane import EngineLane
from cepheid.execution.lane.few_rows import FewRows, RowShape, list_tuples
from cepheid.execution.lane.row_records import RowRecords, Tuples
from cepheid.execution.lane.sources import Source
from cepheid.kernel.compiled.take_in import ABSENT, NOTHING, TOO_MANY
from cepheid.schema import empty_table

Reader = Callable[[int, bool], Tuples]


class StreamLane:
    """number: of the engine's input that the stream makes up; columns: which columns of the stream that input has;
    behind: vertices behind the engine."""

    def __init__(
        self, feed: EngineFeed, number: int, schema: pa.Schema, columns: tuple[int, ...], behind: list[PreparedVertex]
    ) -> None:
        self.columns = columns
        self._number = number
        self._engine = feed.engine
        self._waits = not feed.engine.gate.follows_one  # may events have to wait for others?
        picks: tuple[int, ...] = tuple(range(len(feed.schemas[0])))
        picked = feed.schemas[0]
        while behind and behind[0].picks is not None:
            picks = tuple(picks[number] for number in behind[0].picks)
            picked = behind[0].schema
            behind = behind[1:]
        self._rest = behind
        self._picks = picks
        self._shape = RowShape(picked)
        self._no_rows = empty_table(schema)
        self._reads: tuple[RowRecords, Reader] | None = None  # from which records tuples are read, and how

    # --- tables --------------------------------------------------------------------------------------------
    def push_table(self, table: pa.Table) -> pa.Table | None:
        """The rows that a few events bring about; None: they must go through the graph."""
        lane = self._engine.lane
        if lane is None or len(table) > MOST_FEW or not len(table):
            return None
        if self._waits:
            return self._push_waiting(lane, table)
        held, nulls = lane.point_to([table.column(number) for number in self.columns])
        outcome = lane.push_next(len(table), nulls)
        del held
        return None if outcome <= 0 else self._as_table(self._take(lane, outcome))

    def _push_waiting(self, lane: EngineLane, table: pa.Table) -> pa.Table | None:
        held = lane.point_held_to(self._number, [table.column(number) for number in self.columns])
        outcome = lane.push_held(self._number, len(table))
        del held
        if outcome is None:  # the gate may be of another opinion
            return self.release_table(lane) if self.hold_table(lane, table) else None
        return self._as_table(self._release(lane) if outcome == TOO_MANY else self._take(lane, outcome))

    def hold_table(self, lane: EngineLane, table: pa.Table) -> bool:
        """Let a few events wait; False: they must go through the graph."""
        columns = [table.column(number) for number in self.columns]
        newest = lane.hold_columns(self._number, columns, len(table))
        if newest is None:
            return False
        self._engine.gate.see(self._number, [newest])
        return True

    def release_table(self, lane: EngineLane) -> pa.Table:
        return self._as_table(self._release(lane))

    def _as_table(self, rows: FewRows | None) -> pa.Table:
        return self._no_rows if rows is None else self._finish(rows.as_table())

    def _finish(self, table: pa.Table) -> pa.Table:
        for vertex in self._rest:
            table = vertex.run([table])
        return table

    # --- tuples --------------------------------------------------------------------------------------------
    def push_packed(self, lane: EngineLane, count: int) -> list[tuple[Any, ...]] | None:
        """The rows that events bring about which the lane points to; None: they must go through the graph."""
        if self._waits:
            held = lane.push_held(self._number, count)
            if held is None:
                return self._push_patiently(lane, count)
            if held == TOO_MANY:
                return self._list_rows(self._release(lane))
            outcome = held
        else:
            outcome = lane.push_next(count)
            if outcome <= 0:
                return None
        if outcome == NOTHING:
            if lane.ahead > MOST_AHEAD:
                self._engine.look_after_lane()
            return []
        if not self._rest and (written := lane.count_written(outcome)):
            rows = self._reader(lane)(written, outcome & ABSENT != 0)
            self._engine.look_after_lane()
            return rows
        return self._list_rows(self._take(lane, outcome))

    def _push_patiently(self, lane: EngineLane, count: int) -> list[tuple[Any, ...]] | None:
        newest = lane.hold_next(self._number, count)
        if newest is None:
            return None
        self._engine.gate.see(self._number, [newest])
        return self._list_rows(self._release(lane))

    def _reader(self, lane: EngineLane) -> Reader:
        """What reads records as tuples of the answer."""
        records = lane.records
        assert records is not None, "rows were written there"
        if self._reads is None or self._reads[0] is not records:
            self._reads = records, records.make_reader(self._picks, self._shape)
        return self._reads[1]

    def _list_rows(self, rows: FewRows | None) -> list[tuple[Any, ...]]:
        if rows is None:
            return []
        if not self._rest:
            return list(zip(*rows.list_columns(), strict=True))
        return list_tuples(self._finish(rows.as_table()))

    # --- rows ----------------------------------------------------------------------------------------------
    def _release(self, lane: EngineLane) -> FewRows | None:
        """The rows of events that need not wait any longer."""
        engine = self._engine
        engine.gate.advance()
        outcome = lane.release()
        if outcome is None:  # many at once
            (table,) = engine.push([schema.empty_table() for schema in engine.inputs])
            return self._pick(FewRows(self._shape, table.columns, lane.interner)) if len(table) else None
        return self._take(lane, outcome)

    def _take(self, lane: EngineLane, outcome: int) -> FewRows | None:
        rows = lane.take(outcome)
        self._engine.look_after_lane()
        return None if rows is None else self._pick(rows)

    def _pick(self, rows: FewRows) -> FewRows:
        return FewRows(self._shape, [rows.columns[number] for number in self._picks], rows.interner)

    # --- where events are read -----------------------------------------------------------------------------
    def point(self, lane: EngineLane, sources: list[Source], owner: object) -> None:
        """Let the lane of the engine read the next events from here; one source for each of the columns."""
        if self._waits:
            lane.point_held(self._number, sources, owner)
        else:
            lane.point(sources, owner)

    def points_to(self, lane: EngineLane, owner: object) -> bool:
        return lane.points_held(self._number, owner) if self._waits else lane.points_to(owner)

    @property
    def engine_lane(self) -> EngineLane | None:
        """None: now, or always, events must go through the graph."""
        return self._engine.lane


def plan_lanes(host: StreamHost) -> dict[str, StreamLane]:
    """The short way for the events of each stream that has one."""
    engines = host.list_engines()
    if len(engines) != 1 or list(host.results) != ["query"] or len(engines[0].vertices) != 1:
        return {}
    (feed,) = engines
    if not isinstance(feed, EngineFeed):
        return {}
    behind, streams = _trace_out(host, feed.vertices[0]), feed.streams
    if behind is None or streams is None:
        return {}
    schema = host.schema_of(host.results["query"])
    inputs = [_trace_in(host, vertex) for vertex in host.inputs_of(feed.vertices[0])]
    return {
        stream: StreamLane(feed, number, schema, columns, behind)
        for number, (stream, columns) in enumerate(zip(streams, inputs, strict=True))
        if columns is not None
    }


def push_tables(lanes: Mapping[str, StreamLane], tables: Mapping[str, pa.Table]) -> pa.Table | set[str]:
    """A few events of several streams by their short ways: the rows, or the streams whose events must still go through
    the graph."""
    left = set(tables)
    lane = lanes[next(iter(tables))].engine_lane
    if lane is None or lane.holding is None or sum(map(len, tables.values())) > MOST_FEW:
        return left
    for stream, table in tables.items():
        if not lanes[stream].hold_table(lane, table):
            return left
        left.discard(stream)
    return lanes[stream].release_table(lane)


def _trace_in(host: StreamHost, vertex: str) -> tuple[int, ...] | None:
    """Which columns of a stream make up an input; None: it is not just those."""
    source = vertex
    picks: tuple[int, ...] = tuple(range(len(host.schema_of(source))))
    while (prepared := host.prepared(source)) is not None:
        if prepared.picks is None:
            return None
        picks = tuple(prepared.picks[number] for number in picks)
        (source,) = host.inputs_of(source)
    read = host.columns_of_source(source)
    return None if read is None else tuple(read[number] for number in picks)


def _trace_out(host: StreamHost, vertex: str) -> list[PreparedVertex] | None:
    """The vertices from an engine to the answer; None: there is something else among them."""
    behind: list[PreparedVertex] = []
    at = host.results["query"]
    while at != vertex:
        prepared = host.prepared(at)
        inputs = host.inputs_of(at)
        if prepared is None or len(inputs) != 1:
            return None
        behind.insert(0, prepared)
        at = inputs[0]
    return behind
