"""A continuous query in this process: push batches, get rows as soon as they are settled.

    query = cep.open("SELECT ...", buses=schema)
    rows = query.push(buses=batch)       an Arrow table
    rest = query.finish()

Everything in the query's graph runs over each batch, from producers to the consumer: filters and projections look at
single rows, patterns remember.  A snapshot is one blob; a query opened with it goes on where it was taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from cepheid.collector import collecting_later
from cepheid.disorder.lateness_report import LatenessReport
from cepheid.errors import EmptyStateWarning, InvalidInput, NotSupportedYet, WaitingStreamWarning
from cepheid.event_time import in_microseconds, read_moment
from cepheid.execution.blob import write_blob
from cepheid.execution.embedded.engine_feed import EngineFeed
from cepheid.execution.embedded.feed import Feed
from cepheid.execution.embedded.saved_state import (
    OnChange,
    Restored,
    SavedEngine,
    SavedState,
    list_stateful,
    write_saved_state,
)
from cepheid.execution.embedded.stream_host import StreamHost
from cepheid.execution.embedded.stream_inputs import StreamInputs
from cepheid.execution.embedded.stream_lane import plan_lanes, push_tables
from cepheid.lookups import Database, Table
from cepheid.measurement import CountedVertices, Counts
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import Clock
from cepheid.schema import empty_table, has_changes
from cepheid.settings import Settings

if TYPE_CHECKING:  # few queries look at it
    from cepheid.disorder.lateness_watch import LatenessWatch

MANY_WAITING = 10_000  # events: if so many wait because a stream is silent, people are told


class ContinuousQuery:
    """One query or several, their stateful vertices and what those know."""

    def __init__(
        self,
        placed: PlacedGraph,
        schemas: Mapping[str, pa.Schema],
        settings: Settings,
        snapshot: bytes | None = None,
        several: bool = False,
        lookups: Mapping[str, Table | Database] | None = None,
        on_change: OnChange = "refuse",
        clock: Clock | None = None,
        origin: str = "",
    ) -> None:
        """several: answers are told by the names of the queries; lookups: tables that events are looked up in;
        on_change: what to do with a query that is not the one in the snapshot; origin: of several that share streams,
        each has one of its own."""
        self._several = several
        self._inputs = StreamInputs(schemas)
        schemas = self._inputs.schemas
        self._graph, self._emit = placed.graph, settings.emit
        self._host = make_host(schemas, lookups or {}, settings, clock, origin=origin)
        saved = None if snapshot is None else SavedState.read(snapshot, settings.emit)
        self.restored = Restored() if saved is None else saved.compare(list_stateful(self._graph), on_change)
        self._result_schemas = self._host.open(placed, saved)
        has_lanes = self._host.may_take_short_way and not several and not self._host.times.are_needed
        self._short = plan_lanes(self._host) if has_lanes else {}  # by stream: a short way for a few events
        self._feeds: list[Feed] = []
        self._has_kernels = False  # they are loaded at the first push
        self._finished = False
        self._unseen = 0  # events since we last looked whether a stream holds up the others
        if self.restored.empty:
            message = f"not in the snapshot, and begin empty: {', '.join(self.restored.empty)}"
            warnings.warn(message, EmptyStateWarning, stacklevel=3)

    def push(self, **batches: Any) -> Any:
        """Take in events of one or more streams; give the rows that are settled now: a table, or, if several queries
        were opened together, one by the name of each."""
        self._refuse_finished()
        tables = self._inputs.read(batches)
        if not self._has_kernels:
            self._has_kernels = True
            with collecting_later():
                return self._push(tables)
        if len(self._inputs.schemas) > 1:  # one stream alone waits for no other
            self._unseen += sum(map(len, tables.values()))
            if self._unseen >= MANY_WAITING:
                self._unseen = 0
                warn_of_waiting(self._host.count())
        return self._push(tables)

    def _push(self, tables: dict[str, pa.Table]) -> Any:
        short = self._short
        if len(tables) == 1:
            ((stream, table),) = tables.items()
            rows = short[stream].push_table(table) if stream in short else None
            if rows is not None:
                return rows
        elif tables and all(name in short for name in tables):
            found = push_tables(short, tables)
            if isinstance(found, pa.Table):
                return found
            tables = {name: table for name, table in tables.items() if name in found}
        return self._by_name(self._host.run(tables))

    def feed(self, stream: str) -> Feed:
        """A feed for single events of a stream, and for lists of them: tuples in, tuples out."""
        self._inputs.check([stream])
        self._feeds.append(Feed(stream, self._inputs.schemas[stream], self._short.get(stream), self.push))
        return self._feeds[-1]

    def push_heard(
        self, tables: Mapping[str, pa.Table], heard: Mapping[str, int], newest: Mapping[str, int] | None = None
    ) -> Any:
        """For other hosts: tables of every stream in its schema, how far time has come on each, and which of them have
        spoken, if only elsewhere, with the newest time of each."""
        return self._by_name(self._host.run(tables, heard=heard, newest=newest))

    def is_waiting(self) -> bool:
        """May rows come out when only time moves on?"""
        return self._host.is_waiting()

    def advance(self, to: datetime | int | None = None, stream: str | None = None) -> Any:
        """A heartbeat: no event older than this will come, on any stream or on the one that is named.  Gives the rows
        that this settles.  A number is in microseconds since 1970; a datetime without a zone is UTC.  Without a moment
        only processing time goes on, to what the clock says."""
        self._refuse_finished()
        tables = self._inputs.read_nothing(stream)
        return self._by_name(self._host.run(tables, heard=read_heartbeat(to, tables, self._host.stamps.streams)))

    def finish(self) -> Any:
        """No more events will come: give all rows that are left."""
        self._refuse_finished()
        self._finished = True
        self._short = {}
        for feed in self._feeds:
            feed.close()
        rest = self._by_name(self._host.run(self._inputs.read_nothing(), last=True))
        self._host.close()
        return rest

    def close(self) -> None:
        """Let go of what it holds open; nothing is given any more.  May be called twice, and after `finish`."""
        self._finished = True
        self._short = {}
        for feed in self._feeds:
            feed.close()
        self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def snapshot(self) -> bytes:
        """All the query knows, as bytes; `cep.open(text, ..., snapshot=blob)` goes on from there."""
        return write_blob(*self.write_state())

    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        """For other hosts, which write only those parts of a snapshot that are new."""
        self._refuse_finished()
        return write_saved_state(
            list_stateful(self._graph),
            [SavedEngine(*run.write_state()) for run in self._host.list_engines()],
            self._emit,
            self._host.save_streams(),
        )

    def explain_kept_rows(self) -> list[str]:
        """What relational parts keep for ever, one sentence for each."""
        return [reason for view in self._host.list_views() for reason in view.explain_kept_rows()]

    def explain_waiting_rows(self) -> list[str]:
        """Which rows come at the end only."""
        return [told for view in self._host.list_views() if (told := view.explain_waiting()) is not None]

    def list_watches(self) -> list[LatenessWatch]:
        """For other hosts, which put together what several of these know of late events."""
        return self._host.list_watches()

    def list_engines(self) -> list[EngineFeed]:
        """For other hosts, which split what the engines know: each once."""
        return [feed for feed in self._host.list_engines() if isinstance(feed, EngineFeed)]

    def take_clocks(self, whole: ContinuousQuery) -> None:
        """For other hosts: know of time what a query knows that this one takes a part of."""
        self._host.times.read_state(whole._host.times.write_state())

    def late_events(self) -> pa.Table:
        """Events that came after the horizon had passed them, with the columns that the query reads.

        They are taken out of the query; how many there were stays in `counts`.  An event that is late for several
        engines is told by each.
        """
        return self._host.take_late()

    @property
    def counts(self) -> Counts:
        """What was counted by all engines and look-ups together."""
        return self._host.count()

    @property
    def lateness(self) -> LatenessReport | None:
        """How late events are, how long they wait, what corrections there are; None without `cep.Disorder`."""
        return self._host.report_lateness()

    @property
    def measurements(self) -> dict[str, CountedVertices]:
        """By the digest of each vertex that remembers: what was counted where it runs."""
        return {
            digest: CountedVertices(labels=tuple(run.vertices), digests=run.identity.digests, counts=run.counts)
            for run in self._host.list_engines()
            for digest in run.identity.digests
        }

    @property
    def lookups(self) -> dict[str, dict[str, int]]:
        """What was counted of each database: answers that were remembered (hits) and asked for (misses, fetches),
        failures, and events that went without an answer while it was away (unanswered)."""
        return self._host.count_lookups()

    @property
    def schema(self) -> Any:
        """The columns of the rows that come out; by name, if several queries were opened together."""
        return self._by_name(dict(self._result_schemas))

    def _by_name(self, results: dict[str, Any]) -> Any:
        """Of each query; nothing came out of those that no pushed stream leads to."""
        for name, schema in self._result_schemas.items():
            if name not in results:
                results[name] = empty_table(schema)
        return results if self._several else results["query"]

    def _refuse_finished(self) -> None:
        if self._finished:
            raise InvalidInput("the query is finished", hint="open a new one")


def read_heartbeat(to: datetime | int | None, streams: Collection[str], stamped: Collection[str]) -> dict[str, int]:
    """By stream: no older event will come.  stamped: streams whose time is the clock's, which is asked anyway."""
    if to is None and not set(streams).issuperset(stamped or [""]):
        told = ", ".join(streams)
        raise InvalidInput(f"how far has {told} come? It is no moment", hint="advance(to=datetime(...))")
    return {} if to is None else dict.fromkeys(streams, read_moment(to))


def warn_of_waiting(counts: Counts) -> None:
    """Say which stream holds up the others, if many events wait for it."""
    for name, stream in counts.streams.items():
        if stream.waiting >= MANY_WAITING:
            said = "said nothing yet" if stream.clock is None else f"not gone beyond {stream.clock:%Y-%m-%d %H:%M:%S}"
            message = (
                f'{stream.waiting} events wait for the stream "{name}", which has {said}; give idle_after="30 s" if it '
                f'may be silent, or say how far it is: query.advance(to=..., stream="{name}")'
            )
            warnings.warn(message, WaitingStreamWarning, stacklevel=3)


def make_host(
    schemas: Mapping[str, pa.Schema],
    lookups: Mapping[str, Table | Database],
    settings: Settings,
    clock: Clock | None = None,
    reads_whole: bool = False,
    ends: bool = True,
    origin: str = "",
) -> StreamHost:
    """reads_whole, ends: see StreamHost; origin: see ChangingHost."""
    shown = settings.emit == "changes"
    changing = any(has_changes(name, schema) for name, schema in schemas.items())
    idle_after_us = settings.idle_after_us(schemas)
    bound_us = None if settings.lateness is None else in_microseconds(settings.lateness)
    wait_us = None if settings.wait is None else in_microseconds(settings.wait)
    follows = settings.waiting is not None and settings.waiting.follows_stream
    if not shown and not changing and not settings.corrects:
        return StreamHost(schemas, lookups, bound_us or 0, reads_whole, ends, idle_after_us, clock)
    if changing and idle_after_us:
        raise NotSupportedYet(
            "idle_after beside streams whose rows come and go", hint="push a later event to the stream that is silent"
        )
    from cepheid.execution.embedded.changing_host import ChangingHost, LateEvents

    corrects = settings.corrects and not changing
    chosen = LateEvents(bound_us, wait_us, settings.waiting if follows else None, shown, corrects)
    return ChangingHost(schemas, lookups, chosen, reads_whole, ends, idle_after_us, clock, origin, settings.changelog)
