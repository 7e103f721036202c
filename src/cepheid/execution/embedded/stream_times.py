"""How far time has come on the streams of a host: which of them are idle, and which hold up the others.

pushed tables ─▶ newest times ─▶ clocks (disorder/stream_clocks.py) ─▶ heartbeats of idle streams ─▶ engines
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pyarrow as pa

from cepheid.disorder.stream_clocks import Company, StreamClocks, find_companies
from cepheid.errors import NotSupportedYet
from cepheid.event_time import BEGINNING, find_span
from cepheid.graph import row_times
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.measurement import Counts, StreamTime
from cepheid.processing_time import base_name, stream_of

Tables = Mapping[str, pa.Table]


class Clocked(Protocol):
    """What waits until streams have come far enough."""

    @property
    def counts(self) -> Counts: ...

    def list_clocks(self) -> list[tuple[str, int]]: ...


class StreamTimes:
    """The clocks of the streams that engines of a host read; they are asked only if some stream may be idle."""

    def __init__(self, idle_after_us: Mapping[str, int], lateness_us: int) -> None:
        self._clocks = StreamClocks(idle_after_us)
        self._lateness_us = lateness_us
        self._companies: list[Company] = []
        self._columns: dict[str, list[str]] = {}  # by stream: those that order its events somewhere

    @property
    def are_needed(self) -> bool:
        """May streams be idle that others wait for?"""
        return any(not company.isdisjoint(self._clocks.idle_after_us) for company in self._companies)

    @property
    def are_known(self) -> bool:
        """Is there something that a snapshot has to keep?"""
        return any(self._clocks.write_state().values())

    def expect(self, name: str, idle_after_us: int) -> None:
        """One more stream that may be idle."""
        self._clocks.idle_after_us[name] = idle_after_us

    def meet(self, streams_of: Iterable[frozenset[str]]) -> None:
        """Who waits for whom, now.  streams_of: each engine, the streams that it is made of."""
        self._companies = find_companies(streams_of)

    def read_graph(self, graph: QueryGraph) -> None:
        """By which columns streams are ordered, in what was added."""
        for vertex, node in graph.vertices.items():
            for feed in graph.inputs(vertex) if isinstance(node, EngineNode) else ():
                below = (graph.vertices[name] for name in graph.reach(feed, graph.inputs))
                self._read_feed(graph, feed, {each.name for each in below if isinstance(each, Source)})

    def _read_feed(self, graph: QueryGraph, feed: str, streams: set[str]) -> None:
        times = row_times.trace_times(graph, feed, "_time")
        for time in times or ():
            columns = self._columns.setdefault(time.stream, []) if isinstance(time, row_times.StreamTime) else []
            if isinstance(time, row_times.StreamTime) and time.column not in columns:
                columns.append(time.column)
        if times is None and not streams.isdisjoint(self._alone()):
            raise NotSupportedYet(
                f"idle_after for {' and '.join(sorted(streams))}, whose time is computed in the query,",
                hint="order by a column of the stream itself, or send heartbeats: query.advance(to=...)",
            )

    def _alone(self) -> set[str]:
        """Streams that may be idle."""
        together: set[str] = set().union(*self._companies)
        return together & self._clocks.idle_after_us.keys()

    def hear(self, tables: Tables, heard: Mapping[str, int], newest: Mapping[str, int] | None) -> dict[str, int]:
        """Heartbeats after one more batch; newest: of streams, if others know more of them than the tables tell."""
        spans = {name: self._find_span(name, table) for name, table in tables.items() if newest is None and len(table)}
        told = {name: span[1] for name, span in spans.items()} if newest is None else newest
        oldest = {name: span[0] for name, span in spans.items()} if newest is None else newest
        delays = dict.fromkeys(told, self._lateness_us)
        return self._clocks.see(self._companies, told, heard, delays, oldest)

    def pace_idle(self) -> dict[str, int]:
        """By idle stream: how far those have come that are not."""
        return self._clocks.pace_idle(self._companies) if self.are_needed else {}

    def _find_span(self, name: str, table: pa.Table) -> tuple[int, int]:
        """Of a stream that is ordered by several columns, what holds for all of them."""
        spans = [find_span(table.column(column)) for column in self._columns.get(name, ())]
        return min(spans, key=lambda span: span[1], default=(BEGINNING, BEGINNING))

    def describe(self, feeds: Iterable[Clocked]) -> dict[str, StreamTime]:
        """How far each stream has come, and how many events wait because it is behind."""
        idle: Company = frozenset().union(*(self._clocks.find_idle(company) for company in self._companies))
        reached: dict[str, int] = {}
        waiting: Counter[str] = Counter()
        for feed in feeds:
            clocks = feed.list_clocks()
            slowest = min((time for _, time in clocks), default=BEGINNING)
            for name, time in clocks:
                if name:
                    reached[name] = min(reached.get(name, time), time)
            if feed.counts.held and len({name for name, _ in clocks}) > 1 and max(t for _, t in clocks) > slowest:
                waiting.update(dict.fromkeys({name for name, time in clocks if time == slowest}, feed.counts.held))
        told = {name: name for name in reached if base_name(name) is None}
        told |= {stream_of(name): name for name in reached if stream_of(name) not in told}  # with stamps only
        return {
            stream: StreamTime(clock=_read_clock(reached[name]), idle=name in idle, waiting=waiting[name])
            for stream, name in sorted(told.items())
        }

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> dict[str, Any]:
        return self._clocks.write_state()

    def read_state(self, state: Mapping[str, Any]) -> None:
        self._clocks.read_state(state)


def _read_clock(time: int) -> datetime | None:
    if time <= BEGINNING:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
    except OverflowError:  # further than datetimes go
        return datetime.max.replace(tzinfo=UTC) if time > 0 else datetime.min.replace(tzinfo=UTC)
