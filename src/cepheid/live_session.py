"""A live session in this process: queries that are deployed, altered and retired while events flow.

    with cep.Session() as session:
        session.source("buses", {"bus": "int", "delay": "double", "ts": "timestamp"})
        session.deploy("late", "SELECT bus, avg(delay) AS delay FROM buses [RANGE 1 HOUR] GROUP BY bus")
        rows = session.push(buses=batch)["late"]

All queries are one graph (execution/embedded/shared_graph.py): what they have in common runs once.  A query gives the
rows that it would give alone from the moment it was deployed; whatever happens to one of them, the others go on, row
for row.  A session is a `Deployment`: it is observed and steered by the same actions as a simulated one.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.compiler import Compilation, Query, check_bounded, compile_query, explain_compilation
from cepheid.deployment import Action, Alter, Deploy, MoveGroups, Replan, Retire, Scale, TimedAction, Watched
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.event_time import in_microseconds
from cepheid.execution.blob import write_blob
from cepheid.execution.embedded.continuous import make_host, read_heartbeat
from cepheid.execution.embedded.engine_feed import EngineFeed
from cepheid.execution.embedded.saved_state import (
    OnChange,
    Restored,
    SavedEngine,
    SavedState,
    list_stateful,
    write_saved_state,
)
from cepheid.execution.embedded.shared_graph import SharedGraph
from cepheid.execution.embedded.stream_host import group_vertices
from cepheid.execution.embedded.stream_inputs import StreamInputs
from cepheid.execution.embedded.stream_meter import StreamMeter
from cepheid.execution.engine import Engine
from cepheid.execution.sinks.growing_files import GrowingFileSink
from cepheid.execution.sinks.kinds import open_sink
from cepheid.execution.sinks.sink import Sink
from cepheid.execution.sinks.whole_files import WholeFileSink
from cepheid.execution.sources.kinds import open_source
from cepheid.execution.sources.source import Source
from cepheid.graph.attributes import Beliefs
from cepheid.idle_streams import IdleAfter, read_idle_after, read_idle_span
from cepheid.language.catalog import Catalog
from cepheid.language.parsing.written_text import write_in
from cepheid.lateness import Disorder, check_disorder
from cepheid.lookups import Aggregate, Database, Table
from cepheid.measurement import Counts, Observation
from cepheid.processing_time import Clock, check_clock
from cepheid.schema import empty_table, has_changes, read_schema
from cepheid.session_inputs import (
    check_dialect,
    check_engines,
    check_on_change,
    make_catalog,
    read_aggregates,
    read_lateness,
)
from cepheid.settings import Settings, WrittenDialect, check_key_groups
from cepheid.spans import Span
from cepheid.user_functions import Function, read_functions

FILE_SINKS = (WholeFileSink, GrowingFileSink)  # whose columns cannot change


@dataclass(frozen=True, slots=True)
class Deployed:
    """A query that runs.  Of vertices that remember, by their digests: described, for people; labels, in the session;
    began, the moment of each.  What was compiled is not kept: thousands of queries would be millions of objects, and
    Python would stop for a second now and then to look through them."""

    query: Query
    described: Mapping[str, str]
    labels: Mapping[str, str]
    began: Mapping[str, Hashable]
    no_rows: pa.Table
    sink: Sink | None


class Session:
    """Many queries over streams, changed while it runs.

    lateness, disorder, strict, aggregates, functions: as for `cep.open`.  snapshot: of an earlier session, or of
    `cep.open`; a query goes on from there when it is deployed under its name again (`restored` says what became of
    each, `on_change` what to do with one that has changed).  clock: seconds, for measurements; or what PROCTIME() says
    as well, a `cep.ManualClock`.  idle_after: of all streams, or by name.  event_time: as for `cep.sql`.

    With a Spark session, and the place of a checkpoint instead of a snapshot, all runs there; see
    docs/reference/sessions-on-spark.md.
    """

    def __new__(cls, spark: Any = None, **settings: Any) -> Any:
        """With a Spark session, one on Spark, which is steered in the same way (execution/spark/live)."""
        return super().__new__(cls) if spark is None else _open_on_spark(spark, **settings)

    def __init__(
        self,
        spark: None = None,  # noqa: ARG002 (__new__ has looked at it)
        *,
        lateness: timedelta | None = None,
        strict: bool = False,
        aggregates: Mapping[str, Aggregate] | None = None,
        snapshot: bytes | None = None,
        on_change: OnChange = "refuse",
        clock: Callable[[], float] | Clock = time.monotonic,
        idle_after: IdleAfter | None = None,
        functions: Mapping[str, Function] | None = None,
        event_time: Mapping[str, str] | None = None,
        disorder: Disorder | None = None,
    ) -> None:
        if disorder is None:
            settings = Settings(lateness=read_lateness(lateness))
        else:
            settings = check_disorder(disorder, lateness).choose(Settings())
        self._strict, self._emit = strict, settings.emit
        self._aggregates, self._functions = aggregates, functions
        self._on_change = check_on_change(on_change)
        self._saved = None if snapshot is None else SavedState.read(snapshot, settings.emit)
        self._lookups: dict[str, Table | Database] = {}
        self._event_time = dict(event_time or {})
        self._inputs = StreamInputs({})
        self._sources: dict[str, Source] = {}
        self._catalog: Catalog | None = None
        stamping = None if callable(clock) else check_clock(clock)
        self._host = make_host(self._inputs.schemas, self._lookups, settings, stamping, reads_whole=True, ends=False)
        self._idle_after = read_idle_after(idle_after)
        self._host.read_streams(self._saved)
        self._shared = SharedGraph()
        self._deployed: dict[str, Deployed] = {}
        self._retired: dict[str, Query] = {}
        self.rows_given: Counter[str] = Counter()  # by query
        self._restored: dict[str, str] = {}
        self._moment = 0  # how many pushes there were
        self._finished = False
        self._changing = threading.RLock()  # one change at a time; events flow on while a query is compiled
        self._running = threading.Lock()  # one push at a time, or what a change has to do between two of them
        self._clock = clock if callable(clock) else lambda: check_clock(clock).now().timestamp()
        self._born_s = self._clock()
        self._meter = StreamMeter(self._host)
        self._actions: list[TimedAction] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *problem: object) -> None:
        self.close(give_up=kind is not None)

    # --- what there is -----------------------------------------------------------------------------------
    def source(self, name: str, given: Any, idle_after: Span | None = None) -> None:
        """A stream, by its schema, or by something that can be read (a file, a table; see `run`); or what events are
        looked up in, a `cep.Table` or a `cep.Database`.  idle_after: of this stream, if not as the session says."""
        span = self._read_idle_after(name) if idle_after is None else read_idle_span(idle_after)
        if idle_after is not None and isinstance(given, Table | Database):
            raise InvalidInput(f'"{name}" is looked up in, and is never waited for', hint="leave idle_after out")
        with self._changing:
            if name in self._inputs.schemas or name in self._lookups:
                raise InvalidInput(f'there is a source "{name}" already', hint="give the new one another name")
            if isinstance(given, Table | Database):
                self._lookups[name] = given
            elif isinstance(given, Mapping | pa.Schema):
                self._announce(name, read_schema(name, given))
            else:
                opened = open_source(given, name=name)
                self._announce(name, opened.schema)
                self._sources[name] = opened
            if span is not None:
                self._host.times.expect(name, in_microseconds(span))
            self._catalog = None

    def _read_idle_after(self, name: str) -> timedelta | None:
        given = self._idle_after
        return given.get(name) if isinstance(given, Mapping) else given

    def _announce(self, name: str, schema: pa.Schema) -> None:
        if has_changes(name, schema):
            raise NotSupportedYet("a stream whose rows come and go, in a session", hint="cep.open takes rows back")
        self._inputs.announce(name, schema)

    def deploy(self, name: str, query: Query, sink: Any = None, dialect: WrittenDialect | None = None) -> None:
        """Start a query.  sink: where its rows go (a file, a function, a list); without one, `push` gives them.
        dialect: whose SQL it is written in, as for `cep.sql`."""
        check_dialect(dialect, "trino")
        self.apply(Deploy(name=name, query=write_in(query, dialect), sink=sink))

    def send(self, name: str, sink: Any) -> None:
        """From now on, the rows of a query go to another sink; the one before is closed."""
        with self._changing:
            deployed = self._find(name)
            opened = open_sink(sink, name=name, schema=deployed.no_rows.schema)
            with self._running:
                self._deployed[name] = replace(deployed, sink=opened)
            if deployed.sink is not None:
                deployed.sink.close()

    def alter(self, name: str, query: Query, dialect: WrittenDialect | None = None) -> None:
        """Put another query in the place of one.  What both compute alike keeps what it knows."""
        check_dialect(dialect, "trino")
        self.apply(Alter(name=name, query=write_in(query, dialect)))

    def retire(self, name: str) -> None:
        """End a query; rows that are not settled yet are not given out."""
        self.apply(Retire(name=name))

    def explain(self, name: str, step: str = "rewritten", format: str = "text") -> str:  # noqa: A002 (as cep.explain)
        return explain_compilation(self._compile(name, self._find(name).query), step, format)

    @property
    def queries(self) -> dict[str, Query]:
        return {name: deployed.query for name, deployed in self._deployed.items()}

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query's rows."""
        return {name: deployed.no_rows.schema for name, deployed in self._deployed.items()}

    def owners(self, name: str, vertex: str) -> list[int]:
        """By key group of a vertex: the number of the engine that has it; empty if one engine has all."""
        feeds = [feed for feed in self._feeds_of(name) if vertex in feed.vertices]
        return feeds[0].engine.owners if feeds else []

    @property
    def restored(self) -> Restored:
        """What became of the queries of the snapshot; dropped: those that were not deployed until now."""
        known = () if self._saved is None else self._saved.queries
        return Restored(
            kept=tuple(name for name, fate in self._restored.items() if fate == "kept"),
            restarted=tuple(name for name, fate in self._restored.items() if fate == "restarted"),
            dropped=tuple(name for name in known if name not in self._restored),
        )

    # --- events ------------------------------------------------------------------------------------------
    def push(self, **batches: Any) -> dict[str, pa.Table]:
        """Take in events of one or more streams; give, for each query without a sink, the rows that are settled now."""
        self._refuse_finished()
        tables = self._inputs.read(batches)
        with self._running:
            begun = self._clock()
            self._moment += 1
            rows = self._host.run(tables)
            self._meter.note_push(tables, self._clock() - begun)
            return self._give_out(rows)

    def advance(self, to: datetime | int | None = None, stream: str | None = None) -> dict[str, pa.Table]:
        """A heartbeat: no event older than this will come, on any stream or on one; as for `cep.open`."""
        self._refuse_finished()
        with self._running:
            tables = self._inputs.read_nothing(stream)
            return self._give_out(self._host.run(tables, heard=read_heartbeat(to, tables, self._host.stamps.streams)))

    def finish(self) -> dict[str, pa.Table]:
        """No more events will come: give all rows that are left, and close the sinks."""
        self._refuse_finished()
        with self._running:
            self._finished = True
            rows = self._give_out(self._host.run(self._inputs.read_nothing(), last=True))
        self._close_all()
        return rows

    def run(self, rows_at_once: int = 65_536, on_push: Callable[[int], object] | None = None) -> dict[str, pa.Table]:
        """Push all that the sources of the session have to read, some of each in turn, and finish.  on_push: is told
        again and again how many events went in."""
        readers = {name: iter(source.read(rows_at_once)) for name, source in self._sources.items()}
        if not readers:
            raise InvalidInput("no source of this session can be read", hint='session.source("buses", "buses.parquet")')
        found: dict[str, list[pa.Table]] = {name: [empty_table(schema)] for name, schema in self.schemas.items()}
        while readers:
            batches = {name: next(reader, None) for name, reader in readers.items()}
            readers = {name: reader for name, reader in readers.items() if batches[name] is not None}
            given = {name: batch for name, batch in batches.items() if batch is not None}
            for name, table in self.push(**given).items():
                found[name].append(table)
            if on_push is not None:
                on_push(sum(map(len, given.values())))
        for name, table in self.finish().items():
            found[name].append(table)
        return {name: pa.concat_tables(tables) for name, tables in found.items()}

    def late_events(self) -> pa.Table:
        """Events that came too late, of all queries; given out once."""
        with self._running:
            return self._host.take_late()

    def snapshot(self) -> bytes:
        """All that the session knows, as bytes.  `cep.Session(snapshot=blob)` goes on from there, once the same sources
        are announced and the same queries deployed."""
        self._refuse_finished()
        with self._changing, self._running:
            stateful = {name: deployed.described for name, deployed in self._deployed.items()}
            engines = []
            for feed in self._host.list_engines():
                header, parts = feed.write_state()
                users = [name for name, labels in self._shared.of.items() if not set(labels).isdisjoint(feed.vertices)]
                engines.append(SavedEngine({**header, "queries": users}, parts))
            return write_blob(*write_saved_state(stateful, engines, self._emit, self._host.save_streams()))

    def close(self, give_up: bool = False) -> None:
        """Give up what is not settled; sinks keep what was written.  give_up: files that are written as a whole are
        given up, too, so that nobody takes a part for the whole."""
        if not self._finished:
            self._finished = True
            if give_up:
                self._deployed = {name: replace(deployed, sink=None) for name, deployed in self._deployed.items()}
            self._close_all()

    # --- a deployment ------------------------------------------------------------------------------------
    @property
    def now_s(self) -> float:
        return self._clock() - self._born_s

    def apply(self, action: Action) -> None:
        """Carry out an action, or raise and leave all as it was."""
        self._refuse_finished()
        with self._changing:
            match action:
                case Deploy(name=name, query=query, sink=sink):
                    self._deploy(name, query, sink)
                case Alter(name=name, query=query):
                    self._alter(name, query)
                case Retire(name=name):
                    self._retire(name)
                case Replan(names=names):
                    beliefs = self._meter.believe()
                    for name in names or tuple(self._deployed):
                        self._alter(name, self._find(name).query, beliefs)
                case Scale():
                    self._scale(action)
                case MoveGroups(query=name, vertex=vertex, groups=groups, engine=engine):
                    with self._running:
                        self._find_engine(name, vertex).move_groups(groups, engine)
                case _:
                    raise NotSupportedYet(
                        f"{type(action).__name__} in a session of one process",
                        hint="there is one machine; a simulated deployment has more",
                    )
            self._actions.append(TimedAction(self.now_s, action))

    def observe(self) -> Observation:
        """What was measured since the last observation."""
        with self._changing, self._running:
            return self._meter.observe(self._shared.of, self.now_s)

    def watch(self) -> Watched:
        """What a dashboard shows: measurements since the last look, actions and counts so far."""
        observed, lateness = self.observe(), self._host.report_lateness()
        return Watched(observed, tuple(self._actions), self.counts, dict(self.rows_given), lateness)

    @property
    def counts(self) -> Counts:
        with self._running:
            return self._host.count()

    # --- changes -----------------------------------------------------------------------------------------
    def _deploy(self, name: str, query: Any, sink: Any) -> None:
        if name in self._deployed:
            raise InvalidInput(f'there is a query "{name}" already', hint="alter it, or give the new one another name")
        query = self._retired.get(name) if query is None else query
        if query is None:
            raise InvalidInput(f'there was no query "{name}"', hint="give its text")
        compilation = self._compile(name, query)
        states, fate = self._find_saved(name, compilation)
        with self._running:
            began: dict[str, Hashable] = dict.fromkeys(compilation.placed.at_engines(), self._moment)
            for vertex, number in states.items():
                began[vertex] = (self._moment, number)
            saved = (
                {} if self._saved is None else {vertex: self._saved.engines[each] for vertex, each in states.items()}
            )
            self._attach(name, query, compilation, began, saved, None)
        if sink is not None:
            try:
                self.send(name, sink)
            except Exception:
                self._retire(name)
                del self._retired[name]
                raise
        if fate is not None:
            self._restored[name] = fate

    def _alter(self, name: str, query: Any, beliefs: Beliefs | None = None) -> None:
        old = self._find(name)
        compilation = self._compile(name, query, beliefs)
        graph = compilation.rewritten
        with self._running:
            began = {v: old.began.get(graph.digests[v], self._moment) for v in compilation.placed.at_engines()}
            self._attach(name, query, compilation, began, {}, old)

    def _retire(self, name: str) -> None:
        retired = self._find(name)
        with self._running:
            self._host.drop([name], self._shared.release(self._shared.of.pop(name)))
            del self._deployed[name]
        self._retired[name] = retired.query
        if retired.sink is not None:
            retired.sink.close()

    def _scale(self, action: Scale) -> None:
        """Those vertices that are named must be such that several engines can share them; of all, those that are."""
        if action.machine:
            raise NotSupportedYet("scaling a machine of a session", hint="name a query and a vertex, or neither")
        check_engines(action.engines)
        with self._running:
            if action.vertex:
                self._find_engine(action.query, action.vertex).scale(action.engines)
                return
            names = [action.query] if action.query else list(self._deployed)
            engines = {id(feed): feed.engine for name in names for feed in self._feeds_of(name)}
            for engine in engines.values():
                if engine.can_scale:
                    engine.scale(action.engines)

    def _feeds_of(self, name: str) -> list[EngineFeed]:
        self._find(name)
        feeds = [self._host.feeds.get(label) for label in self._shared.of[name]]
        return [feed for feed in feeds if isinstance(feed, EngineFeed)]

    def _find_engine(self, name: str, vertex: str) -> Engine:
        for feed in self._feeds_of(name):
            if vertex in feed.vertices:
                return feed.engine
        known = ", ".join(vertex for feed in self._feeds_of(name) for vertex in feed.vertices) or "none"
        raise InvalidInput(f'query "{name}" has no vertex "{vertex}" in engines', hint=f"it has {known}")

    def _attach(
        self,
        name: str,
        query: Query,
        compilation: Compilation,
        began: Mapping[str, Hashable],
        saved: Mapping[str, SavedEngine],
        old: Deployed | None,
    ) -> None:
        """Between two pushes: what is new begins, in the state that it has; what nobody needs any more goes.

        began, saved: by vertex of the compilation; old: what the query was before.
        """
        placed, keys, labels = self._shared.find_place(compilation.placed, began)
        states = {labels[vertex]: engine for vertex, engine in saved.items()}
        digests = compilation.rewritten.digests
        for vertex in compilation.placed.at_engines():
            label, digest = labels[vertex], digests[vertex]
            if old is not None and label not in self._shared.keys and digest in old.labels:
                states[label] = SavedEngine(*self._host.feeds[old.labels[digest]].write_state())
        answer = self._host.results.get(name)
        schema = self._host.extend(placed, group_vertices(placed, states), states)[name]
        if old is not None and isinstance(old.sink, FILE_SINKS) and schema != old.no_rows.schema:
            self._host.drop([], [label for label in keys if label not in self._shared.keys])
            assert answer is not None, "the query runs"
            self._host.results[name] = answer
            was, now = ", ".join(old.no_rows.schema.names), ", ".join(schema.names)
            hint = "columns and types stay, or it is retired and deployed anew with a file of its own"
            raise InvalidInput(f'the file of "{name}" has other columns: {was}, and now {now}', hint=hint)
        before = self._shared.of.get(name, [])
        self._shared.add(name, placed, keys)
        self._host.drop([], self._shared.release(before))
        engines = compilation.placed.at_engines()
        self._deployed[name] = Deployed(
            query=query,
            described=list_stateful(compilation.rewritten)[name],
            labels={digests[vertex]: labels[vertex] for vertex in engines},
            began={digests[vertex]: began[vertex] for vertex in engines},
            no_rows=empty_table(schema),
            sink=None if old is None else old.sink,
        )

    def _compile(self, name: str, query: Any, beliefs: Beliefs | None = None) -> Compilation:
        if self._catalog is None:
            self._catalog = make_catalog(
                self._inputs.schemas,
                self._lookups,
                self._aggregates,
                streams=self._inputs.schemas,
                event_time={name: time for name, time in self._event_time.items() if name in self._inputs.schemas},
                functions=self._functions,
            )
        compilation = compile_query({name: query}, self._catalog, beliefs=beliefs)
        check_bounded(compilation, self._strict)
        return compilation

    def _find_saved(self, name: str, compilation: Compilation) -> tuple[dict[str, int], str | None]:
        """By vertex, the number of the engine in the snapshot whose state it has; and what becomes of the query."""
        if self._saved is None or name in self._restored or name not in self._saved.queries:
            return {}, None
        digests = compilation.rewritten.digests
        found = {vertex: self._saved.find(digests[vertex], name) for vertex in compilation.placed.at_engines()}
        compared = self._saved.compare(list_stateful(compilation.rewritten), self._on_change)
        fate = "kept" if name in compared.kept else "restarted"
        known = {vertex: number for vertex, number in found.items() if number is not None}
        return known if fate == "kept" else {}, fate

    # --- rows --------------------------------------------------------------------------------------------
    def _give_out(self, rows: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """A sink that fails does not keep rows from the others; what it raised is raised in the end."""
        given: dict[str, pa.Table] = {}
        failed: Exception | None = None
        for name, deployed in self._deployed.items():
            found = rows.get(name, deployed.no_rows)
            self.rows_given[name] += len(found)
            if deployed.sink is None:
                given[name] = found
            elif len(found):
                try:
                    deployed.sink.write(found)
                except Exception as problem:  # noqa: BLE001 (whatever a sink raises)
                    failed = failed or problem
        if failed is not None:
            raise failed
        return given

    def _find(self, name: str) -> Deployed:
        if name not in self._deployed:
            known = ", ".join(self._deployed) or "none"
            raise InvalidInput(f'there is no query "{name}"', hint=f"queries: {known}")
        return self._deployed[name]

    def _close_all(self) -> None:
        self._host.close()
        for deployed in self._deployed.values():
            if deployed.sink is not None:
                deployed.sink.close()

    def _refuse_finished(self) -> None:
        if self._finished:
            raise InvalidInput("the session is finished", hint="begin a new one")


def _open_on_spark(
    spark: Any,
    *,
    checkpoint: str | Path | None = None,
    lateness: timedelta | None = None,
    strict: bool = False,
    aggregates: Mapping[str, Aggregate] | None = None,
    key_groups: int | None = None,
    dialect: WrittenDialect | None = None,
    on_change: OnChange = "refuse",
    latency_goal: timedelta | None = None,
    clock: Callable[[], float] = time.monotonic,
    idle_after: IdleAfter | None = None,
    functions: Mapping[str, Function] | None = None,
    disorder: Disorder | None = None,
) -> Any:
    if checkpoint is None:
        raise InvalidInput(
            "a session on Spark needs a checkpoint, from which it goes on", hint='cep.Session(spark, checkpoint="...")'
        )
    if latency_goal is not None and read_lateness(latency_goal) == timedelta(0):
        raise InvalidInput(f"latency_goal is {latency_goal!r}", hint="timedelta(seconds=2)")
    from cepheid.execution.spark.live.live_session import SessionSettings, SparkLiveSession

    settings = Settings(strict=strict, idle_after=read_idle_after(idle_after))
    bound = read_lateness(lateness)
    if disorder is not None:
        settings = check_disorder(disorder, lateness).choose(settings)
        bound = settings.lateness
    if key_groups is not None:
        settings = replace(settings, key_groups=check_key_groups(key_groups))
    chosen = SessionSettings(
        str(checkpoint),
        bound,
        settings,
        read_aggregates(aggregates),
        check_dialect(dialect, "spark"),
        check_on_change(on_change),
        latency_goal,
        clock,
        read_functions(functions, read_aggregates(aggregates)),
        written=dialect,
    )
    return SparkLiveSession(spark, chosen)
