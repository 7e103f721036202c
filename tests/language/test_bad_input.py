"""What users get wrong, and what they are told: the code, the text under the caret, the next step."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, UnboundedState, UnboundedStateWarning

BUSES = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("bus", pa.int64()),
        ("delay", pa.float64()),
        ("line", pa.string()),
        ("price", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
    ]
)
STOPS = pa.schema([("at", pa.date32()), ("bus", pa.int64()), ("stop", pa.string())])
TABLES = {"buses": BUSES.empty_table(), "stops": STOPS.empty_table()}


def mr(body: str, select: str = "*", source: str = "buses", tail: str = "") -> str:
    return f"SELECT {select} FROM {source} MATCH_RECOGNIZE ({body}) {tail}"


def define(condition: str) -> str:
    return mr(f"PARTITION BY bus ORDER BY ts MEASURES a.ts AS t PATTERN (a b) DEFINE b AS {condition}")


def measure(expression: str, rows: str = "") -> str:
    return mr(f"ORDER BY ts MEASURES {expression} AS m {rows} PATTERN (a b)")


def pattern(text: str) -> str:
    return mr(f"ORDER BY ts MEASURES a.ts AS t PATTERN ({text})")


def seq(where: str, select: str = "a.bus", terms: str = "buses a, buses b", tail: str = "WITHIN 5 s") -> str:
    return f"SELECT {select} FROM PATTERN SEQ({terms}) WHERE {where} {tail}"


def tell(query: str, **tables: Any) -> tuple[CepheidError, str | None]:
    """The error, and the text under its caret."""
    with pytest.raises(CepheidError) as caught:
        cep.sql(query, **(tables or TABLES))
    error = caught.value
    return error, error.text[error.span.start : error.span.end] if error.text and error.span else None


QUERIES = [
    # unknown names
    (define("b.dely > 1"), "unknown-column", "dely", 'did you mean "delay"'),
    (measure("b.dely"), "unknown-column", "dely", 'did you mean "delay"'),
    (measure("sum(b.dely)"), "unknown-column", "dely", 'did you mean "delay"'),
    (mr("PARTITION BY buss ORDER BY ts PATTERN (a)"), "unknown-column", "buss", 'did you mean "bus"'),
    (mr("PARTITION BY bus ORDER BY tz PATTERN (a)"), "unknown-column", "tz", "Known: ts"),
    (mr("PARTITION BY bus ORDER BY ts PATTERN (a)", "buz"), "unknown-column", "buz", 'did you mean "bus"'),
    (mr("PARTITION BY bus ORDER BY ts PATTERN (a)", tail="WHERE buz > 1"), "unknown-column", "buz", "Known: bus"),
    (mr("PARTITION BY bus ORDER BY ts PATTERN (a)", "m.buz", tail="AS m"), "unknown-column", "buz", "Known: bus"),
    (mr("PARTITION BY bus ORDER BY ts PATTERN (a)", "x.bus", tail="AS m"), "invalid-query", "x", None),
    (seq("a.buz = b.bus"), "unknown-column", "buz", 'did you mean "bus"'),
    (seq("a.bus = b.bus", "a.buz"), "unknown-column", "buz", 'did you mean "bus"'),
    (seq("a.bus = c.bus"), "unknown-variable", "c", "Known: a, b"),
    (seq("a.bus = b.bus", "c.bus"), "unknown-variable", "c", "Known: a, b"),
    (seq("bus > 1"), "invalid-query", "bus", "a.bus"),
    (seq("a.bus = b.bus", "delay"), "invalid-query", "delay", "a.delay"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a)", source="busses"), "unknown-stream", "busses", '"buses"'),
    (seq("a.bus = b.bus", terms="buses a, stop b"), "unknown-stream", "stop", '"stops"'),
    ("SELECT * FROM nothing", "unknown-stream", "nothing", "Known: buses, stops"),
    ("SELECT * FROM elsewhere.buses", "unknown-stream", "buses", "Known: buses, stops"),
    # variables
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) DEFINE c AS TRUE"), "unknown-variable", "c", "Known: a"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) DEFINE a AS TRUE, A AS TRUE"), "invalid-query", "A", None),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) SUBSET u = (a, x)"), "unknown-variable", "x", "Known: a"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) SUBSET a = (a)"), "invalid-query", "a", None),
    (mr("ORDER BY ts MEASURES a.ts AS t AFTER MATCH SKIP TO x PATTERN (a)"), "unknown-variable", "x", "Known: a"),
    (measure("LAST(x.ts)"), "unknown-variable", "x", "Known: a, b"),
    (measure("CLASSIFIER(x)"), "unknown-variable", "x", "Known: a, b"),
    (define("PREV(x.delay) > 1"), "unknown-variable", "x", "Known: a, b"),
    (seq("TRUE", terms="buses a, stops A"), "invalid-query", "a", None),
    # navigation
    (measure("FIRST(LAST(a.ts))"), "invalid-query", "LAST(a.ts", "PREV or NEXT"),
    (measure("FIRST(PREV(a.ts))"), "invalid-query", "PREV(a.ts", "PREV(LAST(...))"),
    (measure("PREV(a.delay + b.delay)"), "invalid-query", "PREV(a.delay + b.delay", "a call of its own"),
    (measure("PREV(a.ts, 1.5)"), "invalid-query", "1.5", None),
    (measure("PREV(a.ts, b.bus)"), "invalid-query", "b.bus", None),
    (measure("PREV()"), "invalid-query", "PREV", None),
    (measure("sum(PREV(a.delay))"), "not-supported-yet", "PREV(a.delay", "subquery"),
    (measure("LAST(sum(a.delay))"), "invalid-query", "sum(a.delay", None),
    (seq("PREV(b.delay) > 1"), "invalid-query", "b.delay", None),
    # types
    (define("b.line > 5"), "type-mismatch", "b.line > 5", "cast"),
    (define("b.line = b.delay"), "type-mismatch", "b.line = b.delay", "cast"),
    (define("b.delay"), "type-mismatch", "b.delay", "compare"),
    (define("b.delay > 1 AND b.line"), "type-mismatch", "b.line", "compare"),
    (define("NOT b.ts"), "type-mismatch", "b.ts", "compare"),
    (define("b.line + 1 > 2"), "type-mismatch", "b.line + 1", None),
    (define("-b.line > 2"), "type-mismatch", "b.line", None),
    (define("b.ts + a.ts > b.ts"), "type-mismatch", "b.ts + a.ts", None),
    (define("b.ts - a.ts > 5"), "type-mismatch", "b.ts - a.ts > 5", "cast"),
    (define("b.ts > 'yesterday'"), "type-mismatch", "b.ts > 'yesterday'", "2026-01-31"),
    (define("CASE WHEN b.delay > 1 THEN 1 ELSE 'x' END = 1"), "type-mismatch", "b.delay > 1 THEN 1 ELSE 'x'", "cast"),
    (define("b.price > a.price"), "not-supported-yet", "b.price", "CAST(b.price AS DOUBLE)"),
    (define("b.bus > 99999999999999999999"), "invalid-query", "99999999999999999999", None),
    (measure("sum(a.line)"), "type-mismatch", "a.line", None),
    (measure("sum(*)"), "invalid-query", "sum(*", None),
    (measure("count()"), "invalid-query", "count", None),
    (measure("max(a.*)"), "invalid-query", "max(a.*", None),
    (measure("start(DISTINCT a.bus)"), "invalid-query", "start(DISTINCT a.bus", None),
    (seq("a.bus = b.line"), "type-mismatch", "a.bus = b.line", "cast"),
    # order and WITHIN
    (mr("MEASURES a.ts AS t PATTERN (a)"), "invalid-order", "MATCH_RECOGNIZE", "add ORDER BY ts"),
    (mr("ORDER BY line PATTERN (a)"), "invalid-order", "line", "for instance ts"),
    (mr("ORDER BY ts DESC PATTERN (a)"), "not-supported-yet", "ts DESC", "forward"),
    (mr("ORDER BY delay + 1 PATTERN (a)"), "not-supported-yet", "delay + 1", "subquery"),
    (mr("ORDER BY 1 PATTERN (a)"), "invalid-query", "1", None),
    (mr("ORDER BY bus MEASURES a.ts AS t PATTERN (a) WITHIN 5 s"), "invalid-within", "WITHIN 5 s", "for instance ts"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) WITHIN 0 s"), "invalid-within", "WITHIN 0 s", "INTERVAL"),
    (seq("a.bus = b.bus", tail="WITHIN INTERVAL '-1' SECOND"), "invalid-within", "WITHIN INTERVAL '-1' SECOND", "10"),
    (seq("a.bus = b.bus", terms="buses a, stops b"), "invalid-order", "PATTERN", "ORDER BY"),
    (
        "SELECT a.bus FROM PATTERN SEQ(buses a, s b) WITHIN 5 s",
        "unknown-stream",
        "s",
        "Known: buses, stops",
    ),
    (
        "WITH s AS (SELECT at AS ts, bus FROM stops) SELECT a.bus FROM PATTERN SEQ(buses a, s b) ORDER BY ts",
        "type-mismatch",
        "ts",
        "cast",
    ),
    # columns of the result
    (seq("a.bus = b.bus", "a.bus, b.bus"), "invalid-query", "b.bus", "AS"),
    (seq("a.bus = b.bus", "a.bus AS x, b.bus AS X"), "invalid-query", "b.bus AS X", "AS"),
    (seq("a.bus = b.bus", "*"), "invalid-query", "*", "name the columns"),
    (seq("a.bus = b.bus", "a.*"), "invalid-query", "a.*", "name the columns"),
    (mr("PARTITION BY bus ORDER BY ts MEASURES a.ts AS bus PATTERN (a)"), "invalid-query", "bus", "AS"),
    (mr("ORDER BY ts MEASURES a.ts AS x, a.bus AS X PATTERN (a)"), "invalid-query", "x", "AS"),
    ("SELECT * FROM buses JOIN stops ON TRUE", "invalid-query", "*", "AS"),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a)", source="(SELECT ts, ts FROM buses)"),
        "invalid-query",
        "ts",
        "AS",
    ),
    (mr("ORDER BY ts PATTERN (a)"), "invalid-query", "MATCH_RECOGNIZE", "MEASURES"),
    (mr("PARTITION BY bus, bus ORDER BY ts PATTERN (a)"), "invalid-query", "bus", None),
    # what is to come
    (pattern("PERMUTE(a, b)"), "not-supported-yet", "PERMUTE(a, b)", None),
    (pattern("a {- b -} c"), "not-supported-yet", "{- b -}", None),
    (pattern("^ a"), "not-supported-yet", "^", None),
    (pattern("(a b $)+"), "not-supported-yet", "$", None),
    (define("sum(b.delay) > 5"), "not-supported-yet", "sum(b.delay", None),
    (define("CLASSIFIER() = 'a'"), "not-supported-yet", "CLASSIFIER", None),
    (define("b.delay > (SELECT max(delay) FROM buses)"), "not-supported-yet", "max(delay) FROM buses", None),
    (define("sqrt(a.delay + b.delay) > 3"), "not-supported-yet", "sqrt(a.delay + b.delay", "one event at a time"),
    (define("b.ts > now() - INTERVAL '1' DAY"), "not-supported-yet", "now", "a column or a literal"),
    (define("b.line || a.line = 'x'"), "not-supported-yet", "b.line || a.line", "one event at a time"),
    (define("b.line.x = 1"), "not-supported-yet", "b.line.x", "subquery"),
    (define("b.delay + a.delay > pi()"), "not-supported-yet", "pi", "its value"),
    (
        mr("ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a)"),
        "not-supported-yet",
        "MATCH_RECOGNIZE",
        None,
    ),
    (measure("count(*)", "ALL ROWS PER MATCH"), "not-supported-yet", "count(*", "FINAL"),
    (measure("stddev(a.delay)"), "not-supported-yet", "stddev(a.delay", None),
    (measure("count(DISTINCT a.bus)"), "not-supported-yet", "count(DISTINCT a.bus", None),
    (measure("sum(a.delay * 2)"), "not-supported-yet", "a.delay * 2", "subquery"),
    (mr("PARTITION BY tags ORDER BY ts PATTERN (a)"), "not-supported-yet", "tags", None),
    (mr("PARTITION BY bus + 1 ORDER BY ts PATTERN (a)"), "not-supported-yet", "bus + 1", "subquery"),
    (seq("a.bus = b.bus", terms="buses a, ~stops b"), "not-supported-yet", "~stops b", None),
    (seq("a.bus = b.bus", terms="buses a, buses+ b[]"), "not-supported-yet", "buses+ b[]", None),
    # what the host's engine refuses
    (measure("frobnicate(a.line)"), "invalid-query", "frobnicate(a.line", None),
    (measure("a.delay + a.line"), "invalid-query", "a.delay + a.line", None),
    (define("frobnicate(b.line) = 1"), "invalid-query", "frobnicate(b.line", None),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a)", "frobnicate(t)"), "invalid-query", "frobnicate(t", None),
    (mr("ORDER BY ts MEASURES a.ts AS t, a.bus AS b PATTERN (a)", "t, sum(b)"), "invalid-query", "t", None),
    ("SELECT bus FROM buses JOIN stops ON TRUE", "invalid-query", "bus", None),
]


@pytest.mark.parametrize(("query", "code", "place", "hint"), QUERIES, ids=[query[0] for query in QUERIES])
def test_mistake_is_told_with_code_place_and_next_step(query: str, code: str, place: str, hint: str | None) -> None:
    error, found = tell(query)
    assert (error.code, found) == (code, place), str(error)
    assert hint is None or (error.hint and hint in error.hint), str(error)
    assert str(error).count("\n") <= 6, "an error is told in a few lines"


# --- what is handed over besides the query ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (5, "is a int, not a table"),
        ("buses.csv", "is a str, not a table"),
        ([{"ts": 1}], "is a list, not a table"),
        ({"ts": [1], "bus": [1, 2]}, "is not a table"),
        (pa.table({"ts": [1], "TS": [2]}), 'two columns called "TS"'),
        (pa.schema([]).empty_table(), "has no columns"),
    ],
)
def test_only_tables_are_tables(table: Any, message: str) -> None:
    error, _ = tell("SELECT * FROM buses", buses=table)
    assert error.code == "invalid-input"
    assert message in error.message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": "optimised"}, 'there is no step "optimised"'),
        ({"format": "xml"}, 'there is no format "xml"'),
        ({"step": "parsed", "format": "json"}, 'the step "parsed" has no format "json"'),
    ],
)
def test_explain_knows_its_steps_and_formats(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(CepheidError, match=message):
        cep.explain("SELECT * FROM buses", buses=BUSES, **arguments)


def test_query_is_text() -> None:
    with pytest.raises(CepheidError, match="the query is a int"):
        cep.sql(5)  # type: ignore[arg-type]


def test_settings_are_checked() -> None:
    with pytest.raises(CepheidError, match="lateness is negative"):
        cep.open(define("TRUE"), buses=BUSES, lateness=timedelta(seconds=-1))
    with pytest.raises(CepheidError, match="lateness has no meaning for whole tables"):
        cep.sql(define("TRUE"), lateness=timedelta(seconds=1), **TABLES)
    with pytest.raises(CepheidError, match='unknown type "intt"'):
        cep.open(define("TRUE"), buses={"ts": "intt"})


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"ts": [1]}, 'lacks the column "bus"'),
        ({"ts": ["x"], "bus": [1]}, '"ts" as string instead of timestamp'),
        ({"ts": [None], "bus": ["1"]}, '"bus" as string instead of int64'),
        ({"ts": [None], "bus": [1.5]}, "does not fit its schema"),
        (5, "is a int, not a table"),
    ],
)
def test_batches_fit_the_schema(batch: Any, message: str) -> None:
    query = cep.open(
        mr("PARTITION BY bus ORDER BY ts MEASURES a.ts AS t PATTERN (a b)"), buses={"ts": "timestamp", "bus": "bigint"}
    )
    with pytest.raises(CepheidError, match=message):
        query.push(buses=batch)
    with pytest.raises(CepheidError, match='has no stream "busses"'):
        query.push(busses=batch)


def test_snapshots_fit_the_query() -> None:
    blob = cep.open(define("b.delay > 1"), buses=BUSES).snapshot()
    for garbage in (b"", b"garbage", blob[:30], blob[:-30]):
        with pytest.raises(CepheidError) as caught:
            cep.open(define("b.delay > 1"), buses=BUSES, snapshot=garbage)
        assert caught.value.code == "snapshot-mismatch"
    with pytest.raises(CepheidError, match="taken of another query"):
        cep.open(define("b.delay > 2"), buses=BUSES, snapshot=blob)


# --- state without end ------------------------------------------------------------------------------------


BOUNDED = [
    pattern("a b{1,5} c"),
    pattern("a b? c"),
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b* c) WITHIN 5 s"),
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a d+ u+) DEFINE d AS d.delay < 1, u AS u.delay > PREV(u.delay)"),
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN ((a b)+ c) DEFINE b AS b.delay > 5"),
    seq("a.bus = b.bus"),
    seq("a.bus = b.bus", tail="STRATEGY strict"),
    seq("a.bus = b.bus", tail="STRATEGY partition_contiguity"),
    "SELECT a.bus FROM PATTERN SEQ(buses a)",
]
UNBOUNDED = [
    (pattern("a+ b"), "a+ may take events for ever"),
    (pattern("a b*? c"), "b*? may take events for ever"),
    (pattern("(a | b c){2,}"), "(a | b c){2,} may take events for ever"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS TRUE"), "b+ may"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS a.delay > FIRST(b.delay)"), "b+ may"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN ((a b?)+ c) DEFINE b AS b.delay > 5"), "(a b?)+ may"),
    (seq("a.bus = b.bus", tail=""), "SEQ(a, b) has no WITHIN"),
    (seq("a.bus = b.bus", tail="STRATEGY skip_till_any"), "SEQ(a, b) has no WITHIN"),
]


@pytest.mark.parametrize("query", BOUNDED)
def test_what_ends_by_itself_is_not_warned_of(query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cep.open(query, strict=True, buses=BUSES)


@pytest.mark.parametrize(("query", "reason"), UNBOUNDED, ids=[query[0] for query in UNBOUNDED])
def test_state_without_end_is_warned_of_once_at_the_users_line(query: str, reason: str) -> None:
    with pytest.warns(UnboundedStateWarning) as caught:
        cep.open(query, buses=BUSES)
    (warning,) = caught
    assert reason in str(warning.message)
    assert "add WITHIN" in str(warning.message)
    assert warning.filename == __file__
    with pytest.raises(UnboundedState) as refused:
        cep.open(query, strict=True, buses=BUSES)
    assert refused.value.hint
    assert "add WITHIN" in refused.value.hint
