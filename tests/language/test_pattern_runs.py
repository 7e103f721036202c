"""Patterns written in Python, run: every construct gives the rows of the same pattern as SQL text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.language.builder.pattern_builder import Pattern
from cepheid.testing import assert_same_rows


def make_stream(seed: int, count: int) -> pa.Table:
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, 60, count))
    return pa.table(
        {
            "id": random.integers(0, 2, count),
            "ts": pa.array(times, pa.timestamp("s")),
            "price": random.integers(0, 30, count).astype(np.float64),
        }
    )


TABLES = {"bids": make_stream(1, 60), "asks": make_stream(2, 60), "cancels": make_stream(3, 10)}
BEGIN = cep.pattern("a", "bids", where="a.price > 5").within("10 seconds")
CASES = {
    "repeated": (
        BEGIN.then("b", "bids", one_or_more=True, where="b.id = a.id AND b[i].price > b[i-1].price")
        .then("c", "asks", where="c.id = a.id AND c.price > avg(b[].price)")
        .select("a.id", n="count(b[])", first="b[1].ts", last="b[last].ts"),
        """SELECT a.id, count(b[]) AS n, b[1].ts AS "first", b[last].ts AS last
        FROM PATTERN SEQ(bids a, bids+ b[], asks c)
        WHERE a.price > 5 AND b.id = a.id AND b[i].price > b[i-1].price AND c.id = a.id AND c.price > avg(b[].price)
        WITHIN 10 s""",
    ),
    "absent": (
        BEGIN.not_("x", "cancels", where=["x.id = a.id", lambda table: pc.greater(table["price"], 3)])
        .then("b", "asks", where="b.id = a.id")
        .select("a.ts", to="b.ts"),
        """SELECT a.ts, b.ts AS to FROM PATTERN SEQ(bids a, ~cancels x, asks b)
        WHERE a.price > 5 AND x.id = a.id AND x.price > 3 AND b.id = a.id WITHIN 10 s""",
    ),
    "one of": (
        BEGIN.then_any_of(("b", "bids", "b.price > 25"), ("c", "asks", "c.price > 25")).where(
            "a.id = b.id", "a.id = c.id"
        ),
        """SELECT a.id AS a_id, a.ts AS a_ts, a.price AS a_price, b.id AS b_id, b.ts AS b_ts, b.price AS b_price,
        c.id AS c_id, c.ts AS c_ts, c.price AS c_price FROM PATTERN SEQ(bids a, (bids b | asks c))
        WHERE a.price > 5 AND b.price > 25 AND c.price > 25 AND a.id = b.id AND a.id = c.id WITHIN 10 s""",
    ),
    "all of": (
        BEGIN.then_all_of(("b", "bids", "b.price > 15"), ("c", "asks", "c.price > 15"))
        .where("a.id = b.id AND a.id = c.id")
        .strategy("skip_till_any")
        .select("a.ts", "b.price AS one", other="c.price"),
        """SELECT a.ts, b.price AS one, c.price AS other FROM PATTERN SEQ(bids a, (bids b & asks c))
        WHERE a.price > 5 AND b.price > 15 AND c.price > 15 AND a.id = b.id AND a.id = c.id WITHIN 10 s
        STRATEGY skip_till_any""",
    ),
    "timeouts": (
        BEGIN.then("b", "asks", where="b.id = a.id AND b.price > 25").timeout_rows(),
        """SELECT a.id AS a_id, a.ts AS a_ts, a.price AS a_price, b.id AS b_id, b.ts AS b_ts, b.price AS b_price,
        TIMED_OUT() AS timed_out FROM PATTERN SEQ(bids a, asks b)
        WHERE a.price > 5 AND b.id = a.id AND b.price > 25 WITHIN 10 s TIMEOUT ROWS""",
    ),
    "consumed and limited": (
        BEGIN.then("b", "bids", where="b.id = a.id")
        .consume_matched()
        .limit_partials(3, "drop_oldest")
        .select("a.ts", to="b.ts"),
        """SELECT a.ts, b.ts AS to FROM PATTERN SEQ(bids a, bids b) WHERE a.price > 5 AND b.id = a.id WITHIN 10 s
        CONSUME MATCHED LIMIT PARTIALS 3 DROP OLDEST""",
    ),
    "absent at the start": (
        cep.pattern().not_("x", "cancels", where="x.id = a.id").then("a", "bids").within("5 s").select("a.ts"),
        "SELECT a.ts FROM PATTERN SEQ(~cancels x, bids a) WHERE x.id = a.id WITHIN 5 s",
    ),
}


@pytest.mark.parametrize(("pattern", "text"), CASES.values(), ids=CASES)
def test_pattern_gives_the_rows_of_its_text(pattern: Pattern, text: str) -> None:
    named = {term.stream: TABLES[term.stream] for term in pattern.terms if term.stream is not None}
    expected = cep.sql(text, **named)
    assert len(expected), "the test would say nothing"
    assert_same_rows(cep.sql(pattern, **named), expected)
