"""A stream on Spark gives the rows of the batch answer, whatever the batches, also after a restart."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, InvalidOrder, UnboundedState, UnboundedStateWarning
from cepheid.execution.spark.direct_ingest import find_parquet_stream
from cepheid.execution.spark.measurements import read_measurements
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64()), ("name", pa.string())]
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

RISE = """
    SELECT m.id, m.low, m.high, m.n, m.at
    FROM events MATCH_RECOGNIZE (
      PARTITION BY id, name ORDER BY ts
      MEASURES FIRST(a.value) AS low, LAST(b.value) AS high, count(b.*) AS n, LAST(b.ts) AS at
      PATTERN (a b{2,}) WITHIN INTERVAL '40' SECOND
      DEFINE b AS b.value > PREV(b.value)) AS m"""
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last, b.value - a.value AS gap
    FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND b.value > 15 AND a.value < b.value - 2
    WITHIN INTERVAL '30' SECOND STRATEGY skip_till_any"""
NUMBERED = """
    SELECT * FROM events MATCH_RECOGNIZE (
      PARTITION BY id ORDER BY ts
      MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS part, PREV(b.value) AS before
      ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
      PATTERN (a b) DEFINE b AS b.value > a.value + 8)"""


def make_events(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    names = np.array(["x", "y", None], dtype=object)
    return pa.table(
        {
            "id": random.integers(1, 6, count).astype(np.int32),
            "ts": [BEGIN + timedelta(seconds=int(second)) for second in np.sort(random.integers(0, count * 2, count))],
            "value": random.integers(1, 21, count).astype(np.float64),
            "name": names[random.integers(0, 3, count)],
        },
        SCHEMA,
    )


def closing_events() -> pa.Table:
    """Two events far ahead: the first moves time on, the second lets every key group see that it did."""
    moments = [BEGIN + timedelta(days=1), BEGIN + timedelta(days=1, seconds=1)]
    rows = {"id": [-1, -1], "ts": moments, "value": [0.0, 0.0], "name": ["z", "z"]}
    return pa.table(rows, SCHEMA)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
@pytest.mark.parametrize("text", [RISE, PAIRS, NUMBERED], ids=["rise", "pairs", "numbered"])
def test_stream_with_restart_gives_the_rows_of_the_batch(text: str, direct: bool, spark: Any, tmp_path: Path) -> None:
    events = make_events(240, seed=3)
    closing = closing_events()
    expected = cep.sql(text, events=pa.concat_tables([events, closing]))
    stream = FedStream(spark, tmp_path, SCHEMA, direct)
    for begin, end in ((0, 70), (70, 71), (71, 150)):
        stream.feed(events.slice(begin, end - begin))
    stream.run(text, lateness=timedelta(0))
    stream.feed(events.slice(150))
    for place in range(2):
        stream.feed(closing.slice(place, 1))
    query = stream.run(text, lateness=timedelta(0))
    assert query.lastProgress["batchId"] >= 5
    found = stream.rows().select(expected.column_names)
    assert len(expected) > 5
    assert_same_rows(found.cast(expected.schema), expected)


@pytest.mark.essential
def test_events_within_the_lateness_are_put_in_order_and_later_ones_kept_apart(spark: Any, tmp_path: Path) -> None:
    events = make_events(200, seed=5)
    seconds = events.column("ts").to_numpy().astype("datetime64[s]").astype(np.int64)
    arrival = np.argsort(seconds + np.random.default_rng(1).integers(0, 15, len(seconds)), kind="stable")
    shuffled = events.take(pa.array(arrival))
    # equal times keep the order of arrival: that is the order in which the batch sees them too
    expected = cep.sql(PAIRS, events=shuffled)
    stream = FedStream(spark, tmp_path, SCHEMA)
    for begin in range(0, 200, 50):
        stream.feed(shuffled.slice(begin, 50))
    stream.feed(closing_events().slice(0, 1))
    stream.feed(events.slice(0, 3))  # hopelessly late
    query = stream.run(PAIRS, lateness=timedelta(seconds=15))
    assert_same_rows(stream.rows().cast(expected.schema), expected)
    measured = read_measurements(query)
    assert sum(batch.late for batch in measured) == 3
    assert sum(batch.rows for batch in measured) == len(expected)
    late = cep.late_events(spark, stream.checkpoint).toArrow()
    assert sorted(late.column("ts").to_pylist()) == events.slice(0, 3).column("ts").to_pylist()


def test_events_without_a_time_are_counted_as_rejected(spark: Any, tmp_path: Path) -> None:
    events = make_events(60, seed=8)
    holes = pa.table(
        {**{name: events.column(name) for name in ("id", "value", "name")},
         "ts": pa.array([None if row % 7 == 0 else moment for row, moment in enumerate(events["ts"].to_pylist())],
                        SCHEMA.field("ts").type)},
    ).select(SCHEMA.names)  # fmt: skip
    with pytest.warns(cep.RejectedEventsWarning, match="9 events"):
        expected = cep.sql(PAIRS, events=holes)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(holes)
    query = stream.run(PAIRS, lateness=timedelta(0))
    assert_same_rows(stream.rows().cast(expected.schema), expected)
    assert sum(batch.rejected for batch in read_measurements(query)) == 9


@pytest.mark.essential
def test_stream_in_another_zone_gives_the_same_rows_and_late_events(far_away: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=10)
    expected = cep.sql(PAIRS, events=events)
    stream = FedStream(far_away, tmp_path, SCHEMA)
    for begin in range(0, 120, 40):
        stream.feed(events.slice(begin, 40))
    stream.feed(events.slice(0, 2))  # late by now
    stream.run(PAIRS, lateness=timedelta(0))
    assert_same_rows(stream.rows().cast(expected.schema), expected)
    late = cep.late_events(far_away, stream.checkpoint).toArrow()
    assert sorted(late.column("ts").to_pylist()) == events.slice(0, 2).column("ts").to_pylist()


def test_own_watermark_of_the_dataframe_is_the_horizon(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=9)
    expected = cep.sql(PAIRS, events=events)
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events.slice(0, 60))
    stream.feed(events.slice(60))
    frame = stream.frame().withWatermark("ts", "0 seconds")
    found: list[pa.Table] = []
    query = (
        cep.sql(PAIRS, events=frame)
        .writeStream.foreachBatch(lambda batch, _: found.append(batch.toArrow()))
        .option("checkpointLocation", stream.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert_same_rows(pa.concat_tables(found).cast(expected.schema), expected)


@pytest.mark.essential
def test_only_a_plain_folder_of_parquet_files_is_read_directly(spark: Any, tmp_path: Path) -> None:
    plain = FedStream(spark, tmp_path / "plain", SCHEMA).frame()
    assert find_parquet_stream(plain) is not None
    assert find_parquet_stream(plain.withWatermark("ts", "1 second")) is not None
    assert find_parquet_stream(plain.where("value > 1")) is None
    partitioned = FedStream(spark, tmp_path / "parted", SCHEMA)
    (tmp_path / "parted" / "in" / "day=1").mkdir()
    assert find_parquet_stream(partitioned.frame()) is None
    assert find_parquet_stream(spark.createDataFrame(make_events(3, seed=1))) is None


def test_stream_without_event_time_is_refused_before_it_runs(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    with pytest.raises(InvalidOrder, match="withWatermark"):
        cep.sql(PAIRS, events=stream.frame())
    with pytest.raises(InvalidInput, match="use one of the two"):
        cep.sql(PAIRS, events=stream.frame().withWatermark("ts", "5 seconds"), lateness=timedelta(seconds=5))
    by_number = RISE.replace("ORDER BY ts", "ORDER BY value").replace("WITHIN INTERVAL '40' SECOND", "")
    with pytest.raises(InvalidOrder, match="event time"):
        cep.sql(by_number, events=stream.frame().withWatermark("ts", "5 seconds"))


def test_pattern_over_pattern(spark: Any, tmp_path: Path) -> None:
    text = f"SELECT * FROM ({RISE}) MATCH_RECOGNIZE (ORDER BY at MEASURES p.low AS low, q.at AS at PATTERN (p q))"
    events = make_events(240, seed=3)
    batches = [
        *(events.slice(begin, 80) for begin in range(0, 240, 80)),
        *(closing_events().slice(n, 1) for n in (0, 1)),
    ]
    query = cep.open(text, events=SCHEMA)
    expected = pa.concat_tables([query.push(events=batch) for batch in batches])
    stream = FedStream(spark, tmp_path, SCHEMA)
    for batch in batches:
        stream.feed(batch)
    stream.run(text, lateness=timedelta(0))
    assert len(expected) > 2
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_unbounded_stream_warns_and_is_refused_when_strict(spark: Any, tmp_path: Path) -> None:
    frame = FedStream(spark, tmp_path, SCHEMA).frame().withWatermark("ts", "5 seconds")
    unbounded = PAIRS.replace("WITHIN INTERVAL '30' SECOND", "")
    with pytest.warns(UnboundedStateWarning, match="WITHIN"):
        cep.sql(unbounded, events=frame)
    with pytest.raises(UnboundedState, match="WITHIN"):
        cep.sql(unbounded, events=frame, strict=True)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_sequence_over_two_streams(direct: bool, spark: Any, tmp_path: Path) -> None:
    text = """SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(rises a, falls b)
        WHERE a.id = b.id AND a.value > 10 AND b.value < 8 WITHIN INTERVAL '20' SECOND STRATEGY skip_till_any"""
    tables = {"rises": make_events(120, seed=11), "falls": make_events(120, seed=12)}
    expected = cep.sql(text, **tables)
    streams = {name: FedStream(spark, tmp_path / name, SCHEMA, direct) for name in tables}
    for begin in range(0, 120, 40):
        for name, stream in streams.items():
            stream.feed(tables[name].slice(begin, 40))
    for place in range(2):
        for stream in streams.values():
            stream.feed(closing_events().slice(place, 1))
    found: list[pa.Table] = []
    query = (
        cep.sql(text, lateness=timedelta(0), **{name: stream.frame() for name, stream in streams.items()})
        .writeStream.foreachBatch(lambda batch, _: found.append(batch.toArrow()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert len(expected) > 10
    assert sum(batch.late for batch in read_measurements(query)) == 0
    assert_same_rows(pa.concat_tables(found).cast(expected.schema), expected)
