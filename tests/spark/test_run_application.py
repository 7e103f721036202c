"""Applications on Spark: sources and sinks, records that do not fit, runs that go on where the last one ended."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.application import read_application
from cepheid.errors import InvalidOrder, SinkFailed, SnapshotMismatch
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.execution.spark.batch_progress import Tally

pytestmark = pytest.mark.spark

SCHEMA = {"ts": "timestamp", "bus": "int", "delay": "double"}
RISING = """SELECT * FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts MEASURES a.ts AS since, a.delay AS low, b.delay AS high
  PATTERN (a b) WITHIN INTERVAL '30' SECOND DEFINE b AS b.delay > a.delay + 100)"""
SOURCE = """
[source.buses]
schema = { ts = "timestamp", bus = "int", delay = "double" }
"""
ON_SPARK = '\n[cluster]\nhost = "spark"\n'


def make_events(count: int, seed: int = 1) -> pa.Table:
    """A second apart; the last one settles what the others began."""
    draw = random.Random(seed)
    times = [1_767_225_600_000_000 + 1_000_000 * number for number in range(count)]
    times[-1] += 3_600_000_000
    values = {
        "ts": pa.array(times, pa.timestamp("us")),
        "bus": pa.array([draw.randrange(5) for _ in times], pa.int32()),
        "delay": [float(draw.randrange(200)) for _ in times],
    }
    return pa.table(values)


def expect(events: pa.Table, text: str = RISING) -> Counter[tuple[Any, ...]]:
    return count_rows(cep.sql(text, buses=events))


def count_rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Times as numbers: some sinks give them a zone."""
    columns = [
        column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def make_queries(**sinks: str) -> str:
    return "".join(f"[query.{name}]\nsql = '''{RISING}'''\nsink = \"{sink}\"\n" for name, sink in sinks.items())


def run_once(spark: Any, folder: Path, text: str) -> Counter[str]:
    """Take what is there, to the end; gives what was counted."""
    from cepheid.execution.spark.application import RunOptions, start_application

    (folder / "app.toml").write_text(text)
    application = read_application(folder / "app.toml", ENDPOINTS)
    running = start_application(spark, application, RunOptions(once=True))
    tally = Tally()
    try:
        while running.goes_on():
            time.sleep(0.1)
    finally:
        running.stop()
    for batch in running.read_new():
        tally.add(batch)
    return tally.counts


def write_lines(path: Path, events: pa.Table, form: str, bad: list[str]) -> None:
    """bad: spread evenly among the others."""
    rows = [{**row, "ts": row["ts"].isoformat(sep=" ")} for row in events.to_pylist()]
    lines = [json.dumps(row) if form == "json" else ",".join(map(str, row.values())) for row in rows]
    for number, line in enumerate(bad):
        lines.insert(number * len(events) // len(bad), line)
    heading = ["ts,bus,delay"] if form == "csv" else []
    path.parent.mkdir(exist_ok=True)
    path.with_name(f".{path.name}").write_text("\n".join([*heading, *lines, ""]))
    path.with_name(f".{path.name}").rename(path)


def test_csv_with_poison_to_files_delta_and_postgres_over_two_runs(spark: Any, tmp_path: Path, postgres: Any) -> None:
    deltalake = pytest.importorskip("deltalake")
    sinks = {"to_parquet": "out/rising", "to_delta": "delta:out/delta", "to_postgres": f"{postgres.url}#rising"}
    text = SOURCE + 'path = "feed/"\n' + make_queries(**sinks) + ON_SPARK
    events = make_events(600)
    write_lines(
        tmp_path / "feed" / "1.csv", events.slice(0, 300), "csv", ["no time,3,2.5", "2026-01-01 00:00:00,1", "x,y"]
    )
    first = run_once(spark, tmp_path, text)
    write_lines(tmp_path / "feed" / "2.csv", events.slice(300), "csv", ["2026-01-01 00:00:00,many,1.0"] * 3)
    second = run_once(spark, tmp_path, text)
    wanted = expect(events)
    assert sum(wanted.values()) > 20
    assert count_rows(spark.read.parquet(str(tmp_path / "out" / "rising")).toArrow()) == wanted
    assert count_rows(deltalake.DeltaTable(str(tmp_path / "out" / "delta")).to_pyarrow_table()) == wanted
    assert count_rows(read_postgres(postgres)) == wanted
    assert first["rows of to_parquet"] + second["rows of to_parquet"] == sum(wanted.values())
    assert (first["dead letters of buses"], second["dead letters of buses"]) == (3, 3)
    dead = spark.read.parquet(str(tmp_path / "app.checkpoint" / "dead_letters" / "buses")).toArrow().to_pylist()
    assert Counter((row["reason"], row["record"]) for row in dead) == {
        ('"ts" is "no time", no timestamp', "no time,3,2.5"): 1,
        ("it has not 3 values", "2026-01-01 00:00:00,1"): 1,
        ("it has not 3 values", "x,y"): 1,
        ('"bus" is "many", no int', "2026-01-01 00:00:00,many,1.0"): 3,
    }
    assert all(row["file"].endswith(".csv") and row["source"] == "buses" for row in dead)

    with pytest.raises(SnapshotMismatch, match="belongs to another query"):
        run_once(spark, tmp_path, text.replace("a.delay + 100", "a.delay + 50"))
    postgres.run("ALTER TABLE rising RENAME COLUMN low TO lowest", "TRUNCATE cepheid_batches")
    write_lines(tmp_path / "feed" / "3.csv", make_events(100, seed=2), "csv", [])
    only = SOURCE + 'path = "feed/"\n' + make_queries(again=f"{postgres.url}#rising") + ON_SPARK
    with pytest.raises(SinkFailed, match=r'sink "postgresql://.*" of query "again" failed: .* column "low"'):
        run_once(spark, tmp_path, only)


OTHERS = """
[source.lines]
schema = { ts = "timestamp", bus = "int", delay = "double" }
path = "lines/*.jsonl"
dead_letters = "bad"
[query.from_lines]
sql = "SELECT ts, bus FROM lines WHERE delay > 100"
sink = "out/lines.jsonl"

[source.buses]
path = "feed"
lateness = "1 second"
[query.from_feed]
sql = '''%s'''
sink = "out/rising.parquet"

[source.viewed]
path = "table:viewed"
[query.from_view]
sql = "SELECT bus, delay FROM viewed WHERE delay < 50"
sink = "out/viewed.csv"

[source.lake]
path = "delta:lake"
[query.from_lake]
sql = "SELECT ts, bus, delay FROM lake"
sink = "delta:out/lake"
"""


def test_other_sources_and_sinks_in_another_zone(far_away: Any, tmp_path: Path) -> None:
    """Times without a zone are the session's, as in Spark's own SQL."""
    deltalake = pytest.importorskip("deltalake")
    spark, events = far_away, make_events(200)
    bad = ['{"ts": "2026-01-01 00:00:00", "bus": 1.5, "delay": 1}', "[1, 2", '{"bus": 3, "delay": "much"}']
    write_lines(tmp_path / "lines" / "1.jsonl", events, "json", bad)
    (tmp_path / "feed").mkdir()
    pq.write_table(events, tmp_path / "feed" / "1.parquet")
    view = spark.readStream.schema("ts timestamp_ntz, bus int, delay double").parquet(str(tmp_path / "feed"))
    view.createOrReplaceTempView("viewed")
    lake, instants = (
        str(tmp_path / "lake"),
        events.cast(pa.schema({"ts": pa.timestamp("us", tz="UTC"), "bus": pa.int32(), "delay": pa.float64()})),
    )
    day = pa.array([f"day {number % 3}" for number in range(len(events))])
    dated = instants.append_column("day", day)
    deltalake.write_deltalake(lake, dated.slice(0, 50), partition_by=["day"])
    deltalake.write_deltalake(lake, dated.slice(50, 50), mode="append")
    text = OTHERS % RISING + ON_SPARK
    counts = run_once(spark, tmp_path, text)
    deltalake.DeltaTable(lake).optimize.compact()
    deltalake.write_deltalake(lake, dated.slice(100), mode="append")
    run_once(spark, tmp_path, text)
    local = (
        spark.read.parquet(str(tmp_path / "feed")).selectExpr("cast(ts AS timestamp) AS ts", "bus", "delay").toArrow()
    )
    assert local["ts"][0].as_py() != instants["ts"][0].as_py()
    read = spark.read.schema("ts timestamp, bus int").json(str(tmp_path / "out" / "lines.jsonl")).toArrow()
    assert count_rows(read) == expect(local, "SELECT ts, bus FROM buses WHERE delay > 100")
    assert count_rows(spark.read.parquet(str(tmp_path / "out" / "rising.parquet")).toArrow()) == expect(local)
    read = spark.read.csv(str(tmp_path / "out" / "viewed.csv"), "bus int, delay double", header=True).toArrow()
    assert count_rows(read) == expect(local, "SELECT bus, delay FROM buses WHERE delay < 50")
    assert count_rows(deltalake.DeltaTable(str(tmp_path / "out" / "lake")).to_pyarrow_table()) == count_rows(instants)
    dead = spark.read.parquet(str(tmp_path / "bad")).toArrow()
    assert counts["dead letters of lines"] == 3
    assert Counter(zip(dead["record"].to_pylist(), dead["reason"].to_pylist(), strict=True)) == {
        (bad[0], '"bus" is "1.5", no int'): 1,
        (bad[1], "it is no JSON object"): 1,
        (bad[2], '"delay" is "much", no double'): 1,
    }


def test_the_example_runs(spark: Any, tmp_path: Path) -> None:
    """Five reports of rising delay, a jump, and one that settles them."""
    delays = [10, 20, 30, 40, 50, 60, 300, 10]
    seconds = [0, 20, 40, 60, 80, 100, 120, 600]
    rows = [f"2026-01-01 00:{at // 60:02}:{at % 60:02},7,3,0.0,0.0,{d}" for at, d in zip(seconds, delays, strict=True)]
    examples = Path(__file__).parents[2] / "docs" / "examples"
    (tmp_path / "feed").mkdir()
    (tmp_path / "feed" / "1.csv").write_text("\n".join(["ts,bus,line,x,y,delay", *rows, ""]))
    (tmp_path / "breakdown.sql").write_text((examples / "breakdown.sql").read_text())
    run_once(spark, tmp_path, (examples / "spark_app.toml").read_text())
    assert spark.read.parquet(str(tmp_path / "out" / "breakdowns")).count() == 1
    lines = spark.read.json(str(tmp_path / "out" / "lines.jsonl")).toArrow()
    assert sorted(lines["delay"].to_pylist()) == [20.0, 50.0, 300.0]


def test_streams_are_joined_with_tables_of_files_and_of_the_catalog(spark: Any, tmp_path: Path) -> None:
    events = make_events(50)
    write_lines(tmp_path / "feed" / "1.csv", events, "csv", [])
    names = pa.table({"bus": pa.array([0, 1, 1, None, 9], pa.int32()), "name": ["a", "b", "c", "d", "e"]})
    pq.write_table(names, tmp_path / "names.parquet")
    (tmp_path / "homes.csv").write_text("bus,since,fare\n1,2026-01-01 00:00:10,1.5\n2,2026-01-01 00:00:20,2.5\n")
    spark.createDataFrame(
        pa.table({"bus": pa.array([1, 2, 3], pa.int32()), "depot": ["x", "y", None]})
    ).createOrReplaceTempView("depots")
    query = """SELECT b.ts, b.bus, n.name, d.depot, h.fare FROM buses AS b LEFT JOIN names AS n ON b.bus = n.bus
      LEFT JOIN depots AS d ON b.bus = d.bus LEFT JOIN homes AS h ON b.bus = h.bus AND b.ts > h.since"""
    text = (
        SOURCE + 'path = "feed/"\n[table.names]\npath = "names.parquet"\n[table.depots]\npath = "table:depots"\n'
        '[table.homes]\npath = "homes.csv"\n'
        f"[query.named]\nsql = '''{query}'''\nsink = \"out/named\"\n" + ON_SPARK
    )
    run_once(spark, tmp_path, text)
    homes = pa.table({"bus": [1, 2], "since": events["ts"].take([10, 20]), "fare": [1.5, 2.5]})
    depots = pa.table({"bus": pa.array([1, 2, 3], pa.int32()), "depot": ["x", "y", None]})
    wanted = count_rows(cep.sql(query, buses=events, names=names, depots=depots, homes=homes))
    found = spark.read.parquet(str(tmp_path / "out" / "named")).toArrow()
    assert count_rows(found) == wanted
    assert sum(wanted.values()) > 50


def test_times_without_a_zone_order_whole_tables_and_streams_say_what_to_do(spark: Any, tmp_path: Path) -> None:
    events = make_events(100)
    pq.write_table(events, tmp_path / "1.parquet")
    whole = spark.read.parquet(str(tmp_path))
    assert dict(whole.dtypes)["ts"] == "timestamp_ntz"
    assert count_rows(cep.sql(RISING, buses=whole).toArrow()) == expect(events)
    stream = spark.readStream.schema(whole.schema).parquet(str(tmp_path))
    with pytest.raises(InvalidOrder, match="a column of type timestamp_ntz") as told:
        cep.sql(RISING, buses=stream, lateness=timedelta(seconds=1))
    assert 'cast("timestamp")' in (told.value.hint or "")


def read_postgres(postgres: Any) -> pa.Table:
    import psycopg

    with psycopg.connect(postgres.url) as connection:
        rows = connection.execute("SELECT bus, since, low, high FROM rising").fetchall()
    bus, since, low, high = zip(*rows, strict=True)
    return pa.table({"bus": bus, "since": pa.array(since, pa.timestamp("us", tz="UTC")), "low": low, "high": high})
