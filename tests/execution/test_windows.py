"""What users do with windows besides single queries: aggregates in Python, many queries at once, tables that change,
splits."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError

EVENTS = pa.table(
    {
        "id": pa.array([1, 2, 1, 2, 1, 1], pa.int32()),
        "x": [1.0, 2.0, 4.0, None, 16.0, 2.0],
        "ts": pa.array(np.arange(6) * 1_000_000, pa.timestamp("us")),
    }
)
PRODUCT = {"init": lambda: 1.0, "add": lambda state, x: state * x, "result": lambda state: state}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"remove": lambda state, x: state / x},
        {"merge": lambda left, right: left * right},
    ],
    ids=["recomputed", "remove", "merge"],
)
def test_aggregate_in_python(how: dict[str, object]) -> None:
    product = cep.Aggregate(**PRODUCT, **how)  # type: ignore[arg-type]
    query = "SELECT id, product(x) AS p, count(*) AS n FROM s [ROWS 3] GROUP BY id"
    expected = [1.0, 2.0, 4.0, 2.0, 64.0, 32.0]
    assert cep.sql(query, s=EVENTS, aggregates={"Product": product}).column("p").to_pylist() == expected
    running = cep.open(query, s=EVENTS.schema, aggregates={"product": product})
    rows = [running.push(s=EVENTS.slice(0, 4))]
    again = cep.open(query, s=EVENTS.schema, aggregates={"product": product}, snapshot=running.snapshot())
    rows += [again.push(s=EVENTS.slice(4)), again.finish()]
    assert pa.concat_tables(rows).column("p").to_pylist() == expected


def test_aggregate_in_python_says_its_type() -> None:
    words = cep.Aggregate(list, lambda seen, x: [*seen, str(int(x))], " ".join, type=pa.string())
    rows = cep.sql("SELECT words(x) AS w FROM s [ROWS 2 SLIDE 2]", s=EVENTS, aggregates={"words": words})
    assert rows.column("w").to_pylist() == ["1 2", "4", "16 2"]
    with pytest.raises(CepheidError, match="one column"):
        cep.sql("SELECT words(x, id) FROM s [ROWS 2]", s=EVENTS, aggregates={"words": words})


def test_many_queries_share_one_engine_and_keep_events_once() -> None:
    queries = {f"q{size}": f"SELECT id, sum(x) AS t FROM s [ROWS {size}] GROUP BY id" for size in (2, 3, 4)}
    queries["again"] = queries["q2"]
    running = cep.open(queries, s=EVENTS.schema)
    parts = [running.push(s=EVENTS.slice(0, 3)), running.push(s=EVENTS.slice(3)), running.finish()]
    assert running.counts.kept <= len(EVENTS) + 3, "the events of all four, and what numbers their groups"
    for name, text in queries.items():
        expected = cep.sql(text, s=EVENTS)
        assert pa.concat_tables([part[name] for part in parts]).equals(expected), name
    plan = cep.explain(queries, s=EVENTS.schema)
    assert plan.count("WindowAggregate(") == 3, "two equal queries are one"
    assert plan.count("events are kept once, together with") == 3


def test_table_is_refreshed_while_a_query_runs() -> None:
    names = cep.Table(pa.table({"id": [1, 2], "name": ["one", "two"]}))
    running = cep.open("SELECT s.id, t.name FROM s LEFT JOIN t ON s.id = t.id", s=EVENTS.schema, t=names)
    before = running.push(s=EVENTS.slice(0, 2)).column("name").to_pylist()
    names.refresh(pa.table({"id": [2, 1], "name": ["zwei", "eins"]}))
    after = running.push(s=EVENTS.slice(2, 2)).column("name").to_pylist()
    names.refresh(pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())}))
    assert [before, after, running.push(s=EVENTS.slice(4)).column("name").to_pylist()] == [
        ["one", "two"],
        ["eins", "zwei"],
        [None, None],
    ]


def test_two_tables_and_a_window_over_the_join() -> None:
    names = pa.table({"id": [1, 2], "place": ["a", "b"]})
    places = pa.table({"place": ["a", "b"], "weight": [10.0, 100.0]})
    query = """SELECT sum(w) AS total FROM (
        SELECT s.ts, s.x * p.weight AS w FROM s JOIN n ON s.id = n.id JOIN p ON n.place = p.place) [ROWS 2]"""
    running = cep.open(query, s=EVENTS.schema, n=cep.Table(names), p=cep.Table(places))
    found = pa.concat_tables([running.push(s=EVENTS), running.finish()]).column("total").to_pylist()
    assert found == [10.0, 210.0, 240.0, 40.0, 160.0, 180.0]
    assert cep.sql(query, s=EVENTS, n=names, p=places).column("total").to_pylist() == found


def test_sorted_union_waits_for_the_slower_stream() -> None:
    schema = pa.schema([("ts", pa.timestamp("us")), ("x", pa.int64())])

    def batch(*seconds: int) -> pa.Table:
        return pa.table(
            [pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us")), pa.array(seconds)], schema=schema
        )

    running = cep.open("SELECT x, ts FROM a UNION ALL SELECT -x, ts FROM b ORDER BY ts", a=schema, b=schema)
    rows = [running.push(a=batch(1, 5, 9)), running.push(b=batch(2, 6)), running.finish()]
    assert [part.column(0).to_pylist() for part in rows] == [[], [1, -2, 5, -6], [9]]


def test_late_events_are_set_apart() -> None:
    running = cep.open(
        "SELECT count(*) AS n FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]", s=EVENTS.schema, lateness=timedelta(0)
    )
    running.push(s=EVENTS)
    running.push(s=EVENTS.slice(0, 2))
    assert running.counts.late == 2
    assert len(running.late_events()) == 2


@pytest.mark.parametrize(
    ("by", "into"),
    [
        ("random", 3),
        (["id"], 3),
        ({"low": "x < 3", "high": "x >= 3"}, None),
        (lambda batch: batch.column("id").to_numpy() % 2, 2),
    ],
    ids=["random", "attribute", "query", "custom"],
)  # fmt: skip
def test_split(by: object, into: int | None) -> None:
    whole, pieces = cep.Splitter(by, into), cep.Splitter(by, into)
    expected = whole.push(EVENTS)
    parts = [pieces.push(EVENTS.slice(begin, 2)) for begin in range(0, 6, 2)]
    for name, table in expected.items():
        assert pa.concat_tables([part[name] for part in parts]).equals(table)
    count = sum(map(len, expected.values()))
    assert count == (5 if isinstance(by, dict) else 6), "a null fulfils no condition"
    if by == ["id"]:
        homes = [set(table.column("id").to_pylist()) for table in expected.values()]
        assert sum(map(len, homes)) == 2, "equal ids go together"


def test_percentiles_follow_sql() -> None:
    rows = cep.sql(
        "SELECT median(x) AS m, quantile_disc(x, 0.5) AS d, percentile_cont(1.0) WITHIN GROUP (ORDER BY x) AS top "
        "FROM s [ROWS UNBOUNDED] OUTPUT ON CLOSE",
        s=EVENTS,
    ).to_pylist()
    assert rows == [{"m": 2.0, "d": 2.0, "top": 16.0}]


def test_division_by_zero_and_nan_follow_sql() -> None:
    events = pa.table({"x": [1.0, math.nan, 0.0], "ts": pa.array([0, 1, 2], pa.timestamp("us"))})
    rows = cep.sql("SELECT sum(x) AS t, max(x) AS m, min(x) AS n, 1 / nullif(min(x), 0) AS r FROM s [ROWS 2]", s=events)
    assert [str(row) for row in rows.column("t").to_pylist()] == ["1.0", "nan", "nan"]
    assert [str(row) for row in rows.column("m").to_pylist()] == ["1.0", "nan", "nan"]
    assert rows.column("n").to_pylist() == [1.0, 1.0, 0.0]
    assert rows.column("r").to_pylist() == [1.0, 1.0, None]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT q.n, t.name FROM (SELECT id, count(*) AS n FROM s [ROWS 6 SLIDE 6] GROUP BY id) q JOIN t USING (id)",
         [(4, "one"), (2, "two")]),
        ("WITH w AS (SELECT id, max(x) AS m FROM s [ROWS 6 SLIDE 6] GROUP BY id) SELECT sum(m), count(*) AS n FROM w",
         [(18.0, 2)]),
        ("SELECT id, count(*) AS n FROM s [ROWS 6 SLIDE 6] GROUP BY id UNION ALL SELECT id, 0 FROM t",
         [(1, 4), (2, 2), (1, 0), (2, 0)]),
        ("SELECT name FROM t WHERE id IN (SELECT id FROM s [ROWS 6 SLIDE 6] GROUP BY id HAVING count(*) > 2)",
         [("one",)]),
    ],
    ids=["join", "CTE", "union", "IN"],
)  # fmt: skip
def test_windows_inside_relational_queries(query: str, expected: list[tuple[object, ...]]) -> None:
    names = pa.table({"id": [1, 2], "name": ["one", "two"]})
    rows = cep.sql(query, s=EVENTS, t=names)
    found = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_window_over_a_cte_with_names_of_its_own() -> None:
    query = (
        "WITH w(t, key, value) AS (SELECT ts, id, x FROM s) SELECT key, sum(value) AS v FROM w [ROWS 2] GROUP BY key"
    )
    assert cep.sql(query, s=EVENTS).column("v").to_pylist() == [1.0, 2.0, 4.0, None, 16.0, 18.0]


def test_events_without_an_answer_are_counted(tmp_path: Path) -> None:
    import duckdb

    file, away = tmp_path / "shop.db", tmp_path / "away.db"
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE names AS SELECT 1 AS id, 'one' AS name")
    names = cep.Database(f"duckdb://{file}", "names", when_away="null", time_to_live=timedelta(0))
    query = "SELECT s.id, n.name FROM s LEFT JOIN n ON s.id = n.id WHERE s.x > 1"
    running = cep.open(query, s=EVENTS.schema, n=names)
    assert running.push(s=EVENTS.slice(0, 3)).column("name").to_pylist() == [None, "one"]
    file.rename(away)
    assert running.push(s=EVENTS.slice(4, 1)).column("name").to_pylist() == [None]
    assert running.counts.unanswered == 1
    assert running.lookups["n"]["failures"] == 1
    away.rename(file)
    running.finish()


@pytest.mark.parametrize("tables", ["t JOIN s ON s.id = t.id", "s JOIN t ON s.id = t.id", "t JOIN s USING (id)"])
def test_tables_may_be_named_before_the_stream(tables: str) -> None:
    events = pa.table({"id": [1, 2, 1, 3], "ts": pa.array([0, 1, 2, 3], pa.timestamp("us"))})
    running = cep.open(
        f"SELECT s.ts, t.v FROM {tables}", s=events.schema, t=cep.Table(pa.table({"id": [1, 2, 9], "v": [5, 6, 7]}))
    )
    rows = [
        *running.push(s=events.slice(0, 1)).to_pylist(),
        *running.push(s=events.slice(1)).to_pylist(),
        *running.finish().to_pylist(),
    ]
    assert [(row["ts"].microsecond, row["v"]) for row in rows] == [(0, 5), (1, 6), (2, 5)]


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("SELECT s.id FROM s JOIN t ON s.name = t.id", "type-mismatch", "s.name = t.id"),
        ("SELECT s.id FROM s JOIN t ON s.id < t.id", "invalid-query", "s"),
        ("SELECT s.id FROM t LEFT JOIN s ON s.id = t.id", "invalid-query", "t"),
        ("SELECT id FROM s JOIN t ON s.id = t.id", "invalid-query", "id"),
        ("SELECT s.idd FROM s JOIN t ON s.id = t.id", "unknown-column", "idd"),
    ],
)
def test_mistakes_in_joins_with_tables_are_told(query: str, code: str, place: str) -> None:
    stream = {"id": "int", "name": "string", "ts": "timestamp"}
    with pytest.raises(CepheidError) as caught:
        cep.open(query, s=stream, t=cep.Table(pa.table({"id": [1], "v": [2.0]})))
    assert caught.value.code == code, caught.value
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end] == place
