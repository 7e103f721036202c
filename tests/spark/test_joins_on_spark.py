"""Joins on Spark give the rows that they give in this process: of windows by our engines, with tables by Spark."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.measurements import read_measurements
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, read_rows, run_some_at_once, start_query

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")]

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

JOINS = {
    "time windows": """SELECT x.id, x.ts AS a, y.ts AS b, x.value + y.value AS s
        FROM l [RANGE 20 SECONDS] AS x, r [RANGE 30 SECONDS] AS y WHERE x.id = y.id AND x.value < y.value""",
    "count windows": "SELECT x.id, x.value AS u, y.value AS v FROM l [ROWS 9] AS x, r [ROWS 12] AS y WHERE x.id = y.id",
    "left": """SELECT x.id, x.ts AS a, y.value AS v
        FROM l [RANGE 5 SECONDS] AS x LEFT JOIN r [RANGE 6 SECONDS] AS y ON x.id = y.id""",
    "interval": """SELECT x.id, x.ts AS a, y.ts AS b FROM l AS x LEFT JOIN r AS y
        ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL '3' SECOND AND x.ts + INTERVAL '4' SECOND""",
    "rows of a window": """SELECT x.id, x.s, y.value AS v
        FROM (SELECT id, sum(value) AS s FROM l [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY id) [RANGE 9 SECONDS] AS x,
        r [RANGE 20 SECONDS] AS y WHERE x.id = y.id""",
    "as of": "SELECT x.id, x.ts AS a, y.value AS v FROM l AS x ASOF LEFT JOIN r AS y ON x.id = y.id AND x.ts >= y.ts",
    "next": "SELECT x.id, x.ts AS a, y.ts AS b, y.value AS v FROM l AS x ASOF JOIN r AS y "
    "MATCH_CONDITION (x.ts < y.ts) ON x.id = y.id",
}
WITH_TABLE = {
    "inner": "SELECT l.id, l.value, t.label FROM l, t WHERE l.id = t.id AND l.value > 3",
    "left": "SELECT l.id, l.ts, t.label FROM l LEFT JOIN t ON l.id = t.id",
    "as of": "SELECT l.id, l.ts, t.label FROM l LEFT JOIN t FOR SYSTEM_TIME AS OF l.ts ON l.id = t.id",
}
SINCE = [BEGIN + timedelta(seconds=second) for second in (40, 0, 60, 0)]
LABELS = pa.table(
    {
        "id": pa.array([1, 2, 2, 9], pa.int32()),
        "label": ["one", "two", "zwei", None],
        "since": pa.array(SINCE, SCHEMA.field("ts").type),
    }
)


def make_events(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    ids = [None if number == 0 else int(number) for number in random.integers(0, 6, count)]
    seconds = np.sort(random.integers(0, count * 2, count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "ts": [BEGIN + timedelta(seconds=int(second)) for second in seconds],
            "value": random.integers(1, 21, count).astype(np.float64),
        },
        SCHEMA,
    )


def closing_event(second: int) -> pa.Table:
    """Far ahead: one moves time on, the next lets every key group see that it did."""
    return pa.table({"id": [-1], "ts": [BEGIN + timedelta(days=1, seconds=second)], "value": [0.0]}, SCHEMA)


def test_joins_over_whole_tables(spark: Any) -> None:
    tables = {"l": make_events(120, seed=1), "r": make_events(120, seed=2)}
    frames = {name: spark.createDataFrame(table).coalesce(1) for name, table in tables.items()}
    for title, text in JOINS.items():
        expected = cep.sql(text, **tables)
        assert len(expected) > 20, title
        assert_same_rows(cep.sql(text, key_groups=8, **frames).toArrow().cast(expected.schema), expected, title)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_joins_on_streams_with_restart(direct: bool, spark: Any, tmp_path: Path) -> None:
    titles = list(JOINS) if direct else ["time windows"]
    tables = {"l": make_events(120, seed=3), "r": make_events(120, seed=4)}
    batches = {
        name: [*(table.slice(begin, 40) for begin in range(0, 120, 40)), closing_event(0), closing_event(1)]
        for name, table in tables.items()
    }
    streams = {name: FedStream(spark, tmp_path / name, SCHEMA, direct) for name in tables}
    queries = []
    for places in (range(2), range(2, 5)):
        for place in places:
            for name, stream in streams.items():
                stream.feed(batches[name][place])
        frames = {name: stream.frame() for name, stream in streams.items()}
        queries += run_some_at_once(
            [(cep.sql(JOINS[title], lateness=timedelta(0), **frames), tmp_path / title) for title in titles]
        )
    for title in titles:
        opened = cep.open(JOINS[title], l=SCHEMA, r=SCHEMA)
        parts = [opened.push(l=left, r=right) for left, right in zip(*batches.values(), strict=True)]
        expected = pa.concat_tables(parts)
        assert len(expected) > 20, title
        found = read_rows(spark, tmp_path / title).select(expected.column_names)
        assert_same_rows(found.cast(expected.schema), expected, title)
    assert sum(batch.late for query in queries for batch in read_measurements(query)) == 0


@pytest.mark.parametrize("title", WITH_TABLE)
def test_stream_joins_a_table_as_spark_does_it(title: str, spark: Any, tmp_path: Path) -> None:
    text, events = WITH_TABLE[title], make_events(60, seed=5)
    expected = cep.sql(text, l=events, t=LABELS)
    table = spark.createDataFrame(LABELS)
    assert_same_rows(cep.sql(text, l=spark.createDataFrame(events), t=table).toArrow().cast(expected.schema), expected)
    stream = FedStream(spark, tmp_path, SCHEMA)
    assert "[host: no windows are joined, the rest is SQL]" in cep.explain(text, "placed", l=stream.frame(), t=table)
    for begin in (0, 30):
        stream.feed(events.slice(begin, 30))
        start_query(cep.sql(text, l=stream.frame(), t=table), tmp_path).awaitTermination()
    found = stream.rows().select(expected.column_names)
    assert len(expected) > 20
    assert_same_rows(found.cast(expected.schema), expected)


def test_explain_says_who_runs_a_join_and_why(spark: Any) -> None:
    frames = {name: spark.createDataFrame(make_events(3, seed=1)) for name in ("l", "r")}
    for text, told in (
        (JOINS["time windows"], "[engines, by _key0: only events of equal keys join]"),
        (JOINS["count windows"], "[one engine: a window that counts must see every event]"),
        (JOINS["left"].replace("x.id = y.id", "x.value < y.value"), "[one engine: events of any keys may join]"),
    ):
        assert told in cep.explain(text, step="placed", **frames)


def test_windows_of_a_stream_and_a_table_are_refused(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA).frame()
    table = spark.createDataFrame(make_events(3, seed=1))
    with pytest.raises(NotSupportedYet, match="a stream and a table"):
        cep.sql(JOINS["time windows"], l=stream, r=table, lateness=timedelta(0))


def test_tables_and_databases_on_spark(spark: Any, tmp_path: Path) -> None:
    """A table in memory is joined by Spark, one of a database is looked up by the workers; batch and stream."""
    import duckdb

    file = tmp_path / "shop.db"
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE prices AS SELECT range AS id, range * 10 AS price FROM range(5)")
    events = pa.table(
        {"id": pa.array([0, 1, 7, 3], pa.int64()), "ts": pa.array([0, 1, 2, 3], pa.timestamp("s", tz="UTC"))}
    )
    names = cep.Table(pa.table({"id": [0, 1, 3], "name": ["a", "b", "c"]}))
    given: dict[str, Any] = {"p": cep.Database(f"duckdb://{file}", "prices"), "n": names}
    query = (
        "SELECT x.id, x.price, n.name FROM (SELECT s.id, p.price FROM s LEFT JOIN p ON s.id = p.id) AS x "
        "LEFT JOIN n ON x.id = n.id"
    )
    expected = [(0, 0, "a"), (1, 10, "b"), (3, 30, "c"), (7, None, None)]
    frame = spark.createDataFrame(events)
    assert sorted(map(tuple, cep.sql(query, s=frame, **given).collect())) == expected
    frame.coalesce(1).write.parquet(str(tmp_path / "feed"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "feed"))
    answer = cep.sql(query, s=stream, **given).writeStream.format("memory").queryName("looked_up")
    running = answer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    running.awaitTermination()
    assert sorted(map(tuple, spark.table("looked_up").collect())) == expected
