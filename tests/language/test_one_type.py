"""An aggregate has one type, whether a table, a stream or a window is asked, and whoever computes it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import cepheid as cep

START = datetime(2026, 1, 1)  # noqa: DTZ001 (times without a zone, as in the schema)
COLUMNS = {
    "i32": pa.array([1, 2], pa.int32()), "i64": pa.array([1, 2], pa.int64()), "u8": pa.array([1, 2], pa.uint8()),
    "f32": pa.array([1, 2], pa.float32()), "f64": pa.array([1, 2], pa.float64()), "b": pa.array([True, False]),
    "d": pa.array([Decimal("1.10"), Decimal("2.20")], pa.decimal128(9, 2)), "s": pa.array(["a", "b"]),
    "t": pa.array([START, START], pa.timestamp("us")),
}  # fmt: skip
EVENTS = pa.table({"ts": pa.array([START, START], pa.timestamp("us")), "k": pa.array([1, 2]), **COLUMNS})
OF_NUMBERS = (
    "sum({})", "sum({} + {})", "sum({}) FILTER (WHERE k > 0)", "avg({})", "stddev({})", "var_pop({})", "median({})",
)  # fmt: skip
OF_ANYTHING = (
    "count({})", "count(DISTINCT {})", "count_if({} IS NULL)", "min({})", "max({})", "min_by({}, k)", "any_value({})",
    "array_agg({})",
)  # fmt: skip
ONLY_OVER = ("first_value({})", "last_value({})")
FRAME = "OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
WINDOW = "[ORDER BY ts RANGE 2 SECOND SLIDE 2 SECOND]"


def list_calls(column: str, over: bool) -> list[str]:
    of_numbers = () if column in ("b", "s", "t") else OF_NUMBERS
    calls = [*OF_ANYTHING, *of_numbers, *(ONLY_OVER if over else ())]
    if column == "d":
        calls.remove("array_agg({})")  # a list of doubles on a stream
    return [call.replace("{}", column) for call in calls]


def select(calls: list[str], behind: str, source: str) -> str:
    outputs = [f"{call} {behind} AS x{number}" for number, call in enumerate(calls)]
    return f"SELECT {', '.join(outputs)} FROM {source}"


@pytest.mark.parametrize("column", COLUMNS)
def test_aggregates_of_tables_and_windows_of_streams(column: str) -> None:
    calls = list_calls(column, over=False)
    of_table = cep.sql(select(calls, "", "s"), s=EVENTS).schema
    of_stream = cep.open(select(calls, "", f"s {WINDOW}"), s=EVENTS.schema).schema
    assert dict(zip(calls, of_table.types, strict=True)) == dict(zip(calls, of_stream.types, strict=True))


@pytest.mark.parametrize("column", COLUMNS)
def test_over_tables_and_streams(column: str) -> None:
    calls = list_calls(column, over=True)
    of_table = cep.sql(select(calls, FRAME, "s"), s=EVENTS).schema
    of_stream = cep.open(select(calls, FRAME, "s"), s=EVENTS.schema).schema
    assert dict(zip(calls, of_table.types, strict=True)) == dict(zip(calls, of_stream.types, strict=True))


def test_sums_inside_queries_have_their_types_too() -> None:
    text = """WITH w AS (SELECT k, sum(d) AS d FROM s GROUP BY k)
        SELECT d, (SELECT sum(i32) FROM s) AS i, k IN (SELECT sum(i64) FROM s) AS found FROM w ORDER BY k"""
    found = cep.sql(text, s=EVENTS)
    assert found.schema.types == [pa.decimal128(19, 2), pa.int64(), pa.bool_()]
    assert found.to_pylist()[0] == {"d": Decimal("1.10"), "i": 3, "found": False}


def test_sum_that_does_not_fit_64_bits_is_an_error() -> None:
    with pytest.raises(cep.CepheidError, match="out of range"):
        cep.sql("SELECT sum(v) AS v FROM s", s=pa.table({"v": [2**62, 2**62]}))
