"""Aggregates in MEASURES treat NaN, null and order as the rest of SQL does."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
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
