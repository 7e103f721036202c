"""A live session on Spark: queries over the same streams, which are read once; changed while it runs.

    with cep.Session(spark, checkpoint="checkpoint/") as session:
        session.source("buses", spark.readStream.schema(...).parquet("feed/").withWatermark("ts", "10 seconds"))
        session.deploy("jam", "SELECT ...", sink="out/jam/")
        session.start()                     # until then queries are only declared
        session.alter("jam", "SELECT ...")  # between two batches

One streaming query of Spark serves all of them:

    sources ─session_ingest─▶ envelopes ─session_processor─▶ answers of all stages ─session_rows─▶ sinks

A change ends it between two batches and starts it again from its checkpoint, with other stages: those that stay go on
with their state, those that are new begin with the next batch.  What the checkpoint holds is written down beside it
(session_record.py) before the stream goes on.

    CHECKPOINT/stream          Spark's own
    CHECKPOINT/cepheid/N.json  what holds since the Nth change
    CHECKPOINT/dead_letters/   records of text files that do not fit
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.application import ApplicationSource
from cepheid.compiler import Compilation, check_bounded, explain_compilation, placed_at_order
from cepheid.deployment import Action, Alter, Deploy, Retire, TimedAction, Watched
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet, SnapshotMismatch
from cepheid.execution.spark.application import RunningApplication, RunningQuery, RunOptions
from cepheid.execution.spark.chain_meaning import spark_is_ansi
from cepheid.execution.spark.clock import find_clock
from cepheid.execution.spark.connect_plans import is_connect
from cepheid.execution.spark.engine_stage import answer_envelopes
from cepheid.execution.spark.host import SparkInputs, compile_on_spark, read_inputs, read_session_meaning, run_on_spark
from cepheid.execution.spark.idle_inputs import check_clock
from cepheid.execution.spark.live.batch_pace import Pace, choose_pace
from cepheid.execution.spark.live.session_above import Above, means_the_same_above
from cepheid.execution.spark.live.session_files import SessionFiles
from cepheid.execution.spark.live.session_ingest import Leaving, read_sources
from cepheid.execution.spark.live.session_meter import SessionMeter, measure_batches
from cepheid.execution.spark.live.session_processor import ANSWER_SCHEMA, SessionProcessor
from cepheid.execution.spark.live.session_record import SessionRecord, forget_left, has_changed, renew
from cepheid.execution.spark.live.session_rows import BatchTaker, QueryOutput
from cepheid.execution.spark.live.session_stage import PassTask, SessionStage, StageContext, StageTask, make_stages
from cepheid.execution.spark.live.stateless_plan import refuse_stateful
from cepheid.execution.spark.query_start import MARK, mark_stage
from cepheid.execution.spark.run_failures import tell_failure
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.execution.spark.sinks.given import open_given_sink
from cepheid.execution.spark.sinks.sink import BatchSink
from cepheid.execution.spark.sources.event_time import add_event_time
from cepheid.execution.spark.sources.kinds import open_stream
from cepheid.execution.spark.stage_record import StageRecord
from cepheid.execution.spark.watermarks import WATERMARK
from cepheid.execution.spark.worker_python import own_python
from cepheid.idle_streams import read_idle_span
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.parsing.written_text import plan_dialect, write_in
from cepheid.lookups import Database, Table
from cepheid.measurement import Counts, Observation
from cepheid.schema import read_schema
from cepheid.settings import DialectName, Settings, WrittenDialect
from cepheid.user_functions import Function

LOOK_S = 0.05
PACE_S = 1.0


@dataclass(frozen=True)
class SessionSettings:
    """lateness: of sources that have no watermark.  on_change: what to do with a query that is not the one which the
    checkpoint knows under its name.  latency_goal: how soon rows should come (batch_pace.py).  written: whose SQL
    queries are written in."""

    checkpoint: str
    lateness: timedelta | None = None
    settings: Settings = field(default_factory=Settings)
    aggregates: Mapping[str, PythonAggregate] | None = None
    dialect: DialectName = "spark"
    on_change: str = "refuse"
    latency_goal: timedelta | None = None
    clock: Callable[[], float] = time.monotonic
    functions: Mapping[str, Function] = field(default_factory=dict)
    written: WrittenDialect | None = None


@dataclass(frozen=True)
class Planned:
    """A query that is wanted.  stages: by vertex.  shown: its sink in messages."""

    query: Any
    stages: Mapping[str, SessionStage]
    above: Above
    shown: str

    def records(self) -> dict[str, StageRecord]:
        """Of its stages, by digest."""
        return {stage.record.digest: stage.record for stage in self.stages.values()}


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of the queries of the checkpoint when the session was started: names."""

    kept: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class SparkLiveSession:
    """What `cep.Session(spark, ...)` is."""

    def __init__(self, spark: SparkSession, chosen: SessionSettings) -> None:
        if is_connect(spark):
            raise NotSupportedYet(
                "a live session over Spark Connect", hint="use cep.sql there, or a session of Spark without Connect"
            )
        self._spark, self._chosen = spark, chosen
        self._files = SessionFiles(spark, chosen.checkpoint)
        self._record = self._files.read_newest() or SessionRecord()
        self._streams: dict[str, DataFrame] = {}
        self._idle_after: dict[str, timedelta] = {}  # of streams that have one
        self._misfits: dict[str, DataFrame] = {}
        self._lookups: dict[str, Any] = {}
        self._planned: dict[str, Planned] = {}
        self._retired: dict[str, Planned] = {}
        self._first_batch = 0  # with what is recorded
        self._running: RunningApplication | None = None
        self._options, self._trigger = RunOptions(), {}  # type: tuple[RunOptions, dict[str, Any]]
        self._changing = threading.RLock()
        self._pace: Pace | None = None
        self._most_files: int | None = None
        self._reads_files = False
        self._pacer: threading.Thread | None = None
        self._pace_failure: CepheidError | None = None
        self._grouped = 0  # changes that are gathered
        self._was_started = False
        self._fates = Fates()
        self._restarted: list[str] = []
        self._born_s = chosen.clock()
        self._meter = SessionMeter()
        self._actions: list[TimedAction] = []

    def __enter__(self) -> SparkLiveSession:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- what there is -----------------------------------------------------------------------------------
    def source(
        self,
        name: str,
        given: Any,
        time: str | None = None,
        schema: Any = None,
        idle_after: str | timedelta | None = None,
    ) -> None:
        """A stream: a streaming DataFrame, or where one is (a path, a URL).  Or what events are looked up in: a
        DataFrame that is not streaming, a `cep.Table`, a `cep.Database`.  time: the column that is event time, of a
        stream that has no watermark yet; None: the only timestamp.  schema: what columns it has, where the stream
        itself does not say it, as a topic of Kafka.  idle_after: of this stream, if not as the session says."""
        span = self._read_idle_after(name) if idle_after is None else read_idle_span(idle_after)
        with self._changing:
            if name in self._streams or name in self._lookups:
                raise InvalidInput(f'there is a source "{name}" already', hint="give the new one another name")
            is_stream = isinstance(given, str | Path) or (isinstance(given, DataFrame) and given.isStreaming)
            if is_stream and self._running is not None:
                raise NotSupportedYet(
                    "a new stream in a session that runs", hint="announce all streams before session.start()"
                )
            if is_stream:
                self._streams[name] = self._open(name, given, time, schema)
                if span is not None:
                    self._idle_after[name] = span
            elif isinstance(given, DataFrame | Table | Database):
                self._lookups[name] = given
            else:
                raise InvalidInput(
                    f'"{name}" is a {type(given).__name__}', hint="give a streaming DataFrame, a path, or a cep.Table"
                )

    def _read_idle_after(self, name: str) -> timedelta | None:
        given = self._chosen.settings.idle_after
        return given.get(name) if isinstance(given, Mapping) else given

    def _open(self, name: str, given: Any, time: str | None, schema: Any) -> DataFrame:
        lateness = self._chosen.lateness
        source = ApplicationSource(
            name=name,
            schema=pa.schema([]) if schema is None else read_schema(name, schema),
            is_declared=schema is not None,
            time=time,
            lateness=lateness or timedelta(0),
        )
        if not isinstance(given, DataFrame):
            opened = open_stream(self._spark, replace(source, path=str(given)), Path.cwd())
            if opened.misfits is not None:
                self._misfits[name] = opened.misfits
            return opened.rows
        has_watermark = any(WATERMARK in (field.metadata or {}) for field in given.schema)
        return given if has_watermark or lateness is None else add_event_time(given, source)

    # --- queries -----------------------------------------------------------------------------------------
    def deploy(self, name: str, query: Any, sink: Any, dialect: WrittenDialect | None = None) -> None:
        """sink: where its rows go: a folder, delta:PATH, postgresql://..., console; a function that gets Arrow tables,
        with or without the batch's number; a list.  dialect: whose SQL it is written in, if not as the session says."""
        self.apply(Deploy(name=name, query=self._write(query, dialect), sink=sink))

    def alter(self, name: str, query: Any, dialect: WrittenDialect | None = None) -> None:
        """Put another query in the place of one.  What both compute alike keeps what it knows."""
        self.apply(Alter(name=name, query=self._write(query, dialect)))

    def _write(self, query: Any, dialect: WrittenDialect | None) -> Any:
        written = dialect or self._chosen.written
        if plan_dialect(written, "spark") != self._chosen.dialect:
            hint = f'cep.Session(spark, dialect="{written}"): Spark SQL and translated queries do not share a session'
            raise InvalidInput(f'a query in the dialect "{written}" in a session of another', hint=hint)
        return write_in(query, written)

    def retire(self, name: str) -> None:
        """End a query; rows that are not settled yet are not given out."""
        self.apply(Retire(name=name))

    def send(self, name: str, sink: Any) -> None:
        """From the next batch on, the rows of a query go to another sink."""
        with self.changes():
            opened, shown = open_given_sink(sink, name)
            self._planned[name] = self._plan(name, self._find(name).query, opened, shown)

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Several changes at once: the stream is interrupted once for all of them, or not at all if one is refused."""
        with self._changing:
            before, done = dict(self._planned), len(self._actions)
            self._grouped += 1
            try:
                yield
            except BaseException:
                self._planned = before
                del self._actions[done:]
                raise
            finally:
                self._grouped -= 1
            if not self._grouped and self._running is not None:
                self._go_on(before)

    def apply(self, action: Action) -> None:
        """Carry out an action, or raise and leave all as it was."""
        with self.changes():
            match action:
                case Deploy(name=name, query=query, sink=sink):
                    self._deploy(name, query, sink)
                case Alter(name=name, query=query):
                    old = self._find(name)
                    self._planned[name] = self._plan(name, query, old.above.sink, old.shown)
                case Retire(name=name):
                    self._retired[name] = self._find(name)
                    del self._planned[name]
                case _:
                    raise NotSupportedYet(
                        f"{type(action).__name__} in a session on Spark",
                        hint="deploy, alter and retire; Spark has as many engines as state partitions",
                    )
            self._actions.append(TimedAction(self.now_s, action))

    def _deploy(self, name: str, query: Any, sink: Any) -> None:
        if name in self._planned:
            raise InvalidInput(f'there is a query "{name}" already', hint="alter it, or give the new one another name")
        retired = self._retired.get(name)
        query = retired.query if query is None and retired is not None else query
        if query is None:
            raise InvalidInput(f'there was no query "{name}"', hint="give its text")
        opened, shown = (
            (retired.above.sink, retired.shown) if sink is None and retired is not None else open_given_sink(sink, name)
        )
        self._planned[name] = self._plan(name, query, opened, shown)

    def _plan(self, name: str, query: Any, sink: BatchSink, shown: str) -> Planned:
        """Compiled and checked, as a stream of its own; nothing runs."""
        given = self._read_inputs()
        alone = run_on_spark(query, given, self._chosen.settings)
        refuse_stateful(alone)
        compilation = self._compile(query, given)
        check_bounded(compilation, self._chosen.settings.strict)
        placed = compilation.placed
        session = read_session_meaning(placed, given)
        with placed_at_order(compilation), own_python(self._spark):
            settings = replace(self._chosen.settings, idle_after=self._idle_after or None)
            context = StageContext(given.frames, settings, session, self._chosen.dialect)
            stages = make_stages(placed, context)
        cells = {vertex: stage.cells for vertex, stage in stages.items()}
        emit = settings.emit
        is_same = emit == "final" and means_the_same_above(placed, cells, spark_is_ansi(given.frames))
        is_plain = sink.prepare(alone) is alone
        planned = Planned(
            query, stages, Above(placed, given, cells, arrow_schema(alone), is_same, sink, is_plain, emit), shown
        )
        self._compare(name, planned)
        return planned

    def _compare(self, name: str, planned: Planned) -> None:
        """With what the checkpoint knows, before the session is started; later, changes are what was asked for."""
        if self._was_started:
            return
        place = f'the checkpoint "{self._chosen.checkpoint}"'
        if not has_changed(self._record, name, planned.records(), place):
            return
        known = self._record.queries[name].stages
        gone = [
            self._record.stages[number].record.described
            for key, number in known.items()
            if key not in planned.records()
        ]
        if self._chosen.on_change == "refuse":
            raise SnapshotMismatch(
                f'{place} knows another query "{name}", and would lose what it holds of {"; ".join(gone) or "nothing"}',
                hint='deploy it as it was and alter it then, or on_change="restart": what has changed begins empty',
            )
        self._restarted.append(name)

    def _compile(self, query: Any, given: SparkInputs) -> Compilation:
        return compile_on_spark(query, given)

    def _read_inputs(self) -> SparkInputs:
        if not self._streams:
            raise InvalidInput("the session has no stream", hint='session.source("buses", a_streaming_dataframe)')
        inputs = {**self._streams, **self._lookups}
        chosen = self._chosen
        return read_inputs(inputs, dict(chosen.aggregates or {}), chosen.dialect, chosen.functions)

    def explain(self, name: str, step: str = "rewritten", format: str = "text") -> str:  # noqa: A002 (as cep.explain)
        return explain_compilation(self._compile(self._find(name).query, self._read_inputs()), step, format)

    @property
    def queries(self) -> dict[str, Any]:
        return {name: planned.query for name, planned in self._planned.items()}

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query's rows."""
        return {name: planned.above.schema for name, planned in self._planned.items()}

    @property
    def restored(self) -> Fates:
        """What became of the queries that the checkpoint knew, when the session was started."""
        return self._fates

    # --- running -----------------------------------------------------------------------------------------
    def start(self, every: timedelta | None = None) -> None:
        """Read the streams and go on until `stop`.  every: how often a batch begins; None: when the one before has
        ended.  Queries that the checkpoint knows and that were not deployed by now are dropped, with their state."""
        trigger = {} if every is None else {"processingTime": f"{every / timedelta(milliseconds=1):.0f} milliseconds"}
        self._start(RunOptions(), trigger)

    def run(self) -> None:
        """Take what the streams have now, and end."""
        self._start(RunOptions(once=True), {"availableNow": True})
        self.wait()
        self.stop()

    def _start(self, options: RunOptions, trigger: dict[str, Any]) -> None:
        with self._changing:
            if self._running is not None:
                raise InvalidInput("the session runs already", hint="deploy, alter and retire while it does")
            if not self._planned:
                raise InvalidInput("no query is deployed", hint='session.deploy("jam", "SELECT ...", sink="out/jam/")')
            known = self._record.sources
            if known and known != tuple(self._streams):
                raise SnapshotMismatch(
                    f'the checkpoint "{self._chosen.checkpoint}" was written with the streams {", ".join(known)}, and '
                    f"this session has {', '.join(self._streams)}",
                    hint="announce the same streams in the same order, or begin with a new checkpoint",
                )
            self._options, self._trigger, self._pace_failure = options, trigger, None
            before = self._record.queries
            self._begin()
            self._was_started = True
            if self._chosen.latency_goal is not None and not options.once:
                self._pacer = threading.Thread(target=self._keep_pace, name="cepheid pace", daemon=True)
                self._pacer.start()
            self._fates = Fates(
                tuple(name for name in before if name in self._planned and name not in self._restarted),
                tuple(self._restarted),
                tuple(name for name in before if name not in self._planned),
            )

    def wait(self, seconds: float | None = None) -> bool:
        """Until it has ended, or for so many seconds; has it ended?  Raises what stopped it.  After `start`, only a
        failure ends it."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._is_going():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_S)
        return True

    def _is_going(self) -> bool:
        with self._changing:
            if self._pace_failure is not None:
                raise self._pace_failure
            if self._running is None:
                raise InvalidInput("the session does not run", hint="session.start(), or session.run()")
            return self._running.goes_on()

    def stop(self) -> None:
        """Between two batches.  `start` goes on."""
        with self._changing:
            self._pacer = None
            self._halt()

    def _halt(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            running.stop()

    def close(self) -> None:
        self.stop()

    # --- pace --------------------------------------------------------------------------------------------
    @property
    def pace(self) -> Pace | None:
        """What was chosen for `latency_goal`; None: nothing yet."""
        return self._pace

    def _keep_pace(self) -> None:
        """In a thread of its own, for as long as this stream, or one that follows it by a change, runs."""
        me = threading.current_thread()
        try:
            while self._pacer is me:
                self._choose_pace()
                time.sleep(PACE_S)
        except CepheidError as problem:
            self._pace_failure = problem  # told by `wait`

    def _choose_pace(self) -> None:
        with self._changing:
            goal, running = self._chosen.latency_goal, self._running
            if goal is None or running is None:
                return
            batches, rate = measure_batches(list(self._meter.recent), running.recent_progress(), self._reads_files)
            pace = choose_pace(batches, rate, goal.total_seconds())
            if pace is None or not pace.differs(self._pace):
                return
            self._pace, self._most_files = pace, pace.most_files(batches)
            self._trigger = {"processingTime": f"{pace.every_s * 1000:.0f} milliseconds"}
            self._meter.recent.clear()
            self._halt()
            self._begin()

    def _go_on(self, before: dict[str, Planned]) -> None:
        """With other queries, from the next batch; with the old ones if the new ones cannot be started."""
        self._halt()
        try:
            self._begin()
        except BaseException:
            self._planned = before
            self._begin()
            raise

    def _begin(self) -> None:
        batch = self._files.next_batch()
        wanted = {name: planned.records() for name, planned in self._planned.items()}
        known = forget_left(self._record, self._meter.list_answered(self._first_batch, batch))
        record = renew(replace(known, sources=tuple(self._streams)), wanted, batch)
        taker, answers = self._assemble(record, batch)
        self._files.write(record)
        self._record, self._first_batch = record, batch
        queries = [RunningQuery("session", lambda: self._start_stream(answers, taker), taker)]
        for name, misfits in self._misfits.items():
            queries.append(RunningQuery(name, lambda name=name, rows=misfits: self._set_apart(name, rows), None))  # type: ignore[misc]
        self._running = RunningApplication(queries, self._options, [])

    def _assemble(self, record: SessionRecord, batch: int) -> tuple[BatchTaker, DataFrame]:
        """One streaming DataFrame with the answers of all stages, and who takes its batches."""
        stages: dict[int, SessionStage] = {}
        outputs = []
        for name, planned in self._planned.items():
            known = record.queries[name]
            numbers = {vertex: known.stages[stage.record.digest] for vertex, stage in planned.stages.items()}
            stages |= {numbers[vertex]: stage for vertex, stage in planned.stages.items()}
            outputs.append(QueryOutput(name, planned.above, numbers, known.since, planned.shown))
        self._meter.watch({output.name: output.stages for output in outputs})
        taker = BatchTaker(outputs, self._meter.note)
        with own_python(self._spark):
            leaving = Leaving(record.leaving, batch)
            ingest = read_sources(self._streams, stages, leaving, self._chosen.dialect, self._most_files)
            self._reads_files = ingest.reads_files
            tasks: dict[int, StageTask] = {}
            for number, stage in stages.items():
                if isinstance(stage.task, PassTask):
                    tasks[number] = stage.task
                    continue
                read = sorted({feed.source for feed in stage.feeds})
                clock = max(
                    find_clock([self._streams[name] for name in read], []), *(ingest.clocks[name] for name in read)
                )
                check_clock(stage.task.idle_after_us, clock)
                tasks[number] = replace(stage.task, clock=clock)
            answers = answer_envelopes(
                ingest.envelopes, SessionProcessor(tasks, ingest.ports, record.leaving), ANSWER_SCHEMA
            )
        clock = max(ingest.clocks.values())
        mine = StageRecord("session", "a live session", self._chosen.settings.key_groups, {})
        marked = answers.select(mark_stage(F.struct(*answers.columns), mine, clock))
        return taker, marked.select(f"{MARK}.*")

    def _start_stream(self, answers: DataFrame, taker: BatchTaker) -> StreamingQuery:
        writer = answers.writeStream.queryName("session").foreachBatch(taker.take)
        writer = writer.option("checkpointLocation", self._files.stream)
        try:
            return (writer.trigger(**self._trigger) if self._trigger else writer).start()
        except PySparkException as problem:
            raise tell_failure("session", str(problem), None) from None

    def _set_apart(self, name: str, misfits: DataFrame) -> StreamingQuery:
        """Records that do not fit, read a second time by a query of their own: Spark's file sink writes each once."""
        home = f"{self._chosen.checkpoint.rstrip('/')}/dead_letters/{name}"
        writer = misfits.writeStream.format("parquet").option("path", home)
        writer = writer.option("checkpointLocation", f"{home}/_checkpoint").queryName(f"dead letters of {name}")
        return (writer.trigger(**self._trigger) if self._trigger else writer).start()

    # --- what is seen of it ------------------------------------------------------------------------------
    @property
    def now_s(self) -> float:
        return self._chosen.clock() - self._born_s

    def observe(self) -> Observation:
        """What was measured since the last observation; raises what stopped the stream."""
        if self._running is not None:
            self._is_going()
        context = self._spark.sparkContext
        return self._meter.observe(self.now_s, str(context.master), context.defaultParallelism)

    def watch(self) -> Watched:
        """What a dashboard shows: measurements since the last look, actions and counts so far."""
        observed, lateness = self.observe(), self._meter.report_lateness()
        return Watched(observed, tuple(self._actions), self.counts, dict(self.rows_given), lateness)

    @property
    def counts(self) -> Counts:
        return self._meter.count()

    @property
    def rows_given(self) -> Mapping[str, int]:
        return self._meter.rows

    def late_events(self, name: str) -> DataFrame:
        """Events that came too late for a query, from the checkpoint."""
        from cepheid.execution.spark.late_stream import read_late_events

        numbers = set(self._record.queries[self._check_known(name)].stages.values())
        return read_late_events(self._spark, self._files.stream, numbers)

    def _check_known(self, name: str) -> str:
        if name not in self._record.queries:
            known = ", ".join(self._record.queries) or "none"
            raise InvalidInput(f'the checkpoint knows no query "{name}"', hint=f"queries: {known}")
        return name

    def _find(self, name: str) -> Planned:
        if name not in self._planned:
            known = ", ".join(self._planned) or "none"
            raise InvalidInput(f'there is no query "{name}"', hint=f"queries: {known}")
        return self._planned[name]
