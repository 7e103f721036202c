"""Batches of a Spark stream measured, and files offered at a rate."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cepheid.calibration.batch_plan import BatchPlan
from cepheid.calibration.calibrate import EXTENTS
from cepheid.calibration.feed import Feed
from cepheid.calibration.file_source import FilePool
from cepheid.calibration.fit_costs import fit_line
from cepheid.calibration.paced_files import run_paced_files
from cepheid.calibration.sample_events import StreamShape, sample_events
from cepheid.calibration.spark_batches import KEPT_PROGRESS, measure_batches, plan_for_files

pytestmark = pytest.mark.spark
QUERY = """SELECT a.id, b.ts AS last_ts FROM PATTERN SEQ(events a, events b)
           WHERE a.id = b.id AND b.a1 > 90 WITHIN INTERVAL '1' SECOND STRATEGY skip_till_next"""
PART = 500


@pytest.fixture
def pool(tmp_path: Path) -> FilePool:
    schema = pa.schema([("id", pa.int32()), ("a1", pa.float64()), ("ts", pa.timestamp("us"))])
    return FilePool(
        Feed({"events": sample_events(StreamShape(schema, 50_000.0, 100), 60_000)}), tmp_path / "pool", PART
    )


def test_every_batch_is_measured_with_its_events_and_rows(spark: Any, pool: FilePool, tmp_path: Path) -> None:
    plan = BatchPlan(sizes=(1, 4), warm_up=(1, 1, 1, 1), rounds=(1, 1), blocks=2)
    measured = measure_batches(spark, QUERY, pool, plan, tmp_path / "run", lambda _: None)
    assert [sorted(sample.events for sample in block) for block in measured.blocks] == [[PART, 4 * PART]] * 2
    assert all(0 < sample.rows <= 2 * sample.events for block in measured.blocks for sample in block)
    assert measured.reach == 1.0
    longest = plan_for_files(EXTENTS["spark"].plan(), EXTENTS["spark"].part)
    assert len(longest.warm_up) + longest.blocks * sum(longest.rounds) < int(spark.conf.get(KEPT_PROGRESS))
    assert fit_line(measured.blocks[0]).at(PART) > 0.0


def test_files_offered_at_a_rate_become_batches_up_to_their_bound(spark: Any, pool: FilePool, tmp_path: Path) -> None:
    batches = run_paced_files(spark, QUERY, pool, tmp_path / "run", 20_000.0, 1.0, 0.1, parts_per_batch=4)
    assert batches[0].events == 4 * PART
    assert all(0 < batch.events <= 4 * PART for batch in batches)
    assert all(later.start_s >= earlier.end_s - 0.05 for earlier, later in pairwise(batches))
    assert all(batch.waiting >= batch.events for batch in batches)
