"""What users do over Spark Connect, as a program of its own: a process has sessions of one kind only.

Started by test_connect.py; its argument is an empty folder.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.errors import InvalidInput, InvalidQuery, NotSupportedYet
from cepheid.testing import assert_same_rows

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND a.value < 8 AND b.value > 12 WITHIN INTERVAL '50' SECOND STRATEGY skip_till_any"""
ON_TIME = timedelta(0)


def make_events(count: int) -> pa.Table:
    times = [BEGIN + timedelta(seconds=second) for second in range(count)]
    ids, values = [n % 7 for n in range(count)], [float(n * 7919 % 21) for n in range(count)]
    return pa.table({"id": ids, "ts": times, "value": values}).cast(SCHEMA)


def start_session() -> SparkSession:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.ui.enabled": "false",
        "spark.python.daemon.module": "cepheid.execution.spark.daemon",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.remote("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def try_tables(spark: SparkSession, events: pa.Table) -> None:
    frame = spark.createDataFrame(events)
    found = cep.sql(PAIRS, events=frame)
    expected = cep.sql(PAIRS, events=events)
    assert_same_rows(found.toArrow().cast(expected.schema), expected)
    assert cep.count_rejected(found) == 0
    assert "Sequence" in str(cep.explain(PAIRS, events=frame))
    grouped = cep.sql(f"SELECT '{{x}}' AS text, count(*) AS n FROM ({PAIRS})", events=frame)
    assert [tuple(row) for row in grouped.collect()] == [("{x}", len(expected))]
    unknown = PAIRS.replace("a.ts AS first", "nofunction(a.ts) AS first")
    with pytest.raises(InvalidQuery, match="Spark SQL refuses this"):
        cep.sql(unknown, events=frame)


def try_streams(spark: SparkSession, events: pa.Table, folder: Path) -> None:
    (folder / "in").mkdir()

    def run(part: pa.Table, name: str, groups: int = 64) -> None:
        pq.write_table(part, folder / "in" / f"{name}.parquet")
        rows = cep.sql(PAIRS, events=read(), lateness=ON_TIME, key_groups=groups)
        writer = rows.writeStream.format("parquet").option("path", str(folder / "out"))
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()

    def read() -> Any:
        return spark.readStream.schema(spark.createDataFrame(events).schema).parquet(str(folder / "in"))

    if not hasattr(read().groupBy("id"), "transformWithStateInPandas"):  # Spark 4.0
        with pytest.raises(NotSupportedYet, match="a stream over Spark Connect"):
            run(events, "1")
        return
    before = dict(spark.conf.getAll)
    run(events.slice(0, 60), "1")
    run(pa.concat_tables([events.slice(60), events.slice(3, 2)]), "2")  # the last two a minute too late
    assert dict(spark.conf.getAll) == before, "the settings of the session stay as they are"
    expected = cep.sql(PAIRS, events=events)
    found = spark.read.parquet(str(folder / "out")).toArrow()
    assert_same_rows(found.cast(expected.schema), expected)
    late = cep.late_events(spark, str(folder / "checkpoint"))
    assert [row.id for row in late.collect()] == [3]  # the other meets no condition
    with pytest.raises(Exception, match="was written with 64 key groups, and this query has 32"):
        run(events.slice(100), "3", groups=32)  # the state itself says so, in the first batch
    assert spark.read.parquet(str(folder / "out")).count() == len(expected)
    pairs = cep.sql(PAIRS, events=read(), lateness=ON_TIME)
    with pytest.raises(NotSupportedYet, match="a stream that comes from"):
        cep.sql("SELECT a.id FROM PATTERN SEQ(pairs a) ORDER BY last", pairs=pairs)
    with pytest.raises(InvalidInput, match=r"is behind cep\.sql"):
        pairs.withWatermark("last", "1 second").writeStream.format("noop").start()


if __name__ == "__main__":
    session = start_session()
    try_tables(session, make_events(120))
    try_streams(session, make_events(120), Path(sys.argv[1]))
    session.stop()
