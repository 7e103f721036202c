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


def test_floats_are_summed_in_the_order_of_events() -> None:
    values = np.random.default_rng(1).normal(size=100_000) * 1e10
    total = 0.0
    for value in values.tolist():
        total += value
    assert aggregate("SUM", pa.array(values)) == total
