"""What decides the order of events, and what has no place in it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
from random_events import SECOND, START, make_events
from ways_to_run import make_cutting, run_both_twins, run_streaming

import cepheid as cep
from cepheid.testing import assert_same_rows, list_rows

CLAUSE = """SELECT * FROM t MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n MEASURES FIRST(i) AS first_i, LAST(i) AS last_i, COUNT(*) AS events
  PATTERN (a b+) DEFINE b AS b.i >= PREV(b.i))"""
SEQUENCE = """SELECT a.i AS a_i, b.i AS b_i, b.ts AS ts FROM PATTERN SEQ(t a, t b) ORDER BY ts, n
  WHERE a.k = b.k AND b.i > a.i WITHIN INTERVAL '5' SECOND"""
QUERIES = pytest.mark.parametrize("text", [CLAUSE, SEQUENCE], ids=["row pattern", "sequence"])
SEEDS = range(20)


@QUERIES
def test_events_without_a_place_are_counted_and_change_nothing(text: str) -> None:
    for seed in SEEDS:
        events = make_events(seed, 80, keys=3, gaps=(0, 1, 2), null_orders=True)
        placed = pc.and_(pc.is_valid(events.column("ts")), pc.is_valid(events.column("n")))
        expected = cep.sql(text, t=events.filter(placed))
        outcomes = [*run_both_twins(text, {"t": events}), run_streaming(text, {"t": events}, make_cutting(seed))]
        for outcome in outcomes:
            assert outcome.rows is not None
            assert_same_rows(outcome.rows, expected)
            assert outcome.rejected == len(events) - pc.sum(placed).as_py()


@QUERIES
def test_second_column_decides_ties_whatever_the_arrival(text: str) -> None:
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        events = make_events(seed, 80, keys=3, gaps=(0, 0, 1))
        events = events.set_column(1, "n", pa.array(random.permutation(80)))
        expected = cep.sql(text, t=events.sort_by([("ts", "ascending"), ("n", "ascending")]))
        shuffled = events.take(pa.array(random.permutation(80)))
        assert_same_rows(cep.sql(text, t=shuffled), expected)
        span = timedelta(microseconds=int(pc.max(events.column("ts")).value - START + SECOND))
        streamed = run_streaming(text, {"t": shuffled}, make_cutting(seed), span)
        assert streamed.rows is not None
        assert_same_rows(streamed.rows, expected)


@pytest.mark.parametrize(
    "order",
    [pa.array([-1e300, -3.0, -2.0, -0.0, 1.5, 1e300]), pa.array([-(2**63), -(2**62) - 1, -1, 0, 2**62, 2**63 - 1])],
    ids=["floats", "integers"],
)
def test_numbers_of_any_size_order_a_table(order: pa.Array) -> None:
    table = pa.table({"x": order, "v": range(6)}).take(pa.array([3, 0, 5, 1, 4, 2]))
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES a.v AS a, b.v AS b PATTERN (a b))"
    assert list_rows(cep.sql(text, t=table)) == [(0, 1), (2, 3), (4, 5)]


def test_events_of_one_time_keep_the_order_of_arrival_over_batches_and_restart() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.i AS a, b.i AS b PATTERN (a b))"
    moment = pa.array([START] * 7, pa.timestamp("us"))
    table = pa.table({"ts": moment, "i": [3, 1, 2, 7, 5, 6, 4]})
    for seed in SEEDS:
        rows = run_streaming(text, {"t": table}, make_cutting(seed)).rows
        assert rows is not None
        assert list_rows(rows) == [(3, 1), (2, 7), (5, 6)]


def test_events_that_a_filter_drops_move_time_on() -> None:
    text = """SELECT a.x AS ax, b.x AS bx FROM PATTERN SEQ(s a, r b) WHERE a.k = b.k AND b.x > 100
        WITHIN INTERVAL '5' SECOND STRATEGY skip_till_any"""
    schema = {"k": "int", "ts": "timestamp", "x": "int"}
    query = cep.open(text, s=schema, r=schema)
    for second in range(0, 200, 10):
        moments = [
            datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(seconds=second + offset)
            for offset in range(10)
        ]
        batch = pa.table({"k": [1] * 10, "ts": moments, "x": [1] * 10})
        query.push(s=batch, r=batch)
    assert query.counts.held < 20, "time goes on although every event of r is filtered out"
