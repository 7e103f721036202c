"""An application on Spark: its sources as streams, one streaming query for each of its queries, and their sinks.

    [source.*] ─open_stream─▶ DataFrames ─run_on_spark─▶ rows ─AttachedSink─▶ StreamingQuery, with its own checkpoint
                     └─▶ records that do not fit ──────────────▶ StreamingQuery: Parquet, exactly once

    CHECKPOINT/queries/NAME               the checkpoint of a query
    CHECKPOINT/dead_letters/SOURCE/       records that do not fit; in _checkpoint, that of the query which finds them

A run that was stopped, or that died, goes on from there with the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cepheid.application import Application, ApplicationQuery, ApplicationSource
from cepheid.errors import CepheidError, InvalidInput, RunFailed
from cepheid.execution.file_names import is_path, locate_path
from cepheid.execution.sinks.declared_rows import check_declared
from cepheid.execution.sinks.terminal import LINES
from cepheid.execution.spark.application_tables import open_tables
from cepheid.execution.spark.batch_progress import ROWS, BatchProgress, ProgressReader
from cepheid.execution.spark.host import read_inputs, run_on_spark
from cepheid.execution.spark.run_failures import find_reason, read_java_text, tell_failure
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.execution.spark.session import build_session
from cepheid.execution.spark.sinks.attach import AttachedSink
from cepheid.execution.spark.sinks.kinds import open_spark_sink, show_spark_sink
from cepheid.execution.spark.sinks.terminal import CONSOLE
from cepheid.execution.spark.sources.kinds import open_stream
from cepheid.execution.spark.sources.source import OpenStream
from cepheid.language.parsing.written_text import dialect_of, plan_dialect
from cepheid.settings import Settings

PATIENCE_S = 30.0  # for a batch to end, before it is cut short
LOOK_S = 0.05
# Each new query starts a Python process, which has 10 s to answer: Spark allows no more, and many at once, or one on a
# busy machine, take longer.  Nothing of the query has run then, so it is started again.
STARTING_AT_ONCE = 2
MOST_STARTS = 10
TOO_SLOW = "Python worker failed to connect back"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """once: take what is there, and end; else go on until stopped.  as_json: rows without a sink as JSON lines.  log:
    where Spark writes to, for messages."""

    once: bool = False
    as_json: bool = False
    log: str | None = None


class Failing(Protocol):
    """failure: why its sink could not be written to; None: it could."""

    failure: CepheidError | None


class RunningQuery:
    """start: again, from its checkpoint.  sink: None for what sets dead letters apart."""

    def __init__(
        self, name: str, start: Callable[[], StreamingQuery], sink: Failing | None, checkpoint: str | None = None
    ) -> None:
        self.name, self.sink, self.checkpoint = name, sink, checkpoint
        self.progress = ProgressReader(name, is_dead=sink is None)
        self._start, self._starts = start, 1
        self.query = start()

    def read_new(self) -> list[BatchProgress]:
        return self.progress.read_new(self.query.recentProgress)

    def find_failure(self, log: str | None) -> CepheidError | None:
        problem = self.query.exception()
        if problem is None:
            return None
        if self.sink is not None and self.sink.failure is not None:
            return self.sink.failure
        return tell_failure(self.name, str(problem), log, self.checkpoint)

    @property
    def may_start_again(self) -> bool:
        """Was it only that Spark gave it too little time?"""
        return TOO_SLOW in str(self.query.exception()) and self._starts < MOST_STARTS

    def start_again(self) -> None:
        self.query = self._start()
        self._starts += 1

    @property
    def is_under_way(self) -> bool:
        """Has it done a batch, or ended, or nothing to do?"""
        status = self.query.status
        return self.last_batch >= 0 or not self.query.isActive or status["message"].startswith("Waiting")

    @property
    def last_batch(self) -> int:
        last: Any = self.query.lastProgress
        return -1 if last is None else last["batchId"]

    def is_between(self, batch: int) -> bool:
        """Has the batch behind this one ended, or does none run?"""
        return not self.query.isActive or not self.query.status["isTriggerActive"] or self.last_batch > batch


class RunningApplication:
    """unsafe: sources whose events are lost to the next run, if this one is stopped."""

    def __init__(self, queries: list[RunningQuery], options: RunOptions, unsafe: list[str]) -> None:
        self._queries, self._options, self.unsafe = queries, options, unsafe

    def goes_on(self) -> bool:
        """Is there still something to wait for?  Raises what stopped a query by itself."""
        is_waiting = False
        for running in self._queries:
            problem = running.find_failure(self._options.log)
            if problem is None:
                continue
            if not running.may_start_again:
                raise problem
            is_waiting = True
            if all(other.is_under_way for other in self._queries):
                running.start_again()
        return is_waiting or any(running.query.isActive for running in self._queries)

    def read_new(self) -> list[BatchProgress]:
        """What was done since it was asked the last time."""
        return [batch for running in self._queries for batch in running.read_new()]

    def recent_progress(self) -> list[Any]:
        """Spark's own account of the batches of the first query."""
        return list(self._queries[0].query.recentProgress)

    def stop(self) -> None:
        """Each between two batches, if the one that runs ends soon; what is cut short is run again the next time."""
        deadline = time.monotonic() + PATIENCE_S
        left = [(running, running.last_batch) for running in self._queries]
        while left:
            for running, batch in list(left):
                if running.is_between(batch) or time.monotonic() > deadline:
                    running.query.stop()
                    left.remove((running, batch))
            time.sleep(LOOK_S if left else 0)


def start_session(application: Application, log: Path) -> SparkSession:
    """As the application says it; log: where Spark writes to."""
    settings: dict[str, Any] = dict(application.spark)
    name = f"cepheid {application.path.stem}"
    try:
        return build_session(name, master=application.cluster.master, quiet_log=log, **settings)
    except (PySparkException, Py4JError) as problem:
        told = f'Spark does not start on "{application.cluster.master}": {find_reason(read_java_text(problem))}'
        raise RunFailed(told, hint=f"see [cluster] master and [spark]; the whole of it is in {log}") from None


def start_application(spark: SparkSession, application: Application, options: RunOptions) -> RunningApplication:
    """Over a session that is there already."""
    folder = application.path.parent
    idle_after = {name: each.idle_after for name, each in application.sources.items() if each.idle_after}
    settings = Settings(idle_after=idle_after or None)
    sources = application.sources
    if application.disorder is not None:
        settings = application.disorder.choose(settings)
        bound = settings.lateness or timedelta(0)
        sources = {name: replace(source, lateness=bound) for name, source in sources.items()}
    streams = {name: _open_source(spark, source, folder) for name, source in sources.items()}
    frames = {name: stream.rows for name, stream in streams.items()} | open_tables(spark, application)
    answers = {name: _make_rows(query, frames, settings) for name, query in application.queries.items()}
    started: list[RunningQuery] = []
    try:
        for name, query in application.queries.items():
            _wait_for_turn(started)
            started.append(_start_query(application, query, answers[name], options))
        for name, stream in streams.items():
            if stream.misfits is not None:
                _wait_for_turn(started)
                started.append(_start_dead_letters(application, name, stream.misfits, options))
    except BaseException:
        for running in started:
            running.query.stop()
        raise
    return RunningApplication(started, options, _find_unsafe(streams))


def _wait_for_turn(started: list[RunningQuery]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while sum(not running.is_under_way for running in started) >= STARTING_AT_ONCE and time.monotonic() < deadline:
        time.sleep(LOOK_S)


def find_checkpoint(application: Application) -> str:
    """A folder, or the URL of one."""
    written = application.checkpoint or f"{application.path.stem}.checkpoint"
    return str(locate_path(written, application.path.parent.absolute())) if is_path(written) else written.rstrip("/")


def _open_source(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    try:
        return open_stream(spark, source, folder)
    except PySparkException as problem:
        told = f'source "{source.name}", "{source.path}", cannot be read: {find_reason(str(problem))}'
        raise InvalidInput(
            told, hint="a folder has to be there; a pattern, as feed/*.csv, may find nothing yet"
        ) from None


def _find_unsafe(streams: Mapping[str, OpenStream]) -> list[str]:
    return [name for name, stream in streams.items() if not stream.is_replayable]


def _make_rows(query: ApplicationQuery, frames: Mapping[str, DataFrame], settings: Settings) -> DataFrame:
    try:
        given = read_inputs(frames, {}, plan_dialect(dialect_of(query.text), "spark"))
        rows = run_on_spark(query.text, given, settings)
        if query.rows is None:
            return rows
        check_declared(query.name, arrow_schema(rows), query.rows)
        return rows.toDF(*query.rows.names)
    except CepheidError as problem:
        problem.origin = query.origin
        raise


def _start_query(
    application: Application, query: ApplicationQuery, rows: DataFrame, options: RunOptions
) -> RunningQuery:
    text = query.sink or (LINES if options.as_json else CONSOLE)
    sink = AttachedSink(open_spark_sink(text, query.name, application.path.parent), query.name, show_spark_sink(text))
    place = f"{find_checkpoint(application)}/queries/{query.name}"
    writer = sink.attach(rows.observe(ROWS, F.count(F.lit(1)).alias("count")))
    return RunningQuery(query.name, lambda: _start(writer, application, query.name, place, options), sink, place)


def _start_dead_letters(application: Application, name: str, misfits: DataFrame, options: RunOptions) -> RunningQuery:
    """They are read a second time, by a query of their own: Spark's file sink writes each once."""
    home = f"{find_checkpoint(application)}/dead_letters/{name}"
    place = application.sources[name].dead_letters or home
    target = str(locate_path(place, application.path.parent.absolute())) if is_path(place) else place
    counted = misfits.observe(ROWS, F.count(F.lit(1)).alias("count"))
    writer = counted.writeStream.format("parquet").option("path", target)
    title, checkpoint = f"dead letters of {name}", f"{home}/_checkpoint"
    return RunningQuery(name, lambda: _start(writer, application, title, checkpoint, options), None, checkpoint)


def _start(
    writer: DataStreamWriter, application: Application, name: str, checkpoint: str, options: RunOptions
) -> StreamingQuery:
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    if options.once:
        writer = writer.trigger(availableNow=True)
    elif application.cluster.trigger_s:
        writer = writer.trigger(processingTime=f"{application.cluster.trigger_s * 1000:.0f} milliseconds")
    try:
        return writer.start()
    except PySparkException as problem:
        raise tell_failure(name, str(problem), options.log, checkpoint) from None
