"""Mistakes in queries: each is told with the place it is at, and nearly each with a next step."""

from __future__ import annotations

import pytest

from cepheid.errors import CepheidError, SyntaxProblem
from cepheid.language.parsing.interval_parser import scale_unit
from cepheid.language.parsing.parser import parse_query


def read_problem(text: str) -> tuple[CepheidError, str]:
    """The problem in the text, and the part of the text that its span covers."""
    with pytest.raises(CepheidError) as caught:
        parse_query(text)
    span = caught.value.span
    assert span is not None
    assert caught.value.text == text
    return caught.value, text[span.start : span.end]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "the query is empty"),
        (" ; ; ", " ; ; ", "the query is empty"),
        ("-- nothing", "-- nothing", "the query is empty"),
        ("INSERT INTO x SELECT 1", "INSERT", '"INSERT" does not start a query'),
        ("DROP TABLE x", "DROP", '"DROP" does not start a query'),
        ("SHOW TABLES", "SHOW", '"SHOW" does not start a query'),
        ("1 + 1", "1", '"1" does not start a query'),
        ("(1)", "(1)", "this is not a query"),
        ("WITH x AS (DELETE FROM t) SELECT 1", "DELETE", '"DELETE" does not start a query'),
        ("SELECT * INTO x FROM t", "INTO", "INTO would create a table"),
        ("SELECT 1; SELECT 2;", "SELECT 2", "there is more than one statement"),
        ("SELECT 'abc", "'", "the quote ' is never closed"),
        ("SELECT 1 /* abc", "/*", "the comment /* is never closed"),
    ],
)
def test_only_one_closed_query_is_read(text: str, place: str, message: str) -> None:
    problem, found = read_problem(text)
    assert isinstance(problem, SyntaxProblem)
    assert (problem.message, found) == (message, place)
    assert problem.hint


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("SELECT * FROM t WHERE", "", "something is missing at the end of the query"),
        ("SELECT * FROM t WHERE (x > 1", "", 'expected ")" at the end of the query'),
        ("SELECT * FROM t WHERE x > ) 1", ")", 'something is missing before ")"'),
        ("SELECT * FROM t 1", "1", 'unexpected "1"'),
        ("SELECT FROM t", "FROM", 'expected a column before "FROM"'),
        ("SELECT * FROM a, (SELECT x FROM ) b", ")", 'expected table name before ")"'),
        ("SELECT x'zz'", "SELECT x'zz", "the text cannot be split into words"),
        ("SELECT " + "(" * 5000, "SELECT " + "(" * 5000, "the query is nested too deeply"),
    ],
)
def test_mistakes_found_by_sqlglot_are_told_in_our_words(text: str, place: str, message: str) -> None:
    problem, found = read_problem(text)
    assert isinstance(problem, SyntaxProblem)
    assert (problem.message, found) == (message, place)


@pytest.mark.parametrize(
    ("body", "place", "message"),
    [
        ("", ")", 'expected PATTERN before ")"'),
        ("DEFINE a AS true", "DEFINE", 'expected PATTERN before "DEFINE"'),
        (
            "PATTERN (a) MEASURES a.x AS x",
            "MEASURES",
            '"MEASURES" stands at the wrong place in MATCH_RECOGNIZE',
        ),
        ("PATTERN (a) WITHIN 1 s SUBSET u = (a) WITHIN 1 s", "WITHIN", "*"),
        ("PATTERN (a) DEFIN a AS true", "DEFIN", 'expected ")" before "DEFIN"'),
        ("MEASURES a.x PATTERN (a)", "PATTERN", 'expected AS before "PATTERN"'),
        ("MEASURES a.x AS PATTERN (a)", "(", "*"),
        ("MEASURES 1 AS x, PATTERN (a)", ")", 'expected AS before ")"'),
        ("ORDER BY PATTERN (a)", ")", "*"),
        ("ONE ROW MATCH PATTERN (a)", "ROW", 'expected ROW PER MATCH before "ROW"'),
        ("AFTER MATCH SKIP PATTERN (a)", "PATTERN", 'expected TO before "PATTERN"'),
        ("AFTER MATCH SKIP TO FIRST 1 PATTERN (a)", "1", 'expected a pattern variable before "1"'),
        ("PATTERN a", "a", 'expected "(" before "a"'),
        ("PATTERN (a) SUBSET u (a)", "(", 'expected "=" before "("'),
        ("PATTERN (a) SUBSET u = (a, )", ")", 'expected a pattern variable before ")"'),
        ("PATTERN (a) DEFINE a AS ", ")", 'expected a condition before ")"'),
        ("PATTERN (a) DEFINE a AS a.x > ", ")", 'something is missing before ")"'),
        ("PATTERN (a) DEFINE a AS true,", ")", 'expected a pattern variable before ")"'),
        ("PATTERN (a) DEFINE a true", "true", 'expected AS before "true"'),
    ],
)
def test_mistakes_in_match_recognize(body: str, place: str, message: str) -> None:
    problem, found = read_problem(f"SELECT * FROM t, u MATCH_RECOGNIZE ({body}) AS m")
    assert found == place
    assert message in ("*", problem.message)


@pytest.mark.parametrize(
    ("body", "place", "message"),
    [
        ("()", ")", 'expected a stream before ")"'),
        ("(bids a", "", 'expected ")" at the end of the query'),
        ("(bids, bids b)", ",", 'expected a variable for stream "bids" before ","'),
        ("(bids a,)", ")", 'expected a stream before ")"'),
        ("(bids* *)", "*", 'expected a variable for stream "bids" before "*"'),
        ("(bids{} a)", "}", 'expected a number of events before "}"'),
        ("(bids{3,2} a)", "{3,2}", "no events can be so many"),
        ("(bids{,0} a)", "{,0}", "no events can be so many"),
        ("(bids{1.5} a)", "1.5", '"1.5" is not a number of events'),
        ("(bids{100000} a)", "100000", '"100000" is not a number of events'),
        ("(bids{2 a)", "a", 'expected "}" before "a"'),
        ("(bids a GREEDY)", "GREEDY", "this is about events that are repeated"),
        ("(bids a UNTIL bids u)", "UNTIL bids u", "this is about events that are repeated"),
        ("(bids+ a[] UNTIL bids+ u[])", "bids+ u[]", "one event ends it"),
        ("(bids a FOLLOWED bids b)", "bids", 'expected BY before "bids"'),
        ("(bids a NEXT)", ")", 'expected a stream before ")"'),
        ("(bids a NOT NEXT bids b FOR 2 s)", "FOR 2 s", "NOT NEXT is about one event, not about a time"),
        ("(bids a, EVERY ~bids b)", "EVERY ~bids b", "EVERY of an absence needs FOR"),
        ("(bids a, ~bids b FOR)", ")", 'expected an interval before ")"'),
        ("(bids a, ~bids b FOR 2 fortnights)", "2 fortnights", '"fortnights" is not a unit of time'),
        ("(bids a) LIMIT PARTIALS 5 ONCE", "ONCE", '"ONCE" stands at the wrong place in PATTERN SEQ'),
        ("(bids a[])", "[]", '"[]" needs a repeated stream'),
        ("(bids+ a[1])", "1", 'expected "]" before "1"'),
        ("(~bids+ b[])", "~bids+ b[]", "a negated term cannot be repeated"),
        ("(~(bids b)", "", 'expected ")" at the end of the query'),
        ("(bids a) WHERE WITHIN 5 s", "5", "*"),
        ("(bids a) WITHIN 5 s WHERE a.x > 1", "WHERE", '"WHERE" stands at the wrong place in PATTERN SEQ'),
        (
            "(bids a) STRATEGY strict WITHIN 5 s",
            "WITHIN",
            '"WITHIN" stands at the wrong place in PATTERN SEQ',
        ),
        ("(bids a) STRATEGY skip_til_any", "skip_til_any", 'strategy "skip_til_any" does not exist'),
        ("(bids a) STRATEGY", "", "expected a strategy at the end of the query"),
        ("(bids a) AS p", "AS", 'unexpected "AS"'),
        ("((bids a bids b))", "bids", 'expected "|", "&", "," or ")" before "bids"'),
        ("((bids a & (bids b, bids c)))", "(bids b, bids c)", "a group cannot stand in a group with &"),
        ("((bids a | bids b & bids c))", "(bids a | bids b &", '"|" and "&" cannot be mixed in one group'),
        ("((bids a | ~bids b))", "~bids b", "a negated term in a group with | needs FOR"),
        ("((bids a & bids+ b[]))", "bids+ b[]", "a repeated term cannot stand in a group with &"),
        ("(bids a) TIMEOUT 5", "5", 'expected ROWS before "5"'),
        ("(bids a) CONSUME ALL", "ALL", 'expected MATCHED before "ALL"'),
        ("(bids a) LIMIT PARTIALS x", "x", 'expected a number of partial matches before "x"'),
        ("(bids a) LIMIT PARTIALS 0", "0", '"0" is not a number of partial matches'),
        ("(bids a) LIMIT PARTIALS 5 DROP NEWEST", "NEWEST", 'expected OLDEST before "NEWEST"'),
        ("(bids a) LIMIT PARTIALS 5 CONSUME MATCHED", "CONSUME", '"CONSUME" stands at the wrong place in PATTERN SEQ'),
        ("(bids a) STRATEGY strict TIMEOUT ROWS", "TIMEOUT", '"TIMEOUT" stands at the wrong place in PATTERN SEQ'),
    ],
)
def test_mistakes_in_sequences(body: str, place: str, message: str) -> None:
    problem, found = read_problem(f"SELECT * FROM PATTERN SEQ{body}")
    assert found == place
    assert message in ("*", problem.message)


@pytest.mark.parametrize(("written", "nulls_first"), [("NULLS FIRST", True), ("DESC NULLS LAST", False), ("", None)])
def test_order_of_nulls_is_read_and_not_forgotten(written: str, nulls_first: bool | None) -> None:
    """Tables obey it (golden: rows_order_backwards), streams refuse it (test_bad_input.py)."""
    (clause,) = parse_query(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts {written} PATTERN (a))").clauses
    assert [term.nulls_first for term in clause.order_by] == [nulls_first]


def test_misspelt_words_are_corrected() -> None:
    assert "DEFINE" in str(read_problem("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFIN a AS true)")[0])
    assert 'did you mean "skip_till_any"' in str(
        read_problem("SELECT * FROM PATTERN SEQ(s a) STRATEGY skip_til_any")[0]
    )


def test_error_shows_the_line() -> None:
    problem, _ = read_problem("SELECT *\nFROM t MATCH_RECOGNIZE (\n  PATTERN (a{3,2}))")
    assert "--> query:3:13\n3 |   PATTERN (a{3,2}))\n  |             ^^^^^" in str(problem)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("INTERVAL '1' MONTH", "'1' MONTH", '"MONTH" has no fixed length'),
        ("2 years", "2 years", '"years" has no fixed length'),
        ("5 sconds", "5 sconds", '"sconds" is not a unit of time'),
        ("INTERVAL 'soon'", "'soon'", '"soon" is not an interval'),
        ("INTERVAL ''", "''", '"" is not an interval'),
        ("0.1 us", "0.1 us", "the interval is finer than a microsecond"),
        ("1e99999 s", "1e99999 s", "the interval is too long"),
        ("-999999999.5 d", "-999999999.5 d", "the interval is too long"),
        (
            "1e99999999999999999999 s",
            "1e99999999999999999999 s",
            '"1e99999999999999999999" is not an amount of time',
        ),
        ("", ")", 'expected an interval before ")"'),
        ("INTERVAL 5", ")", 'expected a unit of time before ")"'),
        ("a.x", "a", 'expected an interval before "a"'),
    ],
)
def test_mistakes_in_intervals(text: str, place: str, message: str) -> None:
    problem, found = read_problem(f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) WITHIN {text})")
    assert (problem.message, found) == (message, place)
    assert problem.hint


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "ten"])
def test_only_numbers_are_amounts_of_time(amount: str) -> None:
    with pytest.raises(SyntaxProblem):
        scale_unit(amount, "second", None)
