"""Q1 to Q4, Q6 and Q7 of the performance study, row by row against DuckDB or plain NumPy.

The sizes are those of the study where they are quick; CEPHEID_STUDY=full takes all of them.
"""

from __future__ import annotations

import os

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep

FULL = os.environ.get("CEPHEID_STUDY") == "full"
ROWS = (500, 5_000, 50_000, 500_000) if FULL else (500, 20_000)
MEDIAN_ROWS = ROWS if FULL else (500,)
TABLES = (1_000, 100_000, 10_000_000) if FULL else (1_000, 100_000)


def make_events(count: int, ids: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array(random.integers(1, ids + 1, count, dtype=np.int32)),
            "a1": pa.array(random.uniform(1.0, 100.0, count)),
            "a2": pa.array(random.uniform(1.0, 100.0, count)),
            "ts": pa.array(np.arange(count) * 20_000, pa.timestamp("us")),
        }
    )


def ask_duckdb(sql: str, **tables: pa.Table) -> pa.Table:
    with duckdb.connect(":memory:") as database:
        for name, table in tables.items():
            database.register(name, table)
        return database.sql(sql).to_arrow_table()


def assert_equal(found: pa.Table, expected: pa.Table, tolerance: float = 1e-12) -> None:
    assert found.num_rows == expected.num_rows
    for name in found.column_names:
        one, other = (table.column(name).to_numpy() for table in (found, expected))
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.25, 0.5])
def test_q1_selection_and_projection(share: float) -> None:
    events = make_events(20_000, 1_000)
    query = f"SELECT id, a1, ts FROM s WHERE id <= {int(1_000 * share)}"
    expected = ask_duckdb(query, s=events)
    assert_equal(cep.sql(query, s=events), expected)
    running = cep.open(query, s=events.schema)
    parts = [running.push(s=events.slice(begin, 3_000)) for begin in range(0, 20_000, 3_000)]
    assert_equal(pa.concat_tables([*parts, running.finish()]), expected)


@pytest.mark.parametrize("function", ["max", "avg", "stddev", "median"])
@pytest.mark.parametrize("rows", ROWS)
def test_q2_sliding(function: str, rows: int) -> None:
    if function == "median" and rows not in MEDIAN_ROWS:
        pytest.skip("DuckDB is slow there")
    events = make_events(rows + 30_000, 1_000)
    numbered = events.append_column("n", pa.array(np.arange(len(events))))
    frame = f"PARTITION BY id ORDER BY n RANGE BETWEEN {rows - 1} PRECEDING AND CURRENT ROW"
    expected = ask_duckdb(f"SELECT id, {function}(a1) OVER ({frame}) AS f FROM s ORDER BY n", s=numbered)
    assert_equal(
        cep.sql(f"SELECT id, {function}(a1) AS f FROM s [ROWS {rows} SLIDE 1] GROUP BY id", s=events), expected
    )


@pytest.mark.parametrize("function", ["max", "avg", "stddev", "median"])
@pytest.mark.parametrize("rows", ROWS)
def test_q2_jumping(function: str, rows: int) -> None:
    events = make_events(3 * rows + 700, 100)
    numbered = events.append_column("w", pa.array(np.arange(len(events)) // rows))
    expected = ask_duckdb(f"SELECT w, id, {function}(a1) AS f FROM s GROUP BY w, id ORDER BY w, id", s=numbered)
    query = f"SELECT id, {function}(a1) AS f, window_end FROM s [ROWS {rows} SLIDE {rows}] GROUP BY id"
    found = cep.sql(query, s=events).sort_by([("window_end", "ascending"), ("id", "ascending")])
    assert_equal(found.select(["id", "f"]), expected.select(["id", "f"]))


def join_oracle(left: pa.Table, right: pa.Table, rows: int) -> pa.Table:
    """Each pair of equal ids of which the older one is still among the last `rows` when the younger one comes."""
    order = np.argsort(np.concatenate([left.column("ts").to_numpy(), right.column("ts").to_numpy()]), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    of_left, of_right = place[: len(left)], place[len(left) :]
    # n: number within its stream; seen: how many of the other stream had come before
    x = left.append_column("n", pa.array(np.arange(len(left)))).append_column("p", pa.array(of_left))
    y = right.append_column("n", pa.array(np.arange(len(right)))).append_column("p", pa.array(of_right))
    x = x.append_column("seen", pa.array(np.searchsorted(of_right, of_left)))
    y = y.append_column("seen", pa.array(np.searchsorted(of_left, of_right)))
    return ask_duckdb(
        f"""SELECT x.id, x.a1, y.a1 AS b1 FROM x JOIN y ON x.id = y.id
        WHERE (x.p > y.p AND y.n >= x.seen - {rows}) OR (y.p > x.p AND x.n >= y.seen - {rows})
        ORDER BY greatest(x.p, y.p), least(x.p, y.p)""",
        x=x,
        y=y,
    )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("ids", ["as rows", 5_000])
def test_q3_window_to_window(rows: int, ids: str | int) -> None:
    count = rows + 20_000
    left, right = (make_events(count, rows if ids == "as rows" else int(ids), seed) for seed in (1, 2))
    query = f"SELECT x.id, x.a1, y.a1 AS b1 FROM a [ROWS {rows}] AS x, b [ROWS {rows}] AS y WHERE x.id = y.id"
    assert_equal(cep.sql(query, a=left, b=right), join_oracle(left, right, rows))


@pytest.mark.parametrize("size", TABLES)
def test_q4_stream_to_table(size: int) -> None:
    events = make_events(20_000, size)
    random = np.random.default_rng(3)
    table = pa.table(
        {"id": pa.array(random.permutation(size) + 1), **{f"b{n}": pa.array(random.random(size)) for n in range(9)}}
    )
    query = "SELECT * FROM s AS s, t AS t WHERE s.id = t.id"
    expected = ask_duckdb("SELECT s.*, t.* FROM s, t WHERE s.id = t.id ORDER BY s.ts", s=events, t=table)
    running = cep.open(query, s=events.schema, t=cep.Table(table))
    found = pa.concat_tables([running.push(s=events.slice(begin, 7_000)) for begin in range(0, 20_000, 7_000)])
    assert found.column_names[:5] == ["id", "a1", "a2", "ts", "id_1"]
    assert_equal(found, expected.rename_columns(found.column_names))
    assert_equal(cep.sql(query, s=events, t=table).sort_by("ts"), expected.rename_columns(found.column_names))


@pytest.mark.parametrize("span", [5, 60, 600])
def test_q6_is_q7(span: int) -> None:
    events = make_events(60_000, 10)
    q6 = f"SELECT avg(a1) AS f FROM s [RANGE {span} SECONDS] OUTPUT EVERY 1 SECOND"
    q7 = f"""SELECT sum(s1) / sum(c1) AS f
        FROM (SELECT sum(a1) AS s1, count(a1) AS c1 FROM s [RANGE 1 SECOND] OUTPUT EVERY 1 SECOND)
        [RANGE {span} SECONDS]"""
    times, values = events.column("ts").cast(pa.int64()).to_numpy(), events.column("a1").to_numpy()
    ticks = np.arange(0, -(-times[-1] // 1_000_000) + 1) * 1_000_000
    begin, end = np.searchsorted(times, ticks - span * 1_000_000, "right"), np.searchsorted(times, ticks, "right")
    expected = pa.table({"f": [values[b:e].mean() for b, e in zip(begin, end, strict=True)]})
    for query in (q6, q7):
        assert_equal(cep.sql(query, s=events), expected)
        running = cep.open(query, s=events.schema)
        parts = [running.push(s=events.slice(start, 777)) for start in range(0, len(events), 777)]
        assert_equal(pa.concat_tables([*parts, running.finish()]), expected)


def test_sums_do_not_drift() -> None:
    """A million slides over values of very different sizes: the last answer is that of a fresh sum."""
    random = np.random.default_rng(5)
    values = random.uniform(-1.0, 1.0, 1_000_000) * 10.0 ** random.integers(-8, 13, 1_000_000)
    values[-1_000:] = random.uniform(0.0, 1e-3, 1_000)
    events = pa.table({"x": values, "ts": pa.array(np.arange(1_000_000), pa.timestamp("us"))})
    rows = cep.sql("SELECT sum(x) AS total, avg(x) AS mean FROM s [ROWS 1000]", s=events)
    fresh = float(np.sum(np.sort(values[-1_000:])))
    assert rows.column("total")[-1].as_py() == pytest.approx(fresh, rel=1e-9)
    assert rows.column("mean")[-1].as_py() == pytest.approx(fresh / 1_000, rel=1e-9)
