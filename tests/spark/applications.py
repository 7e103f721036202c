"""Applications on Spark, run to the end of what is there, and the events and the query that tests of them use."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.application import read_application
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.execution.spark.batch_progress import Tally

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
