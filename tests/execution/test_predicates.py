"""Conditions written in Python: what they are shown, what they may answer, and that nothing forgets them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.errors import InvalidInput, MatchFailure
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.predicate import Predicate
from cepheid.hosts import SPARK_STREAMS
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.language.catalog import Catalog
from cepheid.testing import assert_same_rows, cut_table, run_in_batches


def make_bids(count: int = 40) -> pa.Table:
    random = np.random.default_rng(7)
    return pa.table(
        {
            "id": pa.array(random.integers(0, 3, count), pa.int32()),
            "ts": pa.array(range(count), pa.timestamp("s")),
            "price": pa.array(random.integers(0, 50, count).astype(np.float64), mask=random.random(count) < 0.1),
            "note": pa.array(random.choice(["x", "y"], count)),
        }
    )


def pattern_of(function: Callable[[pa.Table], Any]) -> Pattern:
    start = cep.pattern("a", where=["a.note = 'x'", function]).then("b", where="b.id = a.id AND b.price > a.price")
    return start.within("20 seconds").select("a.id", first="a.ts", last="b.ts")


def is_cheap(bids: pa.Table) -> Any:
    return pc.less(bids["price"], 25)


TEXT = """SELECT a.id, a.ts AS first, b.ts AS last FROM PATTERN SEQ(bids a, bids b)
    WHERE a.note = 'x' AND a.price < 25 AND a.id = b.id AND b.price > a.price WITHIN 20 s"""


@pytest.mark.parametrize(
    "function",
    [
        is_cheap,
        lambda bids: is_cheap(bids).combine_chunks(),
        lambda bids: bids["price"].to_numpy() < 25,
        lambda bids: [price is not None and price < 25 for price in bids["price"].to_pylist()],
        lambda bids: bids.to_pandas()["price"] < 25,
    ],
    ids=["chunked", "array", "numpy", "list", "pandas"],
)
def test_python_condition_gives_the_rows_of_the_same_condition_in_sql(function: Callable[[pa.Table], Any]) -> None:
    bids = make_bids()
    assert_same_rows(cep.sql(pattern_of(function), bids=bids), cep.sql(TEXT, bids=bids))


def test_rows_do_not_depend_on_batches_and_restarts() -> None:
    bids = make_bids()
    batches = [{"bids": part} for part in cut_table(bids, [3, 3, 17, 30])]
    rows, _ = run_in_batches(pattern_of(is_cheap), batches, resume_after=2)
    assert_same_rows(pa.concat_tables(rows), cep.sql(TEXT, bids=bids))


def test_function_sees_the_columns_of_its_stream_under_their_names() -> None:
    seen: list[pa.Table] = []

    def remember(table: pa.Table) -> Any:
        seen.append(table)
        return np.ones(len(table), dtype=bool)

    bids = make_bids()
    asks = pa.table(
        {"id": pa.array([0, 1, 2], pa.int32()), "at": pa.array([5, 6, 7], pa.timestamp("s")), "depth": [1, 2, 3]}
    )
    renamed = bids.rename_columns(["id", "at", "price", "note"])
    pattern = (
        cep.pattern("a", "bids").then("b", "asks", where=["b.id = a.id", remember]).within("1 hour").select("b.depth")
    )
    cep.sql(pattern, bids=renamed, asks=asks)
    (shown,) = seen
    assert shown.to_pydict() == asks.to_pydict()


def test_explain_shows_that_it_is_not_compiled() -> None:
    told = cep.explain(pattern_of(is_cheap), bids=make_bids())
    assert "is_cheap (Python, not compiled)" in told
    assert "Filter" not in told, "b may be any event"


def test_host_filters_by_what_it_knows_and_leaves_the_function_alone() -> None:
    pattern = cep.pattern("a", where=["a.note = 'x'", is_cheap]).select("a.price")
    assert "Filter" in cep.explain(pattern, bids=make_bids())
    found = cep.sql(pattern, bids=make_bids())
    expected = cep.sql("SELECT price FROM bids WHERE note = 'x' AND price < 25", bids=make_bids())
    assert_same_rows(found, expected)


def test_rules_that_carry_less_to_other_processes_leave_what_the_function_reads() -> None:
    bids = make_bids()
    pattern = pattern_of(is_cheap)
    compilation = compile_query(pattern, Catalog({"bids": bids.schema}, describe_sql), SPARK_STREAMS)
    found = run_batch(compilation.placed, {"bids": bids})[0]["query"]
    assert_same_rows(found, cep.sql(pattern, bids=bids))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda _: True, "answers with a single value"),
        (lambda _: None, "answers with a single value"),
        (lambda bids: bids["price"], "answers with double, not bool"),
        (lambda _: [True], "answers 1 times for 40 events"),
        (lambda _: object(), "answers with a object"),
    ],
)
def test_answer_that_is_not_one_boolean_per_event_is_refused(function: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        cep.sql(cep.pattern("a", where=function).select("a.id"), bids=make_bids())


def test_failure_inside_the_function_is_told_with_its_name() -> None:
    def is_odd(bids: pa.Table) -> Any:
        return bids["prise"]

    with pytest.raises(MatchFailure, match=r"is_odd.*KeyError.*prise") as caught:
        cep.sql(cep.pattern("a", where=is_odd).select("a.id"), bids=make_bids())
    assert isinstance(caught.value.__cause__, KeyError)


def test_null_is_false() -> None:
    pattern = cep.pattern("a", where=lambda bids: pa.nulls(len(bids))).select("a.id")
    assert len(cep.sql(pattern, bids=make_bids())) == 0


def test_predicate_travels_to_other_processes() -> None:
    from pyspark import cloudpickle

    predicate = Predicate("_python0", lambda bids: pc.less(bids["price"], 25), (("price", "bids.price"),), 1)
    travelled = pickle.loads(cloudpickle.dumps(predicate))
    assert (travelled.column, travelled.reads, travelled.stream) == ("_python0", (("price", "bids.price"),), 1)
    assert travelled.function(pa.table({"price": [1.0, 50.0]})).to_pylist() == [True, False]
    assert travelled.identity == predicate.identity


def test_identity_is_the_same_in_another_process() -> None:
    script = (
        "from cepheid.graph.predicate import Predicate;"
        "print(Predicate('c', lambda t: [x in {'p', 'q', 'r'} and (lambda y: y)(x) for x in t], ()).identity)"
    )
    command = [sys.executable, "-c", script]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second
