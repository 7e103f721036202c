"""Events that come one by one, in lists, in small batches or in large ones, or in any mixture: one answer."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import numpy as np
import pyarrow as pa
import pytest
from random_events import SCHEMA, make_events, shuffle_events
from random_row_patterns import RowPatternCase, make_row_pattern_case
from random_sequences import make_sequence_case
from random_windows import make_window_case
from ways_to_run import make_cutting

import cepheid as cep
from cepheid.errors import CepheidError, InvalidInput, UnboundedStateWarning
from cepheid.execution import engine
from cepheid.execution.embedded import stream_lane

CASES = 240
MAKERS = (make_sequence_case, make_row_pattern_case, make_window_case)
# Over the columns as they are: what the short way of single events is made for.
PLAIN = (
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(a.i) AS x, LAST(b.w) AS y, "
        "LAST(b.at) AS z PATTERN (a b+ c) WITHIN INTERVAL '6' SECOND "
        "DEFINE b AS b.i > PREV(b.i) OR b.flag, c AS c.f < LAST(b.f))"
    ),
    (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY s ORDER BY ts MEASURES MATCH_NUMBER() AS nr, "
        "CLASSIFIER() AS cl, sum(a.i) AS total ALL ROWS PER MATCH PATTERN (a+ b?) "
        "DEFINE a AS a.w > 'a', b AS sum(a.i) > b.i)"
    ),
    (
        "SELECT a.ts AS t, a.w AS w, b.f AS f FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k AND b.f > 0.5 "
        "WITHIN INTERVAL '5' SECOND STRATEGY skip_till_any"
    ),
    (
        "SELECT a.i AS i, b.flag AS g FROM PATTERN SEQ(s a, s b, ~s c) ORDER BY ts WHERE a.s = b.s AND b.s = c.s AND "
        "b.i > a.i AND c.flag WITHIN INTERVAL '4' SECOND"
    ),
    (
        "SELECT a.ts AS t, count(b[]) AS n FROM PATTERN SEQ(s a, s+ b[]) ORDER BY ts WHERE a.k = b.k AND b.w >= a.w "
        "WITHIN INTERVAL '3' SECOND LIMIT PARTIALS 5 DROP OLDEST"
    ),
    "SELECT k, avg(f) AS m, count(f) AS n FROM s [ORDER BY ts ROWS 7] GROUP BY k",
    "SELECT s, sum(f) AS m FROM s [ORDER BY ts RANGE 3 SECONDS] GROUP BY s",
    "SELECT w, max(i) AS m, median(f) AS d FROM s [ORDER BY ts ROWS 5 SLIDE 1] GROUP BY w",
    (
        "SELECT k, stddev(f) AS d, var_pop(f) AS v, sum(i) AS t, avg(i) AS m, count(*) AS n, count(f) AS nf "
        "FROM s [ORDER BY ts ROWS 6] GROUP BY k"
    ),
    (
        "SELECT s, min(f) AS least, max_by(i, f) AS best, min(at) AS early, percentile_disc(0.3) WITHIN GROUP "
        "(ORDER BY i) AS p, percentile_cont(0.7) WITHIN GROUP (ORDER BY i) AS q FROM s [ORDER BY ts RANGE 2 SECONDS] "
        "GROUP BY s"
    ),
    (
        "SELECT x.w AS w, x.i AS i, y.f AS f FROM s [ORDER BY ts ROWS 6] AS x, t [ORDER BY ts RANGE 3 SECONDS] AS y "
        "WHERE x.k = y.k"
    ),
    (
        "SELECT x.i AS i, y.w AS w FROM s [ORDER BY ts RANGE 2 SECONDS] AS x "
        "LEFT JOIN t [ORDER BY ts ROWS 4] AS y ON x.s = y.s"
    ),
    (
        "SELECT a.ts AS t, a.w AS w, b.f AS f FROM PATTERN SEQ(s a, t b, s c) ORDER BY ts WHERE a.k = b.k "
        "AND b.k = c.k AND b.i > 0 WITHIN INTERVAL '5' SECOND"
    ),
    (
        "SELECT a.ts AS t, b.f AS f FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE a.k = b.k AND b.i > 0 "
        "WITHIN INTERVAL '5' SECOND STRATEGY skip_till_any"
    ),
)


def make_case(seed: int) -> tuple[str, dict[str, pa.Table]]:
    if seed % 2:
        text = PLAIN[seed // 2 % len(PLAIN)]
        names = ("s", "t") if " t [" in text or "t b" in text else ("s",)
        gaps = Random(seed).choice(((0, 1), (0, 1, 2), (1,)))
        return text, {name: make_events(seed + shift, 50, keys=3, gaps=gaps) for shift, name in enumerate(names)}
    case = MAKERS[seed // 2 % len(MAKERS)](seed)
    return case.text, {"t": case.events} if isinstance(case, RowPatternCase) else case.tables


def open_quietly(text: str, tables: dict[str, pa.Table], snapshot: bytes | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedStateWarning)
        return cep.open(text, snapshot=snapshot, **{name: table.schema for name, table in tables.items()})


def list_events(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def count_rows(rows: list[tuple[Any, ...]]) -> Counter[str]:
    """By what is written: NaN is equal to nothing, not even itself."""
    return Counter(repr(tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row)) for row in rows)


def push_batch(query: Any, batch: dict[str, pa.Table], way: str) -> list[tuple[Any, ...]]:
    """One batch, in one of the ways."""
    if way == "batch":
        return list_events(query.push(**batch))
    rows: list[tuple[Any, ...]] = []
    for name, table in batch.items():
        feed, events = query.feed(name), list_events(table)
        if way == "list":
            rows += feed.push(events)
        else:
            for event in events:
                rows += feed.push(event)
    return rows


def run_ways(
    text: str, tables: dict[str, pa.Table], batches: list[dict[str, pa.Table]], ways: list[str], restart: int | None
) -> Counter[str] | str:
    """What comes out, or the mistake that the data make."""
    rows: list[tuple[Any, ...]] = []
    query = open_quietly(text, tables)
    try:
        for number, (batch, way) in enumerate(zip(batches, ways, strict=True)):
            if number == restart:
                query = open_quietly(text, tables, query.snapshot())
            rows += push_batch(query, batch, way)
        rows += list_events(query.finish())
    except CepheidError as problem:
        return type(problem).__name__
    return count_rows(rows)


@pytest.fixture
def only_large(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every batch goes the way of large ones, until this is undone."""
    monkeypatch.setattr(engine, "MOST_FEW", -1)
    monkeypatch.setattr(stream_lane, "MOST_FEW", -1)
    return monkeypatch


@pytest.mark.parametrize("seed", range(CASES))
def test_rows_do_not_depend_on_how_events_come_in(seed: int, only_large: pytest.MonkeyPatch) -> None:
    text, tables = make_case(seed)
    random, cutting = Random(seed), make_cutting(seed)
    batches = cutting.cut(tables)
    expected = run_ways(text, tables, batches, ["batch"] * len(batches), None)
    only_large.undo()
    only_large.setattr(engine, "SPARE_EVENTS", cutting.spare_events)
    for way in ("batch", "list", "single"):
        assert run_ways(text, tables, batches, [way] * len(batches), cutting.resume_after) == expected, way
    mixed = [random.choice(("batch", "list", "single")) for _ in batches]
    for limit in (2, 8):  # batches above it are large
        only_large.setattr(engine, "MOST_FEW", limit)
        only_large.setattr(stream_lane, "MOST_FEW", limit)
        assert run_ways(text, tables, batches, mixed, cutting.resume_after) == expected, f"mixed, few: {limit}"


@pytest.mark.parametrize("seed", range(60))
def test_late_events_are_the_same_ones(seed: int, only_large: pytest.MonkeyPatch) -> None:
    text, tables = make_case(2 * seed + 1)
    late = {name: shuffle_events(table, seed, 3) for name, table in tables.items()}
    batches = make_cutting(seed).cut(late)

    def run() -> tuple[Counter[str], Counter[str], tuple[int, ...]]:
        query = open_quietly(text, tables)
        rows = [row for batch in batches for row in list_events(query.push(**batch))]
        counts = query.counts
        told = count_rows(list_events(query.late_events()))
        numbers = (counts.events, counts.late, counts.rejected, counts.rows, counts.held)
        return count_rows(rows + list_events(query.finish())), told, numbers

    expected = run()
    only_large.undo()
    assert run() == expected


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+02:00"])
def test_feed_takes_times_as_datetimes_and_as_numbers(zone: str) -> None:
    text = "SELECT a.ts AS t, b.i AS i FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.i = b.i WITHIN INTERVAL '1' HOUR"
    table = pa.table({"i": pa.array([1, 1, 1], pa.int32()), "ts": pa.array([1, 2, 3], pa.timestamp("us", tz=zone))})
    feeds = [open_quietly(text, {"s": table}).feed("s") for _ in range(3)]
    as_times = [row for event in list_events(table) for row in feeds[0].push(event)]
    as_numbers = [row for event in [(1, 1), (1, 2), (1, 3)] for row in feeds[1](event)]
    assert as_times == as_numbers == feeds[2].push(list_events(table))
    assert as_times[0] == (table.column("ts")[0].as_py(), 1)


@pytest.mark.parametrize(
    "event", [(1,), (1, 2, 3), ("x", 2), (1.5, 2), (2**40, 2), (1, "noon"), [1, 2], {"i": 1, "ts": 2}, 7]
)
def test_what_is_no_event_is_refused_with_a_hint(event: Any) -> None:
    table = pa.table({"i": pa.array([], pa.int32()), "ts": pa.array([], pa.timestamp("us"))})
    text = "SELECT a.ts AS t FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.i = b.i WITHIN INTERVAL '1' HOUR"
    query = open_quietly(text, {"s": table})
    feed = query.feed("s")
    with pytest.raises(InvalidInput) as refused:
        feed.push(event)
    assert refused.value.hint
    assert query.counts.events == 0, "nothing has happened"
    assert feed.push([(1, 1), (1, 2)]) == [(_time(1),)]


@pytest.mark.parametrize(
    "event", [(True, 1.5, 1), (1, True, 1), (1, Decimal("1.5"), 1), (1, 2, True), (np.int64(1), np.float32(1.5), 1)]
)
def test_odd_numbers_are_the_same_in_every_lane(event: Any) -> None:
    """With a null in the event before it, a feed goes through Arrow."""
    text = "SELECT sum(i) AS i, sum(f) AS f, max(ts) AS t FROM s [ORDER BY ts ROWS 9]"
    table = pa.table(
        {"i": pa.array([], pa.int32()), "f": pa.array([], pa.float64()), "ts": pa.array([], pa.timestamp("us"))}
    )
    short, long = (open_quietly(text, {"s": table}).feed("s") for _ in range(2))
    assert short.push((None, 0.0, 0)) == long.push((None, 0.0, 0))
    alone, beside_a_null = short.push(event), long.push([event, (None, None, 2)])
    assert alone == beside_a_null[:1]


def _time(microseconds: int) -> Any:
    return pa.scalar(microseconds, pa.timestamp("us")).as_py()


def test_a_sum_that_leaves_64_bits_is_refused_in_small_pushes() -> None:
    query = cep.open("SELECT sum(i) AS t FROM s [ROWS 3]", s={"i": "bigint", "ts": "timestamp"})
    feed = query.feed("s")
    assert feed.push((2**62, 1)) == [(2**62,)]
    with pytest.raises(CepheidError, match="64 bits"):
        feed.push((2**62, 2))


def test_many_events_that_one_event_lets_go() -> None:
    """More than a push takes in at once: they wait for the other stream, and then go together."""
    text = "SELECT x.i AS i, y.i AS j FROM s [ROWS 5000] AS x, t [ROWS 5000] AS y WHERE x.i = y.i"
    query = cep.open(text, s={"i": "int", "ts": "timestamp"}, t={"i": "int", "ts": "timestamp"})
    first, second = query.feed("s"), query.feed("t")
    for number in range(1500):
        assert first.push((number, number)) == []
    assert second.push((3, 3)) == []
    assert second.push((-1, 5000)) == [(3, 3)]
    assert first.push((-1, 6000)) == []
    assert second.push((-2, 7000)) == []
    assert first.push((-3, 8000)) == [(-1, -1)]
    assert (query.counts.events, query.counts.rows) == (1505, 2)


def test_what_is_counted_does_not_depend_on_when_one_asks() -> None:
    text = "SELECT i, avg(f) AS m FROM s [ROWS 4] GROUP BY i"
    told = []
    for asks in (False, True):
        query = cep.open(text, s={"i": "int", "f": "double", "ts": "timestamp"})
        feed = query.feed("s")
        for number in range(2500):
            feed.push((number % 3, float(number), number))
            if asks:
                assert query.counts.events == number + 1
        told.append({**query.counts.as_dict(), "kept": None})  # which depends on when an engine last forgot
    assert told[0] == told[1]
    assert told[0]["rows"] == 2500


def test_events_are_forgotten_though_they_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SPARE_EVENTS", 100)
    query = cep.open("SELECT max(i) AS m FROM s [ROWS 10]", s={"i": "int", "ts": "timestamp"})
    feed = query.feed("s")
    kept = []
    for number in range(6000):
        assert feed.push((number, number)) == [(number,)]
        if number % 100 == 0:
            kept.append(query.counts.kept)
    assert max(kept) < 1500


def test_feed_of_a_stream_that_is_not_there_is_refused() -> None:
    query = open_quietly("SELECT count(*) AS n FROM s [ORDER BY ts ROWS 3]", {"s": SCHEMA.empty_table()})
    with pytest.raises(InvalidInput, match='no stream "bids"'):
        query.feed("bids")


def test_several_queries_answer_a_feed_by_name() -> None:
    queries = {"low": "SELECT min(i) AS m FROM s [ROWS 2]", "high": "SELECT max(i) AS m FROM s [ROWS 2]"}
    query = cep.open(queries, s={"i": "int", "ts": "timestamp"})
    assert query.feed("s").push((3, 1)) == {"low": [(3,)], "high": [(3,)]}


def test_a_feed_ends_with_its_query() -> None:
    query = cep.open("SELECT max(i) AS m FROM s [ROWS 2]", s={"i": "int", "ts": "timestamp"})
    feed = query.feed("s")
    assert feed.push((3, 1)) == [(3,)]
    query.finish()
    with pytest.raises(InvalidInput, match="finished"):
        feed.push((4, 2))
