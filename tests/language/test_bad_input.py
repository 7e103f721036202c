"""What users get wrong, and what they are told: the code, the text under the caret, the next step."""

from __future__ import annotations

import re
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


def timeout(measured: str, within: str, rows: str = "") -> str:
    return mr(f"ORDER BY ts MEASURES {measured} AS t {rows} PATTERN (a b) {within}")


def window(
    select: str,
    pattern: str = "a b+",
    *,
    measures: str = "LAST(a.delay) AS m",
    frame: str = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    source: str = "buses",
    tail: str = "",
) -> str:
    body = f"PARTITION BY bus ORDER BY ts MEASURES {measures} {frame} PATTERN ({pattern})"
    return f"SELECT {select} FROM {source} {tail} WINDOW w AS ({body})"


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
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) DEFINE c AS TRUE"), "unknown-variable", "c", "Known: A"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) DEFINE a AS TRUE, A AS TRUE"), "invalid-query", "A", None),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) SUBSET u = (a, x)"), "unknown-variable", "x", "Known: A"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a) SUBSET a = (a)"), "invalid-query", "a", None),
    (mr("ORDER BY ts MEASURES a.ts AS t AFTER MATCH SKIP TO x PATTERN (a)"), "unknown-variable", "x", "Known: A"),
    (measure("LAST(x.ts)"), "unknown-variable", "x", "Known: A, B"),
    (measure("CLASSIFIER(x)"), "unknown-variable", "x", "Known: A, B"),
    (define("PREV(x.delay) > 1"), "unknown-variable", "x", "Known: A, B"),
    (seq("TRUE", terms="buses a, stops A"), "invalid-query", "a", None),
    # navigation
    (measure("FIRST(LAST(a.ts))"), "invalid-query", "LAST(a.ts", "PREV or NEXT"),
    (measure("FIRST(PREV(a.ts))"), "invalid-query", "PREV(a.ts", "PREV(LAST(...))"),
    (measure("PREV(a.delay + b.delay)"), "invalid-query", "PREV(a.delay + b.delay", "a call of its own"),
    (measure("PREV(a.ts, 1.5)"), "invalid-query", "1.5", None),
    (measure("PREV(a.ts, b.bus)"), "invalid-query", "b.bus", None),
    (measure("PREV()"), "invalid-query", "PREV", None),
    (measure("sum(PREV(a.delay))"), "invalid-query", "PREV(a.delay", None),
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
    (define("b.ts - a.ts > 5"), "type-mismatch", "b.ts - a.ts > 5", "INTERVAL"),
    (define("b.ts > 'yesterday'"), "type-mismatch", "b.ts > 'yesterday'", "2026-01-31"),
    (define("CASE WHEN b.delay > 1 THEN 1 ELSE 'x' END = 1"), "type-mismatch", "b.delay > 1 THEN 1 ELSE 'x'", "cast"),
    (define("b.bus > 99999999999999999999"), "invalid-query", "99999999999999999999", None),
    (measure("sum(a.line)"), "type-mismatch", "a.line", None),
    (measure("sum(*)"), "invalid-query", "sum(*", None),
    (measure("max(a.*)"), "invalid-query", "max(a.*", None),
    (measure("start(DISTINCT a.bus)"), "invalid-query", "start(DISTINCT a.bus", None),
    (seq("a.bus = b.line"), "type-mismatch", "a.bus = b.line", "cast"),
    # order and WITHIN
    (mr("ORDER BY ts DESC MEASURES a.ts AS t PATTERN (a b) WITHIN 5 s"), "invalid-within", "WITHIN 5 s", "ascending"),
    (mr("ORDER BY lien DESC MEASURES a.ts AS t PATTERN (a b)"), "unknown-column", None, None),
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
    (seq("a.bus = b.bus", "a.bus AS x, b.bus AS X"), "invalid-query", "b.bus AS X", "AS"),
    (seq("a.bus = b.bus", "*"), "invalid-query", "*", "name the columns"),
    (seq("a.bus = b.bus", "a.*"), "invalid-query", "a.*", "name the columns"),
    (mr("PARTITION BY bus ORDER BY ts MEASURES a.ts AS bus PATTERN (a)"), "invalid-query", "bus", "AS"),
    (mr("ORDER BY ts MEASURES a.ts AS x, a.bus AS X PATTERN (a)"), "invalid-query", "x", "AS"),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a)", source="(SELECT ts, ts FROM buses)"),
        "invalid-query",
        "ts",
        "AS",
    ),
    (mr("ORDER BY ts PATTERN (a)"), "invalid-query", "MATCH_RECOGNIZE", "MEASURES"),
    (mr("PARTITION BY bus, bus ORDER BY ts PATTERN (a)"), "invalid-query", "bus", None),
    # the row pattern
    (pattern("a NOT b"), "invalid-within", "NOT b", "add WITHIN"),
    (pattern("a (b | NOT c)"), "invalid-within", "NOT c", "add WITHIN"),
    (pattern("a NOT a"), "invalid-query", "NOT a", "another name"),
    (pattern("a NOT b c B"), "invalid-query", "NOT b", "another name"),
    (pattern("a NOT b c?"), "not-supported-yet", "NOT b", "(a NOT B c | a NOT B)"),
    (pattern("a NOT b $"), "not-supported-yet", "NOT b", "apart"),
    (pattern("~b a"), "not-supported-yet", "~b", "in front of it"),
    (pattern("b? NOT c a"), "not-supported-yet", "NOT c", "in front of it"),
    (pattern("a NOT b NOT c d"), "not-supported-yet", "NOT b", "OR"),
    (pattern("a NOT b FOR 2 s NOT c d"), "not-supported-yet", "NOT b FOR 2 s", "OR"),
    (pattern("a NOT b FOR 0 s"), "invalid-within", "NOT b FOR 0 s", "FOR INTERVAL '10' SECOND"),
    (pattern("a NOT b FOR -2 s c"), "invalid-within", "NOT b FOR -2 s", "FOR INTERVAL '10' SECOND"),
    (pattern("a NOT b FOR 5 c"), "invalid-within", "NOT b FOR 5", "FOR INTERVAL '5' SECOND"),
    (pattern("a NOT b FOR INTERVAL '5' MOTNH"), "syntax", "'5' MOTNH", None),
    (pattern("NOT b FOR 2 s"), "not-supported-yet", "NOT b FOR 2 s", "behind it"),
    (pattern("NOT b FOR 2 s a?"), "not-supported-yet", "NOT b FOR 2 s", "behind it"),
    (pattern("(NOT b FOR 2 s a | c)"), "not-supported-yet", "NOT b FOR 2 s", "before all of the pattern"),
    (pattern("(NOT b FOR 2 s)? a"), "not-supported-yet", "NOT b FOR 2 s", "before all of the pattern"),
    (pattern("a? NOT b FOR 2 s c"), "not-supported-yet", "NOT b FOR 2 s", "the two cases apart"),
    (pattern("a (NOT b FOR 2 s)+ c"), "not-supported-yet", "NOT b FOR 2 s", "OR"),
    (pattern("PERMUTE(a, c NOT b FOR 2 s)"), "not-supported-yet", "NOT b FOR 2 s", "orders out"),
    (
        mr("ORDER BY bus MEASURES a.ts AS t PATTERN (a NOT b FOR 2 s)"),
        "invalid-within",
        "NOT b FOR 2 s",
        "write FOR 10, or order by a timestamp",
    ),
    (pattern("a (b NOT c)+"), "not-supported-yet", "NOT c", "the two cases apart"),
    (pattern("a NOT b* c"), "not-supported-yet", "NOT b", None),
    (pattern("PERMUTE(a, b NOT c d)"), "not-supported-yet", "NOT c", None),
    (mr("ORDER BY ts MEASURES b.ts AS t PATTERN (a NOT b c)"), "invalid-query", "b", "its own condition"),
    (mr("ORDER BY ts MEASURES sum(b.bus) AS t PATTERN (a NOT b c)"), "invalid-query", "b", "its own condition"),
    (mr("ORDER BY ts MEASURES CLASSIFIER(b) AS t PATTERN (a NOT b c)"), "invalid-query", "b", "its own condition"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) DEFINE c AS b.delay > 1"), "invalid-query", "b", "own"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) SUBSET u = (a, b)"), "invalid-query", "b", "own"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) SUBSET b = (a, c)"), "invalid-query", "b", None),
    (mr("ORDER BY ts MEASURES a.ts AS t AFTER MATCH SKIP TO b PATTERN (a NOT b c)"), "invalid-query", "b", "own"),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) DEFINE b AS LAST(delay, 1) > 2"),
        "not-supported-yet",
        "delay",
        "FIRST(a.x)",
    ),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) DEFINE b AS FIRST(CLASSIFIER(), 1) = 'a'"),
        "not-supported-yet",
        "CLASSIFIER",
        "FIRST(a.x)",
    ),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) DEFINE b AS FIRST(delay) = 2"),
        "not-supported-yet",
        "delay",
        "FIRST(a.x)",
    ),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) DEFINE b AS sum(delay) > 2"),
        "not-supported-yet",
        "sum(delay",
        "sum(a.x)",
    ),
    (
        mr("ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a {- b -} c)"),
        "invalid-query",
        "{- b -}",
        "braces",
    ),
    # TIMEOUT ROWS
    (timeout("TIMED_OUT()", "TIMEOUT ROWS"), "invalid-within", "TIMEOUT ROWS", "WITHIN"),
    (timeout("a.ts", "WITHIN 5 s TIMEOUT ROWS"), "invalid-query", "TIMEOUT ROWS", "TIMED_OUT()"),
    (timeout("TIMED_OUT()", "WITHIN 5 s"), "invalid-query", "TIMED_OUT", "TIMEOUT ROWS"),
    (timeout("TIMED_OUT(1)", "WITHIN 5 s TIMEOUT ROWS"), "invalid-query", "TIMED_OUT(1", None),
    (timeout("PREV(TIMED_OUT())", "WITHIN 5 s TIMEOUT ROWS"), "invalid-query", "TIMED_OUT", None),
    (timeout("TIMED_OUT()", "WITHIN 5 s TIMEOUT"), "syntax", ")", "TIMEOUT ROWS"),
    (
        timeout("TIMED_OUT()", "WITHIN 5 s TIMEOUT ROWS", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
        "invalid-query",
        "TIMEOUT ROWS",
        "one of the two",
    ),
    (define("TIMED_OUT()"), "invalid-query", "TIMED_OUT", None),
    # aggregates
    (define("sum(b.line) > 5"), "type-mismatch", "b.line", None),
    (define("avg(b.delay > 1) > 5"), "type-mismatch", "b.delay > 1", None),
    (define("stddev(b.ts) > 5"), "type-mismatch", "b.ts", None),
    (define("bool_and(b.delay)"), "type-mismatch", "b.delay", None),
    (define("sum(b.delay)"), "type-mismatch", "sum(b.delay", "compare"),
    (define("min(b.line) > 5"), "type-mismatch", "min(b.line) > 5", "cast"),
    (define("sum(a.delay + b.delay) > 5"), "invalid-query", "sum(a.delay + b.delay", "one variable"),
    (define("sum(b.delay + delay) > 5"), "invalid-query", "sum(b.delay + delay", "one variable"),
    (define("max_by(a.delay, b.bus) > 5"), "invalid-query", "a.delay, b.bus", "one variable"),
    (define("count(*) FILTER (WHERE b.bus > 1) > 5"), "invalid-query", "count(*) FILTER (WHERE b.bus > 1", "one"),
    (define("sum(max(b.delay)) > 5"), "invalid-query", "max(b.delay", None),
    (define("sum(LAST(b.delay)) > 5"), "invalid-query", "LAST(b.delay", None),
    (define("PREV(sum(b.delay)) > 5"), "invalid-query", "sum(b.delay", None),
    (
        define("LAST(b.delay) FILTER (WHERE b.bus > 1) > 5"),
        "invalid-query",
        "LAST(b.delay) FILTER (WHERE b.bus > 1",
        None,
    ),
    (define("count(TIMED_OUT()) > 5"), "not-supported-yet", "TIMED_OUT", None),
    (define("max(PREV(CLASSIFIER())) = 'A'"), "invalid-query", "PREV(CLASSIFIER", "alone"),
    (define("max(a.line || CLASSIFIER(b)) = 'A'"), "invalid-query", None, "one variable"),
    (define("array_agg(b.bus) > 1"), "invalid-query", "array_agg(b.bus) > 1", None),
    (define("corr(b.bus, b.line) > 0"), "type-mismatch", "b.line", "a number"),
    (define("count(DISTINCT b.bus, b.line) > 1"), "not-supported-yet", "count(DISTINCT b.bus, b.line", None),
    (define("min(b.tags) IS NULL"), "not-supported-yet", "b.tags", None),
    (define("count(DISTINCT b.tags) > 1"), "not-supported-yet", "b.tags", None),
    (define("sum(b.delay) OVER (ORDER BY ts) > 1"), "not-supported-yet", "sum(b.delay) OVER (ORDER BY ts", None),
    (define("sum(frobnicate(b.bus)) > 1"), "invalid-query", "frobnicate(b.bus", None),
    (
        measure("array_agg(DISTINCT a.bus ORDER BY a.delay)"),
        "not-supported-yet",
        "array_agg(DISTINCT a.bus ORDER BY a.delay",
        "array_sort",
    ),
    (measure("array_agg(a.bus) FILTER (WHERE a.delay)"), "type-mismatch", "a.delay", "compare"),
    (measure("min(a.delay, a.bus)"), "not-supported-yet", "a.bus", "the number itself"),
    (measure("min(a.delay, 0)"), "not-supported-yet", "0", "the number itself"),
    (measure("map_agg(a.bus)"), "invalid-query", "map_agg(a.bus", "one argument"),
    (measure("geometric_mean(a.line)"), "type-mismatch", "a.line", "a number"),
    (measure("bool_or(CLASSIFIER())"), "type-mismatch", None, "compare"),
    (measure("checksum(a.bus)"), "not-supported-yet", "checksum(a.bus", None),
    (measure("product(a.bus)"), "not-supported-yet", "product(a.bus", None),
    (measure("max(a.delay - random())"), "not-supported-yet", "random", None),
    # facts about the match
    (define("FINAL LAST(a.delay) > 1"), "invalid-query", "FINAL LAST(a.delay", "MEASURES"),
    (define("b.delay > FINAL sum(a.delay)"), "invalid-query", "FINAL sum(a.delay", "MEASURES"),
    (define("CLASSIFIER(a, b) = 'a'"), "invalid-query", "CLASSIFIER(a, b", "CLASSIFIER(b)"),
    (define("CLASSIFIER(a.bus) = 'a'"), "invalid-query", "CLASSIFIER(a.bus", "CLASSIFIER(b)"),
    (define("CLASSIFIER(x) = 'a'"), "unknown-variable", "x", "Known: A, B"),
    (define("CLASSIFIER() = 5"), "type-mismatch", "CLASSIFIER() = 5", "cast"),
    (define("MATCH_NUMBER() = 'a'"), "type-mismatch", "MATCH_NUMBER() = 'a'", "cast"),
    (define("PREV(MATCH_NUMBER()) = 1"), "invalid-query", "MATCH_NUMBER", None),
    (measure("LAST(MATCH_NUMBER())"), "invalid-query", "MATCH_NUMBER", None),
    # functions over several events
    (define("date_diff('month', a.ts, b.ts) > 1"), "not-supported-yet", "date_diff('month', a.ts, b.ts", "DATE_DIFF"),
    (define("sqrt(a.line) > 1"), "type-mismatch", "a.line", None),
    (define("round(a.delay, b.delay) > 1"), "type-mismatch", "b.delay", None),
    (define("date_diff('day', a.line, b.ts) > 1"), "type-mismatch", "a.line", None),
    (define("least(a.line, 3) = 'x'"), "type-mismatch", "least(a.line, 3", "cast"),
    # WINDOW
    (window("n OVER w"), "invalid-query", "n", "Known: m"),
    (window("m OVER x"), "invalid-query", "m OVER x", "Known: w"),
    (window("checksum(bus) OVER w"), "not-supported-yet", "checksum(bus", "nth_value"),
    (window("first_value(bus) IGNORE NULLS OVER w"), "not-supported-yet", "first_value(bus", "nth_value"),
    (window("nth_value(bus, 0) OVER w"), "invalid-query", "nth_value(bus, 0", None),
    (window("CLASSIFIER() OVER w"), "not-supported-yet", "CLASSIFIER", "measures"),
    (window("MATCH_NUMBER() OVER w"), "invalid-query", "MATCH_NUMBER", "MATCH_RECOGNIZE"),
    (window("sum(a.bus) OVER w"), "invalid-query", "a", "MEASURES"),
    (window("sum(line) OVER w"), "type-mismatch", "line", None),
    (window("sum(dely) OVER w"), "unknown-column", "dely", 'did you mean "delay"'),
    (window("m OVER w, sum(bus)"), "not-supported-yet", "sum(bus", "subquery"),
    (window("m OVER (w ORDER BY bus)"), "not-supported-yet", "m OVER (w ORDER BY bus", None),
    (window("DISTINCT m OVER w"), "not-supported-yet", "m OVER w", "subquery"),
    (window("m OVER w", tail="GROUP BY bus"), "not-supported-yet", "bus", "subquery"),
    (window("m OVER w", source="buses JOIN stops USING (bus)"), "not-supported-yet", "stops USING (bus", "subquery"),
    (window("m OVER w", source="buses WHERE m OVER w > 1"), "invalid-query", "m OVER w", "subquery"),
    (window("m OVER w", "^ a"), "invalid-query", "^", "frame"),
    (window("m OVER w", "a b NOT c"), "not-supported-yet", "NOT c", None),
    (window("m OVER w", "NOT c FOR 2 s a b"), "not-supported-yet", "NOT c FOR 2 s", "MATCH_RECOGNIZE"),
    (window("m OVER w", measures="MATCH_NUMBER() AS m"), "invalid-query", "MATCH_NUMBER", "MATCH_RECOGNIZE"),
    (window("m OVER w", measures="TIMED_OUT() AS m"), "invalid-query", "TIMED_OUT", None),
    (window("m OVER w", measures="a.ts AS m, a.ts AS M"), "invalid-query", "M", "AS"),
    (window("m OVER w", measures="a.delay + a.line AS m"), "invalid-query", "a.delay + a.line", None),
    (window("m OVER w", "a) DEFINE a AS (MATCH_NUMBER() = 1"), "invalid-query", "MATCH_NUMBER", "MATCH_RECOGNIZE"),
    (window("m OVER w", frame="RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"), "syntax", "RANGE", "ROWS"),
    (window("m OVER w", frame="ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING"), "syntax", "BETWEEN", "CURRENT ROW"),
    (window("m OVER w", frame="ROWS BETWEEN CURRENT ROW AND 1 PRECEDING"), "syntax", None, "FOLLOWING"),
    (window("m OVER w", frame="ROWS BETWEEN CURRENT ROW AND line FOLLOWING"), "type-mismatch", "line", "BIGINT"),
    (window("m OVER w", frame="ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING"), "syntax", None, "FOLLOWING"),
    (window("m OVER w", frame="ROWS UNBOUNDED FOLLOWING"), "syntax", "UNBOUNDED", "CURRENT ROW"),
    (window("m OVER w", frame=""), "syntax", "PATTERN", "ROWS BETWEEN CURRENT ROW"),
    (window("m OVER w", frame="ALL ROWS PER MATCH"), "syntax", "ALL", "one row for each row"),
    ("SELECT bus OVER w FROM buses WINDOW w AS (ORDER BY ts)", "invalid-query", "bus OVER w", "PATTERN"),
    # what is to come
    (define("b.delay > (SELECT max(delay) FROM buses WHERE bus = b.bus)"), "invalid-query", None, None),
    (define("b.delay > (SELECT max(delay) FROM buzes)"), "unknown-stream", "buzes", "buses"),
    (define("PREV(b.bus) IN (SELECT bus FROM stops)"), "not-supported-yet", None, "subquery of FROM"),
    (define("b.ts > now() - INTERVAL '1' DAY"), "not-supported-yet", "now", "a column or a literal"),
    (define("b.line.x = 1"), "invalid-query", "x", "only structs have fields"),
    (mr("PARTITION BY tags ORDER BY ts PATTERN (a)"), "not-supported-yet", "tags", None),
    (mr("PARTITION BY bus + 1 ORDER BY ts PATTERN (a)"), "not-supported-yet", "bus + 1", "subquery"),
    # SEQ: elements, absences, clauses
    (seq("a[1].bus = b.bus"), "invalid-query", "a[1]", "buses+ a[] in SEQ"),
    (seq("b[j].bus = 1", terms="buses a, buses+ b[]"), "invalid-query", "b[j]", "b[i-1]"),
    (seq("b[0].bus = 1", terms="buses a, buses+ b[]"), "invalid-query", "b[0]", "b[i-1]"),
    (seq("b[].bus = 1", terms="buses a, buses+ b[]"), "invalid-query", "b[].bus", "avg(b[].x)"),
    (seq("b[i-1].bus < c.bus", terms="buses+ b[], buses c"), "invalid-query", "b[i-1].bus", "b[last]"),
    (seq("avg(b[..i-1].bus) < c.bus", terms="buses+ b[], buses c"), "invalid-query", "avg(b[..i-1].bus", "b[last]"),
    (seq("b[i-1].dely > 1", terms="buses a, buses+ b[]"), "unknown-column", "dely", '"delay"'),
    (seq("x[i-1].bus > 1", terms="buses a, buses+ b[]"), "invalid-query", "x", None),
    (seq("avg(a.delay) > 1"), "invalid-query", "avg(a.delay", "avg(b[].x)"),
    (seq("count(*) > 1"), "invalid-query", "count(*", "avg(b[].x)"),
    (seq("sum(b[].line) > 1", terms="buses a, buses+ b[]"), "type-mismatch", "sum(b[].line", None),
    (seq("array_agg(b[].bus) IS NULL", terms="buses a, buses+ b[]"), "invalid-query", "array_agg(b[].bus", None),
    (seq("avg(b[].price) > 1", terms="buses a, buses+ b[]"), "not-supported-yet", "avg(b[].price", "DOUBLE"),
    (seq("upper(max(b[].line)) = 'X'", terms="buses a, buses+ b[]"), "not-supported-yet", "max(b[].line", "compare"),
    (seq("avg(b[].bus + a.bus) > 1", terms="buses a, buses+ b[]"), "invalid-query", "avg(b[].bus + a.bus", None),
    (seq("b.bus = c.bus", terms="buses a, ~buses b, ~buses c, buses d"), "invalid-query", "b.bus = c.bus", "there"),
    (seq("TRUE", "b[i].bus", terms="buses a, buses+ b[]"), "invalid-query", "b[i].bus", "b[last]"),
    (seq("TRUE", "avg(b[..i-1].bus) AS x", terms="buses a, buses+ b[]"), "invalid-query", "avg(b[..i-1].bus", "b[]"),
    (seq("TRUE", "b[] AS x", terms="buses a, buses+ b[]"), "invalid-query", "b[]", "aggregate"),
    (seq("TRUE", "b.bus", terms="buses a, ~buses b"), "invalid-query", "b.bus", None),
    (seq("TRUE", "TIMED_OUT() AS late"), "invalid-query", "TIMED_OUT", "TIMEOUT ROWS"),
    (seq("TRUE", tail="WITHIN 5 s TIMEOUT ROWS"), "invalid-query", "TIMEOUT ROWS", "TIMED_OUT()"),
    (
        seq("TRUE", "TIMED_OUT() AS late", tail="WITHIN 5 s TIMEOUT ROWS STRATEGY skip_till_any"),
        "not-supported-yet",
        "TIMEOUT ROWS",
        "skip_till_next",
    ),
    (seq("a.bus = b.bus", terms="buses a, ~buses b", tail=""), "invalid-within", "~buses b", "WITHIN"),
    (seq("a.bus = b.bus", terms="~buses b, buses a", tail=""), "invalid-within", "~buses b", "WITHIN"),
    (seq("TRUE", terms="~buses b"), "invalid-query", "~buses b", "without ~"),
    (
        seq("TRUE", terms="buses a, ~buses b", tail="WITHIN 5 s CONSUME MATCHED"),
        "not-supported-yet",
        "~buses b",
        "REUSE",
    ),
    # what the host's engine refuses
    (measure("frobnicate(a.line)"), "invalid-query", "frobnicate(a.line", None),
    (measure("a.delay + a.line"), "invalid-query", "a.delay + a.line", None),
    (define("frobnicate(b.line) = 1"), "invalid-query", "frobnicate(b.line", None),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a)", "frobnicate(t)"), "invalid-query", "frobnicate(t", None),
    (mr("ORDER BY ts MEASURES a.ts AS t, a.bus AS b PATTERN (a)", "t, sum(b)"), "invalid-query", "t", None),
    ("SELECT bus FROM buses JOIN stops ON TRUE", "invalid-query", "bus", None),
]


@pytest.mark.parametrize(("query", "code", "place", "hint"), QUERIES, ids=[query[0] for query in QUERIES])
def test_mistake_is_told_with_code_place_and_next_step(
    query: str, code: str, place: str | None, hint: str | None
) -> None:
    error, found = tell(query)
    assert error.code == code, str(error)
    assert found == place if place is not None else found, str(error)
    assert error.hint, str(error)
    assert hint is None or hint in error.hint, str(error)
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
    with pytest.raises(
        CepheidError, match=r'query "query" has changed .* it is now row_pattern_1: .* and was row_pattern_1:'
    ):
        cep.open(define("b.delay > 2"), buses=BUSES, snapshot=blob)


# --- state without end ------------------------------------------------------------------------------------


BOUNDED = [
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a NOT b c) WITHIN 5 s DEFINE b AS b.delay > 1"),
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN (PERMUTE(a, b) ^ c) DEFINE b AS b.delay > 1"),
    window("m OVER w", frame="ROWS BETWEEN CURRENT ROW AND 10 FOLLOWING"),
    window("m OVER w", frame="ROWS BETWEEN CURRENT ROW AND 10 FOLLOWING SEEK"),
    window("m OVER w", "a b{1,3}"),
    pattern("a b{1,5} c"),
    pattern("a b? c"),
    mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b* c) WITHIN 5 s"),
    seq("a.bus = b.bus"),
    seq("a.bus = b.bus", tail="STRATEGY strict"),
    seq("a.bus = b.bus", tail="STRATEGY partition_contiguity"),
    "SELECT a.bus FROM PATTERN SEQ(buses a)",
    seq("a.bus = b.bus", tail="LIMIT PARTIALS 5"),
]
BOUNDED_BY_DATA = [
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS b.delay > 1"), "B+ takes events for as long"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS sum(b.delay) < 100"), "B+ takes"),
    (
        mr("ORDER BY ts MEASURES A.ts AS t PATTERN (A D+ U+) DEFINE D AS D.delay < 1, U AS U.delay > PREV(U.delay)"),
        "D+ takes",
    ),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN ((a b)+ c) DEFINE b AS b.delay > 5"), "(A B)+ takes"),
    (seq("b.delay > 1", terms="buses a, buses+ b[], buses c", tail="STRATEGY strict"), "b[] takes"),
]
UNBOUNDED = [
    (pattern("a NOT b c"), "NOT B may pass over events for ever"),
    (pattern("a b $"), "$ waits for the end of the stream"),
    (pattern("a {- b* -} c"), "B* may take events for ever"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS sum(a.delay) < 100"), "B+ may take"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS MATCH_NUMBER() < 100"), "B+ may take"),
    (window("m OVER w"), "B+ may take events for ever"),
    (
        window("m OVER w", "a b", frame="ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING SEEK"),
        "PATTERN (A B) may be sought for ever",
    ),
    (pattern("a+ b"), "A+ may take events for ever"),
    (pattern("a b*? c"), "B*? may take events for ever"),
    (pattern("(a | b c){2,}"), "(A | B C){2,} may take events for ever"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS TRUE"), "B+ may"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b+ c) DEFINE b AS a.delay > FIRST(b.delay)"), "B+ may"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN ((a b?)+ c) DEFINE b AS b.delay > 5"), "(A B?)+ may"),
    (seq("a.bus = b.bus", tail=""), "SEQ(a, b) has no WITHIN"),
    (seq("a.bus = b.bus", tail="STRATEGY skip_till_any"), "SEQ(a, b) has no WITHIN"),
    (seq("TRUE", terms="buses a, buses+ b[]", tail="STRATEGY strict"), "b[] may take events for ever"),
    (seq("b.delay > 1", terms="buses a, buses+ b[]", tail="LIMIT PARTIALS 5"), "not how many events b[] takes"),
]


@pytest.mark.parametrize("query", BOUNDED)
def test_what_ends_by_itself_is_not_warned_of(query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cep.open(query, strict=True, buses=BUSES)


@pytest.mark.parametrize(("query", "reason"), BOUNDED_BY_DATA, ids=[query[0] for query in BOUNDED_BY_DATA])
def test_what_only_the_data_end_is_refused_when_strict(query: str, reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cep.open(query, buses=BUSES)
    with pytest.raises(UnboundedState, match=re.escape(reason)) as refused:
        cep.open(query, strict=True, buses=BUSES)
    assert "add WITHIN" in (refused.value.hint or "")


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


ON_STREAMS = [
    (mr("MEASURES a.ts AS t PATTERN (a)"), "invalid-order", "add ORDER BY ts"),
    (mr("ORDER BY line MEASURES a.ts AS t PATTERN (a)"), "invalid-order", "for instance ts"),
    (mr("ORDER BY ts DESC MEASURES a.ts AS t PATTERN (a)"), "not-supported-yet", "forward"),
    (mr("ORDER BY ts, line DESC MEASURES a.ts AS t PATTERN (a)"), "not-supported-yet", "whole numbers"),
    (mr("ORDER BY ts, bus, line DESC MEASURES a.ts AS t PATTERN (a)"), "not-supported-yet", "whole numbers"),
    (mr("ORDER BY ts NULLS FIRST MEASURES a.ts AS t PATTERN (a)"), "not-supported-yet", "leave it out"),
    (mr("ORDER BY delay + 1 MEASURES a.ts AS t PATTERN (a)"), "not-supported-yet", "subquery"),
    (define("b.delay > (SELECT max(delay) FROM buses)"), "not-supported-yet", None),
    (define("b.bus IN (SELECT bus FROM stops)"), "not-supported-yet", None),
]


@pytest.mark.parametrize(("query", "code", "hint"), ON_STREAMS)
def test_what_only_a_whole_table_can_tell_is_refused_on_streams(query: str, code: str, hint: str | None) -> None:
    with pytest.raises(CepheidError) as caught:
        cep.open(query, buses=BUSES, stops=STOPS)
    assert caught.value.code == code, str(caught.value)
    assert hint is None or hint in caught.value.hint
