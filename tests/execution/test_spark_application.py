"""Applications on Spark, as far as no Spark is needed: what a file says, of which kind things are, what is counted."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.application import Application, make_catalog, read_application
from cepheid.disorder.lateness_report import LatenessTally
from cepheid.disorder.lateness_shares import write_share
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet, RunFailed, UnknownKind
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.execution.spark.application import RunningApplication, RunningQuery, RunOptions
from cepheid.execution.spark.batch_progress import ROWS, ProgressReader, Tally
from cepheid.execution.spark.run_failures import find_reason, tell_failure
from cepheid.execution.spark.session import count_partitions
from cepheid.execution.spark.sinks.kinds import SPARK_SINK_KINDS, find_spark_target
from cepheid.execution.spark.sinks.postgres import find_type, write_csv
from cepheid.execution.spark.sources.delta_reader import find_added
from cepheid.execution.spark.sources.kinds import STREAM_KINDS, find_stream_kind, read_stream_schema

APPLICATION = """
[source.buses]
schema = { ts = "timestamp", bus = "int", delay = "double" }
path = "feeds/*.csv"
time = "ts"
lateness = "1.5 minutes"
dead_letters = "bad/"
options = { sep = ";", maxFilesPerTrigger = 3, multiLine = true }

[query.late]
sql = "SELECT bus, delay FROM buses WHERE delay > 300"
sink = "delta:lake/late"

[cluster]
host = "spark"
master = "spark://host:7077"

[run]
checkpoint = "state/"

[spark]
spark.sql.shuffle.partitions = 4
"spark.sql.session.timeZone" = "Asia/Tokyo"
"""


def read(folder: Path, text: str = APPLICATION) -> Application:
    (folder / "app.toml").write_text(text)
    return read_application(folder / "app.toml", ENDPOINTS)


def test_everything_that_is_said_about_spark_is_read(tmp_path: Path) -> None:
    application = read(tmp_path)
    source = application.sources["buses"]
    assert (source.time, source.lateness, source.dead_letters) == ("ts", timedelta(seconds=90), "bad/")
    silent = read(tmp_path, APPLICATION.replace('time = "ts"', 'time = "ts"\nidle_after = "30 s"'))
    assert (source.idle_after, silent.sources["buses"].idle_after) == (None, timedelta(seconds=30))
    assert source.options == {"sep": ";", "maxFilesPerTrigger": "3", "multiLine": "true"}
    assert application.cluster.master == "spark://host:7077"
    assert application.checkpoint == "state/"
    assert application.spark == {"spark.sql.shuffle.partitions": "4", "spark.sql.session.timeZone": "Asia/Tokyo"}


@pytest.mark.parametrize(
    ("old", "new", "told", "line"),
    [
        ('time = "ts"', 'time = "tss"', 'did you mean "ts"', 5),
        ('"1.5 minutes"', '"soon"', "lateness cannot be read", 6),
        ('"1.5 minutes"', '"5"', "lateness is '5', which is no span of time", 6),
        ('"1.5 minutes"', "5", "a text for lateness, not 5", 6),
        ('dead_letters = "bad/"', 'idle_after = "soon"', "idle_after cannot be read", 7),
        ('dead_letters = "bad/"', 'idle_after = "0 s"', "which is no span of time", 7),
        ("multiLine = true", "multiLine = [1]", 'a list for "multiLine"', 8),
        ('"delta:lake/late"', '"late.doc"', 'the sink of "late" is "late.doc"', 12),
        ("[run]", "[runs]", 'did you mean "run"', 18),
        ("checkpoint =", "checkpoints =", 'did you mean "checkpoint"', 19),
        ('"delta:lake/late"', '"feeds/late.csv"', 'which belongs to source "buses"', 12),
        ('"feeds/*.csv"', '"rate:none" #\n#', "", 0),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, told: str, line: int) -> None:
    if not line:  # a declared schema: what is wrong is told when the source is opened
        assert read(tmp_path, APPLICATION.replace(old, new)).sources["buses"].path == "rate:none"
        return
    with pytest.raises(CepheidError) as problem:
        read(tmp_path, APPLICATION.replace(old, new))
    assert told in str(problem.value)
    assert f"app.toml:{line}:" in str(problem.value)


def test_kinds_of_streams_are_known_by_how_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl.gz").touch()
    (tmp_path / "empty").mkdir()
    written = {
        "rate:5": "rate",
        "socket:localhost:9": "socket",
        "table:shop.orders": "catalog table",
        "delta:lake/x": "Delta",
        "kafka:localhost:9092/buses": "Kafka",
        "feeds/*.csv": "CSV",
        "feed.csv.gz": "CSV",
        "in": "JSON lines",
        "in/": "JSON lines",
        "empty": "Parquet",
        "s3://bucket/feed.csv/": "CSV",
        "s3://bucket/feed": "Parquet",
    }
    assert {text: find_stream_kind(text, "buses", tmp_path).name for text in written} == written
    assert {kind.name for kind in STREAM_KINDS} == set(written.values())
    for text in ("kafkaa:host:9092/topic", "mysql://host/shop"):
        with pytest.raises(UnknownKind, match=text):
            find_stream_kind(text, "buses", tmp_path)


def test_schemas_that_need_no_spark(tmp_path: Path) -> None:
    rate = read_stream_schema("rate:100", "buses", tmp_path)
    assert rate is not None
    assert rate.names == ["timestamp", "value"]
    assert read_stream_schema("feeds/*.csv", "buses", tmp_path) is None
    for text in ("rate:", "rate:0", "rate:x", "socket:9", "socket:host:x"):
        with pytest.raises(InvalidInput, match=text):
            read_stream_schema(text, "buses", tmp_path)


def test_columns_that_only_spark_knows_are_missed_by_the_simulator(tmp_path: Path) -> None:
    text = '[source.buses]\npath = "table:buses"\n[query.a]\nsql = "SELECT bus FROM buses"\n[cluster]\nhost = "spark"\n'
    with pytest.raises(InvalidInput, match="known to Spark only"):
        make_catalog(read(tmp_path, text), describe_sql)


def test_kinds_of_sinks_are_known_by_how_they_are_written(tmp_path: Path) -> None:
    written: dict[str, Path | None] = {
        "console": None,
        "-": None,
        "delta:lake/x": tmp_path / "lake" / "x",
        "delta:s3://lake/x": None,
        "kafka:localhost:9092/found?key=bus": None,
        "postgresql://me:secret@host/shop#orders": None,
        "out/x.csv": tmp_path / "out" / "x.csv",
        "out/x.jsonl": tmp_path / "out" / "x.jsonl",
        "out": tmp_path / "out",
        "out/x.parquet/": tmp_path / "out" / "x.parquet",
        "out/v1.2/": tmp_path / "out" / "v1.2",
        "s3a://bucket/out": None,
    }
    assert {text: find_spark_target(text, "q", tmp_path) for text in written} == written
    kinds = [kind.name for kind in SPARK_SINK_KINDS]
    with pytest.raises(UnknownKind) as problem:
        find_spark_target("kafkaa:host:9092/topic", "q", tmp_path)
    assert all(name in (problem.value.hint or "") for name in kinds)


@pytest.mark.parametrize(
    ("master", "count"),
    [(None, 2), ("local", 1), ("local[3]", 3), ("local[4,2]", 4), ("local-cluster[2,3,1024]", 6)],
)
def test_partitions_follow_the_cores_that_are_known(master: str | None, count: int) -> None:
    assert count_partitions(master, 2) == count


# --- what Spark says ---------------------------------------------------------------------------------------

STACK = "\n\tat org.apache.spark.Some.method(Some.scala:1)" * 50


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: Job aborted due to stage failure: "
            "Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage 3.0 (TID 7) (host "
            "executor driver): org.apache.spark.SparkException: [FAILED_READ_FILE] Cannot read a.parquet. SQLSTATE: K"
            + STACK,
            "[FAILED_READ_FILE] Cannot read a.parquet.",
        ),
        ("java.io.IOException: No space left on device" + STACK, "No space left on device"),
        ("", "it says nothing"),
        ("x" * 1000, "x" * 400 + " ..."),
    ],
)
def test_of_what_spark_says_the_reason_is_left(said: str, reason: str) -> None:
    assert find_reason(said) == reason
    assert len(str(tell_failure("late", said, "spark.log")).splitlines()) <= 3


def test_a_mistake_of_ours_that_came_through_java_keeps_its_hint() -> None:
    said = (
        "PythonException: Traceback:\n  File x\ncepheid.errors.MatchFailure: error[match-failure]: no way\n\nhint: go"
        + STACK
    )
    told = tell_failure("late", said, "spark.log")
    assert isinstance(told, RunFailed)
    assert (told.message, told.hint) == ('query "late" failed: no way', "go")


def make_progress(batch: int, **more: Any) -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": 7,
        "durationMs": {"addBatch": 5, "triggerExecution": 20},
        "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
        "observedMetrics": {ROWS: {"count": 2}},
        "sources": [{"metrics": {"numFilesOutstanding": "3"}}, {"metrics": {}}],
        **more,
    }


def test_each_batch_is_counted_once_and_events_are_not_files() -> None:
    counts = {"events": 1000, "rows": 2, "late": 4, "rejected": 1, "dropped": 0, "lateness": []}
    by_engines = make_progress(1, observedMetrics={ROWS: {"count": 2}, "cepheid x": counts})
    idle = make_progress(2, durationMs={"triggerExecution": 1})
    reader, dead, tally = ProgressReader("late"), ProgressReader("buses", is_dead=True), Tally()
    for recent in ([make_progress(0)], [make_progress(0), by_engines], [by_engines, idle], [idle, make_progress(2)]):
        for batch in reader.read_new(recent):
            tally.add(batch)
    for batch in dead.read_new([make_progress(0)]):
        tally.add(batch)
    assert tally.counts == {
        "events of late": 1014,
        "rows of late": 6,
        "late": 4,
        "rejected": 1,
        "dead letters of buses": 2,
    }
    (first, *_) = ProgressReader("late").read_new([make_progress(0)])
    assert (first.waiting, first.horizon_ms, first.duration_ms) == (3, 1_767_225_600_000, 20.0)


def test_how_late_events_are_is_told_of_all_shares_so_far() -> None:
    def make_told(share: int, *lateness_us: int) -> dict[str, Any]:
        tally = LatenessTally()
        tally.see(np.array(lateness_us), 0)
        told = {"events": 4, "rows": 0, "late": 0, "rejected": 0, "dropped": 0}
        return {"cepheid x": {**told, "lateness": [write_share(share, [tally])]}}

    recent = [
        make_progress(batch, observedMetrics=told)
        for batch, told in enumerate([make_told(0, 0, 0), make_told(1, 0, 9), make_told(1, 0, 9, 0, 9)])
    ]
    shares = [batch.lateness.late_share for batch in ProgressReader("late").read_new(recent) if batch.lateness]
    assert shares == [0, 1 / 4, 1 / 3]
    seen = cep.report_lateness(SimpleNamespace(recentProgress=recent))
    assert seen is not None
    assert seen.late_share == 1 / 3
    assert cep.report_lateness(SimpleNamespace(recentProgress=[make_progress(0)])) is None
    with pytest.raises(InvalidInput, match="no StreamingQuery"):
        cep.report_lateness(3)


class Started:
    """A streaming query of Spark's, as far as it is asked."""

    def __init__(self, failure: str | None, is_active: bool = False) -> None:
        self._failure, self.isActive = failure, is_active
        self.lastProgress = None
        self.status = {"message": "Initializing sources", "isTriggerActive": False}

    def exception(self) -> str | None:
        return self._failure

    def stop(self) -> None:
        self.isActive = False


def test_a_query_that_spark_gave_too_little_time_is_started_again_and_one_at_a_time() -> None:
    slow = "SparkException: Python worker failed to connect back."
    starts: dict[str, list[Started]] = {
        "a": [Started(slow), Started(slow), Started(None, is_active=True)],
        "b": [Started(slow), Started(None, is_active=True)],
    }
    queries = [RunningQuery(name, lambda left=left: left.pop(0), None) for name, left in starts.items()]
    running = RunningApplication(queries, RunOptions(log="spark.log"), [])
    assert running.goes_on()
    assert [len(left) for left in starts.values()] == [1, 0], "both were ended, so the first goes first"
    assert running.goes_on()
    assert [len(left) for left in starts.values()] == [1, 0], "b is starting, and a waits for it"
    starts["b"].append(Started(None))
    queries[1].query = starts["b"].pop()
    assert running.goes_on()
    assert queries[0].query.isActive
    broken = RunningQuery("c", lambda: Started("java.io.IOException: No space left on device"), None)
    with pytest.raises(RunFailed, match='query "c" failed: No space left on device'):
        RunningApplication([broken], RunOptions(log="spark.log"), []).goes_on()


# --- Delta and PostgreSQL ----------------------------------------------------------------------------------


def test_a_version_that_moves_rows_adds_nothing_and_one_that_takes_them_stops() -> None:
    def write(*actions: dict[str, Any]) -> str:
        return "\n".join(map(json.dumps, actions))

    add = {"add": {"path": "day=a%20b/1.parquet", "dataChange": True}}
    assert find_added(write({"commitInfo": {}}, add), "t", 1) == ["day=a b/1.parquet"]
    moved = write(
        {"remove": {"path": "1", "dataChange": False}}, {"add": {"path": "2", "dataChange": False}}, {"txn": {"v": 1}}
    )
    assert find_added(moved, "t", 2) == []
    with pytest.raises(InvalidInput, match='version 3 of "t" takes rows away'):
        find_added(write({"remove": {"path": "1", "dataChange": True}}), "t", 3)


class Given:
    def __init__(self, table: pa.Table) -> None:
        self.schema, self._table = table.schema, table

    def __iter__(self) -> Any:
        return iter(self._table.to_batches())


def test_rows_reach_postgres_as_they_are(postgres: Any) -> None:
    """Null is not the empty text, and quotes, ends of lines, zones and numbers without a number survive."""
    import psycopg

    from cepheid.execution.spark.sinks.postgres import PostgresSink
    from cepheid.execution.spark.sinks.sink import BatchId

    table = pa.table(
        {
            "text": ["", None, 'a"b,\n\\N'],
            "time": pa.array([0, 1_500_000, None], pa.timestamp("us", tz="UTC")),
            "number": [0.1, float("inf"), float("nan")],
            "bytes": ["\\x00ff", None, "\\x"],
        }
    )
    sink = PostgresSink(postgres.url, "Rows of mine")
    kinds = {"text": "string", "time": "timestamp", "number": "double", "bytes": "binary"}
    sink._columns = {name: find_type(name, kind) for name, kind in kinds.items()}
    for number, checkpoint in ((0, "a"), (0, "a"), (1, "a"), (0, "a"), (0, "b")):
        sink.write(Given(table), BatchId("q", checkpoint, number))
    with psycopg.connect(postgres.url) as connection:
        rows = connection.execute(
            'SELECT text, extract(epoch FROM time), number::text, bytes, count(*) FROM "Rows of mine" '
            "GROUP BY 1, 2, 3, 4 ORDER BY text NULLS FIRST"
        ).fetchall()
    told = [
        (text, None if time is None else float(time), number, raw, count) for text, time, number, raw, count in rows
    ]
    assert told == [
        (None, 1.5, "Infinity", None, 3),
        ("", 0.0, "0.1", b"\x00\xff", 3),
        ('a"b,\n\\N', None, "NaN", b"", 3),
    ]


def test_a_database_that_is_away_is_waited_for_and_rows_that_do_not_fit_are_told(postgres: Any) -> None:
    import threading

    from cepheid.execution.spark.sinks.postgres import PostgresSink
    from cepheid.execution.spark.sinks.sink import BatchId

    sink = PostgresSink(postgres.url, "found")
    sink._columns = {"n": "bigint"}
    postgres.stop()
    back = threading.Timer(1.0, postgres.start)
    back.start()
    sink.write(Given(pa.table({"n": [1, 2]})), BatchId("q", "a", 0))
    back.join()
    sink._columns = {"m": "bigint"}
    with pytest.raises(InvalidInput, match='column "m" of relation "found" does not exist'):
        sink.write(Given(pa.table({"m": [1]})), BatchId("q", "a", 1))


def test_types_that_postgres_has_not_are_refused_before_anything_runs() -> None:
    assert find_type("x", "decimal(10,2)") == "numeric(10,2)"
    assert find_type("x", "array<int>") == "jsonb"
    with pytest.raises(NotSupportedYet, match="interval day to second"):
        find_type("x", "interval day to second")
    assert b"".join(write_csv(Given(pa.table({"a": ["x", None, ""]})))) == b'"x"\n\n""\n'


def test_a_delta_table_is_read_before_spark_is_there_and_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    events = pa.table({"ts": pa.array([1], pa.timestamp("us", tz="UTC")), "bus": [7]})
    deltalake.write_deltalake(str(tmp_path / "lake"), events)
    text = '[source.buses]\npath = "delta:%s"\n[query.a]\nsql = "SELECT bus FROM buses"\n[cluster]\nhost = "spark"\n'
    assert read(tmp_path, text % "lake").sources["buses"].schema.equals(events.schema)
    pq.write_table(events, tmp_path / "feed.parquet")
    with pytest.raises(InvalidInput, match="no Delta table"):
        read(tmp_path, text % "feed.parquet")
