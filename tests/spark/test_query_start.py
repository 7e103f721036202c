"""What is checked and set when a stream of ours is started, and what of it the rest of the session sees."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from pyspark.sql import functions

import cepheid as cep
from cepheid.errors import InvalidInput, NotSupportedYet, SnapshotMismatch
from cepheid.execution.spark.clock import Clock, find_clock
from cepheid.execution.spark.direct_ingest import find_parquet_stream
from cepheid.execution.spark.query_start import RECORD_FILE, STATE_STORE, find_checkpoint
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, read_rows, start_query

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND a.value < 8 AND b.value > 12 WITHIN INTERVAL '50' SECOND STRATEGY skip_till_any"""
BY_HOUR = PAIRS.replace("a.value < 8", "hour(a.ts) < 12 AND a.value < 8")
QUIET = """
    SELECT a.id, a.ts AS since FROM PATTERN SEQ(events a, ~events b)
    WHERE a.id = b.id AND a.value > 10 WITHIN INTERVAL '20' SECOND"""
ON_TIME = timedelta(0)
ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"


def make_events(count: int, seed: int) -> pa.Table:
    """One a second, of ten ids."""
    random = np.random.default_rng(seed)
    times = [BEGIN + timedelta(seconds=second) for second in range(count)]
    values = random.integers(1, 21, count).astype(np.float64)
    return pa.table({"id": random.integers(0, 10, count).astype(np.int32), "ts": times, "value": values}, SCHEMA)


@contextmanager
def set_for_now(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None) if name in spark.conf.getAll else None
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name) if before is None else spark.conf.set(name, before)


@pytest.fixture
def stopped(spark: Any, tmp_path: Path) -> FedStream:
    """A stream of which half was read, and stopped."""
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(make_events(120, seed=1).slice(0, 60))
    stream.run(PAIRS, lateness=ON_TIME)
    return stream


@pytest.mark.essential
def test_what_does_not_belong_to_a_checkpoint_is_refused_at_start_without_data(stopped: FedStream) -> None:
    with pytest.raises(SnapshotMismatch, match="64 key groups, and this query has 32"):
        stopped.run(PAIRS, lateness=ON_TIME, key_groups=32)
    for change in (("50", "51"), ("> 12", "> 13")):
        with pytest.raises(SnapshotMismatch, match="belongs to another query"):
            stopped.run(PAIRS.replace(*change), lateness=ON_TIME)
    record = Path(stopped.checkpoint) / RECORD_FILE
    written = record.read_text()
    record.write_text(written.replace('"format"', '"older"'))
    with pytest.raises(SnapshotMismatch, match=r"is damaged: cepheid/stages.json"):
        stopped.run(PAIRS, lateness=ON_TIME)
    record.with_name(f".{record.name}.crc").unlink()
    with pytest.raises(SnapshotMismatch, match="another version of Cepheid"):
        stopped.run(PAIRS, lateness=ON_TIME)
    record.write_text(written)
    events = make_events(120, seed=1)
    stopped.feed(events.slice(60))
    with set_for_now(stopped.spark, ZONE, "America/New_York"):  # on which nothing in this query depends
        stopped.run(PAIRS.replace("\n", "  \n"), lateness=ON_TIME)  # white space changes nothing
    expected = cep.sql(PAIRS, events=events)
    assert len(expected) > 20
    assert_same_rows(stopped.rows().cast(expected.schema), expected)


def test_rules_of_the_session_that_rows_depend_on_are_those_of_the_checkpoint(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=1)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events.slice(0, 60))
    stream.run(BY_HOUR, lateness=ON_TIME)
    before = len(stream.rows())
    stream.feed(events.slice(60))
    now_ansi = str(spark.conf.get(ANSI))
    other_ansi = "false" if now_ansi == "true" else "true"
    changes = [(ZONE, "America/New_York"), (ANSI, other_ansi), ("spark.sql.legacy.timeParserPolicy", "LEGACY")]
    for name, value in changes:
        with set_for_now(spark, name, value), pytest.raises(SnapshotMismatch, match=rf"{name} was .* and is {value}"):
            stream.run(BY_HOUR, lateness=ON_TIME)
    record = Path(stream.checkpoint) / RECORD_FILE
    record.rename(tmp_path / "record")  # as if it had been started where nobody sees it: then the state itself refuses
    with set_for_now(spark, ZONE, "America/New_York"), pytest.raises(Exception, match=f"{ZONE} was UTC and is America"):
        stream.run(BY_HOUR, lateness=ON_TIME)
    (tmp_path / "record").rename(record)
    assert len(stream.rows()) == before
    stream.run(BY_HOUR, lateness=ON_TIME)
    expected = cep.sql(BY_HOUR, events=events)
    assert len(expected) > before > 0
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_state_itself_refuses_what_was_started_unseen(stopped: FedStream) -> None:
    (Path(stopped.checkpoint) / RECORD_FILE).unlink()
    before = len(stopped.rows())
    stopped.feed(make_events(120, seed=1).slice(60))
    with pytest.raises(Exception, match=r"snapshot-mismatch\]: the checkpoint was written with 64 key groups"):
        stopped.run(PAIRS, lateness=ON_TIME, key_groups=32)
    assert len(stopped.rows()) == before


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_settled_rows_come_out_in_the_run_that_settles_them(direct: bool, spark: Any, tmp_path: Path) -> None:
    events = make_events(90, seed=2).slice(0, 65)
    expected = cep.open(QUIET, events=SCHEMA).push(events=events)
    stream = FedStream(spark, tmp_path, SCHEMA, direct)
    stream.feed(events.slice(0, 61))
    stream.feed(events.slice(61))  # four events, which settle rows of other keys
    stream.run(QUIET, lateness=ON_TIME)
    assert len(expected) >= 4
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_events_that_no_condition_lets_through_move_time_on(spark: Any, tmp_path: Path) -> None:
    events = make_events(60, seed=2)
    later = events.slice(0, 1).set_column(1, "ts", pa.array([BEGIN + timedelta(hours=1)], SCHEMA.field("ts").type))
    later = later.set_column(2, "value", pa.array([0.0]))
    text = QUIET.replace("a.value > 10", "a.value > 10 AND b.value > 0")
    query = cep.open(text, events=SCHEMA)
    expected = pa.concat_tables([query.push(events=events), query.push(events=later)])
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events)
    stream.feed(later)
    stream.run(text, lateness=ON_TIME)
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_a_stage_has_as_many_partitions_as_cores_and_no_batches_without_data(spark: Any, tmp_path: Path) -> None:
    events = make_events(90, seed=2)
    other = spark.newSession()
    other.conf.set("spark.sql.shuffle.partitions", "200")
    stream = FedStream(other, tmp_path, SCHEMA)
    for begin in (0, 30):
        stream.feed(events.slice(begin, 30))
    query = stream.run(PAIRS, lateness=ON_TIME)
    partitions = {each["stateOperators"][0]["numShufflePartitions"] for each in query.recentProgress}
    assert (partitions, len(query.recentProgress)) == ({spark.sparkContext.defaultParallelism}, 2)
    assert other.conf.get("spark.sql.shuffle.partitions") == "200"
    other.conf.set("spark.sql.shuffle.partitions", "1")  # a checkpoint keeps what it began with
    stream.feed(events.slice(60))
    stream.run(PAIRS, lateness=ON_TIME)
    expected = cep.sql(PAIRS, events=events)
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_of_streams_that_users_put_together_the_slowest_counts(spark: Any, tmp_path: Path) -> None:
    """Only Spark knows that they were several: the horizon is its watermark."""
    events = make_events(120, seed=1)
    fast, slow = FedStream(spark, tmp_path / "fast", SCHEMA, False), FedStream(spark, tmp_path / "slow", SCHEMA, False)
    fast.feed(events.filter(np.arange(120) % 2 == 0))
    slow.feed(events.slice(0, 1))

    def run() -> None:
        frames = [each.frame().withWatermark("ts", "0 seconds") for each in (fast, slow)]
        start_query(cep.sql(PAIRS, events=frames[0].union(frames[1])), tmp_path).awaitTermination()

    run()
    slow.feed(events.filter(np.arange(120) % 2 == 1))  # older than what the other stream has had, and not late
    fast.feed(events.slice(118, 1))
    run()
    given = pa.concat_tables([events.slice(0, 1), events, events.slice(118, 1)])
    expected = cep.sql(PAIRS, events=given.sort_by("ts"))
    rows = read_rows(spark, tmp_path).cast(expected.schema)
    settled = expected.filter(pa.compute.less(expected["last"], events["ts"][118]))
    assert len(settled) > 20
    assert_same_rows(rows.filter(pa.compute.less(rows["last"], events["ts"][118])), settled)


def test_columns_are_found_by_case_where_the_session_says_so(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    assert find_parquet_stream(stream.frame()) is not None
    with set_for_now(spark, "spark.sql.caseSensitive", "true"):
        assert find_parquet_stream(stream.frame()) is None  # then Spark finds them


def test_where_the_fastest_stream_counts_only_spark_knows_the_time(spark: Any, tmp_path: Path) -> None:
    frames = [FedStream(spark, tmp_path / name, SCHEMA).frame().withWatermark("ts", "0 seconds") for name in "ab"]
    assert (find_clock(frames, []), find_clock(frames, frames)) == (Clock.ENVELOPES, Clock.ENVELOPES)
    with set_for_now(spark, "spark.sql.streaming.multipleWatermarkPolicy", "max"):
        assert (find_clock(frames, []), find_clock(frames[:1], [])) == (Clock.WATERMARK, Clock.ENVELOPES)


def test_settings_of_the_session_stay_as_they_are(spark: Any, tmp_path: Path) -> None:
    other = spark.newSession()
    chosen = {
        STATE_STORE: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    }
    for name, value in chosen.items():
        other.conf.set(name, value)
    stream = FedStream(other, tmp_path, SCHEMA)
    stream.feed(make_events(60, seed=1))
    before = {row.key: row.value for row in other.sql("SET").collect()}
    query = start_query(cep.sql(PAIRS, events=stream.frame(), lateness=ON_TIME), tmp_path)
    assert {row.key: row.value for row in other.sql("SET").collect()} == before
    query.awaitTermination()
    by_window = stream.frame().withWatermark("ts", "0 seconds").groupBy(functions.window("ts", "10 seconds")).count()
    counted = by_window.writeStream.format("memory").queryName("counted").outputMode("append")
    counted.trigger(availableNow=True).start().awaitTermination()
    assert other.table("counted").count() == 5  # one a second for a minute: the last window is still open


def test_streams_of_ours_are_put_together(spark: Any, tmp_path: Path) -> None:
    events = make_events(60, seed=1)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events)
    wide = PAIRS.replace("< 8", "< 9")
    frames = [cep.sql(text, events=stream.frame(), lateness=ON_TIME) for text in (PAIRS, PAIRS, wide)]
    start_query(frames[0].union(frames[1]).union(frames[2]), tmp_path).awaitTermination()
    expected = pa.concat_tables([cep.sql(text, events=events) for text in (PAIRS, PAIRS, wide)])
    assert_same_rows(stream.rows().cast(expected.schema), expected)


@pytest.mark.essential
def test_windows_of_spark_behind_ours_lose_nothing(spark: Any, tmp_path: Path) -> None:
    """The horizon is the watermark of the column that tells when a row is settled."""
    events = make_events(240, seed=4)
    stream = FedStream(spark, tmp_path, SCHEMA)
    for begin in range(0, 240, 60):
        stream.feed(events.slice(begin, 60))
    found = cep.sql(PAIRS, events=stream.frame(), lateness=ON_TIME)
    windows = found.groupBy(functions.window("last", "20 seconds")).count().select("window.start", "count")
    start_query(windows, tmp_path).awaitTermination()
    horizon = int((BEGIN + timedelta(seconds=239)).timestamp())
    last = [int(moment.timestamp()) // 20 * 20 for moment in cep.sql(PAIRS, events=events)["last"].to_pylist()]
    expected = Counter(start for start in last if start + 20 <= horizon)
    assert {int(row["start"].timestamp()): row["count"] for row in stream.rows().to_pylist()} == dict(expected)
    for column in ("first", "last"):
        with pytest.raises(InvalidInput, match="last has it already"):
            start_query(found.withWatermark(column, "1 minute"), tmp_path / column)
    with pytest.raises(NotSupportedYet, match="a stream that comes from"):
        cep.sql("SELECT a.id FROM PATTERN SEQ(pairs a) ORDER BY last", pairs=found)


def test_checkpoint_is_found_as_spark_finds_it() -> None:
    assert find_checkpoint({"checkpointlocation": "/a", "queryname": "q"}, "/all") == "/a"
    assert find_checkpoint({"queryname": "q"}, "/all") == "/all/q"
    assert find_checkpoint({"queryname": "q"}, None) is None
    assert find_checkpoint({}, "/all") is None
