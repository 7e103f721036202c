"""What does not happen, on a Spark stream: told as soon as the watermark proves it, whoever moves it on."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))
from streams import FedStream

import cepheid as cep

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("kind", pa.string())])
UNPAID = """SELECT * FROM orders MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts MEASURES placed.ts AS since, count(*) AS n
    PATTERN (placed NOT paid) WITHIN INTERVAL '30' SECOND
    DEFINE placed AS kind = 'placed', paid AS kind = 'paid')"""
UNPAID_SEQUENCE = """SELECT a.id, a.ts AS since FROM PATTERN SEQ(orders a, ~orders b)
    WHERE a.id = b.id AND a.kind = 'placed' AND b.kind = 'paid' WITHIN INTERVAL '30' SECOND"""
STUCK = """SELECT * FROM orders MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts MEASURES placed.ts AS since, sent.ts AS sent, TIMED_OUT() AS timed_out
    PATTERN (placed paid sent) WITHIN INTERVAL '30' SECOND TIMEOUT ROWS
    DEFINE placed AS kind = 'placed', paid AS kind = 'paid', sent AS kind = 'sent')"""


def events(*rows: tuple[int, float, str]) -> pa.Table:
    return pa.table(
        {
            "id": [number for number, _, _ in rows],
            "ts": [BEGIN + timedelta(seconds=at) for _, at, _ in rows],
            "kind": [kind for _, _, kind in rows],
        }
    ).cast(SCHEMA)


def seconds(stream: FedStream, *names: str) -> list[tuple[Any, ...]]:
    """The rows so far; times as seconds since the beginning."""
    rows = stream.rows().to_pylist()
    return sorted(
        tuple((row[name] - BEGIN).total_seconds() if isinstance(row[name], datetime) else row[name] for name in names)
        for row in rows
    )


@pytest.mark.parametrize("text", [UNPAID, UNPAID_SEQUENCE], ids=["row pattern", "sequence"])
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "through the JVM"])
def test_absence_is_told_when_events_of_other_keys_or_kinds_prove_it(
    spark: Any, tmp_path: Path, text: str, direct: bool
) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA, direct)
    stream.feed(events((1, 0, "placed"), (2, 1, "placed"), (2, 20, "paid")))
    stream.run(text, "orders", lateness=timedelta(0))
    assert seconds(stream, "id", "since") == []
    stream.feed(events((3, 31, "placed")))
    stream.feed(events((3, 32, "paid")))
    stream.run(text, "orders", lateness=timedelta(0))
    assert seconds(stream, "id", "since") == [(1, 0.0)], "no event of key 1 came, but time went on"
    stream.feed(events((3, 40, "placed")))
    stream.feed(events((4, 71, "seen")))  # which no condition is about
    stream.run(text, "orders", lateness=timedelta(0))
    assert seconds(stream, "id", "since") == [(1, 0.0), (3, 40.0)]
    whole = pa.concat_tables([events((1, 0, "placed"), (2, 1, "placed"), (2, 20, "paid")),
                              events((3, 31, "placed"), (3, 32, "paid"))])  # fmt: skip
    assert cep.sql(text, orders=whole).num_rows == 1


def test_partial_match_is_told_when_its_time_is_over(spark: Any, tmp_path: Path) -> None:
    stream = FedStream(spark, tmp_path, SCHEMA)
    stream.feed(events((1, 0, "placed"), (1, 5, "paid"), (2, 1, "placed"), (2, 2, "paid"), (2, 3, "sent")))
    stream.run(STUCK, "orders", lateness=timedelta(0))
    assert seconds(stream, "id", "since", "sent", "timed_out") == [(2, 1.0, 3.0, False)]
    stream.feed(events((4, 40, "other")))
    stream.feed(events((4, 41, "other")))
    stream.run(STUCK, "orders", lateness=timedelta(0))
    found = seconds(stream, "id", "since", "timed_out")
    assert found == [(1, 0.0, True), (2, 1.0, False)]
