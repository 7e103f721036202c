"""Batch DataFrames: whatever the session is set to, the rows are those of this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import InvalidInput, InvalidQuery, NotSupportedYet, UnknownColumn
from cepheid.testing import assert_same_rows

pytestmark = [pytest.mark.spark, pytest.mark.essential]

BEGIN = datetime(2026, 7, 1, tzinfo=UTC)
EVENTS = pa.table(
    {
        "k": [number % 3 for number in range(60)],
        "ts": [BEGIN + timedelta(seconds=number) for number in range(60)],
        "x": [float((number * 7) % 5) for number in range(60)],
        "odd name.x": [f"n{number % 2}" for number in range(60)],
    }
)
RUNS = """m AS (SELECT k, since, high FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
    MEASURES FIRST(a.ts) AS since, LAST(b.x) AS high PATTERN (a b+) DEFINE b AS b.x > PREV(b.x)))"""


@pytest.mark.parametrize(
    "text",
    [
        f"WITH {RUNS} SELECT * FROM m",
        f"WITH {RUNS} SELECT k, count(*) AS n, max(high) AS highest FROM m GROUP BY k",
        f"""WITH {RUNS} SELECT * FROM m MATCH_RECOGNIZE (ORDER BY since
            MEASURES count(*) AS n, FIRST(p.k) AS k PATTERN (p q) DEFINE q AS q.high >= p.high)""",
        """SELECT a."odd name.x" AS name, b.ts AS last FROM PATTERN SEQ(t a, t b)
            WHERE a.k = b.k AND upper(a."odd name.x") = 'N1' WITHIN INTERVAL '9' SECOND""",
    ],
    ids=["rows", "grouped", "pattern over pattern", "names and functions"],
)
def test_other_zone_gives_the_same_rows(text: str, far_away: Any) -> None:
    expected = cep.sql(text, t=EVENTS)
    found = cep.sql(text, t=far_away.createDataFrame(EVENTS)).toArrow()
    assert len(expected) > 2
    assert_same_rows(found.cast(expected.schema), expected)


def test_what_spark_refuses_is_told_with_its_place(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    pattern = "t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(a.x) AS high PATTERN (a))"
    with pytest.raises(UnknownColumn, match=r"(?s)query:1:8.*\^\^\^\^"):
        cep.sql(f"SELECT hihg, count(*) AS n FROM {pattern} GROUP BY hihg", t=frame)
    with pytest.raises(InvalidQuery, match=r"(?is)no_such_function.*query:1:8"):
        cep.sql(f"SELECT no_such_function(high) AS z FROM {pattern}", t=frame)


def test_explain_takes_dataframes(spark: Any) -> None:
    shown = cep.explain(f"WITH {RUNS} SELECT * FROM m", step="placed", t=spark.createDataFrame(EVENTS))
    assert "[engines, by _key0]" in shown


def test_events_without_a_place_in_the_order_are_counted(spark: Any) -> None:
    holes = EVENTS.set_column(2, "x", pa.array([None, float("nan"), *(float(number) for number in range(58))]))
    text = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY x MEASURES a.x AS x PATTERN (a))"
    frame = cep.sql(text, t=spark.createDataFrame(holes))
    assert frame.count() == 58
    assert cep.count_rejected(frame) == 2
    with pytest.raises(InvalidInput, match="observedMetrics"):
        cep.count_rejected(spark.range(1))


def test_rows_that_come_and_go_are_refused_by_name(spark: Any) -> None:
    """They are netted out in this process only so far: taken for plain columns, they would give another answer."""
    told = pa.table({"_change": ["insert"] * 60, "_match": range(60), "_version": [1] * 60})
    frame = spark.createDataFrame(
        pa.table([*told.columns, *EVENTS.columns], names=told.column_names + EVENTS.column_names)
    )
    for run in (cep.sql, cep.explain):
        with pytest.raises(NotSupportedYet, match='"t", a DataFrame whose rows come and go') as problem:
            run("SELECT k FROM t", t=frame)
        assert problem.value.hint


def test_workers_run_the_python_of_this_program(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python-of-the-system")
    text = "SELECT * FROM ev MATCH_RECOGNIZE (ORDER BY id MEASURES b.id AS last PATTERN (a b))"
    assert [row.last for row in cep.sql(text, ev=spark.range(2)).collect()] == [1]
    total = cep.Aggregate(int, lambda all_, x: all_ + x, lambda all_: all_, type="bigint")
    twice = cep.Function(lambda x: pa.compute.multiply(x, 2), takes=["bigint"], gives="bigint")
    own: dict[str, Any] = {"aggregates": {"total": total}, "functions": {"twice": twice}}
    rows = cep.sql("SELECT total(twice(id)) AS t FROM ev", ev=spark.range(4), **own).collect()
    assert [row.t for row in rows] == [12]


def test_tables_with_empty_chunks_are_read_to_their_end(spark: Any) -> None:
    chunks = [[1, 2], [], [3]]
    table = pa.table({"k": pa.chunked_array([pa.array(chunk, pa.int64()) for chunk in chunks])})
    ids = spark.createDataFrame([(number,) for number in range(5)], "k long")
    found = cep.sql("SELECT e.k FROM e JOIN t ON e.k = t.k", e=ids, t=cep.Table(table))
    assert sorted(row.k for row in found.collect()) == [1, 2, 3]
