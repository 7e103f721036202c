"""Relational queries kept up to date: after every batch of changes, the rows of the query over what is left."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cepheid.execution.duck_sql import run_duckdb
from cepheid.execution.views.delta import Delta
from cepheid.execution.views.spine import Latest, Trace
from cepheid.execution.views.view import View, open_view
from cepheid.language.views.view_plan import KeyedStep

SCHEMA = pa.schema({"id": "int64", "k": "int64", "v": "int64", "f": "float64", "s": "string", "d": pa.decimal128(9, 2)})
FLOATS = [None, 0.5, 1.0, -0.0, 0.0, 2.25, float("nan")]
TOP_TWO = "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS n FROM a) WHERE n <= 2"
# how each is kept up to date: by key, or (WHOLE) with all rows together
BY_KEY = [
    "SELECT k, count(*) AS n, sum(v) AS s, avg(v) AS m, min(v) AS lo, max(s) AS hi FROM a GROUP BY k",
    "SELECT k, sum(d) AS d, avg(d) AS e, min(d) AS lo FROM a GROUP BY k",
    "SELECT k, sum(f) AS s, avg(f) AS m FROM a GROUP BY k HAVING count(*) > 2",
    "SELECT k, count(DISTINCT s) AS c, count(DISTINCT v) FILTER (WHERE v > 3) AS e FROM a GROUP BY k",
    "SELECT k, sum(DISTINCT v) AS x, avg(DISTINCT v) AS y, max(DISTINCT v) AS z FROM a GROUP BY k",
    "SELECT k % 2 AS p, median(v) AS m, string_agg(s, ',' ORDER BY v, id) AS t FROM a GROUP BY k % 2",
    "SELECT k, histogram(v) AS h, bool_or(v > 3) AS b, any_value(k) AS c FROM a GROUP BY ALL",
    "SELECT p, max(n) AS top FROM (SELECT k, v % 3 AS p, count(*) AS n FROM a GROUP BY k, v % 3) GROUP BY p",
    "SELECT DISTINCT k, s FROM a",
    "SELECT DISTINCT ON (k) k, id FROM a ORDER BY k, id DESC",
    TOP_TWO,
    "SELECT id, k FROM (SELECT *, rank() OVER (PARTITION BY k ORDER BY v) AS rn FROM a) AS t WHERE rn = 1",
    "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) AS s, lag(v) OVER (PARTITION BY k ORDER BY id) AS l FROM a",
    "SELECT a.id, b.id AS o, a.v + b.v AS t FROM a JOIN b ON a.k = b.k AND a.v < b.v",
    "SELECT c.id, c.k FROM a AS c JOIN b ON b.id = c.id JOIN a AS d ON d.k = b.k AND d.id < c.id",
    "SELECT a.id, b.v AS o FROM a LEFT JOIN b ON a.k = b.k AND b.v > 3 WHERE a.v > 1",
    "SELECT a.id, b.id AS o FROM a FULL JOIN b ON a.id = b.id",
    "SELECT a.id, b.id AS o FROM a RIGHT JOIN b ON a.id = b.f",
    "SELECT a.k, sum(a.v * b.v) AS s FROM a JOIN b USING (k) GROUP BY a.k",
    "SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE v > 3)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v > a.v)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = a.k)",
    "SELECT id FROM a WHERE s IN (SELECT s FROM b WHERE b.k = a.k)",
    "SELECT k, s FROM a UNION SELECT k, s FROM b",
    "SELECT k FROM a UNION ALL SELECT k + 1 FROM b",
    "SELECT k, s FROM a EXCEPT SELECT k, s FROM b",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM b",
    "WITH g AS (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT x.k, y.n FROM g AS x JOIN g AS y ON x.n = y.n",
    "SELECT k, s, count(*) AS n, grouping(k) AS g FROM a GROUP BY GROUPING SETS ((k), (s), ())",
    "SELECT k, s, sum(v) AS n FROM a GROUP BY ROLLUP (k, s)",
    "SELECT k, s, count(*) AS n FROM a GROUP BY CUBE (k, s) HAVING count(*) > 1",
]
WHOLE = [
    "SELECT count(*) AS n, sum(v) AS s FROM a WHERE v > 3",
    "SELECT id, v FROM a ORDER BY v DESC, id LIMIT 3",
    "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b)",
    "SELECT id, v FROM a WHERE v > (SELECT avg(v) FROM b)",
    "SELECT k, n, rank() OVER (ORDER BY n DESC) AS r FROM (SELECT k, count(*) AS n FROM b GROUP BY k)",
    "SELECT *, (SELECT count(*) FROM b WHERE b.k = a.k) AS c FROM a",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n, id FROM t, a WHERE v = n",
    "SELECT a.id, u.x FROM a, unnest([k, v]) AS u(x)",
]


def make_rows(random: Random, first: int) -> list[dict[str, object]]:
    return [
        {
            "id": first + number,
            "k": random.choice([None, 0, 1, 2, 3]),
            "v": random.choice([None, 1, 2, 3, 4, 5]),
            "f": random.choice(FLOATS),
            "s": random.choice([None, "x", "y", "xz"]),
            "d": random.choice([None, "1.10", "0.05", "2.00"]),
        }
        for number in range(random.choice([0, 1, 3, 8]))
    ]


def as_table(rows: list[dict[str, object]]) -> pa.Table:
    plain = pa.schema([field if field.name != "d" else pa.field("d", pa.string()) for field in SCHEMA])
    return pa.Table.from_pylist(rows, schema=plain).cast(SCHEMA)


def count_rows(table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


def open_query(sql: str, appending: bool) -> View:
    schemas = {"a": SCHEMA, "b": SCHEMA}
    made = run_duckdb(sql, {name: schema.empty_table() for name, schema in schemas.items()}).schema
    return open_view(sql, schemas, [appending] * 2, made)


@pytest.mark.parametrize("appending", [True, False], ids=["grows", "changes"])
@pytest.mark.parametrize("sql", [*BY_KEY, *WHOLE])
def test_a_view_is_the_query_over_what_is_left(sql: str, appending: bool) -> None:
    random = Random(sql)
    view = open_query(sql, appending)
    there: dict[str, list[dict[str, object]]] = {"a": [], "b": []}
    shown: Counter[str] = Counter()
    for push in range(6):
        changes = []
        for rows in there.values():
            leaving = 0 if appending else random.randrange(3)
            gone = [rows.pop(random.randrange(len(rows))) for _ in range(leaving) if rows]
            come = make_rows(random, 100 * push)
            rows.extend(come)
            weights = np.array([-1] * len(gone) + [1] * len(come), dtype=np.int64)
            changes.append(Delta(as_table([*gone, *come]), weights))
        if push == 3:  # a restart
            kept, view = view.keep(), open_query(sql, appending)
            view.restore(kept)
        delta, _ = view.push(changes)
        for row, weight in zip(delta.rows.to_pylist(), delta.weights, strict=True):
            shown[repr(tuple(row.values()))] += int(weight)
        assert min(shown.values(), default=0) >= 0
        assert +shown == count_rows(run_duckdb(sql, {name: as_table(rows) for name, rows in there.items()}))


@pytest.mark.parametrize("sql", BY_KEY)
def test_what_has_a_key_is_not_computed_as_a_whole(sql: str) -> None:
    steps = open_query(sql, True).plan.steps
    assert not any(isinstance(step, KeyedStep) and not step.keys[0] for step in steps)


def test_the_best_rows_are_kept_and_no_others() -> None:
    view = open_query(TOP_TWO, True)
    for push in range(20):
        view.push([Delta.inserts(as_table(make_rows(Random(push), 100 * push))), Delta.inserts(as_table([]))])
    kept = [len(table) for tables in view.keep() for table in tables]
    assert max(kept) <= 2 * 5


def test_a_trace_adds_up_and_forgets_what_came_to_nothing() -> None:
    trace, there = Trace(pa.schema({"x": "int64"})), Counter[int]()
    random = Random(1)
    for _ in range(50):
        values = [random.randrange(20) for _ in range(random.randrange(9))]
        weights = [random.choice([1, 1, -1]) if there[value] > 9 else 1 for value in values]
        for value, weight in zip(values, weights, strict=True):
            there[value] += weight
        keys = np.array(values, dtype=np.uint64) % np.uint64(7)
        trace.add(keys, Delta(pa.table({"x": pa.array(values, pa.int64())}), np.array(weights, dtype=np.int64)))
        wanted = np.array([2, 5], dtype=np.uint64)
        found = trace.find(wanted)
        told = dict(zip(found.rows.column("x").to_pylist(), found.weights.tolist(), strict=True))
        assert told == {value: count for value, count in there.items() if value % 7 in (2, 5) and count}
    assert len(trace) < 60


def test_what_is_written_last_counts() -> None:
    latest, there = Latest(pa.schema({"x": "int64"})), {}
    random = Random(1)
    for turn in range(60):
        written = sorted(random.sample(range(30), random.randrange(1, 6)))
        rows = [(key, turn) for key in written for _ in range(random.randrange(3))]
        for key in written:
            there[key] = [turn for other, _ in rows if other == key]
        latest.write(
            np.array(written, dtype=np.uint64),
            np.array([key for key, _ in rows], dtype=np.uint64),
            pa.table({"x": pa.array([value for _, value in rows], pa.int64())}),
        )
        found = latest.find(np.array(sorted(there), dtype=np.uint64)).column("x").to_pylist()
        assert Counter(found) == Counter(value for values in there.values() for value in values)
