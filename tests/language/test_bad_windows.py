"""Mistakes in windows, aggregates and joins: told with their place and a next step, before anything runs."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.errors import CepheidError

SCHEMAS = {
    "s": {"ts": "timestamp", "id": "int", "a1": "double", "name": "string", "hot": "bool"},
    "t": {"ts": "timestamp", "id": "int", "b1": "double"},
    "two": {"ts": "timestamp", "until": "timestamp", "id": "int"},
    "none": {"id": "int", "a1": "double"},
}

MISTAKES = [
    # query, code, the text under the caret, a word of the hint
    ("SELECT avg(a1) FROM s [ROWS 0]", "invalid-window", "0", "ROWS 100"),
    ("SELECT avg(a1) FROM s [ROWS -5]", "invalid-window", "-5", "ROWS 100"),
    ("SELECT avg(a1) FROM s [RANGE 0 SECONDS]", "invalid-window", "0 SECONDS", "RANGE"),
    ("SELECT avg(a1) FROM s [SESSION 0 SECONDS]", "invalid-window", "0 SECONDS", "RANGE"),
    ("SELECT avg(a1) FROM s [ROWS 5 SLIDE 0]", "invalid-window", "0", "ROWS 100"),
    ("SELECT avg(a1) FROM s [ROWS 5 SLIDE 6]", "invalid-window", "6", "at most as long"),
    ("SELECT avg(a1) FROM s [RANGE 5 SECONDS SLIDE 1 MINUTE]", "invalid-window", "1 MINUTE", "at most as long"),
    ("SELECT avg(a1) FROM s [ROWS 2.5]", "syntax", "2.5", "ROWS 500"),
    ("SELECT avg(a1) FROM s [RANGE 1 MONTH]", "syntax", "1 MONTH", "days"),
    ("SELECT avg(a1) FROM s [SESSION 5 SECONDS SLIDE 5 SECONDS]", "syntax", "5", "gap"),
    ("SELECT avg(a1) FROM s [5]", "syntax", "5", "ROWS 500"),
    ("SELECT avg(a1) FROM s [FROM name UNTIL hot]", "type-mismatch", "name", None),
    ("SELECT avg(a1) FROM s [ROWS 5] OUTPUT ON MONDAY", "syntax", "MONDAY", "EVERY"),
    ("SELECT avg(a1) FROM s [ROWS 5] OUTPUT EVERY 0 EVENTS", "invalid-window", "OUTPUT EVERY 0 EVENTS", None),
    ("SELECT id FROM s OUTPUT EVERY 5 SECONDS", "invalid-query", "OUTPUT EVERY 5 SECONDS", "FROM s [ROWS 500]"),
    ("ISTREAM (SELECT id FROM s)", "invalid-query", "ISTREAM", "FROM s [ROWS 500]"),
    ("SELECT quantile_cont(a1, 1.5) FROM s [ROWS 5]", "invalid-query", "1.5", "median"),
    ("SELECT percentile_disc(-0.1) WITHIN GROUP (ORDER BY a1) FROM s [ROWS 5]", "invalid-query", "0.1", "median"),
    ("SELECT max(a1, 0) FROM s [ROWS 5]", "invalid-query", "0", "max(x, 3)"),
    ("SELECT sum(name) FROM s [ROWS 5]", "type-mismatch", "name", None),
    ("SELECT avg(ts) FROM s [ROWS 5]", "type-mismatch", "ts", None),
    ("SELECT stddev(hot) FROM s [ROWS 5]", "type-mismatch", "hot", None),
    ("SELECT bool_and(a1) FROM s [ROWS 5]", "type-mismatch", "a1", None),
    ("SELECT sum(avg(a1)) FROM s [ROWS 5]", "invalid-query", "avg(a1", None),
    ("SELECT id, avg(a1) FROM s [ROWS 5]", "invalid-query", "id", "GROUP BY"),
    ("SELECT avg(a2) FROM s [ROWS 5]", "unknown-column", "a2", "a1"),
    ("SELECT avg(x.a1) FROM s [ROWS 5] AS y", "invalid-query", "x", "y"),
    ("SELECT id FROM s [ROWS 5] WHERE avg(a1) > 1 GROUP BY id", "invalid-query", "avg(a1", "HAVING"),
    ("SELECT count(*) FROM s [ROWS 5] GROUP BY sum(a1)", "invalid-query", "sum(a1", None),
    ("SELECT DISTINCT id FROM s [ROWS 5]", "not-supported-yet", None, "GROUP BY"),
    ("SELECT count(*) FROM two [ROWS 5]", "invalid-order", "[ROWS 5]", "ORDER BY ts"),
    ("SELECT avg(a1) FROM none [ROWS 5]", "invalid-order", "[ROWS 5]", "ORDER BY"),
    ("SELECT avg(a1) FROM none [ORDER BY id RANGE 5 SECONDS]", "invalid-order", None, "ROWS"),
    ("ISTREAM (SELECT array_agg(a1) AS xs FROM s [ROWS 5])", "not-supported-yet", "ISTREAM", "RSTREAM"),
    ("SELECT x.id FROM s [ROWS 5] AS x, t AS y WHERE x.id = y.id", "invalid-query", "t AS y", "window"),
    ("SELECT id FROM s [ROWS 5] AS x, t [ROWS 5] AS y WHERE x.id = y.id", "invalid-query", "id", "x.id"),
    ("SELECT x.id FROM s [ROWS 5 SLIDE 5] x, t [ROWS 5] y WHERE x.id = y.id", "not-supported-yet", None, "ROWS 500"),
    ("SELECT count(*) FROM s [ROWS 5] x, t [ROWS 5] y WHERE x.id = y.id", "not-supported-yet", "count(*", "subquery"),
    ("SELECT x.id FROM s [ROWS 5] AS x, t [ROWS 5] AS x WHERE x.id = 1", "invalid-query", None, "AS"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "code", "place", "hint"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_mistake_is_told_with_code_place_and_next_step(
    query: str, code: str, place: str | None, hint: str | None
) -> None:
    with pytest.raises(CepheidError) as caught:
        cep.open(query, **SCHEMAS)
    problem = caught.value
    assert problem.code == code, problem
    if place is not None:
        assert problem.span is not None, problem
        assert query[problem.span.start : problem.span.end] == place, problem
    assert problem.hint, problem
    assert hint is None or hint in problem.hint, problem


def test_state_without_bound_is_told() -> None:
    with pytest.warns(cep.UnboundedStateWarning, match="percentile_cont needs all of them"):
        cep.open("SELECT median(a1) FROM s [RANGE UNBOUNDED]", s=SCHEMAS["s"])
    with pytest.raises(CepheidError, match="never loses an event"):
        cep.open(
            "SELECT x.id FROM s [RANGE UNBOUNDED] AS x, t [ROWS 5] AS y WHERE x.id = y.id",
            s=SCHEMAS["s"], t=SCHEMAS["t"], strict=True,
        )  # fmt: skip


def test_sums_of_integers_never_wrap() -> None:
    import pyarrow as pa

    big = pa.table({"ts": pa.array([0, 1], pa.timestamp("us")), "x": pa.array([2**62, 2**62])})
    assert cep.sql("SELECT sum(x) AS t FROM s [ROWS 1]", s=big).column("t").to_pylist() == [2**62, 2**62]
    with pytest.raises(CepheidError, match="64 bits"):
        cep.sql("SELECT sum(x) AS t FROM s [ROWS 2]", s=big)
