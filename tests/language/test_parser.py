"""The parser: what each construct becomes, and where it stands."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from sqlglot import exp

from cepheid.errors import CepheidError, Span
from cepheid.kernel.pattern import list_terms, show_pattern
from cepheid.language.parsing.parser import parse_query, span_of
from cepheid.language.parsing.syntax import (
    MatchRecognizeClause,
    Name,
    ParsedQuery,
    PartialLimit,
    PatternWindowClause,
    SequenceClause,
    Subset,
    TermGroup,
    Within,
)

FULL = """SELECT m.first_x, m.n -- a comment
FROM buses AS b MATCH_RECOGNIZE (
  PARTITION BY bus, b.line ORDER BY ts DESC, time
  MEASURES FINAL LAST(a.x, 2) AS first_x, count(a.*) AS n
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO FIRST d
  PATTERN (^ a b+? (c | d{2,3}?)?? {- "E x"* -} PERMUTE(f, g h) | $) /* ( */
  SUBSET u = (a, b), v = (c)
  WITHIN INTERVAL '1.5' MINUTE
  DEFINE a AS PREV(a.x) > 3, b AS b.x BETWEEN 1 AND RUNNING LAST(a.x)
) AS m(first_x, n) JOIN lines AS l ON m.n = l.n WHERE first_x > 2 ORDER BY 1 LIMIT 3"""

SASE = """SELECT a.id, a.ts AS first_ts, b.ts AS last_ts
FROM PATTERN SEQ(bids a, bids+ b[], ~cancels c, ~(stops s), bids d) ORDER BY ts
WHERE a.id = b.id AND b.a1 > 99.9
WITHIN INTERVAL '10' SECOND
STRATEGY skip_till_any
GROUP BY a.id HAVING count(*) > 1 ORDER BY 1 LIMIT 2"""

NESTED = """WITH w AS (SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a)))
SELECT * FROM (SELECT * FROM w MATCH_RECOGNIZE (PATTERN (b)) AS i) AS s MATCH_RECOGNIZE (PATTERN (c)) AS o
JOIN (VALUES (1, 2), (3, 4)) AS v(id, x) MATCH_RECOGNIZE (ORDER BY id PATTERN (d)) ON true,
PATTERN SEQ(e x, f y) WITHIN 5 s"""

WINDOWS = """SELECT id, m OVER w, 1 + count(*) OVER w AS n, rank() OVER v, first_value(y.x) OVER (
  ORDER BY ts ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING PATTERN (a)) AS f
FROM t AS y WHERE x > 0
WINDOW v AS (ORDER BY x), w AS (
  PARTITION BY k ORDER BY ts MEASURES LAST(b.x) AS m ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
  AFTER MATCH SKIP TO NEXT ROW SEEK PATTERN (a NOT c b+) WITHIN 5 s SUBSET u = (a, b) DEFINE b AS b.x > avg(u.x))
ORDER BY m OVER w LIMIT 3"""

LONG_QUERIES = [FULL, SASE, NESTED, WINDOWS]


def match_recognize(body: str) -> MatchRecognizeClause:
    clause = parse_query(f"SELECT * FROM t MATCH_RECOGNIZE ({body})").clauses[0]
    assert isinstance(clause, MatchRecognizeClause)
    return clause


def sequence(body: str) -> SequenceClause:
    clause = parse_query(f"SELECT * FROM PATTERN SEQ{body}").clauses[0]
    assert isinstance(clause, SequenceClause)
    return clause


def cut(text: str, span: Span | None) -> str:
    assert span is not None
    return text[span.start : span.end]


# --- MATCH_RECOGNIZE ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full() -> ParsedQuery:
    return parse_query(FULL)


@pytest.fixture(scope="module")
def full_clause(full: ParsedQuery) -> MatchRecognizeClause:
    clause = full.clauses[0]
    assert isinstance(clause, MatchRecognizeClause)
    return clause


def test_clause_is_replaced_by_a_table_that_keeps_the_alias(full: ParsedQuery) -> None:
    assert full.relation.sql("trino", comments=False) == (
        "SELECT m.first_x, m.n FROM _cep_1 AS m(first_x, n) JOIN lines AS l ON m.n = l.n "
        "WHERE first_x > 2 ORDER BY 1 LIMIT 3"
    )


def test_every_part_of_match_recognize_is_read(full_clause: MatchRecognizeClause) -> None:
    clause = full_clause
    assert clause.source.sql() == "buses AS b"
    assert [key.sql() for key in clause.partition_by] == ["bus", "b.line"]
    assert [(term.expression.sql(), term.descending) for term in clause.order_by] == [
        ("ts", True),
        ("time", False),
    ]
    assert [(measure.name.text, measure.semantics) for measure in clause.measures] == [
        ("first_x", "final"),
        ("n", None),
    ]
    assert (clause.rows_per_match, clause.empty_matches) == ("all", "with_unmatched")
    assert (clause.after_match.kind, clause.after_match.variable) == ("to_first", Name("d"))
    assert clause.subsets == (Subset(Name("u"), (Name("a"), Name("b"))), Subset(Name("v"), (Name("c"),)))
    assert clause.within == Within(timedelta(seconds=90))
    assert [definition.variable.text for definition in clause.definitions] == ["a", "b"]


def test_spans_point_at_what_was_written(full_clause: MatchRecognizeClause) -> None:
    clause = full_clause
    assert cut(FULL, clause.span).startswith("MATCH_RECOGNIZE (")
    assert cut(FULL, clause.span).endswith("RUNNING LAST(a.x)\n)")
    assert cut(FULL, clause.pattern_span).startswith("(^ a")
    assert cut(FULL, clause.pattern_span).endswith("| $)")
    assert [cut(FULL, term.span) for term in clause.order_by] == ["ts DESC", "time"]
    assert [cut(FULL, measure.name.span) for measure in clause.measures] == ["first_x", "n"]
    assert cut(FULL, clause.after_match.span) == "AFTER MATCH SKIP TO FIRST d"
    assert [cut(FULL, term.span) for term in list_terms(clause.pattern)] == [
        *("a", "b", "c", "d", '"E x"', "f", "g", "h")
    ]
    assert [cut(FULL, member.span) for member in clause.subsets[0].members] == ["a", "b"]
    assert clause.within is not None
    assert cut(FULL, clause.within.span) == "WITHIN INTERVAL '1.5' MINUTE"
    assert [cut(FULL, definition.variable.span) for definition in clause.definitions] == ["a", "b"]


def test_span_of_covers_names_functions_and_literals(full_clause: MatchRecognizeClause) -> None:
    conditions = [definition.condition for definition in full_clause.definitions]
    assert cut(FULL, span_of(conditions[0])) == "PREV(a.x) > 3"
    assert cut(FULL, span_of(conditions[1])) == "b.x BETWEEN 1 AND RUNNING LAST(a.x"
    assert cut(FULL, span_of(full_clause.partition_by[1])) == "b.line"
    assert span_of(exp.column("made_up")) is None


def test_placeholder_knows_the_span_of_its_clause(full: ParsedQuery) -> None:
    table = full.relation.find(exp.Table)
    assert table is not None
    assert span_of(table.this) == full.clauses[0].span


@pytest.mark.parametrize(
    ("written", "kind", "variable"),
    [
        ("", "past_last", None),
        ("AFTER MATCH SKIP PAST LAST ROW", "past_last", None),
        ("after match skip to next row", "to_next", None),
        ("AFTER MATCH SKIP TO FIRST a", "to_first", "a"),
        ("AFTER MATCH SKIP TO LAST a", "to_last", "a"),
        ("AFTER MATCH SKIP TO a", "to_last", "a"),
        ("AFTER MATCH SKIP TO last", "to_last", "last"),
        ("AFTER MATCH SKIP TO LAST last", "to_last", "last"),
        ('AFTER MATCH SKIP TO "next"', "to_last", "next"),
    ],
)
def test_after_match_skip(written: str, kind: str, variable: str | None) -> None:
    after = match_recognize(f"{written} PATTERN (a)").after_match
    assert (after.kind, after.variable and after.variable.text) == (kind, variable)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", ("one", None)),
        ("ONE ROW PER MATCH", ("one", None)),
        ("ALL ROWS PER MATCH", ("all", None)),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", ("all", "show")),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", ("all", "omit")),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", ("all", "with_unmatched")),
    ],
)
def test_rows_per_match(written: str, expected: tuple[str, str | None]) -> None:
    clause = match_recognize(f"{written} PATTERN (a)")
    assert (clause.rows_per_match, clause.empty_matches) == expected


@pytest.mark.parametrize("tail", ["WITHIN 5 s SUBSET u = (a)", "SUBSET u = (a) WITHIN 5 s"])
def test_within_stands_before_or_after_subset(tail: str) -> None:
    clause = match_recognize(f"PATTERN (a) {tail} DEFINE a AS true")
    assert clause.within == Within(timedelta(seconds=5))
    assert len(clause.subsets) == 1


def test_words_of_the_language_may_name_columns_and_variables() -> None:
    clause = match_recognize(
        "PARTITION BY final ORDER BY running, date MEASURES running + 1 AS final, final.x AS match "
        "PATTERN (start show first next end) "
        "DEFINE start AS start.x > 1, next AS next.x > final, end AS end.x > 1"
    )
    assert show_pattern(clause.pattern) == "START SHOW FIRST NEXT END"
    assert [measure.name.text for measure in clause.measures] == ["final", "match"]
    assert not [node for measure in clause.measures for node in measure.expression.find_all(exp.Anonymous)]


@pytest.mark.parametrize(
    "source",
    ["t", "db.t AS x", "(SELECT * FROM t) AS x", "(VALUES (1, 2), (3, 4)) AS x(id, y)", "(SELECT 1)"],
)
def test_input_keeps_its_form_and_alias(source: str) -> None:
    query = parse_query(f"SELECT * FROM {source} MATCH_RECOGNIZE (PATTERN (a))")
    clause = query.clauses[0]
    assert isinstance(clause, MatchRecognizeClause)
    assert clause.source.sql("trino") == source
    assert query.relation.sql() == "SELECT * FROM _cep_1"


def test_inner_clauses_come_before_outer_ones() -> None:
    query = parse_query(NESTED)
    shown = [
        (clause.placeholder, list_terms(clause.pattern)[0].variable, clause.source.sql())
        for clause in query.clauses
        if isinstance(clause, MatchRecognizeClause)
    ]
    assert shown == [
        ("_cep_1", "A", "t"),
        ("_cep_2", "B", "w"),
        ("_cep_3", "C", "(SELECT * FROM _cep_2 AS i) AS s"),
        ("_cep_4", "D", "(VALUES (1, 2), (3, 4)) AS v(id, x)"),
    ]
    assert query.relation.sql() == (
        "WITH w AS (SELECT * FROM _cep_1) SELECT * FROM _cep_3 AS o JOIN _cep_4 ON TRUE, _cep_5"
    )


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("SELECT (SELECT 1 FROM {}) FROM x", "SELECT (SELECT 1 FROM _cep_1) FROM x"),
        (
            "SELECT * FROM x WHERE EXISTS(SELECT * FROM {})",
            "SELECT * FROM x WHERE EXISTS(SELECT * FROM _cep_1)",
        ),
        ("SELECT * FROM ({} AS m JOIN b ON TRUE)", "SELECT * FROM (_cep_1 AS m JOIN b ON TRUE)"),
        ("FROM {} AS m CROSS JOIN b", "SELECT * FROM _cep_1 AS m CROSS JOIN b"),
        ("SELECT 1 UNION ALL SELECT x FROM {}", "SELECT 1 UNION ALL SELECT x FROM _cep_1"),
        ("SELECT _cep_1 FROM {}", "SELECT _cep_1 FROM _cep_2"),
        ("SELECT * FROM {} MATCH_RECOGNIZE (PATTERN (b)) AS n", "SELECT * FROM _cep_2 AS n"),
    ],
)
def test_clauses_are_found_wherever_a_table_may_stand(text: str, relation: str) -> None:
    query = parse_query(text.format("t MATCH_RECOGNIZE (PATTERN (a))"))
    assert query.relation.sql("trino") == relation
    assert all(clause.placeholder for clause in query.clauses)


# --- navigation -----------------------------------------------------------------------------------------


def read_measure(text: str) -> tuple[exp.Expression, str | None]:
    measure = match_recognize(f"MEASURES {text} AS m PATTERN (a)").measures[0]
    return measure.expression, measure.semantics


@pytest.mark.parametrize(
    ("text", "kind", "name", "arguments"),
    [
        ("FIRST(a.x)", exp.First, "", ["a.x"]),
        ("last(a.x, 2)", exp.Last, "", ["a.x", "2"]),
        ("PREV(a.x)", exp.Anonymous, "PREV", ["a.x"]),
        ("next(a.x, 2)", exp.Anonymous, "next", ["a.x", "2"]),
        ("CLASSIFIER()", exp.Anonymous, "CLASSIFIER", []),
        ("CLASSIFIER(a)", exp.Anonymous, "CLASSIFIER", ["a"]),
        ("MATCH_NUMBER()", exp.Anonymous, "MATCH_NUMBER", []),
        ("count(*)", exp.Count, "", ["*"]),
        ("count(a.*)", exp.Count, "", ["a.*"]),
    ],
)
def test_navigation_survives(text: str, kind: type[exp.Expression], name: str, arguments: list[str]) -> None:
    node, semantics = read_measure(text)
    assert type(node) is kind
    assert semantics is None
    if isinstance(node, exp.Anonymous):
        assert node.name == name
        assert [argument.sql() for argument in node.expressions] == arguments
    else:
        found = [node.args.get("this"), node.args.get("expression")]
        assert [argument.sql() for argument in found if argument is not None] == arguments


@pytest.mark.parametrize("text", ["final LAST(a.x)", "FINAL (LAST(a.x))"])
def test_semantics_of_a_whole_measure_are_taken_off(text: str) -> None:
    node, semantics = read_measure(text)
    assert (node.sql(), semantics, node.parent) == ("LAST(a.x)", "final", None)


def test_semantics_inside_an_expression_wrap_their_operand() -> None:
    node, semantics = read_measure("running LAST(a.x) - FINAL a.y")
    assert semantics is None
    assert isinstance(node, exp.Sub)
    left, right = node.this, node.expression
    assert (left.name, type(left.expressions[0])) == ("RUNNING", exp.Last)
    assert (right.name, right.expressions[0].sql()) == ("FINAL", "a.y")


# --- PATTERN SEQ ----------------------------------------------------------------------------------------


def test_sequence_takes_its_clauses_and_leaves_the_rest_to_the_query() -> None:
    query = parse_query(SASE)
    clause = query.clauses[0]
    assert isinstance(clause, SequenceClause)
    shown = [(term.stream.text, term.variable.text, term.repeated, term.negated) for term in clause.terms]
    assert shown == [
        ("bids", "a", False, False),
        ("bids", "b", True, False),
        ("cancels", "c", False, True),
        ("stops", "s", False, True),
        ("bids", "d", False, False),
    ]
    assert [term.expression.sql() for term in clause.order_by] == ["ts"]
    assert clause.where is not None
    assert clause.where.sql() == "a.id = b.id AND b.a1 > 99.9"
    assert clause.within == Within(timedelta(seconds=10))
    assert clause.strategy == "skip_till_any"
    assert query.relation.sql("trino") == (
        "SELECT a.id, a.ts AS first_ts, b.ts AS last_ts FROM _cep_1 "
        "GROUP BY a.id HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 2"
    )


def test_spans_of_a_sequence() -> None:
    clause = parse_query(SASE).clauses[0]
    assert isinstance(clause, SequenceClause)
    assert cut(SASE, clause.span).startswith("PATTERN SEQ(")
    assert cut(SASE, clause.span).endswith("STRATEGY skip_till_any")
    assert cut(SASE, clause.strategy_span) == "STRATEGY skip_till_any"
    assert [cut(SASE, term.span) for term in clause.terms] == [
        *("bids a", "bids+ b[]", "~cancels c", "~(stops s)", "bids d")
    ]
    assert [cut(SASE, term.variable.span) for term in clause.terms] == ["a", "b", "c", "s", "d"]
    assert span_of(clause.order_by[0].expression) == clause.order_by[0].span


def test_clauses_of_a_sequence_are_optional() -> None:
    clause = sequence("(bids a, bids+ b)")
    assert (clause.order_by, clause.where, clause.within, clause.strategy_span) == ((), None, None, None)
    assert clause.strategy == "skip_till_next"
    assert clause.terms[1].repeated


def test_order_behind_the_pattern_belongs_to_the_query() -> None:
    query = parse_query("SELECT * FROM PATTERN SEQ(bids a) WITHIN 5 s STRATEGY Strict ORDER BY 1")
    clause = query.clauses[0]
    assert isinstance(clause, SequenceClause)
    assert (clause.order_by, clause.strategy) == ((), "strict")
    assert query.relation.sql("trino") == "SELECT * FROM _cep_1 ORDER BY 1"


def test_groups_of_terms() -> None:
    clause = sequence("(bids a, (asks b | trades+ c[]), (bids d & asks e & asks f))")
    _, one, every = clause.items
    assert isinstance(one, TermGroup)
    assert isinstance(every, TermGroup)
    assert (one.kind, [term.variable.text for term in one.terms]) == ("one_of", ["b", "c"])
    assert one.terms[1].repeated
    assert (every.kind, [term.variable.text for term in every.terms]) == ("all_of", ["d", "e", "f"])
    assert [term.variable.text for term in clause.terms] == ["a", "b", "c", "d", "e", "f"]


def test_clauses_behind_the_strategy() -> None:
    clause = sequence("(bids a) WITHIN 5 s TIMEOUT ROWS STRATEGY strict CONSUME MATCHED LIMIT PARTIALS 10 DROP OLDEST")
    assert clause.timeouts is not None
    assert (clause.consume, clause.limit) == (True, PartialLimit(10, "drop_oldest"))
    clause = sequence("(bids a) REUSE LIMIT PARTIALS 3")
    assert (clause.timeouts, clause.consume, clause.limit) == (None, False, PartialLimit(3))


def test_limit_without_partials_belongs_to_the_query() -> None:
    query = parse_query("SELECT a.x FROM PATTERN SEQ(bids a) LIMIT PARTIALS 5 REFUSE LIMIT 3")
    assert query.relation.sql("trino") == "SELECT a.x FROM _cep_1 LIMIT 3"
    query = parse_query("SELECT a.x FROM PATTERN SEQ(bids a) LIMIT 3")
    (clause,) = query.clauses
    assert isinstance(clause, SequenceClause)
    assert clause.limit is None


def test_elements_are_qualifiers_with_their_places() -> None:
    text = (
        "SELECT b [ 1 ].x, count(b[]), tags[1], a.tags[2] FROM PATTERN SEQ(bids a, bids+ b[]) WHERE b[i].x > b[i - 1].x"
    )
    query = parse_query(text)
    (clause,) = query.clauses
    assert isinstance(clause, SequenceClause)
    assert clause.where is not None
    found = [(column.table, cut(text, span_of(column))) for column in clause.where.find_all(exp.Column)]
    assert sorted(found) == [("b[i-1]", "b[i - 1].x"), ("b[i]", "b[i].x")]
    first, counted, *arrays = query.relation.expressions
    assert (first.table, cut(text, span_of(first))) == ("b[1]", "b [ 1 ].x")
    assert (counted.this.name, cut(text, span_of(counted.this))) == ("b[]", "b[]")
    assert all(isinstance(array, exp.Bracket) for array in arrays)


@pytest.mark.parametrize("item", ["pattern", "pattern AS seq", "pattern AS seq(a, b)", '"pattern" AS p'])
def test_a_table_may_be_called_pattern(item: str) -> None:
    query = parse_query(f"SELECT * FROM {item}")
    assert (query.relation.sql(), query.clauses) == (f"SELECT * FROM {item}", ())


# --- WINDOW ---------------------------------------------------------------------------------------------


def windows(query: str) -> list[PatternWindowClause]:
    clauses = parse_query(query).clauses
    found = [clause for clause in clauses if isinstance(clause, PatternWindowClause)]
    assert len(found) == len(clauses)
    return found


def test_windows_with_a_pattern_become_items_of_from() -> None:
    assert parse_query(WINDOWS).relation.sql("trino") == (
        'SELECT id, "_over_1" AS "m", 1 + "_over_2" AS n, RANK() OVER v, "_over_3" AS f FROM _cep_2 AS "y" '
        'WINDOW v AS (ORDER BY x) ORDER BY "_over_4" LIMIT 3'
    )


def test_what_a_window_says() -> None:
    named, inline = windows(WINDOWS)
    assert named.source.sql("trino") == '(SELECT * FROM t AS y WHERE x > 0) AS "y"'
    assert inline.source.sql("trino") == '_cep_1 AS "y"'
    assert (named.seek, named.following, inline.seek, inline.following) == (True, None, False, 5)
    assert [measure.name.text for measure in named.measures] == ["m"]
    assert named.after_match.kind == "to_next"
    assert show_pattern(named.pattern) == "A NOT C B+"
    assert (named.within, named.subsets) == (Within(timedelta(seconds=5)), (Subset(Name("u"), (Name("a"), Name("b"))),))
    written = [(function.output, function.expression.sql()) for function in named.functions]
    assert written == [("_over_1", "m"), ("_over_2", "COUNT(*)"), ("_over_4", "m")]
    assert [function.expression.sql() for function in inline.functions] == ["FIRST_VALUE(y.x)"]
    assert cut(WINDOWS, named.pattern_span) == "(a NOT c b+)"
    assert cut(WINDOWS, named.head) == "("


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x AS over FROM t",
        "SELECT SUM(x) OVER w FROM t WINDOW w AS (PARTITION BY k)",
        "SELECT SUM(x) OVER (ORDER BY PATTERN(x)) FROM t",
        "SELECT SUM(x) OVER (PARTITION BY k, PATTERN(x)) FROM t",
        "SELECT x FROM t WINDOW w AS (ORDER BY pattern)",
    ],
)
def test_windows_without_a_pattern_stay_with_the_host(query: str) -> None:
    parsed = parse_query(query)
    assert (parsed.relation.sql("trino"), parsed.clauses) == (query, ())


def test_names_of_windows_are_those_of_the_nearest_select() -> None:
    inner = "SELECT m OVER w AS n FROM t WINDOW w AS (ORDER BY a MEASURES x.b AS m {frame} PATTERN (x))"
    text = f"SELECT n OVER w FROM ({inner}) WINDOW w AS (ORDER BY n MEASURES x.n AS n {{frame}} PATTERN (x x))"
    found = windows(text.format(frame="ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"))
    assert [show_pattern(clause.pattern) for clause in found] == ["X", "X X"]


def test_a_window_without_use_is_left_out() -> None:
    text = "SELECT a FROM t WINDOW w AS (ORDER BY a ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (x))"
    parsed = parse_query(text)
    assert (parsed.relation.sql("trino"), parsed.clauses) == ("SELECT a FROM t", ())


# --- intervals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("INTERVAL '10' SECOND", timedelta(seconds=10)),
        ("interval '1.5' minute", timedelta(seconds=90)),
        ("INTERVAL 10 SECONDS", timedelta(seconds=10)),
        ("INTERVAL '2 hours'", timedelta(hours=2)),
        ("INTERVAL '-10' SECOND", timedelta(seconds=-10)),
        ("INTERVAL -1 DAY", timedelta(days=-1)),
        ("5 s", timedelta(seconds=5)),
        ("5s", timedelta(seconds=5)),
        ("0 s", timedelta(0)),
        ("-5 s", timedelta(seconds=-5)),
        ("10 MINUTES", timedelta(minutes=10)),
        ("100 ms", timedelta(milliseconds=100)),
        ("7 us", timedelta(microseconds=7)),
        ("3 microseconds", timedelta(microseconds=3)),
        ("1e3 milliseconds", timedelta(seconds=1)),
        ("2 weeks", timedelta(weeks=2)),
    ],
)
def test_intervals(text: str, duration: timedelta) -> None:
    assert match_recognize(f"PATTERN (a) WITHIN {text} DEFINE a AS true").within == Within(duration)
    assert sequence(f"(s a) WITHIN {text}").within == Within(duration)


@pytest.mark.parametrize(
    "text", ["WITHIN 5 s TIMEOUT ROWS SUBSET u = (a)", "SUBSET u = (a) WITHIN 5 s timeout rows", "TIMEOUT ROWS"]
)
def test_timeout_rows(text: str) -> None:
    query = f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) {text} DEFINE a AS true)"
    clause = parse_query(query).clauses[0]
    assert isinstance(clause, MatchRecognizeClause)
    assert cut(query, clause.timeouts).upper() == "TIMEOUT ROWS"


# --- no other exception ---------------------------------------------------------------------------------


def find_problem(text: str) -> CepheidError | None:
    try:
        parse_query(text)
    except CepheidError as problem:
        return problem
    return None


def assert_read_or_refused(text: str) -> None:
    problem = find_problem(text)
    if problem is not None:
        assert problem.span is not None, text
        assert 0 <= problem.span.start <= problem.span.end <= len(text), text
        assert str(problem)


@pytest.mark.parametrize("query", LONG_QUERIES)
def test_every_truncation_is_read_or_refused(query: str) -> None:
    for offset in range(len(query)):
        assert_read_or_refused(query[:offset])
        assert_read_or_refused(query[offset:])


MARKS = "( ) { } {- -} -- /* */ ' \" ` ; , | ?? * + ^ $ ~ [ ] . {# {{ x' @ \\ :: -> |> \0 é 0x 1e"
WORDS = """INTERVAL PATTERN SEQ( MATCH_RECOGNIZE SELECT FROM WITH VALUES UNION CASE END LATERAL UNNEST(
TABLESAMPLE PIVOT( CAST( FINAL NOT WITHIN DEFINE AS ORDER BY FUNCTION RETURN BEGIN LIMIT OVER"""
PIECES = ["", *f"{MARKS} {WORDS}".split()]


@pytest.mark.parametrize("seed", range(3))
def test_every_mutation_is_read_or_refused(seed: int) -> None:
    choices = random.Random(seed)
    for _ in range(400):
        text = choices.choice(LONG_QUERIES)
        for _ in range(choices.randint(1, 3)):
            start = choices.randrange(len(text) + 1)
            end = start + choices.choice([0, 0, 1, 8])
            text = text[:start] + choices.choice(PIECES) + " " * choices.randint(0, 1) + text[end:]
        assert_read_or_refused(text)
