"""What happens when a streaming query with stages of ours is started, on the driver, before any data.

    cep.sql(...) ─▶ DataFrame, of which users make others ─▶ .writeStream ... .start() or .toTable()
                                                                    │
               stages of ours in the plan?  no ─▶ Spark ◀───────────┤
               are they those of the checkpoint?  no ─▶ SnapshotMismatch, nothing has run
               Spark starts the query, which copies the session's settings: ours are set for that moment only

Where a checkpoint lies is known only here, so the two methods of PySpark's writer are wrapped, once, when the first
stream of ours is made.  Over Spark Connect the plan is a message (connect_plans.py) and the checkpoint cannot be seen:
there what belongs to whom is asked by the state itself, in the first batch.
"""

# ruff: noqa: SLF001 (PySpark has no public way to a writer's options, nor to Scala's pairs)
from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cepheid.errors import InvalidInput, NotSupportedYet, RunFailed, SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.damage import refuse_damaged
from cepheid.execution.spark.checkpoint_files.layout import Checkpoint
from cepheid.execution.spark.clock import Clock
from cepheid.execution.spark.connect_plans import (
    connect_writer,
    find_watermark_above,
    has_mark,
    is_connect,
    plan_of_frame,
    plan_of_writer,
)
from cepheid.execution.spark.executors import count_cores
from cepheid.execution.spark.handoff import choose_folder
from cepheid.execution.spark.stage_record import NEW_PLACE, StageRecord, check_stages, read_stage
from cepheid.execution.spark.watermarks import WATERMARK

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
STREAM_SETTINGS = {
    # transformWithState works on RocksDB only
    STATE_STORE: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # commit what changed, not whole snapshots
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
PARTITIONS = "spark.sql.shuffle.partitions"
EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
MARK = "cepheid"
CLOCK = "cepheid clock"
PROGRAM = "cepheid program"
STATEFUL = {"TransformWithStateInPySpark", "TransformWithStateInPandas"}  # as Spark 4.0 calls it
STATELESS = {"Project", "Filter", "SubqueryAlias", "View", "MapInArrow", "MapInPandas", "Union", "Generate"} | {
    "CollectMetrics",
    "LocalRelation",
    "EventTimeWatermark",
    "ResolvedHint",
    "StreamingRelation",
    "StreamingRelationV2",
}
RECORD_FILE = "cepheid/stages.json"
FORMAT = 2  # of what the stages keep: 1 had an engine for each key group

_starting = threading.RLock()  # one at a time: the settings are the session's while a query starts


def mark_stage(column: Column, record: StageRecord, clock: Clock, program: str = "") -> Column:
    """A column above the stage that carries its record, which stays in every plan made of it; program: what the stage
    computes (stage_program.py)."""
    return column.alias(MARK, metadata={MARK: record.as_dict(), CLOCK: int(clock), PROGRAM: program})


def watch_starts(spark: SparkSession) -> None:
    """From now on queries with stages of ours are checked when they are started, and get what they need."""
    writer, wrap = (connect_writer(), _wrap_connect) if is_connect(spark) else (DataStreamWriter, _wrap_start)
    for method in ("start", "toTable"):
        original = getattr(writer, method)
        if not hasattr(original, "starts_cepheid"):
            setattr(writer, method, wrap(original))


def _wrap_start(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def start(self: Any, *given: Any, **named: Any) -> Any:
        frame, spark = self._df, self._spark
        plan = frame._jdf.queryExecution().analyzed()
        stages = find_stages(plan)
        if not stages:
            return original(self, *given, **named)
        _check_watermarks(plan)
        bound = inspect.signature(original).bind(self, *given, **named).arguments
        asked = {"queryname": bound.get("queryName"), **bound.get("options", {})}
        options = {key.lower(): str(value) for key, value in asked.items() if value is not None}
        given_path = {} if bound.get("path") is None else {"path": str(bound["path"])}
        told = {**_read_options(self._jwrite), **options, **given_path}
        _check_checkpoint(spark, told, stages, _find_programs(plan))
        with _settings_of_ours(spark, choose_settings(spark, plan, stages)):
            return original(self, *given, **named)

    start.starts_cepheid = True  # type: ignore[attr-defined]
    return start


def _wrap_connect(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a client of Spark Connect, as far as it can see."""

    @wraps(original)
    def start(self: Any, *given: Any, **named: Any) -> Any:
        plan = plan_of_writer(self)
        if not has_mark(plan, MARK):
            return original(self, *given, **named)
        column = find_watermark_above(plan, MARK)
        if column is not None:
            raise _explain_watermark(column, "a column that has it keeps it")
        with _settings_of_ours(self._session, STREAM_SETTINGS):
            return original(self, *given, **named)

    start.starts_cepheid = True  # type: ignore[attr-defined]
    return start


def refuse_own_streams(frames: Mapping[str, DataFrame]) -> None:
    """Over the rows of another stage in a plan of Spark's, one of ours would take rows for late that are not."""
    for name, frame in frames.items():
        if frame.isStreaming and _comes_from_us(frame):
            raise NotSupportedYet(
                f'"{name}", a stream that comes from cep.sql,',
                hint="write both as one query, FROM (SELECT ...), or write the rows of the first to a sink",
            )


def _comes_from_us(frame: DataFrame) -> bool:
    if is_connect(frame.sparkSession):
        return has_mark(plan_of_frame(frame), MARK)
    return bool(find_stages(frame._jdf.queryExecution().analyzed()))


def find_stages(plan: Any) -> list[StageRecord]:
    """The records of our stages in a plan of the JVM, in the order in which Spark numbers them."""
    return [read_stage(metadata[MARK]) for metadata in _find_marks(plan)]


def _find_programs(plan: Any) -> list[Any]:
    """What the stages compute, in the same order; None: of this kind it is not known."""
    texts = [metadata.get(PROGRAM) for metadata in _find_marks(plan)]
    return [json.loads(text) if text else None for text in texts]


def _find_marks(plan: Any) -> list[dict[str, Any]]:
    found = []
    output = plan.output()
    if plan.nodeName() == "Project" and output.size() == 1 and output.head().name() == MARK:
        metadata = json.loads(output.head().metadata().json())
        if MARK in metadata:
            found.append(metadata)
    for child in _list(plan.children()):
        found += _find_marks(child)
    return found


def _check_watermarks(plan: Any) -> None:
    """Behind a stage with event time Spark allows no watermark: what it would drop is not known to be late."""
    below = _list(plan.children())
    if plan.nodeName() == "EventTimeWatermark" and any(find_stages(child) for child in below):
        column = plan.eventTime().name()
        own = [each.name() for each in _list(below[0].output()) if each.metadata().contains(WATERMARK)]
        known = f"{', '.join(own)} has it already" if own else "no column of it has one, as rows are settled later"
        raise _explain_watermark(column, known)
    for child in below:
        _check_watermarks(child)


def _explain_watermark(column: str, known: str) -> InvalidInput:
    return InvalidInput(
        f'withWatermark("{column}", ...) is behind cep.sql, whose horizon is the watermark of its rows: {known}',
        hint="leave withWatermark out and group by a column that has it, or put the window into the query, "
        "as in FROM (SELECT ...) [RANGE 1 HOUR]",
    )


def _list(scala: Any) -> list[Any]:
    return [scala.apply(place) for place in range(scala.size())]


def _read_options(writer: Any) -> dict[str, str]:
    """What `.option()` and `.queryName()` were given, by name in lower case."""
    field = writer.getClass().getDeclaredField("extraOptions")
    field.setAccessible(True)
    pairs = field.get(writer).iterator()
    found = {}
    while pairs.hasNext():
        pair = pairs.next()
        found[str(pair._1()).lower()] = str(pair._2())
    return found


def find_checkpoint(options: dict[str, str], default: str | None) -> str | None:
    """Where Spark will keep the checkpoint; None if in a new folder.  default: the session's place for checkpoints."""
    if "checkpointlocation" in options:
        return options["checkpointlocation"]
    if default and "queryname" in options:
        return f"{default}/{options['queryname']}"
    return None


def _check_checkpoint(
    spark: SparkSession, options: dict[str, str], stages: list[StageRecord], programs: list[Any]
) -> None:
    """Refuse what does not belong to the checkpoint; write down what a new one belongs to."""
    place = find_checkpoint(options, spark.conf.get("spark.sql.streaming.checkpointLocation", None))
    if place is None:
        return
    files = CheckpointFiles(spark, place)
    if not files.has_batches():  # nothing ever ran: whatever was meant to does not count
        files.write(write_stages(stages, programs, options.get("path")))
        return
    local = files.find_local()
    if local is not None:
        refuse_damaged(Checkpoint(local))
    text = files.read()
    if text is None:  # it was started where we could not see it: the first batch will ask
        return
    stored = json.loads(text)
    if stored.get("format") != FORMAT:
        raise SnapshotMismatch(
            f'the checkpoint "{place}" was written by another version of Cepheid, whose state this one cannot read',
            hint=f"finish it with that version, {NEW_PLACE}",
        )
    check_stages([read_stage(stage) for stage in stored["stages"]], stages, f'the checkpoint "{place}"')
    records = [read_stage(stage) for stage in stored["stages"]]
    renewed = write_stages(records, programs, options.get("path"))
    if json.loads(renewed) != stored:  # by a version that wrote it otherwise, or the sink is in another place
        files.write(renewed)


def write_stages(stages: Sequence[StageRecord], programs: Sequence[Any], path: str | None) -> str:
    """What RECORD_FILE holds.  path: where the sink writes to, if it was told."""
    records = [stage.as_dict() for stage in stages]
    return json.dumps({"format": FORMAT, "stages": records, "programs": programs, "path": path})


class CheckpointFiles:
    """A checkpoint on whatever file system Spark keeps it."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._root = self._jvm.org.apache.hadoop.fs.Path(place)
        self._record = self._jvm.org.apache.hadoop.fs.Path(self._root, RECORD_FILE)
        self._system = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def find_local(self) -> Path | None:
        """The folder, if it is one of this machine."""
        whole = self._system.makeQualified(self._root).toUri()
        return Path(str(whole.getPath())) if str(whole.getScheme()) == "file" else None

    def has_batches(self) -> bool:
        offsets = self._jvm.org.apache.hadoop.fs.Path(self._root, "offsets")
        return self._system.exists(offsets) and any(
            each.getPath().getName().isdigit() for each in self._system.listStatus(offsets)
        )

    def read(self) -> str | None:
        if not self._system.exists(self._record):
            return None
        stream = self._system.open(self._record)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        except Py4JJavaError as problem:
            raise SnapshotMismatch(
                f'"{self._record}", which says to whom the checkpoint belongs, is damaged: {problem.java_exception}',
                hint="delete it and start again: the state itself says so, too, in the first batch",
            ) from None
        finally:
            stream.close()

    def write(self, text: str) -> None:
        try:
            stream = self._system.create(self._record, True)
            try:
                stream.write(text.encode())
            finally:
                stream.close()
        except Py4JJavaError as problem:
            told = f'the checkpoint cannot be written: "{self._record}", {problem.java_exception}'
            raise RunFailed(told, hint="is there room, and may it be written? Make room, and start again") from None


def choose_settings(spark: SparkSession, plan: Any, stages: list[StageRecord]) -> dict[str, str]:
    """What a new query with stages of ours runs with, whatever the session says.

    Each state partition is a task and a state store of its own in every batch: more of them than cores, or than key
    groups, only wait for each other.  (A checkpoint keeps the number that it began with.)
    """
    most = max(stage.key_groups for stage in stages)
    cores = count_cores(spark)
    chosen = {
        **STREAM_SETTINGS,
        **choose_folder(spark),
        PARTITIONS: str(min(int(spark.conf.get(PARTITIONS) or 200), most, cores)),
    }
    names = _name_nodes(plan)
    alone = sum(name in STATEFUL for name in names) == len(stages) and STATELESS.issuperset({*names} - STATEFUL)
    if alone and not any(metadata[CLOCK] for metadata in _find_marks(plan)):
        chosen[EMPTY_BATCHES] = "false"  # nothing waits for a watermark
    return chosen


def _name_nodes(plan: Any) -> list[str]:
    return [plan.nodeName(), *(name for child in _list(plan.children()) for name in _name_nodes(child))]


@contextmanager
def _settings_of_ours(spark: SparkSession, ours: dict[str, str]) -> Iterator[None]:
    """A query copies the session's settings when it is started, and keeps the copy."""
    with _starting:
        known = spark.conf.getAll
        before: dict[str, str | None] = {name: known.get(name) for name in ours}
        for name, value in ours.items():
            if _must_set(name, before[name]):
                spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, chosen in before.items():
                spark.conf.unset(name) if chosen is None else spark.conf.set(name, chosen)


def _must_set(name: str, chosen: str | None) -> bool:
    """What users chose stays, but a state store that cannot do it and what follows from the plan."""
    return chosen is None or name in (PARTITIONS, EMPTY_BATCHES) or (name == STATE_STORE and "RocksDB" not in chosen)
