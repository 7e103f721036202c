"""Windows as others write them give the rows of plain Python, over tables and in any pushes."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone)
BEGIN = datetime(2026, 3, 8, 7, 59, 50)  # noqa: DTZ001
Bounds = tuple[datetime, datetime]


def make_events(seed: int = 3, count: int = 40) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    at, events = BEGIN, []
    for number in range(count):
        at += timedelta(milliseconds=draw.choice((0, 1, 500, 2000, 5000, 9000)))
        events.append({"ts": at, "k": draw.randrange(3), "v": number, "w": at + timedelta(days=1)})
    return events


EVENTS = make_events()
TABLE = pa.Table.from_pylist(
    EVENTS,
    schema=pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("v", pa.int64()), ("w", pa.timestamp("us"))]),
)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def hop(ts: datetime, slide: float, size: float, offset: float = 0) -> list[Bounds]:
    """The windows that an event is in."""
    start = ts - (ts - EPOCH - seconds(offset)) % seconds(slide)
    found = []
    while start + seconds(size) > ts:
        found.append((start, start + seconds(size)))
        start -= seconds(slide)
    return found


def cumulate(ts: datetime, step: float, size: float, offset: float = 0) -> list[Bounds]:
    start = ts - (ts - EPOCH - seconds(offset)) % seconds(size)
    ends = [start + seconds(step) * number for number in range(1, round(size / step) + 1)]
    return [(start, end) for end in ends if end > ts]


def sessions(gap: float) -> dict[int, list[Bounds]]:
    """By number of the event, its session among those of its key."""
    found: dict[int, list[Bounds]] = {}
    for key in {event["k"] for event in EVENTS}:
        run: list[dict[str, Any]] = []
        own = [event for event in EVENTS if event["k"] == key]
        for event, following in zip(own, [*own[1:], None], strict=True):
            run.append(event)
            if following is None or following["ts"] - event["ts"] > seconds(gap):
                for member in run:
                    found[member["v"]] = [(run[0]["ts"], event["ts"] + seconds(gap))]
                run = []
    return found


TUMBLE_10 = {event["v"]: hop(event["ts"], 10, 10) for event in EVENTS}
HOP_5_15 = {event["v"]: hop(event["ts"], 5, 15) for event in EVENTS}
SESSION_6 = sessions(6)
S = {number: f"INTERVAL '{number}' SECOND" for number in (2, 3, 4, 5, 6, 10, 15, 20)}
OF_S = "TABLE s, DESCRIPTOR(ts)"
OUTPUTS = "window_start, window_end, count(*), sum(v)"


def group(call: str) -> str:
    return f"SELECT k, {OUTPUTS} FROM {call} GROUP BY k, window_start, window_end"


def group_by(function: str, arguments: str) -> str:
    bounds = f"{function}_START({arguments}), {function}_END({arguments})"
    return f"SELECT b.k, {bounds}, count(*), sum(b.v) FROM s b GROUP BY {function}({arguments}), b.k"


def group_spark(name: str, arguments: str) -> str:
    return f"SELECT k, {name}.start, {name}.end, count(*), sum(v) FROM s GROUP BY {name}(ts, {arguments}), k"


TUMBLE_4 = {event["v"]: hop(event["ts"], 10, 10, 4) for event in EVENTS}
# how it is written, and the windows of each event
GROUPED = {
    "tumble": (group(f"TABLE(TUMBLE({OF_S}, {S[10]}))"), TUMBLE_10),
    "tumble, by name": (
        group(f"TABLE(TUMBLE(SIZE => {S[10]}, TIMECOL => DESCRIPTOR(ts), DATA => TABLE s)) AS t"),
        TUMBLE_10,
    ),
    "tumble, qualified": (
        f"SELECT t.k, t.{OUTPUTS} FROM TABLE(TUMBLE({OF_S}, {S[10]})) t GROUP BY t.window_start, t.k, t.window_end",
        TUMBLE_10,
    ),
    "tumble, RisingWave": (group("tumble(s, ts, INTERVAL '10 seconds')"), TUMBLE_10),
    "tumble, of a subquery, by numbers": (
        f"SELECT k, {OUTPUTS} FROM TABLE(TUMBLE((SELECT ts, k, v FROM s), DESCRIPTOR(ts), {S[10]})) GROUP BY 1, 2, 3",
        TUMBLE_10,
    ),
    "tumble, passed on": (group(f"(SELECT * FROM TABLE(TUMBLE({OF_S}, {S[10]})))"), TUMBLE_10),
    "tumble with an offset": (group(f"TABLE(TUMBLE({OF_S}, {S[10]}, {S[4]}))"), TUMBLE_4),
    "hop": (group(f"TABLE(HOP({OF_S}, {S[5]}, {S[15]}))"), HOP_5_15),
    "hop with an offset": (
        group(f"hop(s, ts, {S[5]}, {S[15]}, {S[2]})"),
        {event["v"]: hop(event["ts"], 5, 15, 2) for event in EVENTS},
    ),
    "cumulate": (
        group(f"TABLE(CUMULATE({OF_S}, {S[5]}, {S[20]}))"),
        {event["v"]: cumulate(event["ts"], 5, 20) for event in EVENTS},
    ),
    "cumulate with an offset": (
        group(f"TABLE(CUMULATE({OF_S}, {S[5]}, {S[20]}, {S[3]}))"),
        {event["v"]: cumulate(event["ts"], 5, 20, 3) for event in EVENTS},
    ),
    "session": (group(f"TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), {S[6]}))"), SESSION_6),
    "GROUP BY TUMBLE": (group_by("TUMBLE", f"b.ts, {S[10]}"), TUMBLE_10),
    "GROUP BY HOP": (group_by("HOP", f"b.ts, {S[5]}, {S[15]}"), HOP_5_15),
    "GROUP BY SESSION": (group_by("SESSION", f"b.ts, {S[6]}"), SESSION_6),
    "Spark's window": (group_spark("window", "'15 seconds', '5 seconds'"), HOP_5_15),
    "Spark's window with a start": (group_spark("window", "'10 seconds', '10 seconds', '4 seconds'"), TUMBLE_4),
    "Spark's session_window": (group_spark("session_window", "'6 seconds'"), SESSION_6),
}


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def run_in_pieces(query: str, seed: int = 1) -> list[tuple[Any, ...]]:
    """In random pushes, with a snapshot between two of them."""
    draw = random.Random(seed)
    opened = cep.open(query, s=TABLE.schema, event_time={"s": "ts"})
    given, at = [], 0
    while at < len(TABLE):
        count = draw.randrange(4, 16)
        given.append(opened.push(s=TABLE.slice(at, count)))
        at += count
        if draw.random() < 0.3:
            opened = cep.open(query, s=TABLE.schema, event_time={"s": "ts"}, snapshot=opened.snapshot())
    return rows_of(pa.concat_tables([*given, opened.finish()]))


@pytest.mark.parametrize("name", GROUPED)
def test_groups_of_windows(name: str) -> None:
    query, windows = GROUPED[name]
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for event in EVENTS:
        for start, end in windows[event["v"]]:
            groups[event["k"], start, end].append(event["v"])
    expected = sorted((*key, len(values), sum(values)) for key, values in groups.items())
    assert rows_of(cep.sql(query, s=TABLE, event_time={"s": "ts"})) == expected
    assert run_in_pieces(query) == expected


@pytest.mark.parametrize(
    ("call", "windows"),
    [
        ("TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)", TUMBLE_10),
        ("HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)", HOP_5_15),
        (
            "HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)",
            {event["v"]: hop(event["ts"], 4, 10) for event in EVENTS},
        ),
        (
            "CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND, INTERVAL '3' SECOND)",
            {event["v"]: cumulate(event["ts"], 5, 20, 3) for event in EVENTS},
        ),
        ("SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '6' SECOND)", SESSION_6),
    ],
)
def test_a_window_function_gives_each_event_once_for_each_window(call: str, windows: dict[int, list[Bounds]]) -> None:
    query = f"SELECT * FROM TABLE({call})"
    expected = sorted(
        (*event.values(), start, end, end - timedelta(milliseconds=1))
        for event in EVENTS
        for start, end in windows[event["v"]]
    )
    found = cep.sql(query, s=TABLE, event_time={"s": "ts"})
    assert found.column_names == ["ts", "k", "v", "w", "window_start", "window_end", "window_time"]
    assert rows_of(found) == expected
    assert run_in_pieces(query) == expected


def test_the_first_rows_of_each_window_come_when_it_closes() -> None:
    inner = (
        "SELECT window_start AS ws, window_end AS we, k, sum(v) AS total FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY window_start, window_end, k"
    )
    query = (
        f"SELECT ws, k, total, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY we, ws ORDER BY total DESC, k) AS n "
        f"FROM ({inner})) WHERE n <= 2"
    )
    totals: dict[datetime, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for event in EVENTS:
        for start, _ in HOP_5_15[event["v"]]:
            totals[start][event["k"]] += event["v"]
    expected = []
    for start, by_key in totals.items():
        ranked = sorted(by_key.items(), key=lambda pair: (-pair[1], pair[0]))[:2]
        expected += [(start, key, total, place) for place, (key, total) in enumerate(ranked, 1)]
    assert rows_of(cep.sql(query, s=TABLE, event_time={"s": "ts"})) == sorted(expected)
    assert run_in_pieces(query) == sorted(expected)


def test_the_last_event_of_each_key_and_window() -> None:
    query = (
        "SELECT k, v, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k "
        "ORDER BY v DESC) AS n FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE n = 1"
    )
    last: dict[tuple[int, datetime], int] = {}
    for event in EVENTS:
        last[event["k"], TUMBLE_10[event["v"]][0][0]] = event["v"]
    expected = sorted((key, value, start) for (key, start), value in last.items())
    assert rows_of(cep.sql(query, s=TABLE, event_time={"s": "ts"})) == expected
    assert run_in_pieces(query) == expected


def test_windows_are_joined_by_their_bounds_over_tables() -> None:
    call = "SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    query = (
        f"SELECT L.v AS a, R.v AS b FROM ({call}) L JOIN ({call}) R ON L.k = R.k AND L.window_start = R.window_start "
        "AND L.window_end = R.window_end WHERE L.v < R.v"
    )
    expected = [
        (left["v"], right["v"])
        for left in EVENTS
        for right in EVENTS
        if left["v"] < right["v"] and left["k"] == right["k"] and TUMBLE_10[left["v"]] == TUMBLE_10[right["v"]]
    ]
    assert rows_of(cep.sql(query, s=TABLE)) == sorted(expected)


def test_order_by_and_limit_are_of_the_whole_answer() -> None:
    query = (
        "SELECT window_start, sum(v) AS total FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end ORDER BY total DESC LIMIT 2"
    )
    totals: dict[datetime, int] = defaultdict(int)
    for event in EVENTS:
        totals[TUMBLE_10[event["v"]][0][0]] += event["v"]
    best = sorted(totals.items(), key=lambda pair: -pair[1])[:2]
    found = cep.sql(query, s=TABLE)
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == best


def test_a_pattern_over_the_rows_of_a_window_function() -> None:
    query = (
        "SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)) MATCH_RECOGNIZE (PARTITION BY k "
        "ORDER BY ts MEASURES a.v AS x, b.v AS y, MATCH_ROWTIME() AS at AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) "
        "DEFINE b AS b.window_start <> a.window_start)"
    )
    expected = []
    for key in range(3):
        own = [event for event in EVENTS if event["k"] == key]
        expected += [
            (key, left["v"], right["v"], right["ts"])
            for left, right in pairwise(own)
            if TUMBLE_10[left["v"]] != TUMBLE_10[right["v"]]
        ]
    assert rows_of(cep.sql(query, s=TABLE)) == sorted(expected)
    assert run_in_pieces(query) == sorted(expected)


ONE = "INTERVAL '1' SECOND"
WRONG = {
    f"SELECT * FROM TABLE(TUMBLE({OF_S}))": "TUMBLE has no SIZE",
    f"SELECT * FROM TABLE(TUMBLE(TABLE s, {ONE}))": "expected",
    f"SELECT * FROM TABLE(HOP({OF_S}, {S[10]}, {S[2]}))": "larger than",
    f"SELECT * FROM TABLE(TUMBLE({OF_S}, INTERVAL '0' SECOND))": "longer than zero",
    f"SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(nix), {ONE}))": "nix",
    f"SELECT * FROM TABLE(CUMULATE({OF_S}, {S[4]}, {S[10]}))": "multiple",
    f"SELECT * FROM TABLE(HOP({OF_S}, {ONE}, INTERVAL '1' DAY))": "86400 windows",
    group(f"TABLE(TUMBLE({OF_S}, INTERVAL '1' DAY, {ONE}))"): "an offset of",
    f"SELECT TUMBLE_END(ts, {S[2]}) FROM s GROUP BY TUMBLE(ts, {ONE})": "another window",
    "SELECT count(*) FROM s GROUP BY TUMBLE(ts, v)": "no literal",
    f"SELECT count(*) FROM s GROUP BY HOP(ts, {ONE})": "2 arguments",
    f"SELECT count(*) FROM s a, s b GROUP BY HOP(a.ts, {ONE}, {S[2]})": "over several tables",
    f"SELECT TUMBLE_PROCTIME(ts, {ONE}) FROM s GROUP BY TUMBLE(ts, {ONE})": "PROCTIME",
    "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_PROCTIME() AS p PATTERN (a) DEFINE a AS v > 0)": (
        "the moment at which a match was found"
    ),
}


@pytest.mark.parametrize(("query", "told"), WRONG.items())
def test_what_is_wrong_is_told_with_a_hint(query: str, told: str) -> None:
    with pytest.raises(cep.CepheidError, match=told) as found:
        cep.sql(query, s=TABLE, event_time={"s": "ts"})
    assert found.value.hint


def test_columns_named_behind_a_part_of_with_are_streams_as_well() -> None:
    query = (
        "WITH u (a, at) AS (SELECT k, ts FROM s WHERE v > 3) SELECT a, count(*) AS n "
        "FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(at), INTERVAL '10' SECOND)) GROUP BY a, window_start, window_end"
    )
    named = {"dialect": "flink", "event_time": {"s": "ts"}}
    whole = cep.sql(query, s=TABLE, **named)  # type: ignore[arg-type]
    opened = cep.open(query, s=TABLE.schema, **named)  # type: ignore[arg-type]
    told = pa.concat_tables([*(opened.push(s=TABLE.slice(row, 9)) for row in range(0, 40, 9)), opened.finish()])
    assert sorted(map(str, told.to_pylist())) == sorted(map(str, whole.to_pylist()))
    assert whole.column("n").to_pylist()
