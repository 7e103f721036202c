"""Functions in Python as conditions, in Spark's workers: batch and stream give the rows of this process."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

import cepheid as cep
from cepheid.testing import assert_same_rows

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
EVENTS = pa.table(
    {
        "id": [number % 3 for number in range(60)],
        "ts": pa.array([BEGIN + timedelta(seconds=number) for number in range(60)], pa.timestamp("us", tz="UTC")),
        "price": [float((number * 7) % 11) for number in range(60)],
    }
)


def make_pattern() -> Any:
    return (
        cep.pattern("a", stream="bids")
        .where(lambda bids: pc.greater(bids["price"], 5.0))
        .then("b", stream="bids", where=["a.id = b.id", lambda bids: pc.less(bids["price"], 3.0)])
        .within("20 seconds")
        .select("a.id", first="a.ts", last="b.ts")
    )


def test_batch(spark: Any) -> None:
    expected = cep.sql(make_pattern(), bids=EVENTS)
    assert len(expected) > 10
    found = cep.sql(make_pattern(), bids=spark.createDataFrame(EVENTS)).toArrow()
    assert_same_rows(found.cast(expected.schema), expected)
    text = cep.sql(
        """SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(bids a, bids b)
           WHERE a.id = b.id AND a.price > 5 AND b.price < 3 WITHIN INTERVAL '20' SECOND""",
        bids=EVENTS,
    )
    assert_same_rows(expected.cast(text.schema), text)


def test_stream(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, EVENTS.schema)
    for begin in range(0, 60, 20):
        stream.feed(EVENTS.slice(begin, 20))
    stream.run(make_pattern(), "bids", lateness=timedelta(0))
    expected = cep.sql(make_pattern(), bids=EVENTS)
    assert_same_rows(stream.rows().cast(expected.schema), expected)
