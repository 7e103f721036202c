"""Streams that say nothing: the others wait for them, or not, as users say."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.disorder.stream_clocks import StreamClocks, find_companies
from cepheid.errors import InvalidInput, NotSupportedYet, WaitingStreamWarning
from cepheid.event_time import BEGINNING
from cepheid.testing import assert_same_rows

SCHEMA = {"k": "int", "ts": "timestamp"}
NOT_CANCELLED = "SELECT a.k, a.ts AS t FROM PATTERN SEQ(bids a, ~cancels c) WHERE a.k = c.k WITHIN INTERVAL '10' SECOND"
JOINS = {
    "windows": "SELECT a.k, a.ts AS t FROM bids [RANGE 5 SECONDS] AS a LEFT JOIN cancels [RANGE 5 SECONDS] AS c "
    "ON a.k = c.k",
    "interval": "SELECT a.k, a.ts AS t, c.ts AS u FROM bids AS a LEFT JOIN cancels AS c ON a.k = c.k "
    "AND c.ts BETWEEN a.ts AND a.ts + INTERVAL '3' SECOND",
    "union": "SELECT count(*) AS n, max(ts) AS t FROM (SELECT k, ts FROM bids UNION ALL SELECT k, ts FROM cancels) "
    "[RANGE 4 SECONDS SLIDE 4 SECONDS]",
    "chain": "SELECT b.n, c.k FROM (SELECT count(*) AS n FROM bids [RANGE 4 SECONDS SLIDE 4 SECONDS]) "
    "[RANGE 8 SECONDS] AS b JOIN cancels [RANGE 8 SECONDS] AS c ON b.n > c.k",
}


def events(*seconds: float, k: int = 1) -> pa.Table:
    times = pa.array([round(second * 1_000_000) for second in seconds], pa.timestamp("us"))
    return pa.table({"k": pa.array([k] * len(seconds), pa.int32()), "ts": times})


def open_query(text: str = NOT_CANCELLED, **settings: Any) -> Any:
    return cep.open(text, bids=SCHEMA, cancels=SCHEMA, **settings)


def list_seconds(rows: pa.Table) -> list[int]:
    return [row["t"].second for row in rows.to_pylist()]


@pytest.mark.parametrize("idle_after", ["30 s", timedelta(seconds=30), {"cancels": "30 seconds"}])
def test_a_stream_that_never_spoke_counts_from_the_first_event_of_the_others(idle_after: Any) -> None:
    query = open_query(idle_after=idle_after)
    assert list_seconds(query.push(bids=events(1, 2, 30.9))) == []
    assert query.counts.held == 3
    assert list_seconds(query.push(bids=events(31.5))) == [1, 2]
    assert query.counts.streams["cancels"].idle
    assert list_seconds(query.push(bids=events(50))) == [30, 31]


@pytest.mark.parametrize("text", [NOT_CANCELLED, *JOINS.values()])
def test_changes_of_streams_that_only_come_are_told_as_soon_as_final_rows(text: str) -> None:
    """idle_after was refused, and so were heartbeats of one stream forgotten by snapshots."""
    told: dict[str, list[int]] = {}
    counted = {}
    for emit in ("final", "changes"):
        query = open_query(text, idle_after="30 s", emit=emit)
        told[emit] = [len(query.push(bids=events(1, 2))), len(query.push(bids=events(40)))]
        told[emit].append(len(query.advance(to=timedelta(seconds=41) // timedelta(microseconds=1), stream="cancels")))
        query = open_query(text, idle_after="30 s", emit=emit, snapshot=query.snapshot())
        told[emit] += [len(query.push(bids=events(41))), len(query.push(cancels=events(5, 45)))]
        counted[emit] = (query.counts.late, query.counts.held, query.counts.streams)
        told[emit] += [len(query.push(bids=events(56))), len(query.finish())]
    assert sum(told["final"]) > 0
    assert told["changes"] == told["final"]
    assert counted["changes"] == counted["final"]


@pytest.mark.parametrize("join", ["windows", "interval"])
def test_plans_name_the_streams_that_are_waited_for(join: str) -> None:
    """Schemas stand for streams: an interval join was explained as one of whole tables, which waits for nothing."""
    told = cep.explain(JOINS[join], bids=SCHEMA, cancels=SCHEMA, idle_after={"cancels": "30 s"})
    assert "bids, cancels (not while it is idle)" in told
    assert "waits" not in cep.explain(JOINS["interval"], bids=events(1), cancels=events(1))
    with pytest.raises(InvalidInput, match='idle_after names "cancel"'):
        cep.explain(JOINS[join], bids=SCHEMA, cancels=SCHEMA, idle_after={"cancel": "30 s"})


@pytest.mark.parametrize("emit", ["final", "changes"])
def test_an_idle_stream_follows_the_others_by_what_is_waited_for_and_not_by_the_bound(emit: Any) -> None:
    """Rows came once the bound had passed: ten minutes later."""
    disorder = cep.Disorder(wait="1 s", bound="10 minutes", emit=emit)
    query = open_query(idle_after="30 s", disorder=disorder)
    assert list_seconds(query.push(bids=events(1, 2, 40))) == [1, 2]
    query = open_query(idle_after="30 s", disorder=disorder, snapshot=query.snapshot())
    assert list_seconds(query.push(bids=events(51.5))) == [40]
    back = query.push(cancels=events(45, 52)).to_pylist()  # it speaks again: within the bound, and too late for a wait
    assert [row["_change"] for row in back if "_change" in row] == (["retract"] if emit == "changes" else [])
    assert query.counts.late == (1 if emit == "final" else 0)
    assert list_seconds(query.push(bids=events(90))) == []  # it is waited for


def test_idle_streams_follow_where_a_host_says_that_they_were_silent() -> None:
    """As a worker on Spark does."""
    query = open_query(idle_after="30 s", disorder=cep.Disorder(wait="1 s", bound="10 minutes", emit="changes"))
    table = events(1, 2, 40).cast(pa.schema({"k": pa.int32(), "ts": pa.timestamp("us")}))
    tables = {"bids": table, "cancels": table.slice(0, 0)}
    rows = query.push_heard(tables, heard={}, newest={"bids": 40_000_000, "cancels": BEGINNING})
    assert list_seconds(rows) == []  # known by its newest event only, a stream counts from there
    later = events(80).cast(table.schema)
    rows = query.push_heard({**tables, "bids": later}, heard={}, newest={"bids": 80_000_000, "cancels": BEGINNING})
    assert list_seconds(rows) == [1, 2, 40]


def test_without_idle_after_all_is_held_and_counts_name_the_stream() -> None:
    query = open_query()
    assert not len(query.push(bids=events(*range(60))))
    stream = query.counts.streams
    assert (stream["cancels"].clock, stream["cancels"].idle, stream["cancels"].waiting) == (None, False, 60)
    assert stream["bids"].clock is not None
    assert stream["bids"].waiting == 0


def test_many_events_that_wait_are_worth_a_warning() -> None:
    query = open_query()
    query.push(bids=events(1))
    query.push(bids=events(*range(2, 12_000)))
    with pytest.warns(WaitingStreamWarning, match='wait for the stream "cancels", which has said nothing yet'):
        query.push(bids=events(*range(12_000, 24_000)))


def test_a_heartbeat_of_one_stream_moves_that_one_and_survives_a_restart() -> None:
    query = open_query()
    query.push(bids=events(1, 20))
    assert list_seconds(query.advance(to=12_000_000, stream="cancels")) == [1]
    query = open_query(snapshot=query.snapshot())
    assert not len(query.push(bids=events(40)))
    assert list_seconds(query.advance(to=31_000_000, stream="cancels")) == [20]
    with pytest.raises(InvalidInput, match='no stream "sales"'):
        query.advance(to=0, stream="sales")


def test_a_stream_that_comes_back_is_late_where_it_is_behind_and_waited_for_again() -> None:
    query = open_query(idle_after="30 s")
    query.push(bids=events(1))
    assert list_seconds(query.push(bids=events(40))) == [1]
    query.push(cancels=events(5, 45))
    assert query.counts.late == 1
    assert query.late_events().column("ts").to_pylist() == [events(5).column("ts")[0].as_py()]
    query.push(bids=events(60))
    assert not query.counts.streams["cancels"].idle
    assert query.counts.streams["cancels"].waiting == 2, "the bid of second 60 waits again"
    assert list_seconds(query.finish()) == [0], "the bid of second 40 was cancelled at 45"


def test_a_stream_that_lags_but_speaks_is_waited_for() -> None:
    query = open_query(idle_after="30 s")
    query.push(bids=events(1), cancels=events(1, k=2))
    for second in range(20, 500, 20):
        query.push(bids=events(second))
        query.push(cancels=events(second / 20, k=2))
    assert query.counts.late == 0
    assert not query.counts.streams["cancels"].idle


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("seed", range(3))
def test_events_within_bounds_give_the_rows_of_the_whole_tables(name: str, seed: int) -> None:
    """Streams in order, with silences; pushed as time goes on, with restarts: nothing is late, and no row differs."""
    dice = random.Random(seed)
    text, at = JOINS[name], 0.0
    query = open_query(text, idle_after="6 s", lateness=timedelta(seconds=1))
    seen: dict[str, list[pa.Table]] = {"bids": [events()], "cancels": [events()]}
    rows = []
    for silent in ("cancels", "bids", "", "cancels"):
        for _ in range(25):
            at += dice.choice([0.25, 0.5, 1.0])
            for stream in sorted(seen.keys() - {silent}):
                table = events(at - dice.choice([0, 0.125]), at, k=dice.randrange(3))
                seen[stream].append(table)
                rows.append(query.push(**{stream: table}))
            if dice.random() < 0.1:
                query = open_query(text, idle_after="6 s", lateness=timedelta(seconds=1), snapshot=query.snapshot())
    assert query.counts.late == 0
    assert sum(map(len, rows)) > 0, "rows came before the end"
    found = pa.concat_tables([*rows, query.finish()])
    assert_same_rows(found, cep.sql(text, **{stream: pa.concat_tables(each) for stream, each in seen.items()}))


def test_a_session_says_it_for_each_source() -> None:
    with cep.Session() as session:
        session.source("bids", SCHEMA)
        session.source("cancels", SCHEMA, idle_after="30 s")
        session.deploy("open", NOT_CANCELLED)
        session.push(bids=events(1))
        assert list_seconds(session.push(bids=events(40))["open"]) == [1]
        assert session.watch().counts.streams["cancels"].idle
        blob = session.snapshot()
    with cep.Session(snapshot=blob, idle_after={"cancels": "30 s"}) as session:
        session.source("bids", SCHEMA)
        session.source("cancels", SCHEMA)
        session.deploy("open", NOT_CANCELLED)
        assert list_seconds(session.push(bids=events(51))["open"]) == [40]
        assert list_seconds(session.advance(to=62_000_000, stream="bids")["open"]) == [51]


def test_streams_of_other_queries_do_not_count() -> None:
    """A stream that nobody waits for is never idle: its windows are closed by its own events."""
    with cep.Session(idle_after="30 s") as session:
        session.source("bids", SCHEMA)
        session.source("cancels", SCHEMA)
        session.deploy("n", "SELECT count(*) AS n FROM cancels [RANGE 10 SECONDS SLIDE 10 SECONDS]")
        session.deploy("m", "SELECT count(*) AS n FROM bids [RANGE 10 SECONDS SLIDE 10 SECONDS]")
        session.push(cancels=events(1))
        session.push(bids=events(1, 100))
        assert session.push(cancels=events(2, 11))["n"].to_pylist() == [{"n": 2}]


@pytest.mark.parametrize("given", ["soon", "0 s", "-3 s", 30, timedelta(0), {"cancels": None}, "30"])
def test_what_is_no_span_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput) as problem:
        open_query(idle_after=given)
    assert problem.value.hint


def test_a_stream_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match='"sales", which is no stream'):
        open_query(idle_after={"sales": "1 s"})
    with pytest.raises(InvalidInput, match="whole tables"):
        cep.sql("SELECT * FROM bids", bids=events(1), idle_after="1 s")


def test_a_time_that_the_query_computes_is_refused() -> None:
    text = "SELECT a.k FROM PATTERN SEQ(late a, ~cancels c) WITHIN INTERVAL '10' SECOND"
    with pytest.raises(NotSupportedYet, match="whose time is computed"):
        open_query(f"WITH late AS (SELECT k, ts + INTERVAL '1' SECOND AS ts FROM bids) {text}", idle_after="30 s")


def test_who_meets_waits_for_one_another() -> None:
    assert find_companies([{"a"}, {"b", "c"}, {"d"}]) == [{"b", "c"}]
    assert find_companies([{"a", "b"}, {"c", "d"}, {"b", "c"}, {"e"}]) == [{"a", "b", "c", "d"}]


def test_an_idle_stream_follows_the_slowest_of_those_that_are_not() -> None:
    clocks, company = StreamClocks({"c": 10}), [frozenset("abc")]
    clocks.see(company, {"a": 1, "b": 1, "c": 1}, {}, {})
    assert clocks.see(company, {"a": 20, "b": 8}, {}, {})["c"] == 8
    assert clocks.see(company, {"b": 15}, {}, {"b": 2})["c"] == 13
    assert clocks.see(company, {"c": 3}, {}, {})["c"] == 13, "clocks do not go back"
    assert clocks.find_idle(company[0]) == frozenset()


SUMS = (
    "SELECT k, sum(v) AS s FROM (SELECT * FROM bids UNION ALL SELECT * FROM cancels) "
    "[ORDER BY ts RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY k"
)


@pytest.mark.parametrize("text", [JOINS["interval"], SUMS])
def test_late_events_have_their_values_whichever_stream_they_are_of(text: str) -> None:
    """In joins they were null for all streams but the first, and unions told none."""
    schema = pa.schema({"k": "int32", "ts": pa.timestamp("us"), "v": "int64"})
    query = cep.open(text.replace("c.ts AS u", "c.v AS u, a.v AS w"), bids=schema, cancels=schema, idle_after="5 s")
    for name, second, value in (("bids", 1, 1), ("bids", 20, 2), ("cancels", 2, 3), ("bids", 3, 4)):
        query.push(**{name: events(second).append_column("v", pa.array([value]))})
    assert query.counts.late == 2
    late = query.late_events().select(["k", "v", "ts"]).to_pylist()
    assert [(row["k"], row["v"], row["ts"].second) for row in late] == [(1, 3, 2), (1, 4, 3)]
