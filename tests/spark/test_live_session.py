"""A session on Spark gives the rows that one in this process gives, with the same changes between the same batches."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, NotSupportedYet, SinkFailed, SnapshotMismatch

pytestmark = pytest.mark.spark

PAIR = (
    "SELECT a.id, a.v AS v1, b.v AS v2 FROM PATTERN SEQ(ev a, ev b) "
    "WHERE a.id = b.id AND a.v > 80 AND b.v > 90 WITHIN INTERVAL '10' SECOND"
)
CLOSER = PAIR.replace("'10'", "'3'")
MEAN = "SELECT id, avg(v) AS m, count(*) AS n FROM ev [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY id"
TWICE = MEAN.replace("avg(v) AS m", "2 * avg(v) AS m")
PLAIN = "SELECT id, v * 2 AS w FROM ev WHERE v > 99"
CHAIN = (
    "SELECT id, count(*) AS n FROM (SELECT a.id, b.ts FROM PATTERN SEQ(ev a, ev b) WHERE a.id = b.id AND a.v > 80 "
    "AND b.v > 90 WITHIN INTERVAL '10' SECOND) [RANGE 30 SECONDS SLIDE 30 SECONDS] GROUP BY id"
)
JOIN = (
    "SELECT x.id, x.v, y.w FROM ev [RANGE 2 SECONDS] AS x, other [RANGE 2 SECONDS] AS y "
    "WHERE x.id = y.id AND x.v > 90 AND y.w > 90"
)
OTHER_PAIR = PAIR.replace("ev a, ev b", "other a, other b").replace(".v", ".w").replace("> 80", "+ a.id > 80")
SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.float64()), ("ts", pa.timestamp("us", tz="UTC"))])


def make_events(number: int, seed: int = 0, value: str = "v") -> pa.Table:
    """Fifty seconds of events, shuffled a little."""
    rng = np.random.default_rng((seed, number))
    count = 1000
    times = np.sort(rng.integers(0, 50_000_000, count)) + number * 50_000_000
    table = pa.table(
        {
            "id": pa.array(rng.integers(0, 8, count), pa.int32()),
            value: rng.integers(0, 1000, count) / 10,
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )
    return table.take(np.argsort(np.arange(count) + rng.integers(0, 10, count)))


class Both:
    """The same session on both hosts; batches go through both before anything is compared."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.written = 0
        self.rows: dict[str, list[pa.Table]] = {}
        self.expected: dict[str, list[pa.Table]] = {}
        self.here = cep.Session(lateness=timedelta(seconds=2))
        self.here.source("ev", SCHEMA)
        self.here.source("other", pa.schema([SCHEMA.field("id"), ("w", pa.float64()), SCHEMA.field("ts")]))
        for name in ("ev", "other"):
            (folder / name).mkdir()
        self.open()

    def open(self) -> None:
        """On Spark, from the checkpoint if there is one."""
        self.there = cep.Session(self.spark, checkpoint=str(self.folder / "checkpoint"))
        self.there.source("ev", self.read("ev", "v"))  # workers read the files themselves
        self.there.source("other", self.read("other", "w").where("id >= 0"))  # through the JVM

    def read(self, name: str, value: str) -> Any:
        reader = self.spark.readStream.schema(f"id int, {value} double, ts timestamp").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / name)).withWatermark("ts", "2 seconds")

    def sink(self, name: str) -> list[pa.Table]:
        return self.rows.setdefault(name, [])

    def deploy(self, name: str, query: str) -> None:
        self.there.deploy(name, query, sink=self.sink(name))
        if name not in self.here.queries:
            self.here.deploy(name, query, sink=self.expected.setdefault(name, []))

    def alter(self, name: str, query: str) -> None:
        self.there.alter(name, query)
        self.here.alter(name, query)

    def push(self, count: int) -> None:
        """So many batches of each stream."""
        for _ in range(count):
            events, others = make_events(self.written), make_events(self.written, 1, "w")
            pq.write_table(others, self.folder / "other" / f"{self.written:04}.parquet")
            pq.write_table(events, self.folder / "ev" / f"{self.written:04}.parquet")
            self.here.push(ev=events, other=others)
            self.written += 1

    def compare(self) -> None:
        for name, tables in self.expected.items():
            assert count_rows(self.rows[name]) == count_rows(tables), name
            assert count_rows(tables), f"{name} gave rows"


def count_rows(tables: list[pa.Table]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())


def test_same_rows_as_here_with_the_same_changes(spark: Any, tmp_path: Path) -> None:
    both = Both(spark, tmp_path)
    first = {"pair": PAIR, "mean": MEAN, "plain": PLAIN, "chain": CHAIN, "join": JOIN, "other": OTHER_PAIR}
    for name, query in first.items():
        both.deploy(name, query)
    both.push(2)
    both.there.run()
    both.there.close()

    both.open()  # another program goes on, without one of the queries
    for name in ("pair", "mean", "chain", "join", "other"):
        both.deploy(name, both.here.queries[name])
    both.here.retire("plain")
    both.push(1)
    both.there.run()
    assert both.there.restored.kept == ("pair", "mean", "chain", "join", "other")
    assert both.there.restored.dropped == ("plain",)

    with both.there.changes():  # while it stands still
        both.alter("pair", CLOSER)
        both.alter("mean", TWICE)
        both.deploy("late pair", PAIR)  # has seen less than the first of its kind had
        both.deploy("plain", PLAIN)
    both.there.send("join", str(tmp_path / "joined"))  # from now on to files
    both.push(2)
    both.there.run()
    both.rows["join"].append(pq.read_table(tmp_path / "joined"))
    both.compare()
    assert both.there.counts.late == 0

    late = make_events(0).slice(0, 7)
    pq.write_table(late, tmp_path / "ev" / "late.parquet")
    both.there.run()
    assert sorted(both.there.late_events("mean").toArrow().column("v").to_pylist()) == sorted(late["v"].to_pylist())
    assert both.there.late_events("other").count() == 0
    written = sorted((tmp_path / "checkpoint" / "cepheid").glob("*.json"), key=lambda path: int(path.stem))
    assert [len(json.loads(path.read_text())["leaving"]) for path in written] == [0, 1, 1, 0], "state that goes is gone"


@pytest.mark.essential
def test_changes_while_it_runs(spark: Any, tmp_path: Path) -> None:
    both = Both(spark, tmp_path)
    both.deploy("mean", MEAN)
    both.push(1)
    both.there.start()
    wait_until(lambda: both.there.rows_given["mean"] > 0, both.there)
    both.deploy("pair", PAIR)
    both.push(1)
    wait_until(lambda: both.there.rows_given["pair"] > 0, both.there)
    both.there.retire("mean")
    both.here.retire("mean")
    both.push(1)
    seen = both.there.rows_given["pair"]
    wait_until(lambda: both.there.rows_given["pair"] > seen, both.there)
    both.compare()
    watched = both.there.watch()
    assert watched.lateness is None  # nobody asked for it
    assert [query.query for query in watched.observation.queries] == ["pair"]
    assert watched.observation.queries[0].throughput_per_s > 0
    assert [type(each.action).__name__ for each in watched.actions] == ["Deploy", "Deploy", "Retire"]
    both.there.close()


def wait_until(happened: Callable[[], bool], session: Any) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, "in time"
        session.wait(0.1)


def test_what_a_session_refuses(spark: Any, tmp_path: Path) -> None:
    both = Both(spark, tmp_path)
    session = both.there
    with pytest.raises(NotSupportedYet, match="AGGREGATE over the rows of a stream"):
        session.deploy("counted", "SELECT id, count(*) AS n FROM ev GROUP BY id", sink=[])
    with pytest.raises(InvalidInput, match="has no sink"):
        session.deploy("pair", PAIR, sink=None)
    with pytest.raises(InvalidInput, match="does not run"):
        session.wait(1)
    given: list[pa.Table] = []

    def fail_once(table: pa.Table, number: int) -> None:
        given.append(table)
        if len(given) == 1:
            raise OSError(f"no room for batch {number}")

    session.deploy("pair", PAIR, sink=str(tmp_path / "out"))
    session.deploy("mean", MEAN, sink=fail_once)
    expected: list[pa.Table] = []
    both.here.deploy("pair", PAIR, sink=expected)
    both.push(1)
    with pytest.raises(SinkFailed, match="no room for batch 0"):
        session.run()
    session.stop()
    session.run()  # the batch comes again: files are written once, functions get the same table
    assert given[0].equals(given[1])
    assert count_rows([pq.read_table(tmp_path / "out")]) == count_rows(expected)
    both.open()
    with pytest.raises(SnapshotMismatch, match='another query "pair"'):
        both.there.deploy("pair", CLOSER, sink=[])
