"""Large payloads go from worker to worker as files, which do not stay."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import SparkFiles

import cepheid as cep
from cepheid.execution.spark.handoff import FILE, LEAST_BYTES, read_payload, write_payload
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND b.value > 0.99 WITHIN INTERVAL '2' SECOND STRATEGY skip_till_any"""


def make_events(count: int) -> pa.Table:
    """A thousand a second, of a thousand ids."""
    random = np.random.default_rng(5)
    times = pa.array(np.arange(count) * 1000).cast(SCHEMA.field("ts").type)
    return pa.table([pa.array(random.integers(0, 1000, count, np.int32)), times, random.random(count)], schema=SCHEMA)


def test_outside_of_tasks_payloads_are_bytes() -> None:
    events = make_events(100_000)
    payload = write_payload(events)
    assert not payload.startswith(FILE)
    assert read_payload(payload).equals(events)


@pytest.mark.spark
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_files_of_earlier_batches_are_removed(direct: bool, spark: Any, tmp_path: Path) -> None:
    events = make_events(240_000)
    assert events.slice(0, 80_000).select(["ts", "id"]).nbytes / 2 > LEAST_BYTES, "each share is large enough"
    stream = FedStream(spark, tmp_path, SCHEMA, direct)
    for begin in range(0, 240_000, 80_000):
        stream.feed(events.slice(begin, 80_000))
    query = stream.run(PAIRS, lateness=timedelta(0))
    expected = cep.sql(PAIRS, events=events)
    assert len(expected) > 1000
    assert_same_rows(stream.rows().cast(expected.schema), expected)
    left = Path(SparkFiles.getRootDirectory()) / "cepheid" / str(query.id)
    assert [folder.name for folder in left.iterdir()] == ["2"]
    assert len(list((left / "2").iterdir())) >= 2
