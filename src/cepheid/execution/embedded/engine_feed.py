"""An engine of a continuous query at work, and what tells it how far time has come.

The horizon follows the newest event of each stream that feeds the engine, less the lateness; where the rows of
another engine feed it, it follows the oldest event, or moment, that those may still be about.  The slowest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.disorder.gate import Gate
from cepheid.errors import InvalidOrder, NotSupportedYet, SnapshotMismatch
from cepheid.event_time import BEGINNING, END, is_event_time, newest_time
from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.embedded.row_queue import RowQueue, with_places
from cepheid.execution.engine import Engine, name_events
from cepheid.execution.engine_identity import RESTART_HINT, EngineIdentity, identify_engine
from cepheid.execution.operator import KeptEvents
from cepheid.graph.column_origin import name_columns, trace_columns
from cepheid.graph.identity import cell_meanings
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.row_times import RowTime, StreamTime, trace_times
from cepheid.measurement import Counts

Tables = Mapping[str, pa.Table]
Heard = Mapping[str, int]
Newest = Callable[[pa.Table, Tables], int]


@dataclass(frozen=True)
class RowsBelow:
    """The engines whose rows an input is made of, each with its lag: how far the times may be behind the moments of
    its rows.  streams, clocks: what the input is made of besides."""

    engines: tuple[tuple[Any, int], ...]  # EngineFeed or ChangingFeed
    streams: tuple[str, ...] = ()
    clocks: tuple[Newest, ...] = ()

    @property
    def floor(self) -> int:
        """No row that is still to come has an older time."""
        return max(BEGINNING, min(feed.floor - lag for feed, lag in self.engines))

    @property
    def settled_floor(self) -> int:
        return max(BEGINNING, min(feed.settled_floor - lag for feed, lag in self.engines))

    def make_clocks(self, lateness_us: int) -> list[Newest]:
        """Those of the streams, and one for the rows, which are never late."""
        return [*self.clocks, lambda _, __: self.floor + lateness_us]


class EngineFeed:
    """The vertices that share an engine.  `below`: the runs of engines that may feed it."""

    def __init__(
        self,
        graph: QueryGraph,
        vertices: list[str],
        inputs: list[pa.Schema],
        below: Mapping[str, EngineFeed],
        lateness_us: int,
    ) -> None:
        self.vertices = vertices
        vertex = vertices[0]
        nodes = [node for name in vertices if isinstance(node := graph.vertices[name], EngineNode)]
        feeds = graph.inputs(vertex)
        self._under = [find_engine_under(graph, feed, below) for feed in feeds]
        self._clocks = [
            make_clocks(graph, feed) if under is None or not under.clocks else under.make_clocks(lateness_us)
            for feed, under in zip(feeds, self._under, strict=True)
        ]
        self._streams = [
            name_streams(graph, feed) if under is None or not under.clocks else [*under.streams, ""]
            for feed, under in zip(feeds, self._under, strict=True)
        ]
        self._names = name_columns(graph, vertex)
        self._origins = None if any(self._under) else _find_origins(graph, feeds)
        self.is_read = any(is_read_by_engines(graph, name) for name in vertices)
        self.floor = BEGINNING  # no row that is still to come is about an event older than this
        many = len(inputs) > 1
        self._queue: RowQueue | None = None
        identity = identify_engine(graph, vertices)
        delays_us, streams = [lateness_us] * len(inputs), [len(clocks) for clocks in self._clocks]
        self._cells = cell_meanings(graph, vertex)
        first = nodes[0]
        if isinstance(first, RowPattern | Sequence) and is_read_by_engines(graph, vertex):
            placed: list[EngineNode] = [with_places(first, many)]
            self.engine = Engine(placed, inputs, identity=identity, delays_us=delays_us, streams=streams, few=True)
            self._queue = RowQueue(first, many, self.engine.schemas[0])
        else:
            self.engine = Engine(nodes, inputs, identity=identity, delays_us=delays_us, streams=streams, few=True)
        self.schemas = [
            pa.schema([schema.field(name) for name in node.cell_names()])
            for schema, node in zip(self.engine.schemas, nodes, strict=True)
        ]
        self._owed: pa.Table | None = None  # rows that waited in a queue which is no longer there
        check_event_time(self.engine.layout)

    @property
    def reads_streams(self) -> bool:
        """Does it read events that users push?"""
        return any(under is None or under.clocks for under in self._under)

    @property
    def counts(self) -> Counts:
        return self.engine.counts

    @property
    def identity(self) -> EngineIdentity:
        return self.engine.identity

    def push(self, inputs: list[pa.Table], tables: Tables, heard: Heard) -> list[pa.Table]:
        """The rows of each vertex that are settled by one more batch; `tables`: what was pushed, by stream; `heard`: of
        some streams, that no event older than this will come."""
        gate = self.engine.gate
        for number, (under, layout) in enumerate(zip(self._under, inputs, strict=True)):
            if under is None or under.clocks:
                gate.see(number, [clock(layout, tables) for clock in self._clocks[number]])
                if heard:
                    gate.hear(number, [heard.get(name, BEGINNING) for name in self._streams[number]])
            else:
                gate.follow(number, under.floor)
        rows = self.engine.push(inputs)
        if self._queue is None:
            self.floor = self.engine.floor() if self.is_read else BEGINNING
            return self._pay(rows)
        floor = self.engine.floor()
        ready = self._queue.pass_on(rows[0], floor)
        self.floor = min(floor, self._queue.oldest())
        return [ready]

    @property
    def streams(self) -> list[str] | None:
        """For each input the stream that it is made of, each another one; None: that is not so, or rows may have to
        wait for those that read them."""
        simple = self._queue is None and self._owed is None and not self.is_read
        return self._origins if simple else None

    def list_clocks(self) -> list[tuple[str, int]]:
        """Streams that its inputs are made of, each with the time that it has reached there."""
        return list_clocks(self._streams, self.engine.gate, self._under)

    def finish(self, inputs: list[pa.Table]) -> list[pa.Table]:
        """The rows that are left, given the last events."""
        last = zip(self.engine.push(inputs), self.engine.finish(), strict=True)
        rows = [pa.concat_tables(parts) for parts in last]
        return self._pay(rows) if self._queue is None else [self._queue.pass_on(rows[0], END)]

    def _pay(self, rows: list[pa.Table]) -> list[pa.Table]:
        if self._owed is None:
            return rows
        owed, self._owed = self._owed, None
        return [pa.concat_tables([owed, rows[0]])]

    def take_late(self) -> pa.Table:
        """The late events, under the names that users know; they are given out once."""
        late, self.engine.late = self.engine.late, []
        return name_events(pa.concat_tables([self.engine.layout.empty_table(), *late]), self._names)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        """What the engine knows: a header for JSON, and parts."""
        kept = self.engine.keep()
        table = kept.table
        for name, values in {"_role": kept.roles, "_number": kept.numbers, "_taken": kept.taken}.items():
            table = table.append_column(name, pa.array(values))
        queued = [] if self._queue is None else [self._queue.waiting]
        header = {
            **self.engine.identity.header(),
            "cells": self._cells if queued else {},
            "horizon": kept.horizon,
            "arrivals": kept.arrivals,
            "newest": self.engine.gate.newest,
            "reached": self.engine.gate.reached,
            "floor": self.floor,
            "counts": self.counts.as_dict(),
        }
        return header, [kept.partials, *(write_table(part) for part in (table, *queued, *self.engine.late))]

    def read_state(self, header: Mapping[str, Any], parts: list[bytes]) -> None:
        """Go on from there."""
        if header.get("changing"):
            raise SnapshotMismatch(
                f"the snapshot is of events that come and go: {header['described'][0]}",
                hint=f"open it with the streams that it was taken with; {RESTART_HINT}",
            )
        engine, columns = self.engine, header["columns"]
        table, *others = [read_table_bytes(part) for part in parts[1:]]
        kept_events = KeptEvents(
            table=engine.identity.fit_events(table, columns, engine.layout),
            roles=table.column("_role").to_numpy().astype(np.uint8),
            numbers=table.column("_number").to_numpy(),
            taken=table.column("_taken").to_numpy(),
            horizon=header["horizon"],
            arrivals=header["arrivals"],
            partials=parts[0],
        )
        members = [header["digests"].index(digest) for digest in engine.identity.digests]
        if members != list(range(len(header["digests"]))):
            kept_events = engine.pick(kept_events, members)
        engine.restore(kept_events)
        if header["cells"]:
            waiting, *others = others
            self._take_waiting(waiting, header["cells"])
        engine.late = [engine.identity.fit_events(late, columns, engine.layout) for late in others]
        held, kept = self.counts.held, self.counts.kept
        self.engine.counts = Counts(**{**header["counts"], "held": held, "kept": kept})
        self.engine.gate.newest, self.floor = [list(each) for each in header["newest"]], header["floor"]
        for number, reached in enumerate(header.get("reached", ())):
            self.engine.gate.hear(number, reached)

    @property
    def waiting(self) -> pa.Table | None:
        """Rows that wait to be read in order, with their places; None: they need not wait here."""
        return None if self._queue is None else self._queue.waiting

    def take_part(self, whole: EngineFeed, kept: KeptEvents, waiting: pa.Table | None) -> None:
        """Go on with a share of the keys of another feed of the same vertices; waiting: the rows of its queue."""
        assert whole._owed is None, "rows that are owed were paid by the last push"
        self.engine.restore(kept)
        self.engine.gate.newest = [list(each) for each in whole.engine.gate.newest]
        for number, reached in enumerate(whole.engine.gate.reached):
            self.engine.gate.hear(number, reached)
        self.floor = whole.floor
        if self._queue is not None:
            assert waiting is not None, "the same vertices have the same queues"
            self._queue.waiting = waiting

    def _take_waiting(self, waiting: pa.Table, stored: Mapping[str, str]) -> None:
        """Rows that waited to be read in order; cells may have other names now."""
        names = {meaning: name for name, meaning in self._cells.items()}
        waiting = waiting.rename_columns([names.get(stored.get(name, ""), name) for name in waiting.column_names])
        if self._queue is not None:
            self._queue.waiting = waiting.select(self._queue.waiting.column_names)
        elif len(waiting):
            self._owed = waiting.select(self.schemas[0].names).cast(self.schemas[0])


def list_clocks(streams: list[list[str]], gate: Gate, under: list[RowsBelow | None]) -> list[tuple[str, int]]:
    """Streams that inputs are made of, each with the time that it has reached at the gate."""
    return [
        pair
        for names, reached, below in zip(streams, gate.reached, under, strict=True)
        if below is None or below.clocks
        for pair in zip(names, reached, strict=True)
    ]


def check_event_time(layout: pa.Schema) -> None:
    """A whole number is event time as well: it counts as microseconds do."""
    time_type = layout.field("_time").type
    if not is_event_time(time_type) and not pa.types.is_integer(time_type):
        raise InvalidOrder(
            f"a stream is ordered by event time, but ORDER BY names a column of type {time_type}",
            hint="order by a timestamp or a whole number",
        )


def _reads_engines(graph: QueryGraph, vertex: str) -> bool:
    below = graph.reach(vertex, graph.inputs)
    return any(isinstance(graph.vertices[name], EngineNode) for name in below)


def is_read_by_engines(graph: QueryGraph, vertex: str) -> bool:
    above = [name for name in graph.reach(vertex, graph.outputs) if name != vertex]
    return any(isinstance(graph.vertices[name], EngineNode) for name in above)


def find_engine_under(graph: QueryGraph, feed: str, below: Mapping[str, Any]) -> RowsBelow | None:
    """The engine whose rows make up an input; None if it is made of events that users push."""
    if not _reads_engines(graph, feed):
        return None
    times = trace_times(graph, feed, "_time")
    if times is None:
        raise NotSupportedYet(
            "a continuous pattern or window over the rows of another, if ORDER BY is not the time of one of its events",
            hint="order it by such a time: LAST(b.ts), FIRST(a.ts); of a window: window_end, max(ts)",
        )
    engines = tuple((below[time.vertex], time.lag) for time in times if isinstance(time, RowTime))
    streams = [time for time in times if isinstance(time, StreamTime)]
    clocks = tuple(_make_clock(time.stream, time.column) for time in streams)
    return RowsBelow(engines, tuple(time.stream for time in streams), clocks)


def make_clocks(graph: QueryGraph, feed: str) -> list[Newest]:
    """The newest time of each stream in an input, told by all its events: those filtered out move time on as well."""
    origins = trace_columns(graph, feed, "_time")
    if origins is None:
        return [lambda layout, _: newest_time(layout.column("_time"))]
    return [_make_clock(source.name, column) for source, column in origins]


def _find_origins(graph: QueryGraph, feeds: list[str]) -> list[str] | None:
    """The stream that the times of each input of an engine come from, if each comes from another one."""
    origins = [trace_columns(graph, feed, "_time") for feed in feeds]
    streams = [each[0][0].name for each in origins if each is not None and len(each) == 1]
    return streams if len(set(streams)) == len(feeds) else None


def _make_clock(stream: str, column: str) -> Newest:
    return lambda _, tables: newest_time(tables[stream].column(column)) if stream in tables else BEGINNING


def name_streams(graph: QueryGraph, feed: str) -> list[str]:
    """The streams whose own time orders an input; where it is computed, nobody outside can say how far it has come."""
    return [source.name for source, _ in trace_columns(graph, feed, "_time") or []] or [""]
