"""Functions of one's own: over Arrow columns, called by name wherever a function may stand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InvalidInput, InvalidQuery, NotSupportedYet, SnapshotMismatch
from cepheid.testing import assert_same_rows


def count_char(text: pa.Array, char: pa.Array) -> pa.Array:
    return pa.array(
        [None if a is None else a.count(b) for a, b in zip(text.to_pylist(), char.to_pylist(), strict=True)]
    )


def twice(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 2)


def near(x: pa.Array, y: pa.Array) -> pa.Array:
    return pc.less(pc.abs(pc.subtract(x, y)), 2)


def fail(x: pa.Array) -> pa.Array:  # noqa: ARG001 (it takes one, as it says)
    raise ValueError("no such thing")


FUNCTIONS = {
    "count_char": cep.Function(count_char, takes=["string", "string"], gives="bigint"),
    "Twice": cep.Function(twice, takes=[pa.int64()], gives="bigint"),
    "near": cep.Function(near, takes=["bigint", "bigint"], gives="boolean"),
    "fail": cep.Function(fail, takes=["bigint"], gives="bigint"),
}
EVENTS = pa.table(
    {
        "k": [1, 1, 2, 2, 1, 2],
        "v": [1, 2, 5, 9, 8, 8],
        "s": ["abc", "ccc", None, "c", "x", "cc"],
        "ts": pa.array([second * 1_000_000 for second in range(6)], pa.timestamp("us")),
    }
)
ROWS = {
    "SELECT k, coalesce(count_char(s, 'c'), 0) AS n FROM t WHERE twice(v) > 3":
    [(1, 0), (1, 3), (2, 0), (2, 1), (2, 2)],
    "SELECT k, sum(twice(v)) AS n, twice(count(*)) AS m FROM t [RANGE 2 SECONDS SLIDE 2 SECONDS] "
    "WHERE near(v, v + 1) GROUP BY k HAVING twice(sum(v)) > 6": [(1, 16, 2), (2, 16, 2), (2, 28, 4)],
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES twice(a.v) AS x, near(a.v, b.v) AS y, sum(twice(v)) AS z "
    "PATTERN (a b) DEFINE a AS count_char(s, 'c') > 0, b AS near(b.v, a.v) AND twice(b.v) < 2 * twice(a.v) + 1)":
    [(2, True, 6), (18, True, 34)],
    "SELECT a.v AS x, TWICE(b.v) AS y FROM PATTERN SEQ(t a, t b) WHERE count_char(a.s, 'c') > 0 AND a.k = b.k "
    "AND twice(b.v) > 15 WITHIN INTERVAL '5' SECOND": [(1, 16), (2, 16), (9, 16)],
    "SELECT a.v AS x, b.v AS y FROM PATTERN SEQ(t a, ~t n, t b) WHERE near(a.v, b.v) AND n.k = 7 AND twice(a.v) > 2 "
    "WITHIN INTERVAL '5' SECOND STRATEGY skip_till_any": [(8, 8), (9, 8), (9, 8)],
    "SELECT x.k, twice(y.v) AS w FROM t [ROWS 2] AS x, t [ROWS 2] AS y WHERE x.k = y.k AND near(x.v, y.v) "
    "AND twice(x.v) = 18": [(2, 18)],
}  # fmt: skip


@pytest.mark.parametrize("text", ROWS)
def test_a_function_may_stand_anywhere(text: str) -> None:
    whole = cep.sql(text, t=EVENTS, functions=FUNCTIONS)
    assert sorted(tuple(row.values()) for row in whole.to_pylist()) == ROWS[text]
    query = cep.open(text, t=EVENTS.schema, functions=FUNCTIONS)
    found = [query.push(t=EVENTS.slice(0, 3))]
    query = cep.open(text, t=EVENTS.schema, functions=FUNCTIONS, snapshot=query.snapshot())
    found += [query.push(t=EVENTS.slice(3)), query.finish()]
    assert_same_rows(pa.concat_tables(found), whole)


def test_a_session_knows_functions() -> None:
    with cep.Session(functions=FUNCTIONS) as session:
        session.source("t", EVENTS.schema)
        session.deploy("n", "SELECT twice(v) AS w FROM t WHERE near(v, 1)")
        assert session.push(t=EVENTS)["n"].to_pylist() == [{"w": 2}, {"w": 4}]


def test_two_functions_of_one_name_are_two() -> None:
    text = "SELECT twice(v) AS w FROM t"
    other = {"twice": cep.Function(lambda x: pc.multiply(x, 20), takes=["bigint"], gives="bigint")}
    assert cep.sql(text, t=EVENTS, functions=FUNCTIONS).column("w")[0].as_py() == 2
    assert cep.sql(text, t=EVENTS, functions=other).column("w")[0].as_py() == 20
    window = "SELECT sum(twice(v)) AS n FROM t [RANGE 2 SECONDS SLIDE 2 SECONDS]"
    snapshot = cep.open(window, t=EVENTS.schema, functions=FUNCTIONS).snapshot()
    with pytest.raises(SnapshotMismatch):
        cep.open(window, t=EVENTS.schema, functions=other, snapshot=snapshot)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT fail(v) AS x FROM t",
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.v AS x PATTERN (a b) DEFINE b AS fail(b.v) > a.v)",
        "SELECT sum(fail(v)) AS n FROM t [ROWS 2]",
    ],
)
def test_a_function_that_raises_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match='the function "fail" failed: ValueError: no such thing'):
        cep.sql(text, t=EVENTS, functions=FUNCTIONS)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda _: 3, "a single value"),
        (lambda _: pa.array([1]), "answers 1 times for 6 rows"),
        (lambda x: pa.array(["x"] * len(x)), "gives what is no int64"),
    ],
)
def test_an_answer_that_does_not_fit_is_told(answer: Any, told: str) -> None:
    functions = {"odd": cep.Function(answer, takes=["bigint"], gives="bigint")}
    with pytest.raises(InvalidInput, match=told):
        cep.sql("SELECT odd(v) AS x FROM t", t=EVENTS, functions=functions)


def test_mistakes() -> None:
    with pytest.raises(InvalidQuery, match='"near" is called with 1 arguments, not 2'):
        cep.sql("SELECT near(v) AS x FROM t", t=EVENTS, functions=FUNCTIONS)
    with pytest.raises(InvalidInput, match='"upper" is a function of SQL'):
        cep.sql("SELECT 1", functions={"upper": FUNCTIONS["fail"]})
    with pytest.raises(InvalidInput, match='the function "f" is a function'):
        cep.sql("SELECT 1", functions={"f": count_char})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="without arguments"):
        cep.Function(twice, takes=[], gives="bigint")
    with pytest.raises(InvalidInput):
        cep.Function(twice, takes=["some"], gives="bigint")
    with pytest.raises(NotSupportedYet, match="the function NEAR over several events"):
        cep.sql("SELECT a.v FROM PATTERN SEQ(t a, t b) WHERE near(a.v, b.v)", t=EVENTS, functions=FUNCTIONS)


TOTAL = {
    "total": cep.Aggregate(init=lambda: 0, add=lambda all_, x: all_ + x, result=lambda all_: all_, type="bigint"),
    "longest": cep.Aggregate(init=str, add=lambda all_, x: max(all_, x, key=len), result=str.upper, type="string"),
}


@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning", "ignore::cepheid.errors.RowsAtTheEndWarning")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT {}(v) AS t FROM t",
        "SELECT s, {}(v) AS t FROM t GROUP BY s",
        "SELECT s, {}(v) FILTER (WHERE v > 1) AS t FROM t GROUP BY s",
        "SELECT {}(DISTINCT v) AS t FROM t",
        "SELECT v, {}(v) OVER (ORDER BY ts ROWS 2 PRECEDING) AS t FROM t",
        "SELECT a.v, {}(b[].v) AS t FROM PATTERN SEQ(t a, t+ b[]) WHERE a.v = 1",
        "SELECT s, {}(a.v) AS t FROM (SELECT * FROM t) AS a GROUP BY s HAVING {}(a.v) > 1",
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {}(b.v) AS t PATTERN (a b+))",
        "SELECT {}(v) AS t FROM t [ROWS 3]",
    ],
)
def test_aggregates_of_users_stand_where_those_of_sql_do(query: str) -> None:
    built_in = cep.sql(query.replace("{}", "sum"), t=EVENTS)
    own = query.replace("{}", "total")
    assert_same_rows(cep.sql(own, t=EVENTS, aggregates=TOTAL), built_in)
    opened = cep.open(own, t=EVENTS.schema, aggregates=TOTAL)
    found = [opened.push(t=EVENTS.slice(number, 1)) for number in range(len(EVENTS))]
    assert_same_rows(pa.concat_tables([*found, opened.finish()]), built_in)


def test_aggregates_of_texts_and_of_no_values() -> None:
    texts = "SELECT longest(s) AS s FROM t"
    assert cep.sql(texts, t=EVENTS, aggregates=TOTAL).to_pylist() == [
        {"s": max((s for s in EVENTS["s"].to_pylist() if s), key=len).upper()}
    ]
    assert cep.sql(f"{texts} WHERE v > 1000", t=EVENTS, aggregates=TOTAL).to_pylist() == [{"s": None}]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT total(v, 1) AS x FROM t", "called with 2 arguments"),
        ("SELECT a.v FROM PATTERN SEQ(t a, t+ b[]) WHERE total(b[].v) > 1", "in WHERE of SEQ"),
    ],
)
def test_mistakes_with_aggregates_have_a_place(query: str, told: str) -> None:
    for run in (
        lambda: cep.sql(query, t=EVENTS, aggregates=TOTAL),
        lambda: cep.open(query, t=EVENTS.schema, aggregates=TOTAL),
    ):
        with pytest.raises(CepheidError, match=f'"total".*{told}') as caught:
            run()
        assert caught.value.span is not None
