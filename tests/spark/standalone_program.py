"""What users do on a standalone cluster, as a program of its own: a process has one Spark context.

Started by test_standalone_cluster.py; its arguments are the address of the master and an empty folder.  The Python that
executors have by PYSPARK_PYTHON has what Cepheid needs, but not Cepheid.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli import app
from cepheid.errors import WorkersUnfit
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND b.value > 0.99 WITHIN INTERVAL '2' SECOND STRATEGY skip_till_any"""
FILES, EACH = 4, 1500
PATIENCE_S = 60.0


def make_events(count: int) -> pa.Table:
    """A hundred a second, of fifty ids."""
    random = np.random.default_rng(5)
    times = pa.array(np.arange(count) * 10_000).cast(SCHEMA.field("ts").type)
    return pa.table([pa.array(random.integers(0, 50, count, np.int32)), times, random.random(count)], schema=SCHEMA)


def start_session(master: str) -> SparkSession:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def try_wrong_python(spark: SparkSession, events: pa.Table) -> None:
    """It is said before anything is sent."""
    chosen = spark.sparkContext.pythonExec
    spark.sparkContext.pythonExec = "/no/such/python"
    with pytest.raises(WorkersUnfit, match=r"/no/such/python.*not found"):
        cep.sql(PAIRS, events=spark.createDataFrame(events))
    spark.sparkContext.pythonExec = chosen


def try_tables(spark: SparkSession, events: pa.Table) -> None:
    expected = cep.sql(PAIRS, events=events)
    assert len(expected) > 100
    found = cep.sql(PAIRS, events=spark.createDataFrame(events))
    assert_same_rows(found.toArrow().cast(expected.schema), expected)


def try_losses(spark: SparkSession, events: pa.Table, folder: Path) -> None:
    """A stream whose executors and Python workers are killed while it runs gives the rows of the whole table."""
    stream = FedStream(spark, folder, SCHEMA)
    rows = cep.sql(PAIRS, events=stream.frame(), lateness=timedelta(0))
    writer = rows.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", stream.checkpoint).start()
    for number in range(FILES):
        stream.feed(events.slice(number * EACH, EACH))
    for number, lost in enumerate((find_workers, find_executors)):  # while the batch after this one runs
        wait_for(lambda number=number: count_batches(query) >= number)
        victims = wait_for(lambda lost=lost: lost(spark.sparkContext.applicationId))
        os.kill(victims[0], signal.SIGKILL)
    query.processAllAvailable()
    assert query.lastProgress["batchId"] >= FILES - 1
    (operator,) = query.lastProgress["stateOperators"]
    query.stop()
    assert operator["numShufflePartitions"] == 2, "one for each core, though no executor was there at first"
    expected = cep.sql(PAIRS, events=events)
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def count_batches(query: Any) -> int:
    assert query.exception() is None
    return -1 if query.lastProgress is None else query.lastProgress["batchId"]


def wait_for(ask: Any) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer


def find_executors(application: str) -> list[int]:
    """The processes that are executors of the application."""
    return [
        pid
        for pid, command, _ in list_processes()
        if "CoarseGrainedExecutorBackend" in command and application in command and "java" in command
    ]


def find_workers(application: str) -> list[int]:
    """The Python workers that executors' daemons have forked."""
    processes = list_processes()
    executors = set(find_executors(application))
    daemons = {pid for pid, _, parent in processes if parent in executors}
    return [pid for pid, _, parent in processes if parent in daemons]


def list_processes() -> list[tuple[int, str, int]]:
    """Process ids, commands and parents."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_text().replace("\0", " ")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        found.append((int(entry.name), command, parent))
    return found


def try_doctor(master: str, folder: Path) -> None:
    """In this session."""
    (folder / "doctor").mkdir()
    told = CliRunner().invoke(app, ["doctor", "--spark", master, "--checkpoint", str(folder / "doctor"), "--json"])
    assert told.exit_code == 0, told.output
    findings = {each["check"]: each for each in json.loads(told.stdout)["findings"]}
    assert {name: each["state"] for name, each in findings.items() if each["state"] != "ok"} == {}
    assert "2 executors" in findings["executors"]["told"]
    assert list((folder / "doctor").iterdir()) == []


if __name__ == "__main__":
    url, place = sys.argv[1], Path(sys.argv[2])
    session = start_session(url)
    try_wrong_python(session, make_events(10))
    try_tables(session, make_events(FILES * EACH))
    try_losses(session, make_events(FILES * EACH), place)
    try_doctor(url, place)
    session.stop()
