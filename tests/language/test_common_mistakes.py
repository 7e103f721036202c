"""Mistakes that people make who come from other systems, or from another line: the code, the place, the next step.

Of Flink, Trino, Siddhi, Esper, Spark: clauses in another order, marks of another language, units, quotes, and what a
text processor makes of a query.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
from test_bad_input import define, mr, pattern, tell

QUERIES: list[tuple[str, str, str | None, str]] = [
    # the order of clauses
    (
        mr("ORDER BY ts PARTITION BY bus PATTERN (a b)"),
        "syntax",
        "PARTITION BY",
        "the order is PARTITION BY, ORDER BY,",
    ),
    (mr("ORDER BY ts PATTERN (a b) MEASURES a.ts AS t"), "syntax", "MEASURES", "the order is PARTITION BY, ORDER BY,"),
    (
        mr("ORDER BY ts DEFINE b AS b.delay > 1 PATTERN (a b)"),
        "syntax",
        "DEFINE",
        "the order is PARTITION BY, ORDER BY,",
    ),
    (
        mr("ORDER BY ts AFTER MATCH SKIP PAST LAST ROW ONE ROW PER MATCH PATTERN (a b)"),
        "syntax",
        "ONE",
        "the order is PARTITION BY, ORDER BY,",
    ),
    (
        mr("ORDER BY ts PATTERN (a b) DEFINE b AS b.delay > 1 AFTER MATCH SKIP PAST LAST ROW"),
        "syntax",
        "AFTER",
        "the order is PARTITION BY, ORDER BY,",
    ),
    (
        mr("ORDER BY ts MEASURES a.ts AS t LIMIT 5 PATTERN (a b)"),
        "syntax",
        "LIMIT",
        "Known: PARTITION BY, ORDER BY, MEASURES,",
    ),
    (
        "SELECT a.bus FROM PATTERN SEQ(buses a, buses b) WITHIN 5 s WHERE a.bus = b.bus",
        "syntax",
        "WHERE",
        "the order is ORDER BY, WHERE, WITHIN,",
    ),
    (
        "SELECT count(*) AS n FROM buses WHERE delay > 1 [ROWS 10]",
        "syntax",
        "10",
        "write that there, or finish what stands in",
    ),
    # measures
    (
        mr("ORDER BY ts MEASURES a.ts, b.ts PATTERN (a b)"),
        "syntax",
        ",",
        "each measure has a name: LAST(a.x) AS last_x",
    ),
    (mr("ORDER BY ts MEASURES AS t PATTERN (a b)"), "syntax", "AS", "each measure has a name: LAST(a.x) AS last_x"),
    (
        mr("ORDER BY ts MEASURES a.ts AS t a.bus AS u PATTERN (a b)"),
        "syntax",
        "a",
        "Known: PARTITION BY, ORDER BY, MEASURES,",
    ),
    (mr("ORDER BY ts MEASURES t AS a.ts PATTERN (a b)"), "syntax", ".", "the order is PARTITION BY, ORDER BY,"),
    (
        mr("ORDER BY ts MEASURES LAST(a.delay, -1) AS m PATTERN (a b)"),
        "invalid-query",
        "1",
        "write the number itself, as in PREV(b.x, 2)",
    ),
    (
        mr("ORDER BY ts MEASURES PREV(a.delay, a.bus) AS m PATTERN (a b)"),
        "invalid-query",
        "a.bus",
        "write the number itself, as in PREV(b.x, 2)",
    ),
    (
        mr("ORDER BY ts MEASURES LAST(a.delay, 99999999999) AS m PATTERN (a b)"),
        "invalid-query",
        "99999999999",
        "at most 1000000000 rows",
    ),
    (
        mr("ORDER BY ts MEASURES element_at(a.tags) AS m PATTERN (a b)"),
        "syntax",
        ")",
        "in front of it, a comma, an operator or a",
    ),
    (
        mr("ORDER BY ts MEASURES median(*) AS m PATTERN (a b)"),
        "invalid-query",
        "*",
        "name one column instead of *",
    ),
    # conditions
    (define("b.delay > 1 && b.bus = 2"), "syntax", "&&", "write AND"),
    (define("b.delay => 5"), "syntax", "=>", "write >= for at least"),
    (define("b.delay =< 5"), "syntax", ")", "in front of it, a comma, an operator or a"),
    (define("b.line = \u201cx\u201d"), "syntax", "\u201c", 'write " instead'),
    (define("b.line = \u2018x\u2019"), "syntax", "\u2018", "write ' instead"),
    (define("b.delay \u2265 5"), "syntax", "\u2265", "write >= instead"),
    (define("b.delay > 1\u200b"), "syntax", "\u200b", "remove it, or write the line again"),
    (define('b.line = "late"'), "unknown-column", '"late"', "text stands in single quotes, 'late'; else"),
    (define("b.delay > 1,"), "syntax", ")", "write DEFINE a AS a.x > 0"),
    (define("b.line LIKE 5"), "invalid-query", "b.line LIKE 5", "cast one side to the other's type"),
    (define("b.ts > a.ts + 5"), "type-mismatch", "a.ts + 5", "write b.ts - a.ts, or b.ts + INTERVAL '5'"),
    (define("b.ts > '5 minutes ago'"), "type-mismatch", "b.ts > '5 minutes ago'", "write it as 2026-01-31 06:00:00"),
    (define("b.delay BETWEEN 1"), "syntax", ")", "in front of it, a comma, an operator or a"),
    (define("lenght(b.line) > 1"), "invalid-query", "lenght(b.line", 'did you mean "length"?'),
    (define("every() = 1"), "invalid-query", "every", "write every(b.x > 0)"),
    (mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b) DEFINE b.delay > 1"), "syntax", ".", "write DEFINE a AS a.x > 0"),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b) DEFINE b = b.delay > 1"),
        "syntax",
        "=",
        "write DEFINE a AS a.x > 0",
    ),
    (
        mr("ORDER BY ts MEASURES a.ts AS t PATTERN (a b) DEFINE a AS a.delay > 1 b AS b.delay > 1"),
        "syntax",
        "b",
        "Known: PARTITION BY, ORDER BY, MEASURES,",
    ),
    # patterns
    (pattern("a, b"), "syntax", ",", "variables that follow one another stand side"),
    (pattern("a -> b"), "syntax", "-", "variables that follow one another stand side"),
    (pattern("a && b"), "syntax", "&", "variables that follow one another stand side"),
    (pattern("!a b"), "syntax", "!", "write NOT a, for no event like a"),
    (pattern("a b**"), "syntax", "*", "quantifiers are * + ? {n} {n,} {,m} {n,m};"),
    (pattern("a b{1.5}"), "syntax", "{", "quantifiers are * + ? {n} {n,} {,m} {n,m};"),
    (pattern("a | | b"), "syntax", "|", "the empty pattern is written ()"),
    (pattern("a 'b'"), "syntax", "'b'", "quantifiers are * + ? {n} {n,} {,m} {n,m};"),
    (pattern("a.b c"), "syntax", ".", "quantifiers are * + ? {n} {n,} {,m} {n,m};"),
    (pattern("a{9999999999}"), "syntax", "{9999999999}", "bounds have at most 9 digits"),
    (pattern("a WITHIN 5 s"), "syntax", "5", "quantifiers are * + ? {n} {n,} {,m} {n,m};"),
    (pattern("a b{2,99999}"), "invalid-query", None, "use * or + instead"),
    (pattern("a PERMUTE(" + ", ".join(f"b{n}" for n in range(20)) + ")"), "invalid-query", None, "PERMUTE of fewer"),
    # time
    (
        mr("ORDER BY ts PATTERN (a b) WITHIN INTERVAL '10' MINUTS"),
        "syntax",
        "'10' MINUTS",
        'did you mean "minutes"? Known: microseconds,',
    ),
    (
        mr("ORDER BY ts PATTERN (a b) WITHIN INTERVAL '1:30' HOUR TO SECOND"),
        "syntax",
        "'1:30' HOUR TO SECOND",
        "write for example INTERVAL '1 02:30:00' DAY TO SECOND",
    ),
    (
        mr("ORDER BY ts PATTERN (a b) WITHIN INTERVAL '1:30'"),
        "syntax",
        "'1:30'",
        "write for example INTERVAL '10' SECOND, or",
    ),
    (mr("ORDER BY ts PATTERN (a b) WITHIN (5 SECONDS)"), "syntax", "(", "write for example INTERVAL '10' SECOND, or"),
    (
        mr("ORDER BY ts PATTERN (a b) WITHIN delay SECONDS"),
        "syntax",
        "delay",
        "write for example INTERVAL '10' SECOND, or",
    ),
    (
        mr("ORDER BY ts AFTER MATCH SKIP LAST ROW PATTERN (a b)"),
        "syntax",
        "LAST",
        "write PAST LAST ROW, TO NEXT ROW, TO FIRST",
    ),
    (mr("ORDER BY ts AFTER MATCH SKIP TO FIRST ROW PATTERN (a b)"), "unknown-variable", "ROW", "Known: "),
    # windows
    ("SELECT count(*) AS n FROM buses [10 ROWS]", "syntax", "10", "write [ROWS 500], [ROWS 500 SLIDE 100],"),
    (
        "SELECT count(*) AS n FROM buses [ROWS 10 SECONDS]",
        "syntax",
        "SECONDS",
        "write [ROWS 500], [ROWS 500 SLIDE 100],",
    ),
    (
        "SELECT count(*) AS n FROM buses [RANGE 10 ROWS]",
        "syntax",
        "10 ROWS",
        "Known: microseconds, milliseconds, seconds,",
    ),
    ("SELECT count(*) AS n FROM buses [LAST 5 SECONDS]", "syntax", "LAST", "write [ROWS 500], [ROWS 500 SLIDE 100],"),
    (
        "SELECT count(*) AS n FROM buses [RANGE 100 DAYS SLIDE 1 MS]",
        "invalid-window",
        "1 MS",
        "make the slide longer, or leave it out: then",
    ),
    (
        "SELECT count(*) AS n FROM buses [ROWS 5] WHERE bus",
        "type-mismatch",
        "bus",
        "compare it with something: WHERE x > 0",
    ),
    (
        "SELECT max(bus, 9223372036854775808) AS n FROM buses [ROWS 5]",
        "invalid-query",
        "9223372036854775808",
        "for example max(x, 3)",
    ),
    (
        "SELECT median(DISTINCT bus) AS n FROM buses [ROWS 5]",
        "not-supported-yet",
        "median(DISTINCT bus",
        "write MEDIAN of a column, without DISTINCT",
    ),
    ("SELECT count(*) AS n FROM buses#window.length(5)", "syntax", "#", "a comment begins with --, or stands between"),
    (
        "SELECT max(b[].bus, 2) AS m FROM PATTERN SEQ(buses a, buses+ b[]) WITHIN 5 s",
        "invalid-query",
        "max(b[].bus, 2",
        "write max(b[].x)",
    ),
    (
        "SELECT min_by(b[].bus, b[].delay, 2) AS m FROM PATTERN SEQ(buses a, buses+ b[]) WITHIN 5 s",
        "invalid-query",
        "b[].bus, b[].delay, 2",
        "b[].y",
    ),
    (
        "SELECT a.bus FROM PATTERN SEQ(buses a, buses b) WHERE a.x.y.z = 1 WITHIN 5 s",
        "unknown-variable",
        None,
        "Known: a, b",
    ),
    ("SELECT mean(bus) AS m FROM buses [ROWS 5]", "invalid-query", "mean(bus", "aggregate with OVER"),
    (define("mean(b.delay) > 1"), "invalid-query", "mean(b.delay", "aggregate with OVER"),
    ("SELECT count(DISTINCT) AS n FROM buses [ROWS 5]", "invalid-query", "count", "write COUNT(DISTINCT x)"),
    (
        "SELECT a.ts AS at FROM PATTERN SEQ(buses a, buses b) WITHIN 5 s [ROWS 5]",
        "invalid-query",
        "PATTERN SEQ(buses a, buses b) WITHIN 5 s",
        "put it into a subquery",
    ),
    # names and words
    (
        'SELECT bus FROM buses WHERE line = "late"',
        "unknown-column",
        '"late"',
        "text stands in single quotes, 'late'; else",
    ),
    ("SELECT bus FORM buses", "syntax", "buses", 'did you mean FROM instead of "FORM"?'),
    ("SELECT TOP 5 bus FROM buses", "syntax", "5", "write LIMIT at the end of the query"),
    ("SELECT bus line delay FROM buses", "syntax", "delay", "in front of it, a comma, an operator or a"),
    ("SELECT x.bus FROM buses b", "invalid-query", "x", "Known: b"),
    ("SELECT order FROM buses", "unknown-column", "order", "Known: ts, bus, delay, line, price, tags"),
    ("SELECT bus FROM kafka.buses", "unknown-stream", "buses", 'did you mean "buses"? Known: buses, stops'),
    ("SELECT bus, rowtime FROM buses", "unknown-column", "rowtime", "Known: ts, bus, delay, line, price, tags"),
    ("SELECT bus FROM buses; DROP TABLE buses", "syntax", "DROP TABLE buses", "run the statements one by one"),
    ("SELECT bus FROM buses # all", "syntax", "#", "a comment begins with --, or stands between"),
    ("SELECT bus\x00 FROM buses", "syntax", "\x00", "remove it, or write the line again"),
    # what the host refuses
    (
        "SELECT bus FROM buses WHERE sum(delay) > 1",
        "invalid-query",
        "sum(delay",
        "use HAVING, or aggregate in a subquery first",
    ),
    (
        "SELECT bus FROM buses JOIN stops USING (line)",
        "invalid-query",
        "line",
        "DuckDB runs this part of the query: write it",
    ),
    (
        "SELECT bus FROM buses UNION SELECT bus, line FROM buses",
        "invalid-query",
        "bus, line FROM buses",
        "select as many columns on both sides, of the",
    ),
    (
        "SELECT bus[1] AS x FROM buses",
        "invalid-query",
        "bus[1] AS x FROM buses",
        "it takes for instance array_extract(list",
    ),
    ("SELECT upper(line, 1) AS x FROM buses", "syntax", ")", "leave some of them out: the function takes"),
    ("SELECT CAST(line AS integr) AS x FROM buses", "syntax", "integr", "types are BIGINT, DOUBLE, DECIMAL(10, 2),"),
    ("SELECT uper(line) AS x FROM buses", "invalid-query", "uper(line", 'did you mean "upper"?'),
    (
        "SELECT random(5) AS x FROM buses",
        "invalid-query",
        "random(5) AS x FROM buses",
        "write it in another way, or leave it out",
    ),
    # too deep and too long
    (define("b.delay > " + " + ".join(["a.delay"] * 300)), "syntax", "a", "name inner queries in WITH, compute a part"),
    (define("NOT " * 300 + "b.delay > 1"), "syntax", None, "name inner queries in WITH, compute a part"),
    (
        "SELECT bus FROM (" * 100 + "SELECT bus FROM buses" + ")" * 100,
        "syntax",
        None,
        "name inner queries in WITH, compute a part",
    ),
    ("SELECT CONCAT(DISTINCT bus) AS x FROM buses", "invalid-query", "CONCAT(DISTINCT bus", "leave DISTINCT out"),
    (
        mr("ORDER BY ts MEASURES a.ts AS m PATTERN (a b) DEFINE b AS b.bus > COALESCE(DISTINCT delay)"),
        "invalid-query",
        "COALESCE(DISTINCT delay",
        "leave DISTINCT out",
    ),
    (
        "SELECT " + "NOT " * 30 + "bus AS x FROM buses",
        "syntax",
        "bus",
        "name inner queries in WITH, compute a part",
    ),
    (
        "SELECT " + "ROW(" * 30 + "bus" + ")" * 30 + " AS x FROM buses",
        "syntax",
        ")",
        "name inner queries in WITH, compute a part",
    ),
]


@pytest.mark.parametrize(("query", "code", "place", "hint"), QUERIES, ids=[query[0][:120] for query in QUERIES])
def test_mistake_is_told_with_code_place_and_next_step(query: str, code: str, place: str | None, hint: str) -> None:
    """place: None where it is a large part of a long query."""
    error, found = tell(query)
    assert error.code == code, str(error)
    assert found is not None, str(error)
    assert place is None or found == place, str(error)
    assert hint in (error.hint or ""), str(error)
    assert max(map(len, str(error).splitlines())) < 500, "a long line of the query is not shown whole"


def test_a_long_line_is_shown_around_the_mistake() -> None:
    error, found = tell("SELECT " + ", ".join(f"bus AS bus_{number}" for number in range(200)) + ", dely FROM buses")
    assert found == "dely"
    shown, carets = str(error).splitlines()[2:4]
    assert shown[carets.index("^") :].startswith("dely")
    assert "..." in shown


def test_chains_of_conditions_may_be_long() -> None:
    import pyarrow as pa

    import cepheid as cep

    events = pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "x": [5, 150]})
    either = " OR ".join(f"b.x = a.x + {number}" for number in range(200))
    one_of = ", ".join(map(str, range(300)))
    query = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES b.x AS x PATTERN (a b) DEFINE b AS ({either}) AND "
    assert cep.sql(f"{query} b.x IN ({one_of}))", t=events).to_pylist() == [{"x": 150}]
    assert cep.sql(f"{query} b.x NOT IN ({one_of}))", t=events).num_rows == 0
    chained = " + ".join(["x"] * 90)
    assert cep.sql(f"SELECT {chained} AS s FROM t", t=events).column("s").to_pylist() == [450, 13500]
