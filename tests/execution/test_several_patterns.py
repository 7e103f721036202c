"""Continuous queries with several patterns: side by side, and one over the rows of another."""

from __future__ import annotations

import sys
import warnings
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent.parent / "property"))
from random_events import make_events, shuffle_events

import cepheid as cep
from cepheid.errors import NotSupportedYet, RowsAtTheEndWarning, SnapshotMismatch
from cepheid.testing import assert_same_rows, cut_table, run_in_batches

LOWER = """t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS begun, LAST(ts) AS ended,
    LAST(i) - FIRST(i) AS rise, COUNT(*) AS events
    PATTERN (a b{1,3}) WITHIN INTERVAL '6' SECOND DEFINE b AS b.i >= PREV(b.i))"""
ALL_ROWS = """t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, n MEASURES i AS rise, LAST(ts) AS ended
    ALL ROWS PER MATCH PATTERN (a b{0,2}) DEFINE b AS b.i > PREV(b.i))"""
UPPER = """MATCH_RECOGNIZE (ORDER BY {order} MEASURES p.rise AS r1, LAST(q.rise) AS r2, COUNT(*) AS n, FIRST(ended) AS e
    PATTERN (p q+) WITHIN INTERVAL '20' SECOND DEFINE q AS q.rise > PREV(q.rise))"""
PAIRS = """(SELECT a.k, b.ts AS ended, b.i - a.i AS rise FROM PATTERN SEQ(t a, t b) ORDER BY ts
    WHERE a.k = b.k AND b.i > a.i WITHIN 5 s STRATEGY {strategy}) AS m"""
SIDE_BY_SIDE = f"""
    SELECT 'row' AS kind, k, rise, ended FROM {LOWER} WHERE events > 2
    UNION ALL SELECT 'pair', k, rise * 2, ended FROM {PAIRS.format(strategy="skip_till_next")} WHERE rise <> 4"""
SEQUENCE_OVER_ROWS = f"""WITH m AS (SELECT * FROM {LOWER} WHERE rise >= 0)
    SELECT x.rise AS r1, y.rise AS r2, y.ended AS t FROM PATTERN SEQ(m x, m y) ORDER BY ended
    WHERE x.k = y.k AND y.rise > x.rise WITHIN 30 s STRATEGY skip_till_any"""
ROWS_AND_EVENTS = f"""WITH m AS (SELECT k, ended AS ts, rise FROM {LOWER})
    SELECT x.rise, y.i, y.ts FROM PATTERN SEQ(m x, t y) ORDER BY ts WHERE x.k = y.k AND y.i > 0 WITHIN 10 s"""
QUERIES = {
    "side by side": SIDE_BY_SIDE,
    "over rows, by end": f"SELECT * FROM {LOWER} AS m {UPPER.format(order='ended')}",
    "over rows, by begin": f"SELECT * FROM {LOWER} AS m {UPPER.format(order='begun')}",
    "over rows, by two": f"SELECT * FROM {LOWER} AS m {UPPER.format(order='begun, rise')}",
    "over all rows": f"SELECT * FROM {ALL_ROWS} AS m {UPPER.format(order='ts')}",
    "over pairs": f"SELECT * FROM {PAIRS.format(strategy='skip_till_any')} {UPPER.format(order='ended')}",
    "sequence over rows": SEQUENCE_OVER_ROWS,
    "rows and events": ROWS_AND_EVENTS,
    "over a union": f"""SELECT * FROM (SELECT rise, ended FROM {LOWER} UNION ALL
        SELECT rise, ended FROM {PAIRS.format(strategy="skip_till_next")}) {UPPER.format(order="ended, rise")}""",
    "over a union, by end": f"""SELECT * FROM (SELECT rise, ended FROM {LOWER} UNION ALL
        SELECT rise, ended FROM {PAIRS.format(strategy="skip_till_next")}) {UPPER.format(order="ended")}""",
    "over a union with itself": f"""SELECT * FROM (SELECT * FROM {LOWER} UNION ALL SELECT * FROM {LOWER})
        {UPPER.format(order="ended")}""",
    "three high": f"""SELECT r1, n FROM {LOWER} AS m {UPPER.format(order="ended")} AS o
        MATCH_RECOGNIZE (ORDER BY e MEASURES x.r1 AS r1, COUNT(*) AS n
            PATTERN (x y+) DEFINE y AS y.r1 >= PREV(y.r1))""",
}


def make_batches(events: pa.Table, seed: int) -> list[dict[str, pa.Table]]:
    random = np.random.default_rng(seed)
    places = np.sort(random.integers(0, len(events) + 1, int(random.integers(1, 12))))
    return [{"t": part} for part in cut_table(events, places.tolist())]


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_the_whole_table(text: str, seed: int) -> None:
    events = make_events(seed, 120, keys=3, gaps=(0, 0, 1, 2))
    batches = make_batches(events, seed)
    rows, query = run_in_batches(text, batches, resume_after=len(batches) // 2)
    found, expected = pa.concat_tables(rows), cep.sql(text, t=events)
    assert len(expected), "the test would say nothing"
    assert_same_rows(found, expected, f"seed {seed}")
    assert query.counts.late == 0


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("seed", range(3))
def test_events_out_of_order_change_nothing(text: str, seed: int) -> None:
    events = make_events(seed, 120, keys=3, gaps=(0, 1, 2))
    batches = make_batches(shuffle_events(events, seed, most_seconds=4), seed)
    rows, query = run_in_batches(text, batches, resume_after=1, lateness=timedelta(seconds=4))
    assert_same_rows(pa.concat_tables(rows), cep.sql(text, t=events), f"seed {seed}")
    assert query.counts.late == 0


def test_rows_of_the_upper_pattern_do_not_wait_for_the_end() -> None:
    text = QUERIES["over rows, by end"]
    events = make_events(1, 400, keys=3, gaps=(1, 2))
    rows, _ = run_in_batches(text, [{"t": part} for part in cut_table(events, list(range(10, 400, 10)))])
    before_the_end = sum(map(len, rows[:-1]))
    assert before_the_end > 0.8 * len(cep.sql(text, t=events))


def test_state_of_all_patterns_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.execution import engine

    monkeypatch.setattr(engine, "SPARE_EVENTS", 16)
    events = make_events(1, 2000, keys=3, gaps=(1, 2))
    query = cep.open(QUERIES["over rows, by end"], t=events.schema)
    for part in cut_table(events, list(range(20, 2000, 20))):
        query.push(t=part)
        assert query.counts.kept + query.counts.held < 150


def test_late_events_are_those_of_patterns_over_streams() -> None:
    events = make_events(1, 30, keys=3, gaps=(1,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.UnboundedStateWarning)
        query = cep.open(QUERIES["over rows, by end"], t=events.schema)
    query.push(t=events.slice(10))
    query.push(t=events.slice(0, 5))
    assert query.counts.late == 5
    late = query.late_events()
    assert late.column("ts").to_pylist() == events.slice(0, 5).column("ts").to_pylist()
    assert len(query.late_events()) == 0


def test_late_events_of_streams_with_different_columns_are_told_together() -> None:
    left = pa.table({"ts": pa.array([5, 1], pa.timestamp("s")), "x": [1, 2], "y": [0.5, 1.5]})
    right = pa.table({"ts": pa.array([5, 1], pa.timestamp("s")), "x": ["p", "q"], "z": [True, False]})
    text = """SELECT c AS n FROM l MATCH_RECOGNIZE (ORDER BY ts MEASURES a.x + a.y AS c PATTERN (a)) UNION ALL
        SELECT length(d) + e FROM r MATCH_RECOGNIZE (ORDER BY ts MEASURES a.x AS d, IF(a.z, 1, 0) AS e PATTERN (a))"""
    query = cep.open(text, l=left.schema, r=right.schema)
    for row in range(2):
        query.push(l=left.slice(row, 1), r=right.slice(row, 1))
    assert query.late_events().select(["x", "y", "z"]).to_pylist() == [
        {"x": 2, "y": 1.5, "z": None},
        {"x": None, "y": None, "z": False},
    ]


def test_snapshot_of_one_part_changed_is_refused() -> None:
    events = make_events(1, 30, keys=3, gaps=(1,))
    query = cep.open(SIDE_BY_SIDE, t=events.schema)
    query.push(t=events)
    with pytest.raises(SnapshotMismatch):
        cep.open(SIDE_BY_SIDE.replace("5 s", "6 s"), t=events.schema, snapshot=query.snapshot())


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_matches_are_kept_up_to_date(seed: int) -> None:
    text = f"SELECT m.k, count(*) AS n, sum(rise) AS total FROM {LOWER} AS m GROUP BY m.k"
    events = make_events(seed, 120, keys=3, gaps=(0, 0, 1, 2))
    with pytest.warns(RowsAtTheEndWarning, match='emit="changes"'):
        query = cep.open(text, t=events.schema)
    *before, last = [*(query.push(**batch) for batch in make_batches(events, seed)), query.finish()]
    assert not any(map(len, before))
    assert_same_rows(last, cep.sql(text, t=events), f"seed {seed}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"SELECT r1 FROM (SELECT rise, ended, ended + INTERVAL '1' DAY AS u FROM {LOWER}) {UPPER.format(order='u')}",
         "ORDER BY"),
        (f"SELECT * FROM {LOWER.replace('LAST(ts)', 'PREV(FIRST(ts))')} AS m {UPPER.format(order='ended')}",
         "ORDER BY"),
    ],
)  # fmt: skip
def test_what_cannot_be_continuous_is_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(NotSupportedYet, match=told):
        cep.open(text, t=make_events(1, 1, keys=1, gaps=(1,)).schema)
