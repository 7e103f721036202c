"""NOT b FOR d of a row pattern in a continuous query: told when that time has passed, whatever moves time on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

import cepheid as cep

SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("t", pa.string())])
BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 - as events without a zone have it
TEXT = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.ts AS at
    PATTERN ({pattern}) {within} DEFINE a AS a.t = 'a', b AS b.t = 'b')"""
AT_THE_END = TEXT.format(pattern="a NOT b FOR INTERVAL '2' SECOND", within="")
IN_LONG_MATCHES = TEXT.format(pattern="a NOT b FOR INTERVAL '2' SECOND", within="WITHIN INTERVAL '1' HOUR")
AT_THE_START = TEXT.format(pattern="NOT b FOR INTERVAL '2' SECOND a", within="")


def event(at: float, key: int, name: str) -> pa.Table:
    return pa.table({"ts": [BEGIN + timedelta(seconds=at)], "k": [key], "t": [name]}, schema=SCHEMA)


def seconds(rows: pa.Table) -> list[tuple[int, float]]:
    return [(row["k"], (row["at"] - BEGIN).total_seconds()) for row in rows.to_pylist()]


def test_events_of_other_keys_move_time_on() -> None:
    for text in (AT_THE_END, IN_LONG_MATCHES):
        query = cep.open(text, s=SCHEMA)
        assert seconds(query.push(s=event(0, 1, "a"))) == []
        assert seconds(query.push(s=event(1, 3, "a"))) == []
        assert seconds(query.push(s=event(2, 2, "x"))) == [], "a b may still come at 2 s"
        assert seconds(query.push(s=event(2.5, 2, "x"))) == [(1, 0.0)]
        assert seconds(query.push(s=event(2.6, 3, "b"))) == []
        assert seconds(query.push(s=event(9, 2, "x"))) == []


def test_a_heartbeat_moves_time_on_and_a_snapshot_keeps_what_is_waited_for() -> None:
    query = cep.open(AT_THE_END, s=SCHEMA)
    query.push(s=event(0, 1, "a"))
    query.push(s=event(1, 2, "a"))
    query = cep.open(AT_THE_END, s=SCHEMA, snapshot=query.snapshot())
    moment = (BEGIN + timedelta(seconds=2.5)).replace(tzinfo=UTC)
    assert seconds(query.advance(to=moment)) == [(1, 0.0)]
    query = cep.open(AT_THE_END, s=SCHEMA, snapshot=query.snapshot())
    assert seconds(query.push(s=event(4, 3, "x"))) == [(2, 1.0)]
    assert query.counts.held == 0


def test_the_start_of_a_partition_is_remembered() -> None:
    query = cep.open(AT_THE_START, s=SCHEMA)
    query.push(s=event(0, 1, "x"))
    query.push(s=event(0, 2, "x"))
    query.push(s=event(1, 1, "a"))
    query.push(s=event(2, 2, "b"))
    query = cep.open(AT_THE_START, s=SCHEMA, snapshot=query.snapshot())
    assert seconds(query.push(s=event(3, 2, "a"))) == []
    assert seconds(query.push(s=event(5, 1, "a"))) == [(1, 5.0)]
    query = cep.open(AT_THE_START, s=SCHEMA, snapshot=query.snapshot())
    assert seconds(query.push(s=event(9, 2, "a"))) == [], "its time at the start is over"
    assert seconds(query.push(s=event(9, 1, "a"))) == []
    assert seconds(query.push(s=event(19, 1, "a"))) == []
    assert seconds(query.finish()) == []


def test_what_waits_is_bounded() -> None:
    plan = cep.explain(AT_THE_END, s=SCHEMA, step="placed")
    assert "span no B, as long as 2 s" in plan
    assert "at most 1 events, and those that NOT B FOR INTERVAL '2' SECOND passes over" in plan
    cep.open(AT_THE_END, s=SCHEMA, strict=True)
