"""cepheid run as a process that is stopped and killed in the midst of a stream: what comes out is the batch answer.

CEPHEID_KILLS says how often it is killed (`make soak`: 30 times).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep

sys.path.append(str(Path(__file__).parent))
from topics import as_records, read_topic, write_records

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("CEPHEID_KILLS", "1"))
PATIENCE_S = 240.0
QUERY = """SELECT * FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts MEASURES a.ts AS since, b.delay AS high
  PATTERN (a b) WITHIN INTERVAL '60' SECOND DEFINE b AS b.delay > a.delay + 50)"""
ON_SPARK = """
[cluster]
host = "spark"
master = "local[2]"

[spark]
"spark.driver.memory" = "1g"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""
APPLICATION = """
[source.buses]
path = "feed/"
lateness = "5 seconds"
options = { maxFilesPerTrigger = %(files)d }

[query.to_parquet]
sql = '''%(query)s'''
sink = "out/parquet"

[query.to_delta]
sql = '''%(query)s'''
sink = "delta:out/delta"

[query.to_postgres]
sql = '''%(query)s'''
sink = "%(postgres)s#found"
"""
FROM_TOPIC = """
[source.buses]
schema = { ts = "timestamp", bus = "int", delay = "double" }
path = "kafka:%(servers)s/feed"
lateness = "5 seconds"
options = { startingOffsets = "earliest", maxOffsetsPerTrigger = %(records)d }

[query.to_topic]
sql = '''%(query)s'''
sink = "kafka:%(servers)s/found"
"""


class Process:
    """The command line in a process group of its own, so that all of it can be killed at once."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [
            sys.executable,
            "-c",
            "from cepheid.cli import app; app()",
            "run",
            str(folder / "app.toml"),
            "--json",
        ]
        self.errors = folder / "errors.txt"
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )

    def await_batches(self, count: int) -> None:
        for _ in range(count):
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            assert "batch" in json.loads(line or "{}"), self.read_errors()

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.finish()

    def finish(self) -> tuple[int, str]:
        told, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, told

    def read_errors(self) -> str:
        return self.errors.read_text()


def write_feed(folder: Path, files: int, seed: int) -> pa.Table:
    draw = random.Random(seed)
    folder.mkdir()
    parts = []
    for number in range(files):
        times = [1_767_225_600_000_000 + 1_000_000 * (50 * number + place) for place in range(50)]
        times[-1] += 3_600_000_000 if number == files - 1 else 0  # settles what the others began
        columns = {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "bus": [draw.randrange(7) for _ in times],
            "delay": [float(draw.randrange(100)) for _ in times],
        }
        parts.append(pa.table(columns))
        pq.write_table(parts[-1], folder / f"{number:04d}.parquet")
        os.utime(folder / f"{number:04d}.parquet", (1_700_000_000 + number,) * 2)
    return pa.concat_tables(parts)


def count_rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    chosen = table.select(["bus", "since", "high"])
    since = chosen.column("since").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return Counter(zip(chosen["bus"].to_pylist(), since.to_pylist(), chosen["high"].to_pylist(), strict=True))


def read_parquet(folder: Path) -> pa.Table:
    """The files that count, as Spark's sink wrote them down; a log is a line of its version, then an entry in each."""
    entries = [
        json.loads(line)
        for log in (folder / "_spark_metadata").glob("[0-9]*")
        for line in log.read_text().splitlines()[1:]
    ]
    return pa.concat_tables(
        [pq.read_table(path) for path in sorted({unquote(urlsplit(entry["path"]).path) for entry in entries})]
    )


def read_postgres(url: str) -> pa.Table:
    import psycopg

    with psycopg.connect(url) as connection:
        bus, since, high = zip(*connection.execute("SELECT bus, since, high FROM found").fetchall(), strict=True)
    return pa.table({"bus": bus, "since": pa.array(since, pa.timestamp("us", tz="UTC")), "high": high})


def test_stopped_and_killed_it_writes_each_row_once(tmp_path: Path, postgres: Any) -> None:
    deltalake = pytest.importorskip("deltalake")
    events = write_feed(tmp_path / "feed", files=20 + 5 * KILLS, seed=5)
    given = {"query": QUERY, "postgres": postgres.url}
    (tmp_path / "app.toml").write_text((APPLICATION + ON_SPARK) % {**given, "files": 1})
    stopped = Process(tmp_path)
    stopped.await_batches(4)
    stopped.process.send_signal(signal.SIGTERM)
    code, told = stopped.finish()
    assert (code, stopped.read_errors()) == (0, "")
    assert "rows of to_delta" in json.loads(told.splitlines()[-1]), "what was counted is told at the end"
    draw = random.Random(11)
    for _ in range(KILLS):
        killed = Process(tmp_path)
        killed.await_batches(1)
        time.sleep(draw.uniform(0.0, 2.0))  # the moment is the point: nothing is waited for
        killed.kill()
    (tmp_path / "app.toml").write_text((APPLICATION + ON_SPARK) % {**given, "files": 1000})
    last = Process(tmp_path, "--once")
    code, told = last.finish()
    assert code == 0, last.read_errors()
    wanted = count_rows(cep.sql(QUERY, buses=events))
    assert sum(wanted.values()) > 100
    assert count_rows(deltalake.DeltaTable(str(tmp_path / "out" / "delta")).to_pyarrow_table()) == wanted
    assert count_rows(read_postgres(postgres.url)) == wanted
    assert count_rows(read_parquet(tmp_path / "out" / "parquet")) == wanted


@pytest.mark.skipif(KILLS <= 2, reason="it takes long: make soak")
def test_rows_wait_for_a_database_that_is_away_for_ten_seconds(tmp_path: Path, postgres: Any) -> None:
    events = write_feed(tmp_path / "feed", files=40, seed=9)
    source, query = APPLICATION.partition("[query.to_parquet]")[0], APPLICATION.partition("[query.to_postgres]")[2]
    text = f"{source}[query.to_postgres]{query}{ON_SPARK}" % {"query": QUERY, "postgres": postgres.url, "files": 1}
    (tmp_path / "app.toml").write_text(text)
    running = Process(tmp_path)
    running.await_batches(3)
    postgres.stop()
    time.sleep(10.0)
    postgres.start()
    running.await_batches(3)
    running.process.send_signal(signal.SIGTERM)
    code, _ = running.finish()
    assert (code, running.read_errors()) == (0, "")
    last = Process(tmp_path, "--once")
    assert last.finish()[0] == 0, last.read_errors()
    assert count_rows(read_postgres(postgres.url)) == count_rows(cep.sql(QUERY, buses=events))


@pytest.mark.skipif(KILLS <= 2, reason="it takes long: make soak")
def test_from_topic_to_topic_it_writes_each_row_once_though_broker_and_application_are_killed(
    tmp_path: Path, kafka: Any
) -> None:
    events = write_feed(tmp_path / "feed", files=10 + 5 * KILLS, seed=7)
    kafka.make_topic("feed", 2)
    kafka.make_topic("found", 2)
    write_records(kafka.servers, "feed", as_records(events, "bus", 2))
    given = {"query": QUERY, "servers": kafka.servers}
    (tmp_path / "app.toml").write_text((FROM_TOPIC + ON_SPARK) % {**given, "records": 50})
    draw = random.Random(13)
    for _ in range(KILLS // 6):
        killed = Process(tmp_path)
        killed.await_batches(2)
        kafka.stop()
        time.sleep(10.0)  # as long as it takes a machine to come back
        kafka.start()
        killed.await_batches(2)
        time.sleep(draw.uniform(0.0, 1.0))
        killed.kill()
    (tmp_path / "app.toml").write_text((FROM_TOPIC + ON_SPARK) % {**given, "records": 10_000})
    last = Process(tmp_path, "--once")
    code, _ = last.finish()
    assert code == 0, last.read_errors()
    wanted = count_rows(cep.sql(QUERY, buses=events))
    rows = read_topic(kafka.servers, "found")
    since = [datetime.fromisoformat(row["since"]).astimezone(UTC) for row in rows]
    found = {"bus": [row["bus"] for row in rows], "since": pa.array(since, pa.timestamp("us", tz="UTC"))}
    assert sum(wanted.values()) > 50
    assert count_rows(pa.table({**found, "high": [row["high"] for row in rows]})) == wanted
