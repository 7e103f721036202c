"""Patterns written in Python: the same as their text, built step by step, with mistakes told by the call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, InvalidInput, InvalidQuery, SyntaxProblem, UnknownColumn, UnknownStream
from cepheid.language.builder.parse_pattern import parse_pattern
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.language.parsing.parser import parse_query
from cepheid.language.parsing.syntax import SequenceClause
from cepheid.schema import read_schema

SCHEMA = {"id": "int", "ts": "timestamp", "price": "double"}
BIDS = pa.table(
    {
        "id": pa.array([1, 1, 2, 1, 2], pa.int32()),
        "ts": pa.array(range(5), pa.timestamp("s")),
        "price": [5.0, 20.0, 30.0, 40.0, 50.0],
    }
)


def rising() -> Pattern:
    return cep.pattern("a", stream="bids").where("a.price > 10").then("b", "bids", where="a.id = b.id")


def is_big(bids: pa.Table) -> Any:
    return bids["price"].to_numpy() > 25


def test_pattern_and_its_text_are_the_same_tree() -> None:
    pattern = rising().within("10 seconds").strategy("skip_till_any").order_by("ts").select("a.id", later="b.ts")
    schemas = {"bids": read_schema("bids", SCHEMA)}
    built = parse_pattern(pattern, schemas)
    text = """SELECT a.id, b.ts AS later FROM PATTERN SEQ(bids a, bids b) ORDER BY ts
        WHERE (a.price > 10) AND (a.id = b.id) WITHIN INTERVAL '10' SECOND STRATEGY skip_till_any"""
    written = parse_query(text)
    (from_python,), (from_text,) = built.clauses, written.clauses
    assert isinstance(from_python, SequenceClause)
    assert isinstance(from_text, SequenceClause)
    assert built.relation == written.relation
    for part in ("items", "order_by", "where", "within", "strategy"):
        assert getattr(from_python, part) == getattr(from_text, part)
    assert cep.explain(pattern, bids=SCHEMA) == cep.explain(text, bids=SCHEMA)
    assert cep.sql(pattern, bids=BIDS).equals(cep.sql(text, bids=BIDS))
    assert cep.sql(pattern.sql, bids=BIDS).equals(cep.sql(text, bids=BIDS))


def test_everything_a_pattern_can_say_is_written_out() -> None:
    pattern = (
        cep.pattern("a", where=is_big)
        .then("b", stream="asks", one_or_more=True, where=["b.price > 1", "b.id = a.id"])
        .not_("c", stream="my cancels")
        .then_any_of(("d", "asks", is_big), ("e", "trades", "e.price > 5"))
        .then_all_of(("f", "asks"), "g")
        .within(timedelta(minutes=90))
        .timeout_rows()
        .strategy("STRICT")
        .order_by("ts", "id")
        .consume_matched()
        .limit_partials(100, overflow="drop_oldest")
        .select("a.id", "count(b.id) AS n", order="f.ts")
    )
    assert (
        pattern.sql
        == """\
SELECT a.id, count(b.id) AS n, f.ts AS `order`
FROM PATTERN SEQ(? a /* Python: is_big */, asks+ b[], ~`my cancels` c, \
(asks d /* Python: is_big */ | trades e), (asks f & ? g))
  ORDER BY ts, id
  WHERE (b.price > 1)
    AND (b.id = a.id)
    AND (e.price > 5)
  WITHIN INTERVAL '90' MINUTE
  TIMEOUT ROWS
  STRATEGY strict
  CONSUME MATCHED
  LIMIT PARTIALS 100 DROP OLDEST"""
    )
    assert pattern.sql in repr(pattern)


def test_each_call_gives_a_new_pattern() -> None:
    first = rising()
    second = first.within("1 hour").where(is_big)
    assert first == rising()
    assert second.within("10 s").sql == rising().within("10 s").where(is_big).sql


def test_every_column_of_every_variable_comes_out_unless_some_are_chosen() -> None:
    rows = cep.sql(cep.pattern("a").then("b", where="a.id = b.id").within("10 s"), bids=BIDS)
    assert rows.column_names == ["a_id", "a_ts", "a_price", "b_id", "b_ts", "b_price"]


def test_stream_may_be_left_out_when_there_is_one() -> None:
    pattern = cep.pattern("a").then("b", where="b.id = a.id").within("10 s").select("a.id", "b.price")
    assert cep.sql(pattern, offers=BIDS).to_pylist() == cep.sql(pattern, bids=BIDS).to_pylist()
    with pytest.raises(InvalidQuery, match='does not say of which stream "a" is'):
        cep.sql(pattern, bids=BIDS, asks=BIDS)


def test_names_that_are_words_of_sql_are_quoted() -> None:
    table = BIDS.rename_columns(["id", "ts", "order"])
    rows = cep.sql(cep.pattern("from", "select", where='"from"."order" > 30'), select=table)
    assert rows.column_names == ["from_id", "from_ts", "from_order"]
    assert rows.column("from_order").to_pylist() == [40.0, 50.0]


@pytest.mark.parametrize(
    ("build", "error", "told"),
    [
        (lambda: cep.pattern("a").then("A"), InvalidQuery, r'then\("A"\): the pattern has a variable "A" already'),
        (lambda: cep.pattern("a").then(3), InvalidQuery, r"then\(...\): 3 is no name of a variable"),
        (lambda: cep.pattern("a", stream=3), InvalidQuery, "no name of a stream"),
        (lambda: cep.pattern(stream="bids"), InvalidQuery, "is given no variable"),
        (lambda: cep.pattern().where("a.x > 1"), InvalidQuery, "comes before the first term"),
        (lambda: rising().where(), InvalidQuery, "no condition"),
        (lambda: rising().where("a.x >"), SyntaxProblem, "--> .where:1:6"),
        (lambda: rising().where("a.x > 1) OR (b.y > 2"), InvalidQuery, "is not one condition"),
        (lambda: rising().where("a.x > 1) WITHIN 5 s STRATEGY (strict"), CepheidError, "where"),
        (lambda: rising().where("a.x > 1 -- or so"), InvalidQuery, "comment"),
        (lambda: rising().where(3), InvalidInput, "not SQL text or a function"),
        (lambda: rising().then_any_of("c", "d").where(is_big), InvalidQuery, "a group was named last"),
        (lambda: rising().then_any_of("c"), InvalidQuery, "needs two terms or more"),
        (lambda: rising().then_all_of("c", 3), InvalidQuery, "3 is no term"),
        (lambda: rising().within(10), InvalidQuery, "10 is no duration"),
        (lambda: rising().within("10"), InvalidQuery, "has no unit of time"),
        (lambda: rising().within("10 parsecs"), InvalidQuery, '"parsecs" is not a unit'),
        (lambda: rising().strategy("skip_til_any"), InvalidQuery, 'did you mean "skip_till_any"'),
        (lambda: rising().order_by(), InvalidQuery, "no column"),
        (lambda: rising().order_by("ts WHERE a.x = 1"), InvalidQuery, "is not one column"),
        (lambda: rising().order_by("ts WITHIN 5 s"), InvalidQuery, "is not one column"),
        (lambda: rising().limit_partials(0), InvalidQuery, "no number of partial matches"),
        (lambda: rising().limit_partials(5, overflow="drop"), InvalidQuery, 'overflow cannot be "drop"'),
        (lambda: rising().select(), InvalidQuery, "no column"),
        (lambda: rising().select(5), InvalidQuery, "5 is not SQL text"),
        (lambda: rising().select("a.id FROM bids"), SyntaxProblem, "--> .select"),
        (lambda: rising().select(x="a.id, b.id"), InvalidQuery, "is not a column"),
        (lambda: rising().select(x="a.id AS y"), InvalidQuery, "has two names"),
    ],
)
def test_mistakes_name_the_call(build: Callable[[], object], error: type[CepheidError], told: str) -> None:
    with pytest.raises(error, match=told):
        build()


@pytest.mark.parametrize(
    ("pattern", "error", "told"),
    [
        (cep.pattern(), InvalidQuery, "has no event that must happen"),
        (cep.pattern("a", "asks"), UnknownStream, "asks"),
        (cep.pattern("a").timeout_rows(), InvalidQuery, r"needs within\(...\)"),
        (cep.pattern("a").where("a.prise > 1"), UnknownColumn, r"  WHERE \(a.prise > 1\)"),
    ],
)
def test_mistakes_that_need_the_streams_are_told_when_it_runs(
    pattern: Pattern, error: type[CepheidError], told: str
) -> None:
    with pytest.raises(error, match=told):
        cep.sql(pattern, bids=BIDS)


def test_only_text_and_patterns_are_queries() -> None:
    with pytest.raises(InvalidInput, match="not text or a pattern"):
        cep.sql(3)


def test_groups_follow_as_steps_do() -> None:
    pair = cep.pattern("b", "bids").next("c", "bids", "c.price > b.price")
    written = {
        "NEXT": cep.pattern("a", "bids").next(pair, times=2, consecutive=True),
        "FOLLOWED BY": cep.pattern("a", "bids").followed_by(pair, times=2, consecutive=True),
        "FOLLOWED BY ANY": cep.pattern("a", "bids").followed_by_any(pair, times=2, consecutive=True),
    }
    for words, pattern in written.items():
        assert f"SEQ(bids a {words} (bids b NEXT bids c){{2}} CONSECUTIVE)" in pattern.sql
        assert "c.price > b.price" in pattern.sql


def test_ways_of_steps_are_written_out() -> None:
    pair = cep.pattern("e", "asks").next("f", "asks", "f.id = e.id")
    pattern = (
        cep.pattern("a", "bids")
        .next("b", "bids", times=(2, 3), consecutive=True, greedy=True)
        .not_next("c", "cancels")
        .followed_by("d", "asks", one_or_more=True, until=("u", "cancels", "u.price > 5"))
        .then_group(pair, times=(1, None))
        .then_any_of("g", cep.pattern().not_("h", "cancels", lasting="2 seconds"))
        .followed_by_any("i", "bids", optional=True)
        .not_("j", "cancels", lasting=timedelta(seconds=1))
        .once(per_key=True)
        .select("a.id")
    )
    assert pattern.sql.splitlines() == [
        "SELECT a.id",
        (
            "FROM PATTERN SEQ(bids a NEXT bids{2,3} b[] CONSECUTIVE GREEDY NOT NEXT cancels c "
            "FOLLOWED BY asks+ d[] UNTIL cancels u, (asks e NEXT asks f)+, (? g | ~cancels h FOR INTERVAL '2' SECOND) "
            "FOLLOWED BY ANY bids? i, ~cancels j FOR INTERVAL '1' SECOND)"
        ),
        "  WHERE (u.price > 5)",
        "    AND (f.id = e.id)",
        "  ONCE PER KEY",
    ]


def test_a_pattern_with_ways_finds_what_its_text_finds() -> None:
    pattern = (
        cep.pattern("a", where=is_big)
        .followed_by_any("b")
        .not_("c", where="c.id = 9", lasting="1 second")
        .select("a.id", x="b.id")
    )
    text = """SELECT a.id, b.id AS x FROM PATTERN SEQ(bids a FOLLOWED BY ANY bids b, ~bids c FOR 1 s)
        WHERE a.price > 25 AND c.id = 9"""
    found = cep.sql(pattern, bids=BIDS)
    assert found.num_rows == 3
    assert found.equals(cep.sql(text, bids=BIDS))


def test_silence_needs_no_event() -> None:
    silence = cep.pattern().not_("c", "bids", lasting="1 second", every=True).select(at="MATCH_TIME()")
    assert cep.sql(silence, bids=BIDS).num_rows == 1, "behind the last event"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: cep.pattern().next("a"), "next(...) comes before the first term"),
        (lambda: cep.pattern().not_next("a"), "not_next(...) comes before the first term"),
        (lambda: cep.pattern("a", times=0), "pattern(...): 0 is no number of events"),
        (lambda: cep.pattern("a", times=(3, 2)), "pattern(...): (3, 2) is no number of events"),
        (lambda: cep.pattern("a", times=2, one_or_more=True), "pattern(...): one_or_more and times say the same thing"),
        (lambda: cep.pattern("a", times=2, optional=True), "pattern(...): several events or none"),
        (lambda: cep.pattern("a", often=2), 'pattern(...) has no argument "often"'),  # type: ignore[call-arg]
        (
            lambda: cep.pattern("a", times=2, consecutive=True, combinations=True),
            "pattern(...): consecutive and combinations exclude each other",
        ),
        (
            lambda: cep.pattern("a").then_group(cep.pattern("a")),
            'then_group("a"): the pattern has a variable "a" already',
        ),
        (lambda: cep.pattern("a").then_group(cep.pattern()), "then_group(...) is given no pattern"),
        (lambda: cep.pattern("a").next(cep.pattern()), "next(...) is given no pattern"),
        (
            lambda: cep.pattern("a").next(cep.pattern("b"), "bids"),
            "next(...): a group has no stream and no condition of its own",
        ),
        (lambda: cep.pattern("a").then(cep.pattern("b")), "then(...) is given a group instead of a variable"),
        (lambda: cep.pattern().next(cep.pattern("b")), "next(...) comes before the first term"),
        (lambda: cep.pattern("a").next(cep.pattern("a")), 'next("a"): the pattern has a variable "a" already'),
        (
            lambda: cep.pattern("a").then_group(cep.pattern("b").within("1 s")),
            "then_group(...): the pattern inside has more than terms and conditions",
        ),
        (lambda: cep.pattern("a").not_("b", lasting="2 moons"), 'not_(...): "moons" is not a unit of time'),
    ],
)
def test_mistakes_about_ways_name_the_call(build: Callable[[], Pattern], message: str) -> None:
    with pytest.raises(CepheidError) as caught:
        build()
    assert caught.value.message == message
    assert caught.value.hint
