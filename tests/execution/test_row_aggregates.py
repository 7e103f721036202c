"""Aggregates over the rows of a match that the kernel leaves to DuckDB and to Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import PatternTooCostly
from cepheid.execution.row_aggregates import CATALOG, FUNCTIONS
from cepheid.kernel.aggregates.of_rows import ROW_FUNCTIONS
from cepheid.kernel.compiled import row_pattern

EVENTS = pa.table({"id": pa.array([1, 2, 3, 4], pa.int64()), "v": [2.0, 8.0, None, 4.0], "name": ["p", "q", "p", "r"]})
MEAN = cep.Aggregate(
    init=lambda: (0.0, 0),
    add=lambda state, value: (state[0] + value, state[1] + 1),
    result=lambda state: state[0] / state[1],
)


def measure(written: str, pattern: str = "a b+", rows: str = "", define: str = "b AS TRUE") -> str:
    inside = f"ORDER BY id MEASURES {written} AS m {rows} PATTERN ({pattern}) DEFINE {define}"
    return f"SELECT * FROM t MATCH_RECOGNIZE ({inside})"


def run(query: str, **given: Any) -> list[Any]:
    found: list[Any] = cep.sql(query, t=EVENTS, **given).column("m").to_pylist()
    return found


def test_every_function_that_can_be_written_can_be_computed() -> None:
    assert {function.name for function in ROW_FUNCTIONS} <= set(FUNCTIONS)
    assert set(FUNCTIONS) - {function.name for function in ROW_FUNCTIONS} <= CATALOG


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("map_agg(name, v)", [("p", 2.0), ("q", 8.0), ("r", 4.0)]),
        ("multimap_agg(name, id)", [("p", [1, 3]), ("q", [2]), ("r", [4])]),
        ("histogram(CLASSIFIER())", [("A", 1), ("B", 3)]),
        ("map_union(map(ARRAY[name], ARRAY[id]))", [("p", 1), ("q", 2), ("r", 4)]),
        ("set_agg(name)", ["p", "q", "r"]),
        ("max(v, 2)", [8.0, 4.0]),
        ("min_by(name, v, 2)", ["p", "r"]),
        ("listagg(name, '+') WITHIN GROUP (ORDER BY id DESC)", "r+p+q+p"),
        ("arbitrary(b.v)", 8.0),
        ("bitwise_xor_agg(id)", 4),
        ("geometric_mean(v)", pytest.approx(4.0)),
        ("entropy(id)", pytest.approx(1.8464393446710154)),
        ("approx_distinct(name)", 3),
        ("approx_percentile(id, 0.5)", 2),
        ("median(v)", 4.0),
        ("corr(id, id * 2)", pytest.approx(1.0)),
        ("regr_slope(id * 3, id)", pytest.approx(3.0)),
        ("count(DISTINCT CLASSIFIER())", 2),
        ("array_agg(id ORDER BY v DESC NULLS FIRST)", [3, 2, 4, 1]),
    ],
)
def test_the_answer_for_one_match(written: str, expected: Any) -> None:
    assert run(measure(written)) == [expected]


def test_a_function_of_the_user_is_an_aggregate_over_the_rows_of_a_match() -> None:
    own = {"my_mean": MEAN}
    assert run(measure("my_mean(v)", rows="ALL ROWS PER MATCH"), aggregates=own) == [2.0, 5.0, 5.0, 14 / 3]
    assert run(measure("FINAL my_mean(b.v)", rows="ALL ROWS PER MATCH"), aggregates=own) == [6.0] * 4
    assert run(measure("my_mean(b.v) FILTER (WHERE b.id = 3)"), aggregates=own) == [None], "of no values it is null"
    assert run(measure("count(*)", define="b AS my_mean(v) < 5"), aggregates=own) == [2]


def test_the_type_of_a_function_of_the_user_may_be_a_name() -> None:
    count = cep.Aggregate(lambda: 4, lambda state, _: state + 1, lambda state: state, type="bigint")
    assert count.type == pa.int64()
    assert run(measure("count_from(v)"), aggregates={"count_from": count}) == [7]


def test_entries_of_a_map_are_counted_in_conditions() -> None:
    assert run(measure("count(*)", define="b AS cardinality(map_agg(name, id)) < 3")) == [3]


def test_a_function_of_the_user_sees_the_match_of_a_window() -> None:
    query = """SELECT my_mean(v) OVER w AS m FROM t WINDOW w AS (ORDER BY id
      ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW PATTERN (a b))"""
    assert run(query, aggregates={"my_mean": MEAN}) == [5.0, 8.0, 4.0, None]


def test_what_is_asked_for_ever_is_too_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pattern, "MOST_QUESTIONS", 5)
    with pytest.raises(PatternTooCostly):
        run(measure("count(*)", "(a | b)* c", define="c AS string_agg(CLASSIFIER(), '') = 'never'"))


def test_functions_that_number_rows_see_the_partition_and_not_the_match() -> None:
    query = """SELECT id, m OVER w, row_number() OVER w AS n, lag(id) OVER w AS before FROM t
    WINDOW w AS (PARTITION BY name ORDER BY id MEASURES LAST(id) AS m
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (a b))"""
    found = {tuple(row.values()) for row in cep.sql(query, t=EVENTS).to_pylist()}
    assert found == {(1, 3, 1, None), (3, None, 2, 1), (2, None, 1, None), (4, None, 1, None)}
