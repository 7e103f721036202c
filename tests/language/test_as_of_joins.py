"""ASOF JOIN, FOR SYSTEM_TIME AS OF and OVER: what is refused, with its hint, and what plans say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import compile_query, explain_compilation
from cepheid.errors import CepheidError
from cepheid.session_inputs import make_catalog

SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("id", pa.int64()), ("v", pa.int64()), ("name", pa.string())])
TIMES = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second) for second in range(6)]
VERSIONS = pa.table(
    {"id": [1, 1], "rate": [10, 20], "since": pa.array([TIMES[0], TIMES[3]], pa.timestamp("us", tz="UTC"))}
)

REFUSED = {
    "SELECT a.v FROM a ASOF JOIN b ON a.id = b.id": ("compares one time of each side", "a.ts >= b.ts"),
    "SELECT a.v FROM a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts AND a.v <> b.v": ("over both sides", "WHERE"),
    "SELECT a.v FROM a ASOF RIGHT JOIN b ON a.id = b.id AND a.ts >= b.ts": ("RIGHT JOIN", "LEFT JOIN"),
    "SELECT a.v FROM a ASOF JOIN b ON a.id = b.name AND a.ts >= b.ts": ("cannot be keys", "cast"),
    "SELECT a.v FROM a ASOF JOIN b ON a.id = b.id AND a.ts >= b.v": ("the times of an ASOF", "cast"),
    "SELECT a.v FROM a ASOF JOIN b ON a.id = b.id AND a.name >= b.name": ("does not order events", "timestamps"),
    "SELECT a.v FROM a ASOF JOIN b ON a.ts >= b.ts - INTERVAL '1' SECOND": ("as the time of a side", "subquery"),
    "SELECT a.v FROM a ASOF JOIN b USING (id, other)": ('USING names "other"', "ON"),
    "SELECT a.none FROM a ASOF JOIN b USING (id, ts)": ('column "none" does not exist', "Known"),
    "SELECT v FROM a ASOF JOIN b USING (id, ts)": ("may be of several", "a.v"),
    "SELECT a.v FROM a FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 00:00:00'": ("FOR SYSTEM_TIME here", "JOIN b"),
    "SELECT a.v FROM a FOR SYSTEM_TIME AS OF a.ts ASOF JOIN b USING (id, ts)": ("FOR SYSTEM_TIME here", "JOIN b"),
    "SELECT a.v FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.v < b.v": ("without an equality", "ON a.id = b.id"),
    "SELECT a.v FROM a JOIN b FOR SYSTEM_TIME AS OF b.ts ON a.id = b.id": (
        "not a time of the other",
        "FOR SYSTEM_TIME",
    ),
    "SELECT a.v FROM a JOIN b FOR VERSION AS OF 3 ON a.id = b.id": ("VERSION AS OF 3", "FOR SYSTEM_TIME AS OF a.ts"),
    "SELECT a.v FROM a JOIN b FOR SYSTEM_TIME AS OF now() - INTERVAL '1' DAY ON a.id = b.id": (
        "FOR SYSTEM_TIME",
        "event time",
    ),
    "SELECT x.v FROM a [ROWS 5] AS x JOIN b FOR SYSTEM_TIME AS OF x.ts ON x.id = b.id": ("has no window", "subquery"),
}
REFUSED_ON_STREAMS = {
    "SELECT a.v FROM a JOIN b FOR SYSTEM_TIME AS OF PROCTIME() ON a.id = b.id": ("as it is now", "cep.Table"),
    "SELECT a.v FROM a JOIN t FOR SYSTEM_TIME AS OF a.ts ON a.id = t.id": ("does not say when", "valid_from"),
    "SELECT a.v FROM a ASOF JOIN t ON a.id = t.id AND a.ts > t.since": ("looked up", "a.ts >= t.since"),
    "SELECT ntile(4) OVER (ORDER BY ts) AS n FROM a": ("NTILE", "in the end"),
    "SELECT percent_rank() OVER (ORDER BY ts) AS n FROM a": ("PERCENT_RANK", "in the end"),
    "SELECT lag(v) OVER (PARTITION BY id) AS n FROM a": ("needs ORDER BY event time", "ORDER BY ts"),
    "SELECT lag(v, id) OVER (ORDER BY ts) AS n FROM a": ("offset of LAG", "whole number"),
    "SELECT nth_value(v, 0) OVER (ORDER BY ts) AS n FROM a": ("offset of NTH_VALUE", "1 or more"),
    "SELECT lag(v) OVER (ORDER BY ts DESC) AS n FROM a": ("DESC", "forward"),
    "SELECT rank() OVER (ORDER BY ts, id) AS n FROM a": ("needs ORDER BY event time", "ORDER BY ts"),
    "SELECT lag(v) OVER (ORDER BY ts, name) AS n FROM a": ("ORDER BY a column of type string", "numbers"),
    "SELECT last_value(v) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) AS n FROM a": (
        "UNBOUNDED FOLLOWING",
        "has an end",
    ),
    "SELECT sum(v) OVER (ORDER BY ts ROWS 2 PRECEDING EXCLUDE CURRENT ROW) AS n FROM a": ("EXCLUDE", "look back"),
    "SELECT sum(v) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS n FROM a": (
        "UNBOUNDED PRECEDING AND 1 FOLLOWING",
        "bound its start",
    ),
    "SELECT sum(v) OVER (ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) AS n FROM a": (
        "ends before",
        "look back",
    ),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_has_no_meaning_is_refused_with_a_hint(query: str) -> None:
    told, hint = REFUSED[query]
    for run in (lambda: cep.explain(query, a=SCHEMA, b=SCHEMA), lambda: cep.open(query, a=SCHEMA, b=SCHEMA)):
        with pytest.raises(CepheidError) as problem:
            run()
        assert told in problem.value.message
        assert hint in (problem.value.hint or "")


@pytest.mark.parametrize("query", REFUSED_ON_STREAMS)
def test_what_a_stream_cannot_settle_is_refused_with_a_hint(query: str) -> None:
    """Unless it is kept up to date instead."""
    told, hint = REFUSED_ON_STREAMS[query]
    streams = {"a": SCHEMA, "b": SCHEMA}
    with pytest.raises(CepheidError) as problem:
        compile_query(query, make_catalog(streams, {"t": cep.Table(VERSIONS)}, streams=streams))
    assert told in problem.value.message
    assert hint in (problem.value.hint or "")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"valid_from": "none"}, "does not have"),
        ({"valid_to": "since"}, "valid_from is not"),
        ({"valid_from": pa}, "does not have"),
    ],
)
def test_validity_names_columns_of_the_table(given: dict[str, str], told: str) -> None:
    with pytest.raises(CepheidError, match=told):
        cep.Table(VERSIONS, **given)


@pytest.mark.parametrize("dialect", [None, "flink"])
@pytest.mark.parametrize("source", ["(SELECT *, PROCTIME() AS p FROM a) AS x", "x"])
def test_a_column_that_is_processing_time_means_now(source: str, dialect: Any) -> None:
    """It had to be called proctime, or to be in Flink's dialect; there, streams were joined as a whole."""
    query = f"SELECT x.v, t.rate FROM {source} JOIN t FOR SYSTEM_TIME AS OF x.p ON x.id = t.id"
    if source == "x":
        query = f"WITH b AS (SELECT v, id, PROCTIME() AS p FROM a), x AS (SELECT * FROM b) {query}"
    opened = cep.open(query, a=SCHEMA, t=cep.Table(pa.table({"id": [1], "rate": [7]})), dialect=dialect)
    events = pa.table({"ts": TIMES[:2], "id": [1, 2], "v": [10, 20], "name": ["x"] * 2}, SCHEMA)
    assert opened.push(a=events).to_pylist() == [{"v": 10, "rate": 7}]
    with pytest.raises(CepheidError, match="a stream as it is now"):
        cep.open(query, a=SCHEMA, t={"id": "bigint", "rate": "int", "ts": "timestamp"}, dialect=dialect)


@pytest.mark.parametrize("moment", ["PROCTIME()", "a.proctime"])
def test_a_table_as_it_is_now_is_an_ordinary_join(moment: str) -> None:
    """PROCTIME() was taken for the stamp of an event, which a join does not have."""
    query = f"SELECT a.v, t.rate FROM a JOIN t FOR SYSTEM_TIME AS OF {moment} ON a.id = t.id"
    opened = cep.open(query, a=SCHEMA, t=cep.Table(pa.table({"id": [1], "rate": [7]})))
    events = pa.table({"ts": TIMES[:2], "id": [1, 2], "v": [10, 20], "name": ["x"] * 2}, SCHEMA)
    assert opened.push(a=events).to_pylist() == [{"v": 10, "rate": 7}]


def test_only_the_version_that_is_valid_joins_and_a_refresh_brings_newer_ones() -> None:
    """Both versions came out, whatever the time."""
    query = "SELECT a.v, t.rate FROM a JOIN t FOR SYSTEM_TIME AS OF a.ts ON a.id = t.id"
    table = cep.Table(VERSIONS, valid_from="since")
    events = pa.table({"ts": TIMES[1:5], "id": [1] * 4, "v": [1, 2, 3, 4], "name": ["x"] * 4}, SCHEMA)
    assert cep.sql(query, a=events, t=table).column("rate").to_pylist() == [10, 10, 20, 20]
    opened = cep.open(query, a=SCHEMA, t=table)
    assert opened.push(a=events.slice(0, 3)).column("rate").to_pylist() == [10, 10, 20]
    table.refresh(
        pa.concat_tables([VERSIONS, pa.table({"id": [1], "rate": [30], "since": [TIMES[4]]}, VERSIONS.schema)])
    )
    assert opened.push(a=events.slice(3)).column("rate").to_pylist() == [30]


def test_an_event_waits_until_the_other_stream_has_passed_its_time() -> None:
    opened = cep.open(
        "SELECT a.v, b.v AS w FROM a ASOF LEFT JOIN b ON a.id = b.id AND a.ts >= b.ts", a=SCHEMA, b=SCHEMA
    )

    def event(second: int, value: int) -> pa.Table:
        return pa.table({"ts": [TIMES[second]], "id": [1], "v": [value], "name": ["x"]}, SCHEMA)

    assert len(opened.push(a=event(2, 7))) == 0
    assert len(opened.push(b=event(1, 8), a=event(5, 0))) == 0, "b may still have one at 2"
    assert opened.push(b=event(3, 9)).to_pylist() == [{"v": 7, "w": 8}]


def test_the_plan_says_that_keys_are_apart_and_what_is_kept() -> None:
    query = "SELECT a.v, b.v AS w FROM a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts"
    assert "[engines, by _key0: only events of equal keys join]" in cep.explain(query, "placed", a=SCHEMA, b=SCHEMA)
    with pytest.warns(cep.UnboundedStateWarning, match="wait for a later one"):
        cep.open(query.replace(">=", "<="), a=SCHEMA, b=SCHEMA)


def test_state_is_a_row_for_each_key() -> None:
    opened = cep.open("SELECT v - lag(v) OVER (PARTITION BY id ORDER BY ts) AS d FROM a", a=SCHEMA)
    count = 40_000
    times = pa.array([TIMES[0] + timedelta(seconds=second) for second in range(count)], pa.timestamp("us", tz="UTC"))
    events = pa.table(
        {"ts": times, "id": [number % 7 for number in range(count)], "v": range(count), "name": ["x"] * count}, SCHEMA
    )
    rows = pa.concat_tables([opened.push(a=events.slice(begin, 10_000)) for begin in range(0, count, 10_000)])
    assert set(rows.column("d").to_pylist()) == {None, 7}
    assert len(opened.snapshot()) < 20_000


AROUND = {
    "SELECT DISTINCT id, first_value(v) OVER (PARTITION BY id ORDER BY ts) AS f FROM a": [(1, 10), (2, 20)],
    "SELECT count(*) AS n FROM (SELECT lag(v) OVER (PARTITION BY id ORDER BY ts) AS f FROM a LIMIT 2)": [(2,)],
    "SELECT v, sum(v) OVER (w ROWS 1 PRECEDING) AS s, lag(v) OVER x AS l FROM a WINDOW w AS (ORDER BY ts), x AS (w)": [
        (10, 10, None),
        (20, 30, 10),
        (30, 50, 20),
        (40, 70, 30),
    ],
}


@pytest.mark.filterwarnings(
    "ignore::cepheid.errors.RowsAtTheEndWarning", "ignore::cepheid.errors.UnboundedStateWarning"
)
@pytest.mark.parametrize("query", AROUND)
def test_what_stands_around_over_is_not_forgotten(query: str) -> None:
    """DISTINCT and LIMIT were dropped without a word, and frames added to a window of WINDOW as well."""
    events = pa.table({"ts": TIMES[:4], "id": [1, 2, 1, 2], "v": [10, 20, 30, 40], "name": ["x"] * 4}, SCHEMA)
    opened = cep.open(query, a=SCHEMA)
    rows = pa.concat_tables([*(opened.push(a=events.slice(row, 1)) for row in range(4)), opened.finish()]).to_pylist()
    assert sorted((tuple(row.values()) for row in rows), key=str) == sorted(AROUND[query], key=str)


def test_explain_says_what_is_kept_for_rows_to_come() -> None:
    query = "SELECT lead(v) OVER w AS f, lag(v, 2) OVER w AS l FROM a WINDOW w AS (PARTITION BY id ORDER BY ts)"
    told = explain_compilation(
        compile_query(query, make_catalog({"a": SCHEMA}, {}, streams=["a"])), "rewritten", "text"
    )
    assert "over_rows_1: lead 1, lag 2" in told
    assert "kept of each key: the last row, the 2 before the next one, those that wait for a later one" in told
