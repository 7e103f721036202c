"""Queries in the shape that public documentation of other systems has them, with the rows that it shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

NOON = datetime(2020, 4, 15, 12)  # noqa: DTZ001 (times without a zone)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


BIDS = pa.table({
    "at": [at(each) for each in (5, 7, 9, 11, 13, 17)],
    "price": [4, 2, 5, 3, 1, 6],
    "item": list("CADBEF"),
    "who": [1, 1, 2, 2, 1, 2],
})  # fmt: skip
TEN = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MINUTES))"
ROLLED = [
    (at(0), None, 11), (at(0), 1, 6), (at(0), 2, 5), (at(10), None, 10), (at(10), 1, 1), (at(10), 2, 9),
]  # fmt: skip
CASCADE = (
    "WITH five AS (SELECT window_start, window_end, window_time{}, SUM(price) AS part FROM TABLE(TUMBLE(TABLE bids, "
    "DESCRIPTOR(at), INTERVAL '5' MINUTES)) GROUP BY who, window_start, window_end, window_time) SELECT window_start, "
    "SUM(part) AS total FROM TABLE(TUMBLE(TABLE five, DESCRIPTOR({}), INTERVAL '10' MINUTES)) "
    "GROUP BY window_start, window_end"
)
BOTH: list[tuple[str, str, list[tuple[Any, ...]]]] = [
    (
        "flink",
        (
            f"SELECT window_start, who, SUM(price) AS p FROM {TEN} GROUP BY window_start, window_end, "
            "GROUPING SETS ((who), ())"
        ),
        ROLLED,
    ),
    (
        "flink",
        f"SELECT window_start, who, SUM(price) AS p FROM {TEN} GROUP BY window_start, window_end, ROLLUP (who)",
        ROLLED,
    ),
    (
        "flink",
        f"SELECT window_start, array_join(array_agg(item), ',') AS p FROM {TEN} GROUP BY window_start, window_end",
        [(at(0), "C,A,D"), (at(10), "B,E,F")],
    ),
    (
        "flink",
        f"SELECT window_start, LISTAGG(item, '-') AS p FROM {TEN} GROUP BY window_start, window_end",
        [(at(0), "C-A-D"), (at(10), "B-E-F")],
    ),
    (
        "flink",
        "SELECT item FROM bids WHERE at > TIMESTAMP '2020-04-15 12:00:00' + INTERVAL '16:30' MINUTE TO SECOND",
        [("F",)],
    ),
    (
        "trino",
        "SELECT item FROM bids WHERE at < TIMESTAMP '2020-04-14 11:00:00' + INTERVAL '1 1:06' DAY TO MINUTE",
        [("C",)],
    ),
    (
        "risingwave",
        (
            "SELECT window_start, count(*) AS n FROM TUMBLE(bids, at, INTERVAL '10' MINUTE) GROUP BY window_start "
            "EMIT ON WINDOW CLOSE"
        ),
        [(at(0), 3), (at(10), 3)],
    ),
    (
        "risingwave",
        ("SELECT window_start, count(*) AS n FROM TUMBLE(bids, at, '10 minutes'::interval) GROUP BY window_start"),
        [(at(0), 3), (at(10), 3)],
    ),
    ("risingwave", "SELECT item FROM bids EMIT ON WINDOW CLOSE", [(each,) for each in "CADBEF"]),
    (
        "spark",
        "SELECT window(at, '10 minutes') AS w, count(*) AS n FROM bids GROUP BY w",
        [({"start": at(0), "end": at(10)}, 3), ({"start": at(10), "end": at(20)}, 3)],
    ),
    (
        "spark",
        "SELECT window_time(window) AS t, count(*) AS n FROM bids GROUP BY window(at, '10 minutes')",
        [(at(10) - timedelta(microseconds=1), 3), (at(20) - timedelta(microseconds=1), 3)],
    ),
    ("spark", "SELECT item, window(at, '10 minutes').end AS e FROM bids WHERE price = 6", [("F", at(20))]),
    (
        "duckdb",
        "SELECT time_bucket(INTERVAL '10 minutes', at) AS b, count(*) AS n FROM bids GROUP BY b ORDER BY b",
        [(at(0), 3), (at(10), 3)],
    ),
    (
        "duckdb",
        "SELECT price, who FROM bids WHERE price > 5 UNION ALL BY NAME SELECT who, price FROM bids WHERE price = 5",
        [(6, 2), (5, 2)],
    ),
]
OVER_TABLES: list[tuple[str, str, list[tuple[Any, ...]]]] = [
    ("flink", CASCADE.format(" AS rowtime", "rowtime"), [(at(0), 11), (at(10), 10)]),
    ("flink", CASCADE.format("", "window_time"), [(at(0), 11), (at(10), 10)]),
    (
        "spark",
        (
            "SELECT window.start AS s, sum(n) AS n FROM (SELECT window, count(*) AS n FROM bids GROUP BY "
            "window(at, '5 minutes')) GROUP BY window(window, '10 minutes')"
        ),
        [(at(0), 3), (at(10), 3)],
    ),
]


@pytest.mark.parametrize(("dialect", "query", "rows"), [*BOTH, *OVER_TABLES])
def test_rows_over_tables(dialect: Any, query: str, rows: list[tuple[Any, ...]]) -> None:
    found = [tuple(row.values()) for row in cep.sql(query, dialect=dialect, bids=BIDS).to_pylist()]
    assert sorted(map(str, found)) == sorted(map(str, rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dialect", "query", "rows"), BOTH)
def test_the_same_rows_over_a_stream(dialect: Any, query: str, rows: list[tuple[Any, ...]]) -> None:
    opened = cep.open(query, dialect=dialect, bids=BIDS.schema)
    pushed = [opened.push(bids=BIDS.slice(number, 1)) for number in range(len(BIDS))]
    found = [tuple(row.values()) for row in pa.concat_tables([*pushed, opened.finish()]).to_pylist()]
    assert sorted(map(str, found)) == sorted(map(str, rows))


def test_a_table_as_it_is_now_in_risingwave() -> None:
    names = cep.Table(pa.table({"id": [1, 2], "name": ["x", "y"]}))
    query = "SELECT b.item, n.name FROM bids b JOIN names FOR SYSTEM_TIME AS OF PROCTIME() AS n ON b.who = n.id"
    opened = cep.open(query, dialect="risingwave", bids=BIDS.schema, names=names)
    assert [row["name"] for row in opened.push(bids=BIDS).to_pylist()] == list("xxyyxy")


@pytest.mark.parametrize(
    ("dialect", "query", "code", "place", "hint"),
    [
        ("duckdb", "SELECT price FROM bids POSITIONAL JOIN more", "syntax", "POSITIONAL", "join by a column"),
        ("risingwave", "SELECT item FROM bids EMIT ON UPDATE", "syntax", "EMIT ON", 'emit="changes"'),
        ("spark", "SELECT window(at, '10 minutes', '5 minutes') AS w FROM bids", "not-supported-yet",
         "window(at, '10 minutes', '5 minutes'", "GROUP BY"),
        ("flink", f"SELECT LISTAGG(DISTINCT item) AS l FROM {TEN} GROUP BY window_start, window_end",
         "not-supported-yet", "item", "without DISTINCT"),
        ("trino", "SELECT at + INTERVAL '1:x' HOUR TO MINUTE AS t FROM bids", "syntax", "'1:x'", "DAY TO SECOND"),
        ("flink", "SELECT at + INTERVAL '5' SECOND TO HOUR AS t FROM bids", "syntax", "'5'", "DAY TO SECOND"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_told(dialect: Any, query: str, code: str, place: str, hint: str) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.open(query, dialect=dialect, bids=BIDS.schema, more=BIDS.schema)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end].startswith(place)
    assert hint in str(caught.value.hint)
