"""Topics of a real broker as sources and sinks: what comes out is the batch answer."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.bench.kafka_broker import fetch_jars
from cepheid.execution.spark.java import prepare_java

sys.path.append(str(Path(__file__).parent))
from applications import ON_SPARK, RISING, SOURCE, count_rows, expect, make_events, run_once
from topics import as_records, read_topic, write_records

pytestmark = pytest.mark.spark

POISON = [b"no JSON", b'{"ts": "soon", "bus": 1, "delay": 1.0}', b'{"bus": 1.5}', None, b'{"bus": 1}{"bus": 2}']
SPARK = ".".join(version("pyspark").split(".")[:2])
CONNECTOR = [
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", f"{SPARK}.+"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", f"{SPARK}.+"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
]


def count_found(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    columns = {name: [row[name] for row in rows] for name in ("bus", "since", "low", "high")}
    since = [datetime.fromisoformat(text).astimezone(UTC) for text in columns["since"]]
    return count_rows(pa.table({**columns, "since": pa.array(since, pa.timestamp("us", tz="UTC"))}))


def test_from_topic_to_topic_over_two_runs_with_poison_and_a_partition_that_is_behind(
    spark: Any, tmp_path: Path, kafka: Any
) -> None:
    """Partition 0 has all early events before it, so that partition 1, read as far, is an hour ahead in time."""
    kafka.make_topic("buses", 2)
    kafka.make_topic("rising", 2)
    options = 'options = { startingOffsets = "earliest", maxOffsetsPerTrigger = 300 }\n'
    path = f'path = "kafka:{kafka.servers}/buses"\n'
    query = f"[query.rising]\nsql = '''{RISING}'''\nsink = \"kafka:{kafka.servers}/rising?key=bus\"\n"
    plain = "[query.plain]\nsql = 'SELECT bus, ts, delay FROM buses WHERE delay >= 0'\nsink = \"out/plain\"\n"
    text = SOURCE + path + options + query + plain + ON_SPARK
    events = make_events(600)
    records = as_records(events, "bus", 2)
    slow = [(0, b'{"ts": "2025-12-31T23:00:00", "bus": 100, "delay": 0.0}')] * 200
    write_records(kafka.servers, "buses", [*slow, *records[:300], *((1, each) for each in POISON)])
    first = run_once(spark, tmp_path, text)
    write_records(kafka.servers, "buses", records[300:])
    second = run_once(spark, tmp_path, text)
    wanted = expect(events)
    assert sum(wanted.values()) > 20
    assert count_found(read_topic(kafka.servers, "rising")) == wanted
    assert (first["events of rising"], second["events of rising"]) == (500, 300)
    assert (first["events of plain"], second["events of plain"]) == (500, 300)
    assert spark.read.parquet(str(tmp_path / "out" / "plain")).count() == 800
    assert first["late"] + second["late"] == 0
    assert (first["dead letters of buses"], second["dead letters of buses"]) == (len(POISON), 0)
    dead = spark.read.parquet(str(tmp_path / "app.checkpoint" / "dead_letters" / "buses")).toArrow().to_pylist()
    assert [row["raw"] for row in sorted(dead, key=lambda row: row["offset"])] == POISON
    assert {row["reason"] for row in dead} == {
        "it is no JSON object",
        '"ts" is "soon", no timestamp',
        '"bus" is 1.5, no int32',
        "it has no value",
    }
    assert {(row["source"], row["topic"], row["partition"]) for row in dead} == {("buses", "buses", 1)}


@pytest.mark.essential
def test_the_dataframe_of_sparks_own_connector_is_a_stream_like_any_other(tmp_path: Path, kafka: Any) -> None:
    """In a process of its own, as the jars of the connector have to be there when a session begins."""
    try:
        jars = [jar for package in CONNECTOR for jar in fetch_jars(*package, alone=True)]
    except OSError as problem:
        pytest.skip(f"there is no connector for this Spark: {problem}")
    prepare_java()
    kafka.make_topic("plain", 2)
    events = make_events(600)
    write_records(kafka.servers, "plain", as_records(events, "bus", 2))
    program = Path(__file__).parent / "connector_program.py"
    command = [sys.executable, str(program), str(tmp_path), kafka.servers, ",".join(map(str, jars))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    assert count_rows(pq.read_table(tmp_path / "out")) == expect(events)
