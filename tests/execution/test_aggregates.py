"""Aggregates in MEASURES treat NaN, null and order as the rest of SQL does."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import RowsAtTheEndWarning
from cepheid.testing import list_rows


def aggregate(function: str, values: pa.Array) -> object:
    table = pa.table({"ts": pa.array(range(len(values)), pa.timestamp("us")), "x": values})
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {function}(a.x) AS found PATTERN (a+))"
    ((found,),) = list_rows(cep.sql(text, t=table))
    return found


@pytest.mark.parametrize(("function", "expected"), [("MIN", 0.5), ("MAX", "NaN"), ("COUNT", 3)])
def test_nan_is_the_greatest_number(function: str, expected: object) -> None:
    assert aggregate(function, pa.array([1.0, math.nan, None, 0.5])) == expected


@pytest.mark.parametrize("function", ["MIN", "MAX", "SUM", "AVG"])
def test_nulls_alone_give_null(function: str) -> None:
    assert aggregate(function, pa.array([None, None], pa.float64())) is None


def test_texts_in_a_dictionary_are_compared_as_texts() -> None:
    assert aggregate("MIN", pa.array(["b", "a", None]).dictionary_encode()) == "a"


def test_floats_are_summed_exactly() -> None:
    values = np.random.default_rng(1).normal(size=100_000) * 1e10
    assert aggregate("SUM", pa.array(values)) == math.fsum(values)


def test_sum_on_its_way_may_be_larger_than_its_answer() -> None:
    largest = 2**63 - 1
    assert aggregate("SUM", pa.array([largest, largest, -largest])) == largest


def test_distinct_zero_is_not_the_null_before_it() -> None:
    table = pa.table({"ts": pa.array(range(3), pa.timestamp("us")), "x": pa.array([None, 0.0, 0.0])})
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (a a a)
              DEFINE a AS count(DISTINCT a.x) = CASE WHEN a.x IS NULL THEN 0 ELSE 1 END)"""
    assert list_rows(cep.sql(text, t=table)) == [(3,)]


def test_durations_are_summed_and_averaged() -> None:
    waits = pa.array([1, 2, 6], pa.duration("s"))
    assert [aggregate(function, waits) for function in ("SUM", "AVG")] == [
        aggregate("MAX", pa.array([seconds], pa.duration("s"))) for seconds in (9, 3)
    ]


PIECES = pa.concat_tables([pa.table({"k": [n % 2], "v": pa.array([n or None], pa.int64())}) for n in range(40)])


@pytest.mark.parametrize("dialect", [None, "trino", "flink", "duckdb", "spark"])
def test_first_and_last_of_a_group_are_not_just_any_value(dialect: str | None) -> None:
    query = "SELECT k, first(v) AS f, last(v) AS l FROM t GROUP BY k ORDER BY k"
    assert list_rows(cep.sql(query, t=PIECES, dialect=dialect)) == [(0, None, 38), (1, 1, 39)]
    with pytest.warns((RowsAtTheEndWarning, cep.UnboundedStateWarning)):
        opened = cep.open(query, t=PIECES.schema, dialect=dialect)
    rows = [opened.push(t=PIECES.slice(n, 7)) for n in range(0, 40, 7)]
    assert list_rows(pa.concat_tables([*rows, opened.finish()])) == [(0, None, 38), (1, 1, 39)]


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("array_agg(v)", (None, *range(1, 40))),
        ("string_agg(CAST(v AS VARCHAR), ',')", ",".join(map(str, range(1, 40)))),
        ("array_agg(v) FILTER (WHERE v > 30)", tuple(range(31, 40))),
        ("last(v)", 39),
    ],
)
def test_what_is_gathered_is_in_the_order_of_the_table_whatever_its_pieces(called: str, expected: object) -> None:
    for _ in range(20):
        assert list_rows(cep.sql(f"SELECT {called} AS found FROM t", t=PIECES)) == [(expected,)]
        assert list_rows(cep.sql(f"SELECT {called} AS found FROM (SELECT v FROM t) GROUP BY ()", t=PIECES)) == [
            (expected,)
        ]
