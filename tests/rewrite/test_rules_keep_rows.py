"""Every rule, and all of them together, keep the rows, on random tables and random conditions."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.compiler import compile_query
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.attributes import Beliefs
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.validation import validate_graph
from cepheid.hosts import SPARK_STREAMS
from cepheid.kernel.expression import Call, Cell, Constant
from cepheid.language.catalog import Catalog
from cepheid.language.relations.sql_values import read_condition
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.rewrite.condition_value import condition_value
from cepheid.rewrite.rewriter import rewrite_graph
from cepheid.rewrite.rule import Rule
from cepheid.scalars.show import show_scalar
from cepheid.scalars.value import Scalar, join_conjunction, split_conjunction, substitute_columns

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us")), ("k", pa.int32()), ("x", pa.int64()), ("f", pa.float32()), ("s", pa.string())]
)
START = datetime(2026, 1, 1)  # noqa: DTZ001 (times without a zone, as in the schema)

rows = st.fixed_dictionaries(
    {
        "k": st.one_of(st.none(), st.integers(1, 2)),
        "x": st.one_of(st.none(), st.integers(0, 4)),
        "f": st.one_of(st.none(), st.sampled_from([0.5, 1.5, 2.5, float("nan")])),
        "s": st.one_of(st.none(), st.sampled_from(["", "a", "b"])),
    }
)
tables = st.lists(rows, max_size=12).map(
    lambda found: pa.Table.from_pylist(
        [{"ts": START + timedelta(seconds=number), **row} for number, row in enumerate(found)], schema=SCHEMA
    )
)
ROW_TESTS = [
    "v.x > 1",
    "v.k = 1",
    "v.s = 'a'",
    "v.f < 2",
    "v.f + v.x > 2",
    "v.x IS NULL",
    "NOT v.x = 2",
    "v.f > v.x",
    "v.x + 1 > 2",
]


def over(variable: str) -> st.SearchStrategy[str]:
    """A condition on one event."""
    parts = st.lists(st.sampled_from(ROW_TESTS), min_size=1, max_size=2)
    return st.tuples(parts, st.sampled_from([" AND ", " OR "])).map(
        lambda drawn: f"({drawn[1].join(drawn[0])})".replace("v.", f"{variable}.")
    )


@st.composite
def queries(draw: st.DrawFn) -> str:
    pair = draw(st.sampled_from(["b.x > a.x", "b.s = a.s", "TRUE"]))
    if draw(st.booleans()):
        strategy = draw(st.sampled_from(["skip_till_any", "skip_till_next", "strict", "partition_contiguity"]))
        keys = draw(st.sampled_from(["a.k = b.k AND ", ""]))
        query = (
            f"SELECT a.x AS ax, b.f AS bf FROM PATTERN SEQ(t a, t b) ORDER BY ts "
            f"WHERE {keys}{draw(over('a'))} AND {draw(over('b'))} AND {pair} WITHIN 4 s STRATEGY {strategy}"
        )
    else:
        pattern = draw(st.sampled_from(["a b", "a b+", "a b*? c", "a? b"]))
        query = (
            f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
            f"MEASURES a.x AS ax, b.f AS bf, count(*) + 1 AS n, MATCH_NUMBER() AS mn PATTERN ({pattern}) "
            f"DEFINE a AS {draw(over('a'))}, b AS {draw(over('b'))} AND {pair})"
        )
        query += draw(st.sampled_from(["", " WHERE k = 1", " WHERE k = 1 AND n > 2", " WHERE k IS NULL OR ax > 1"]))
    if draw(st.booleans()):
        query = f"SELECT bf FROM ({query}) WHERE ax < 3 AND bf > 0"
    return query


def run(graph: QueryGraph, table: pa.Table) -> Counter[str]:
    return Counter(
        repr(row)
        for row in run_batch(place_by_nature(graph, SPARK_STREAMS.native), {"t": table})[0]["query"].to_pylist()
    )


@settings(max_examples=30, deadline=None)
@given(queries(), tables)
def test_every_application_keeps_the_rows(query: str, table: pa.Table) -> None:
    bound = compile_query(query, Catalog({"t": SCHEMA}, describe_sql)).bound
    expected = run(bound, table)
    rewritten, trace = rewrite_graph(bound, SPARK_STREAMS.rules, Beliefs())
    for application in trace:
        validate_graph(application.after, "rewritten")
        assert run(application.after, table) == expected, f"{application.rule} changes the rows of {query}"
    tried = [(rule, vertex) for rule in SPARK_STREAMS.rules for vertex in rewritten.vertices]
    looking = [(rule, vertex) for rule, vertex in tried if isinstance(rewritten.vertices[vertex], rule.looks_at)]
    assert all(rule.apply(rewritten, vertex) is None for rule, vertex in looking), "a fixpoint"


@pytest.mark.parametrize("rule", SPARK_STREAMS.rules, ids=lambda rule: rule.name)
@settings(max_examples=6, deadline=None)
@given(query=queries(), table=tables)
def test_every_rule_alone_keeps_the_rows(rule: Rule, query: str, table: pa.Table) -> None:
    bound = compile_query(query, Catalog({"t": SCHEMA}, describe_sql)).bound
    rewritten, _ = rewrite_graph(bound, (rule,), Beliefs())
    assert run(rewritten, table) == run(bound, table)


# --- conditions as values ---------------------------------------------------------------------------------


def test_what_hosts_treat_differently_is_not_pushed() -> None:
    x, f = Cell("x", "int"), Cell("f", "float")
    one = Constant(1, "int")
    assert condition_value(Call("gt", (x, one), "bool")) == value_of("x > 1")
    assert condition_value(Call("gt", (f, one), "bool")) == value_of("f > CAST(1 AS DOUBLE)")
    assert condition_value(Call("gt", (Call("add", (f, one), "float"), one), "bool")) is not None
    assert condition_value(Call("gt", (Call("add", (x, one), "int"), one), "bool")) is None, "whole numbers overflow"
    assert condition_value(Call("gt", (Call("div", (x, one), "float"), one), "bool")) is None, "division by zero"
    assert condition_value(Call("gt", (Cell("t", "time"), Constant(0, "time")), "bool")) is None, "zones"


def value_of(text: str) -> Scalar:
    value = read_condition(text)
    assert value is not None, text
    return value


def test_conjunctions_split_and_join() -> None:
    parts = split_conjunction(value_of("((a > 1) AND (b OR c)) AND d"))
    assert parts == (value_of("a > 1"), value_of("b OR c"), value_of("d"))
    assert join_conjunction([value_of("a OR b"), value_of("c")]) == value_of("(a OR b) AND c")
    assert join_conjunction([value_of("a")]) == value_of("a")


def test_substitution_keeps_meaning() -> None:
    assert substitute_columns(value_of("a * 2"), {"a": value_of("x + 1")}) == value_of("(x + 1) * 2")
    assert show_scalar(value_of("(x + 1) * 2")) == '("x" + 1) * 2'
