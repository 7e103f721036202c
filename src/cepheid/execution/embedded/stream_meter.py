"""What a running set of queries is measured by, between one observation and the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from cepheid.execution.embedded.stream_host import StreamHost
from cepheid.graph.attributes import Beliefs
from cepheid.measurement import Counts, MachineMeasurement, Observation, QueryMeasurement, VertexMeasurement

HERE = "this process"  # the one machine


class StreamMeter:
    def __init__(self, host: StreamHost) -> None:
        self._host = host
        self._since_s = 0.0
        self._events: Counter[str] = Counter()  # by stream
        self._pushes: dict[frozenset[str], tuple[int, float]] = {}  # by what was pushed: how often, seconds in all
        self._seen: dict[str, Counts] = {}  # by vertex that remembers, when it was last observed

    def note_push(self, tables: Mapping[str, pa.Table], seconds: float) -> None:
        for name, table in tables.items():
            self._events[name] += len(table)
        streams = frozenset(tables)
        times, before = self._pushes.get(streams, (0, 0.0))
        self._pushes[streams] = (times + 1, before + seconds)

    def observe(self, vertices_of: Mapping[str, list[str]], now_s: float) -> Observation:
        """vertices_of: by query.  Of vertices, sources are told and those that remember: all else follows from them."""
        span_s = max(now_s - self._since_s, 1e-9)
        busy_s = sum(seconds for _, seconds in self._pushes.values())
        machine = MachineMeasurement(name=HERE, is_there=True, cores=1, utilisation=min(1.0, busy_s / span_s))
        observation = Observation(
            at_s=now_s,
            since_s=self._since_s,
            queries=tuple(self._observe_query(query, span_s) for query in vertices_of),
            vertices=tuple(
                self._observe_vertex(query, vertex, span_s)
                for query, vertices in vertices_of.items()
                for vertex in vertices
                if vertex in self._host.feeds or vertex in self._host.sources
            ),
            machines=(machine,),
        )
        self._seen = {vertex: replace(feed.counts) for vertex, feed in self._host.feeds.items()}
        self._since_s, self._events, self._pushes = now_s, Counter(), {}
        return observation

    def believe(self) -> Beliefs:
        """What was measured of vertices that remember since they began."""
        beliefs = Beliefs()
        for feed in self._host.list_engines():
            if feed.counts.events and len(feed.vertices) == 1:
                (digest,) = feed.identity.digests
                beliefs = beliefs.renewed(digest, selectivity=feed.counts.rows / feed.counts.events)
        return beliefs

    def _observe_query(self, query: str, span_s: float) -> QueryMeasurement:
        streams = self._host.streams_of(query)
        concerned = [spent for pushed, spent in self._pushes.items() if not streams.isdisjoint(pushed)]
        pushes, seconds = sum(times for times, _ in concerned), sum(each for _, each in concerned)
        events = sum(self._events[stream] for stream in streams)
        latency_ms = 1000 * seconds / pushes if pushes else None
        return QueryMeasurement(query=query, throughput_per_s=events / span_s, latency_ms=latency_ms)

    def _observe_vertex(self, query: str, vertex: str, span_s: float) -> VertexMeasurement:
        if vertex in self._host.sources:
            passed = self._events[self._host.sources[vertex][0]] / span_s
            return VertexMeasurement(
                query=query, vertex=vertex, machine=HERE, processed_per_s=passed, waiting=0.0, dropped=0.0
            )
        counts, before = self._host.feeds[vertex].counts, self._seen.get(vertex, Counts())
        return VertexMeasurement(
            query=query,
            vertex=vertex,
            machine=HERE,
            processed_per_s=(counts.events - before.events) / span_s,
            waiting=counts.held,
            dropped=counts.dropped + counts.late - before.dropped - before.late,
        )
