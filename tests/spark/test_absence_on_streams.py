"""What does not happen, on a Spark stream: told as soon as the watermark proves it, whoever moves it on."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))
from streams import FedStream, start_query

import cepheid as cep
from cepheid.testing import assert_same_rows

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("kind", pa.string())])
UNPAID = """SELECT * FROM orders MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts MEASURES placed.ts AS since, count(*) AS n
    PATTERN (placed NOT paid) WITHIN INTERVAL '30' SECOND
    DEFINE placed AS kind = 'placed', paid AS kind = 'paid')"""
UNPAID_FOR = """SELECT * FROM orders MATCH_RECOGNIZE (
    PARTITION BY id ORDER BY ts MEASURES placed.ts AS since
    PATTERN (placed NOT paid FOR INTERVAL '30' SECOND)
    DEFINE placed AS kind = 'placed', paid AS kind = 'paid')"""
UNPAID_SEQUENCE = """SELECT a.id, a.ts AS since FROM PATTERN SEQ(orders a, ~orders b)
    WHERE a.id = b.id AND a.kind = 'placed' AND b.kind = 'paid' WITHIN INTERVAL '30' SECOND"""
UNPAID_FOR_LONG = """SELECT a.id, a.ts AS since FROM PATTERN SEQ(orders a, ~orders b FOR INTERVAL '30' SECOND)
    WHERE a.id = b.id AND a.kind = 'placed' AND b.kind = 'paid'"""
SILENCE = (
    """SELECT MATCH_TIME() AS since FROM PATTERN SEQ(EVERY ~orders b FOR INTERVAL '10' SECOND) WHERE b.kind = 'paid'"""
)
TRIED_TWICE = """SELECT a.id, c.ts AS last, MATCH_TIME() AS at
    FROM PATTERN SEQ(orders a NEXT orders{1,2} b[] NOT NEXT orders x FOLLOWED BY orders c, ~orders d FOR 5 s)
    WHERE a.id = b.id AND b.id = c.id AND c.id = d.id AND c.id = x.id AND a.kind = 'placed' AND b.kind = 'seen'
        AND c.kind = 'paid' AND d.kind = 'back' AND x.kind = 'lost' WITHIN INTERVAL '30' SECOND"""
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


@pytest.mark.parametrize(
    "text",
    [UNPAID, UNPAID_FOR, UNPAID_SEQUENCE, UNPAID_FOR_LONG],
    ids=["row pattern", "row pattern, FOR", "sequence", "sequence, FOR"],
)
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


def test_time_takes_steps_along_from_batch_to_batch(spark: Any, tmp_path: Path) -> None:
    """A timer over all events, and steps with ways of their own by key: the rows of a query in this process."""
    batches = [
        events((1, 0, "placed"), (1, 1, "seen"), (2, 2, "placed")),
        events((1, 4, "paid"), (2, 3, "seen"), (2, 4, "seen"), (2, 6, "lost")),
        events((3, 12, "placed"), (3, 13, "seen"), (3, 14, "seen"), (3, 15, "paid"), (3, 19, "back")),
        events((4, 41, "seen"), (4, 43, "paid"), (4, 70, "seen")),
    ]
    for name, text in (("silence", SILENCE), ("steps", TRIED_TWICE)):
        stream = FedStream(spark, tmp_path / name, SCHEMA)
        query = cep.open(text, orders=SCHEMA, lateness=timedelta(0))
        pushed = []
        for batch in batches:
            stream.feed(batch)
            pushed.append(query.push(orders=batch))
        stream.run(text, "orders", lateness=timedelta(0))
        expected = pa.concat_tables(pushed)
        assert expected.num_rows > 0
        assert_same_rows(stream.rows().cast(expected.schema), expected, text)


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


@pytest.mark.parametrize("direct", [True, *([False] if os.environ.get("CEPHEID_CASES") == "all" else [])])
def test_a_stream_that_says_nothing_is_not_waited_for(spark: Any, tmp_path: Path, direct: bool) -> None:
    """As cep.open does it (tests/execution/test_idle_streams.py), over two streams and from batch to batch."""
    bids, cancels = (FedStream(spark, tmp_path / name, SCHEMA, direct) for name in ("bids", "cancels"))
    text = """SELECT a.id, a.ts AS since FROM PATTERN SEQ(bids a, ~cancels b)
        WHERE a.id = b.id AND a.kind = 'placed' WITHIN INTERVAL '10' SECOND"""

    def run() -> list[tuple[Any, ...]]:
        frames = {"bids": bids.frame(), "cancels": cancels.frame()}
        rows = cep.sql(text, **frames, lateness=timedelta(0), idle_after={"cancels": "30 s"})
        start_query(rows, bids.folder).awaitTermination()
        return seconds(bids, "id", "since")

    bids.feed(events((1, 0, "placed"), (2, 1, "placed")))
    bids.feed(events((3, 29, "placed")))
    assert run() == []
    bids.feed(events((4, 31, "seen")))  # which no condition is about
    bids.feed(events((4, 40.5, "placed")))
    assert run() == [(1, 0.0), (2, 1.0), (3, 29.0)]
    cancels.feed(events((3, 30, "late"), (4, 41, "cancel")))
    bids.feed(events((5, 41.5, "placed")))
    bids.feed(events((6, 60, "placed")))
    cancels.feed(events((6, 61, "cancel")))
    assert run() == [(1, 0.0), (2, 1.0), (3, 29.0), (5, 41.5)]
    late = cep.late_events(spark, bids.checkpoint).toArrow()
    assert late.num_rows == 1


def test_processing_time_of_two_streams_is_one(spark: Any, tmp_path: Path) -> None:
    """A timer: who is silent holds up nothing, since both have the clock of the batch."""
    bids, cancels = (FedStream(spark, tmp_path / name, SCHEMA) for name in ("bids", "cancels"))
    text = """SELECT a.id FROM PATTERN SEQ(bids a, ~cancels b) ORDER BY PROCTIME()
        WHERE a.id = b.id WITHIN INTERVAL '1' MILLISECOND"""
    bids.feed(events((1, 0, "placed")))
    bids.feed(events((2, 0, "placed")))
    frames = {"bids": bids.frame(), "cancels": cancels.frame()}
    start_query(cep.sql(text, **frames), bids.folder).awaitTermination()
    assert bids.rows().column("id").to_pylist() == [1], "the second batch came a millisecond later, or more"
