"""PROCTIME(): events are stamped as they come in, by a clock that tests move by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, NotSupportedYet

SCHEMA = {"k": "int", "v": "int", "ts": "timestamp"}
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = {
    "in the window": "SELECT k, count(*) AS n FROM s [ORDER BY PROCTIME() RANGE 10 SECONDS SLIDE 10 SECONDS] "
    "GROUP BY k",
    "a column": "SELECT k, count(*) AS n FROM (SELECT *, PROCTIME() AS p FROM s) "
    "[ORDER BY p RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "a column of a view": "WITH b AS (SELECT x.*, proctime() AS p FROM s AS x WHERE v > 0) SELECT k, count(*) AS n "
    "FROM b [ORDER BY p RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "over a view": "WITH b AS (SELECT k FROM s WHERE v > 0) SELECT k, count(*) AS n "
    "FROM b [ORDER BY PROCTIME() RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    "over a view of a view": "WITH a AS (SELECT * FROM s), b AS (SELECT * FROM a WHERE v > 0) SELECT k, count(*) AS n "
    "FROM b [ORDER BY PROCTIME() RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k",
}


def events(*keys: int) -> pa.Table:
    """Their event time says nothing: it stands still."""
    times = pa.array([0] * len(keys), pa.timestamp("us"))
    return pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(keys, pa.int32()), "ts": times})


def counted(rows: pa.Table) -> dict[int, int]:
    return {row["k"]: row["n"] for row in rows.to_pylist()}


@pytest.mark.parametrize("emit", ["final", "changes"])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_close_when_the_clock_has_moved(name: str, emit: Any) -> None:
    clock = cep.ManualClock(BEGIN)
    query = cep.open(WINDOWS[name], s=SCHEMA, clock=clock, emit=emit)
    assert not len(query.push(s=events(1, 2)))
    clock.move(seconds=4)
    query = cep.open(WINDOWS[name], s=SCHEMA, clock=clock, emit=emit, snapshot=query.snapshot())
    assert not len(query.push(s=events(1)))
    assert not len(query.advance())
    clock.move(timedelta(seconds=6))
    assert counted(query.advance()) == {1: 2, 2: 1}
    assert not len(query.push(s=events(3)))
    clock.move(to=BEGIN + timedelta(minutes=1))
    assert counted(query.push(s=events(4))) == {3: 1}
    assert counted(query.finish()) == {4: 1}
    assert counted(cep.sql(WINDOWS[name], s=events(1, 2, 1))) == {1: 2, 2: 1}, "tables are there at one moment"


def test_a_star_does_not_show_the_stamp() -> None:
    clock = cep.ManualClock(BEGIN)
    query = cep.open("SELECT * FROM s [ORDER BY PROCTIME() RANGE 1 SECOND SLIDE 1 SECOND]", s=SCHEMA, clock=clock)
    assert query.schema.names == ["k", "v", "ts"]
    query = cep.open("SELECT *, PROCTIME() AS p FROM s", s=SCHEMA, clock=clock)
    assert query.schema.names == ["k", "v", "ts", "p"]
    assert query.push(s=events(1)).column("p").to_pylist() == [BEGIN.replace(tzinfo=None)]


def test_patterns_are_ordered_by_the_moment_of_arrival() -> None:
    clock = cep.ManualClock(BEGIN)
    text = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY PROCTIME() MEASURES a.v AS v, b.v AS w
        PATTERN (a b) WITHIN INTERVAL '10' SECOND DEFINE b AS b.v >= a.v)"""
    query = cep.open(text, s=SCHEMA, clock=clock)
    query.push(s=events(1, 2))
    clock.move(seconds=9)
    assert query.push(s=events(2)).to_pylist() == [{"k": 2, "v": 2, "w": 2}]
    clock.move(seconds=2)
    assert not len(query.push(s=events(1))), "more than ten seconds later"


def test_an_absence_over_two_streams_is_a_timer() -> None:
    """Both are stamped by one clock: a silent one holds up nothing."""
    clock = cep.ManualClock(BEGIN)
    text = "SELECT a.k FROM PATTERN SEQ(s a, ~c b) ORDER BY PROCTIME() WHERE a.k = b.k WITHIN INTERVAL '10' SECOND"
    query = cep.open(text, s=SCHEMA, c=SCHEMA, clock=clock)
    query.push(s=events(1, 2))
    clock.move(seconds=5)
    query.push(c=events(2))
    clock.move(seconds=6)
    assert query.advance().to_pylist() == [{"k": 1}]


def test_stamps_do_not_go_back_after_a_restart() -> None:
    text = "SELECT k, p FROM (SELECT k, PROCTIME() AS p FROM s) [ORDER BY p ROWS 1]"
    query = cep.open(text, s=SCHEMA, clock=cep.ManualClock(BEGIN))
    query.push(s=events(1))
    behind = cep.ManualClock(BEGIN - timedelta(hours=1))
    query = cep.open(text, s=SCHEMA, clock=behind, snapshot=query.snapshot())
    rows = pa.concat_tables([query.push(s=events(2)), query.finish()])
    assert query.counts.late == 0
    assert rows.to_pylist()[-1] == {"k": 2, "p": BEGIN.replace(tzinfo=None)}


def test_event_time_and_processing_time_beside_each_other() -> None:
    clock = cep.ManualClock(BEGIN)
    queries = {
        "arrived": WINDOWS["in the window"],
        "happened": "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k",
    }
    query = cep.open(queries, s=SCHEMA, clock=clock)
    query.push(s=events(1))
    clock.move(seconds=10)
    found = query.advance()
    assert (len(found["arrived"]), len(found["happened"])) == (1, 0)
    found = query.advance(to=10_000_000)
    assert (len(found["arrived"]), len(found["happened"])) == (0, 1)


def test_a_session_has_a_clock() -> None:
    clock = cep.ManualClock(BEGIN)
    with cep.Session(clock=clock) as session:
        session.source("s", SCHEMA)
        session.deploy("n", WINDOWS["a column"])
        session.push(s=events(1, 1))
        clock.move(seconds=10)
        assert counted(session.advance()["n"]) == {1: 2}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT PROCTIME() AS p FROM (SELECT k, count(*) AS n FROM s GROUP BY k)",
        "SELECT k FROM s [RANGE 1 SECOND] WHERE PROCTIME() > ts",
        "SELECT a.k, PROCTIME() AS p FROM PATTERN SEQ(s a, s b) WITHIN INTERVAL '1' SECOND",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY PROCTIME() ALL ROWS PER MATCH PATTERN (a) DEFINE a AS v > 1)",
        "SELECT * EXCEPT (k), PROCTIME() AS p FROM s",
        "SELECT PROCTIME() AS p",
    ],
)
def test_where_no_events_are_at_hand_it_is_refused(text: str) -> None:
    with pytest.raises(NotSupportedYet) as problem:
        cep.open(text, s=SCHEMA)
    assert problem.value.hint is not None


def test_clocks() -> None:
    clock = cep.ManualClock(BEGIN)
    with pytest.raises(InvalidInput, match="does not go back"):
        clock.move(seconds=-1)
    bad: Any = 3
    with pytest.raises(InvalidInput, match="the clock is a int"):
        cep.open("SELECT * FROM s", s=SCHEMA, clock=bad)
    with pytest.raises(InvalidInput, match="how far"):
        cep.open("SELECT * FROM s", s=SCHEMA).advance(stream="s")


def test_the_latest_row_of_each_key_by_arrival_is_kept_up_to_date() -> None:
    latest = "row_number() OVER (PARTITION BY k ORDER BY PROCTIME() DESC)"
    text = f"SELECT k, v FROM (SELECT *, {latest} AS r FROM s) WHERE r = 1"
    clock = cep.ManualClock(BEGIN)
    query = cep.open(text, s=SCHEMA, clock=clock, emit="changes")
    query.push(s=events(1))
    clock.move(seconds=1)
    later = events(1).set_column(1, "v", pa.array([7], pa.int32()))
    told = [(row["_change"], row["k"], row["v"]) for row in query.push(s=later).to_pylist()]
    assert told == [("retract", 1, 1), ("insert", 1, 7)]


def test_streams_are_counted_under_their_own_names() -> None:
    text = "SELECT a.k FROM PATTERN SEQ(s a, ~r c) ORDER BY PROCTIME() WHERE a.k = c.k WITHIN INTERVAL '10' SECOND"
    query = cep.open(text, s=SCHEMA, r=SCHEMA, clock=cep.ManualClock(BEGIN))
    query.push(s=events(1))
    assert {name: stream.clock for name, stream in query.counts.streams.items()} == {"r": BEGIN, "s": BEGIN}
    assert "waits for the slowest" not in cep.explain(text, s=SCHEMA, r=SCHEMA)
