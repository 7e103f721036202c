"""The continuous query in this process: late events, snapshots, what it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, SnapshotMismatch
from cepheid.testing import list_rows

SCHEMA = {"bus": "int", "ts": "timestamp", "delay": "double", "name": "string"}
TEXT = """SELECT a.bus, b.delay AS after FROM PATTERN SEQ(buses a, buses b)
    WHERE a.bus = b.bus AND b.delay > a.delay AND upper(a.name) = 'X' WITHIN INTERVAL '10' SECOND"""
BEGIN = datetime.fromisoformat("2026-01-01")


def make_batch(*seconds: int) -> pa.Table:
    count = len(seconds)
    moments = [BEGIN + timedelta(seconds=second) for second in seconds]
    return pa.table(
        {"bus": [1] * count, "ts": moments, "delay": [float(second) for second in seconds], "name": ["x"] * count}
    )


def test_late_events_are_counted_and_kept_under_their_own_names() -> None:
    query = cep.open(TEXT, buses=SCHEMA, lateness=timedelta(seconds=5))
    query.push(buses=make_batch(0, 20))
    query.push(buses=make_batch(14, 15, 16))
    query = cep.open(TEXT, buses=SCHEMA, lateness=timedelta(seconds=5), snapshot=query.snapshot())
    assert query.counts.late == 1
    late = query.late_events()
    assert late.column("ts").to_pylist() == [BEGIN + timedelta(seconds=14)]
    assert set(late.column_names) == {"bus", "ts", "delay"}, "the columns that the query reads and did not compute"
    assert len(query.late_events()) == 0, "they are handed out once"
    assert query.finish().column("after").to_pylist() == [16.0, 20.0]


def test_event_at_the_horizon_is_not_late() -> None:
    query = cep.open(TEXT, buses=SCHEMA)
    query.push(buses=make_batch(5))
    assert query.push(buses=make_batch(5, 6)).column("after").to_pylist() == [6.0, 6.0]
    assert query.counts.late == 0


@pytest.mark.parametrize("change", [("'X'", "'Y'"), ("upper", "lower"), ("'10'", "'11'"), ("b.delay AS", "a.delay AS")])
def test_snapshot_of_a_changed_query_is_refused(change: tuple[str, str]) -> None:
    query = cep.open(TEXT, buses=SCHEMA)
    query.push(buses=make_batch(0, 1))
    with pytest.raises(SnapshotMismatch):
        cep.open(TEXT.replace(*change), buses=SCHEMA, snapshot=query.snapshot())


def test_snapshot_serves_the_same_query_in_other_white_space() -> None:
    query = cep.open(TEXT, buses=SCHEMA)
    query.push(buses=make_batch(0))
    again = cep.open("\n ".join(TEXT.split()), buses=SCHEMA, snapshot=query.snapshot())
    assert again.push(buses=make_batch(1)).to_pylist() == [{"bus": 1, "after": 1.0}]


def test_finished_query_takes_nothing_more() -> None:
    query = cep.open(TEXT, buses=SCHEMA)
    query.finish()
    for action in (query.finish, query.snapshot, lambda: query.push(buses=make_batch(0))):
        with pytest.raises(InvalidInput, match="finished"):
            action()


def test_state_stays_bounded_while_events_go_by(monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.execution import engine

    monkeypatch.setattr(engine, "SPARE_EVENTS", 64)
    query = cep.open(TEXT, buses=SCHEMA)
    for begin in range(0, 4000, 40):
        query.push(buses=make_batch(*range(begin, begin + 40)))
        assert query.counts.kept <= 2 * 11 + 64 + 40


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(SELECT ts, n FROM s UNION ALL SELECT ts, n + 1 AS n FROM r) [RANGE 2 SECONDS SLIDE 2 SECONDS]", [(16,)]),
        ("s [RANGE 5 SECONDS] AS x, r [RANGE 5 SECONDS] AS y WHERE x.n * 5 = y.n", [(5,)]),
        ("s AS x JOIN r AS y ON y.ts BETWEEN x.ts AND x.ts + INTERVAL '1' SECOND", [(5,), (12,)]),
    ],
)
def test_streams_of_two_zones_meet(source: str, expected: list[tuple[int, ...]]) -> None:
    text = f"SELECT {'sum(n)' if 'UNION' in source else 'x.n * y.n'} AS c FROM {source}"
    tables = {
        name: pa.table({"ts": pa.array(times, pa.timestamp("us", zone)), "n": numbers})
        for name, times, zone, numbers in (
            ("s", [0, 1_000_000], "Europe/Berlin", [1, 2]),
            ("r", [500_000, 1_500_000], "UTC", [5, 6]),
        )
    }
    assert list_rows(cep.sql(text, **tables)) == expected
    query = cep.open(text, **{name: table.schema for name, table in tables.items()})
    assert [*list_rows(query.push(**tables)), *list_rows(query.finish())] == expected


def test_categories_and_texts_meet() -> None:
    texts = pa.table({"ts": pa.array([0, 1_000_000], pa.timestamp("us")), "k": ["a", "b"]})
    categories = texts.set_column(1, "k", texts.column("k").dictionary_encode())
    union = (
        "(SELECT ts, k FROM s UNION ALL SELECT ts, upper(k) AS k FROM r) [RANGE 9 SECONDS SLIDE 9 SECONDS] GROUP BY k"
    )
    join = "SELECT count(*) AS c FROM s [RANGE 9 SECONDS] AS x, r [RANGE 9 SECONDS] AS y WHERE x.k = y.k"
    for r in (texts, categories):
        query = cep.open(f"SELECT k, count(*) AS c FROM {union}", s=categories.schema, r=r.schema)
        rows = [*list_rows(query.push(s=categories, r=r)), *list_rows(query.finish())]
        assert sorted(rows) == [("A", 1), ("B", 1), ("a", 1), ("b", 1)]
        assert len(cep.sql(join.replace("count(*) AS c", "x.k"), s=categories, r=r)) == 2


def test_bytes_of_a_fixed_length_are_bytes() -> None:
    schema = pa.schema({"ts": pa.timestamp("us"), "p": pa.binary(2)})
    query = cep.open("SELECT DISTINCT p FROM s", emit="changes", s=schema)
    given = [
        query.push(s=pa.table([[second], [value]], schema=schema)) for second, value in enumerate([b"ab", b"ab", b"cd"])
    ]
    assert [row["p"] for row in pa.concat_tables(given).to_pylist()] == [b"ab", b"cd"]
