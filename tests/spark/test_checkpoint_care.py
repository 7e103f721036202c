"""Checkpoints of stopped streams: cut anew for other key groups and partitions, taken back where they are damaged."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.damage import diagnose
from cepheid.execution.spark.checkpoint_files.file_sink import find_file_sink
from cepheid.execution.spark.checkpoint_files.layout import Checkpoint, open_checkpoint
from cepheid.execution.spark.checkpoint_files.rewind import plan_rewind, rewind
from cepheid.execution.spark.moved_state.repartition import inspect_checkpoint, plan_move, repartition
from cepheid.testing import assert_same_rows

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.float64())])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = """
    SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(events a, events b)
    WHERE a.id = b.id AND a.value < 8 AND b.value > 12 WITHIN INTERVAL '90' SECOND STRATEGY skip_till_any"""
ON_TIME = timedelta(0)


def make_events(count: int) -> pa.Table:
    """One a second, of ten ids."""
    random = np.random.default_rng(7)
    times = [BEGIN + timedelta(seconds=second) for second in range(count)]
    values = random.integers(1, 21, count).astype(np.float64)
    return pa.table({"id": random.integers(0, 10, count).astype(np.int32), "ts": times, "value": values}, SCHEMA)


def move(spark: Any, place: str, groups: int | None, partitions: int | None, to: Path | None = None) -> Path:
    checkpoint = open_checkpoint(place)
    return repartition(spark, checkpoint, plan_move(inspect_checkpoint(checkpoint), groups, partitions), to)


@pytest.mark.essential
def test_a_stream_goes_on_with_other_key_groups_and_partitions(spark: Any, tmp_path: Path) -> None:
    """The same checkpoint and the same sink: batches keep their numbers, which the file sink goes by."""
    events = make_events(240)
    stream = FedStream(spark, tmp_path, SCHEMA)
    for part in range(2):
        stream.feed(events.slice(part * 40, 40))
    stream.run(PAIRS, lateness=ON_TIME)
    old = move(spark, stream.checkpoint, 128, 3)
    with pytest.raises(SnapshotMismatch, match="written with 128 key groups, and this query has 64") as refused:
        stream.run(PAIRS, lateness=ON_TIME)
    assert "cepheid repartition" in str(refused.value)
    assert diagnose(Checkpoint(old)).is_whole, "the old one is kept as it was"
    stream.feed(events.slice(80, 80))
    stream.run(PAIRS, lateness=ON_TIME, key_groups=128)
    move(spark, stream.checkpoint, None, 1)
    stream.feed(events.slice(160))
    query = stream.run(PAIRS, lateness=ON_TIME, key_groups=128)
    assert [progress["batchId"] for progress in query.recentProgress] == [3]
    assert [store["numShufflePartitions"] for store in query.lastProgress["stateOperators"]] == [1]
    expected = cep.sql(PAIRS, events=events)
    assert len(expected) > 50
    assert_same_rows(stream.rows().cast(expected.schema), expected)


def test_a_damaged_state_is_named_at_the_start_and_the_stream_goes_on_from_the_batch_before(
    spark: Any, tmp_path: Path
) -> None:
    events = make_events(160)
    stream = FedStream(spark, tmp_path, SCHEMA)
    for part in range(2):
        stream.feed(events.slice(part * 50, 50))
    stream.run(PAIRS, lateness=ON_TIME)
    before = len(stream.rows())
    checkpoint = open_checkpoint(stream.checkpoint)
    spoiled = checkpoint.root / "state/0/1/2.changelog"
    spoiled.write_bytes(spoiled.read_bytes()[:-30])
    stream.feed(events.slice(100))
    with pytest.raises(SnapshotMismatch, match=r"is damaged: state/0/1/2.changelog") as refused:
        stream.run(PAIRS, lateness=ON_TIME)
    assert f"cepheid checkpoint rewind {checkpoint.root}" in str(refused.value)
    assert len(stream.rows()) == before, "nothing has run"
    found = diagnose(checkpoint)
    sink = find_file_sink(checkpoint.find_sink())
    assert sink is not None, "the checkpoint says where files are written to"
    rewind(checkpoint, plan_rewind(found, None, cut_anew=False), found.damaged, sink)
    query = stream.run(PAIRS, lateness=ON_TIME)
    assert [progress["batchId"] for progress in query.recentProgress] == [1, 2], "batch 1 is run again, as it was"
    expected = cep.sql(PAIRS, events=events)
    assert_same_rows(stream.rows().cast(expected.schema), expected)
