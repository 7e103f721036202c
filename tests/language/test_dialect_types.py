"""What a division, a cast or a sum of days means depends on types: these are found wherever a column comes from."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

TABLE = pa.table({"id": [1, 2], "v": [7, 14], "d": [1.5, 2.5], "a": [[7, 9], [3]], "r": [{"n": 7, "v": 0.5}] * 2})
ALL = "ALL ROWS PER MATCH"
PATTERN = "MATCH_RECOGNIZE (ORDER BY id MEASURES {} AS x {} PATTERN (A+))"
WINDOW = "WINDOW w AS (ORDER BY id MEASURES {} AS m ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A+))"


def run(query: str, dialect: Any = "trino") -> list[Any]:
    return cep.sql(query, t=TABLE, dialect=dialect).column("y").to_pylist()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # what is divided twice, whichever is settled first
        ("SELECT x / 2 AS y FROM (SELECT v / 2 AS x FROM t)", [1, 3]),
        ("WITH c AS (SELECT v / 2 AS x FROM t), e AS (SELECT x / 2 AS z FROM c) SELECT z / 2 AS y FROM e", [0, 1]),
        (f"SELECT x / 2 AS y FROM t {PATTERN.format('LAST(v) / 2', '')}", [3]),
        (f"SELECT m OVER w / 2 AS y FROM t {WINDOW.format('LAST(v) / 2')}", [3, None]),
        # new names for columns
        ("SELECT d / 2 AS y FROM t AS k(d, q, v, a, r)", [0, 1]),
        ("SELECT v / 2 AS y FROM t AS k(id, d, v, a, r)", [0.75, 1.25]),
        ("WITH c(v) AS (SELECT d FROM t) SELECT v / 2 AS y FROM c", [0.75, 1.25]),
        (f"SELECT x AS y FROM t AS k(id, w, d, a, r) {PATTERN.format('LAST(w) / 2', '')}", [7]),
        (f"SELECT v / 2 AS y FROM t {PATTERN.format('LAST(d)', ALL)} AS k(i, v, a, b, c, d)", [0.75, 1.25]),
        (f"SELECT i / 2 AS y FROM t {PATTERN.format('LAST(d)', ALL)} AS k(i, v, a, b, c, d)", [0, 1]),
        # a measure that is called like a column is not that column
        (f"SELECT v / 2 AS y, v OVER w AS z FROM t {WINDOW.replace(' m ', ' v ').format('LAST(d)')}", [3, 7]),
        # fields of structs
        ("SELECT r.n / 2 AS y FROM t", [3, 3]),
        ("SELECT t.r.v / 2 AS y FROM t", [0.25, 0.25]),
        (f"SELECT x AS y FROM t {PATTERN.format('LAST(A.r.n) / 2', '')}", [3]),
        (f"SELECT x AS y FROM t {PATTERN.format('LAST(r.v) / 2', '')}", [0.25]),
        # what is no table
        ("SELECT v / 2 AS y FROM (VALUES (1, 7), (2, 9)) k(id, v)", [3, 4]),
        (f"SELECT x / 2 AS y FROM (VALUES (1, 7), (2, 9)) k(id, v) {PATTERN.format('LAST(v)', '')}", [4]),
        ("WITH c(n) AS (VALUES 7) SELECT n / 2 AS y FROM c", [3]),
        ("SELECT CAST(f AS INTEGER) AS y FROM (VALUES 2.5e0) k(f)", [3]),
        ("SELECT CAST(f AS VARCHAR) AS y FROM (VALUES 2.5e0) k(f)", ["2.5E0"]),
        ("SELECT n + INTERVAL '1' DAY AS y FROM (VALUES DATE '2026-01-01') k(n)", [date(2026, 1, 2)]),
        ("SELECT e / 2 AS y FROM t CROSS JOIN UNNEST(a) AS u(e)", [3, 4, 1]),
        ("SELECT e / o AS y FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u(e, o)", [7, 4, 3]),
        ("SELECT (SELECT max(v) FROM t) / 4 AS y", [3]),
        ("SELECT CASE WHEN v IN (SELECT v FROM t) THEN v END / 2 AS y FROM t", [3, 7]),
        # a query that bears the name of what it reads
        ("WITH t AS (SELECT v / 2 AS v FROM t) SELECT v / 2 AS y FROM t", [1, 3]),
        ("WITH RECURSIVE r(n) AS (SELECT 9 UNION ALL SELECT n / 2 FROM r WHERE n > 2) SELECT n AS y FROM r", [9, 4, 2]),
    ],
)  # fmt: skip
def test_types_are_found_wherever_a_column_comes_from(query: str, expected: list[Any]) -> None:
    assert sorted(run(query), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("dialect", ["trino", "flink", "spark", "risingwave"])
def test_a_chain_of_queries_is_asked_once_for_each(dialect: str) -> None:
    """Each of them doubled the questions for every column: five took minutes."""
    parts, before = [], "t"
    for number in range(9):
        parts.append(f"c{number} AS (SELECT id + 1 AS id, v + id AS v, v + 2 AS w, id * v AS x FROM {before})")
        before = f"c{number}"
    assert len(run(f"WITH {', '.join(parts)} SELECT v / 2 AS y FROM {before}", dialect)) == 2


@pytest.mark.parametrize(("dialect", "halves"), [("trino", [3, 7]), ("flink", [3, 7]), ("risingwave", [3.5, 7.0])])
def test_a_whole_number_is_its_own_floor_where_the_dialect_has_it(dialect: str, halves: list[Any]) -> None:
    assert run("SELECT ceil(v) / 2 AS y FROM t", dialect) == halves
    rows = f"{ALL} AFTER MATCH SKIP PAST LAST ROW"
    assert run(f"SELECT x AS y FROM t {PATTERN.format('floor(LAST(A.v)) / 2', rows)}", dialect) == halves
    assert run("SELECT floor(d) AS y FROM t", dialect) == [1.0, 2.0]
