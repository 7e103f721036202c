"""What the binder makes of MATCH_RECOGNIZE and of row patterns in WINDOW: programs, cells, and SQL over cells."""

from __future__ import annotations

import pytest

from cepheid.compiler import compile_query
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.json_form import read_json, write_json
from cepheid.graph.operators import Project, Relation, RowPattern
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import (
    Aggregate,
    Call,
    Cell,
    Classifier,
    Constant,
    Expression,
    MatchNumber,
    Position,
    show_expression,
)
from cepheid.kernel.pattern import Frame, show_pattern
from cepheid.language.catalog import Catalog
from cepheid.scalars.show import show_scalar
from cepheid.schema import read_schema

SCHEMAS = {
    "s": read_schema(
        "s",
        {"ts": "timestamp", "k": "int", "i": "bigint", "f": "double", "t": "string", "ok": "bool", "at": "timestamp"},
    )
}
FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"


def bind(query: str) -> QueryGraph:
    graph = compile_query(query, Catalog(SCHEMAS, describe_sql)).bound
    assert read_json(write_json(graph)) == graph
    return graph


def patterns(query: str) -> list[RowPattern]:
    graph = bind(query)
    return [node for vertex in graph.order if isinstance(node := graph.vertices[vertex], RowPattern)]


def pattern(query: str) -> RowPattern:
    (found,) = patterns(query)
    return found


def match_recognize(body: str) -> str:
    return f"SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {body})"


def condition(written: str) -> Expression:
    node = pattern(match_recognize(f"MEASURES a.f AS m PATTERN (a b) SUBSET u = (a, b) DEFINE b AS {written}"))
    ((variable, bound),) = node.program.conditions
    assert variable == "B"
    return bound


def measured(query: str) -> dict[str, str]:
    """The SQL of the columns above the last pattern, by name."""
    graph = bind(query)
    vertex = next(name for name in reversed(graph.order) if isinstance(graph.vertices[name], RowPattern))
    (above,) = graph.outputs(vertex)
    project = graph.vertices[above]
    assert isinstance(project, Project)
    return {name: show_scalar(value) for name, value in project.columns}


# --- conditions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("count(*)", Aggregate("count", None)),
        ("count(1)", Aggregate("count", None)),
        ("count(b.*)", Aggregate("count", None, variables=("B",))),
        ("count(u.*)", Aggregate("count", None, variables=("A", "B"))),
        ("count(t)", Aggregate("count", "t", "string", "int")),
        ("count(DISTINCT b.t)", Aggregate("count", "t", "string", "int", ("B",), distinct=True)),
        ("sum(b.i)", Aggregate("sum", "i", "int", "int", ("B",))),
        ("sum(b.f)", Aggregate("sum", "f", "float", "float", ("B",))),
        ("avg(b.i)", Aggregate("avg", "i", "int", "float", ("B",))),
        ("stddev(b.i)", Aggregate("stddev_samp", "i", "int", "float", ("B",))),
        ("variance(b.i)", Aggregate("var_samp", "i", "int", "float", ("B",))),
        ("var_pop(b.f)", Aggregate("var_pop", "f", "float", "float", ("B",))),
        ("max(k)", Aggregate("max", "_key0", "int", "int")),
        ("min_by(b.i, b.t)", Aggregate("min_by", "i", "int", "int", ("B",), by="t", by_kind="string")),
        ("max_by(DISTINCT b.f, b.ts)", Aggregate("max_by", "f", "float", "float", ("B",), by="_time", by_kind="time")),
        ("count_if(b.i > 1)", Aggregate("count", "_e0", "int", "int", ("B",))),
        ("sum(b.i * b.f)", Aggregate("sum", "_e0", "float", "float", ("B",))),
        ("sum(b.f) FILTER (WHERE b.ok)", Aggregate("sum", "_e0", "float", "float", ("B",))),
        ("count(b.*) FILTER (WHERE b.ok)", Aggregate("count", "_e0", "int", "int", ("B",))),
        ("RUNNING sum(a.i)", Aggregate("sum", "i", "int", "int", ("A",))),
        ("MATCH_NUMBER()", MatchNumber()),
    ],
)
def test_facts_in_a_condition(written: str, expected: Expression) -> None:
    bound = condition(f"{written} > 3")
    assert isinstance(bound, Call)
    assert bound.arguments[0] == expected


@pytest.mark.parametrize(
    ("written", "position"),
    [
        ("CLASSIFIER()", Position()),
        ("CLASSIFIER(a)", Position(("A",))),
        ("PREV(CLASSIFIER())", Position((), "last", 0, -1)),
        ("LAST(CLASSIFIER(u), 1)", Position(("A", "B"), "last", 1)),
        ("NEXT(FIRST(CLASSIFIER()), 2)", Position((), "first", 0, 2)),
    ],
)
def test_classifier_in_a_condition(written: str, position: Position) -> None:
    expected = Call("eq", (Classifier(position), Constant("a", "string")), "bool")
    assert condition(f"{written} = 'a'") == expected


@pytest.mark.parametrize("written", ["bool_and(b.ok)", "every(b.ok)", "min(b.ok)"])
def test_bool_and_is_min(written: str) -> None:
    assert condition(written) == Aggregate("min", "ok", "bool", "bool", ("B",))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("sqrt(a.i) > 1", "gt(sqrt(to_float(A.i)), 1)"),
        ("power(a.f, 2) > 1", "gt(power(A.f, 2.0), 1)"),
        ("round(a.f / b.f, 2) > 1", "gt(round(div(A.f, B.f), 2), 1)"),
        ("log2(a.f + b.f) > 1", "gt(log2(add(A.f, B.f)), 1)"),
        ("log10(a.f + b.f) > 1", "gt(log10(add(A.f, B.f)), 1)"),
        ("ceiling(a.f + b.f) > 1", "gt(ceil(add(A.f, B.f)), 1)"),
        ("truncate(a.f + b.f) > 1", "gt(trunc(add(A.f, B.f)), 1)"),
        ("mod(a.i, b.i) = 1", "eq(mod(A.i, B.i), 1)"),
        ("a.f > pi()", "gt(A.f, 3.141592653589793)"),
        ("date_diff('minute', a.ts, b.ts) > 5", "gt(div_whole(sub(B._time, A._time), 60000000), 5)"),
        ("to_unixtime(b.ts) > 5", "gt(to_seconds(sub(B._time, 0)), 5)"),
        ("least(a.t, 'm') = 'x'", "eq(if(is_null(A.t), None, least(A.t, 'm')), 'x')"),
        (
            "greatest(a.i, b.i) = 1",
            "eq(if(or(is_null(A.i), is_null(B.i)), None, greatest(A.i, B.i)), 1)",
        ),
        ("round(avg(b.f), 1) > a.f", "gt(round(avg(B.f), 1), A.f)"),
        ("upper(b.t) = 'X'", "eq(B._e0, 'X')"),
        ("truncate(b.f, 2) > 1", "gt(B._e0, 1)"),
    ],
)
def test_functions_over_several_events(written: str, shown: str) -> None:
    assert show_expression(condition(written)) == shown


def test_literals_make_no_decimals_of_what_is_aggregated() -> None:
    bound = condition("sum(b.i * 0.5) > 1")
    assert isinstance(bound, Call)
    assert bound.arguments[0] == Aggregate("sum", "_e1", "float", "float", ("B",))


# --- the pattern ------------------------------------------------------------------------------------------


def test_condition_of_an_absent_variable_reads_the_row_under_test() -> None:
    node = pattern(match_recognize("MEASURES a.f AS m PATTERN (a NOT b c) DEFINE b AS b.f > a.f AND f > FIRST(a.f)"))
    assert show_pattern(node.program.pattern) == "A NOT B C"
    ((variable, bound),) = node.program.conditions
    assert variable == "B"
    assert isinstance(bound, Call)
    assert bound.arguments[0] == Call(
        "gt", (Cell("f", "float", Position(("B",))), Cell("f", "float", Position(("A",)))), "bool"
    )


def test_the_row_under_test_of_an_absence_is_of_its_variable() -> None:
    node = pattern(match_recognize("MEASURES a.f AS m PATTERN (a NOT B c) DEFINE b AS CLASSIFIER() = 'B'"))
    ((_, bound),) = node.program.conditions
    assert bound == Call("eq", (Constant("B", "string"), Constant("B", "string")), "bool")


def test_variables_are_spelt_alike_whatever_their_case() -> None:
    node = pattern(match_recognize("MEASURES A.f AS m PATTERN (a A PERMUTE(B, A) {- b -} NOT c B) DEFINE C AS TRUE"))
    assert show_pattern(node.program.pattern) == "A A PERMUTE(B, A) {- B -} NOT C B"
    assert [variable for variable, _ in node.program.conditions] == ["C"]


@pytest.mark.parametrize(
    "text",
    [
        "^ a $",
        "PERMUTE(a, b c, d+)",
        "a {- b* -} c",
        "(^ a)* b",
        "a (NOT b | d) c",
        "a | ()",
        "not b for interval '90' second a",
        "a (not b for interval '2' day)? c",
        "(a not b for interval '7' microsecond)+",
    ],
)
def test_every_pattern_is_bound_as_written(text: str) -> None:
    assert show_pattern(pattern(match_recognize(f"MEASURES 1 AS one PATTERN ({text})")).program.pattern) == text.upper()


def test_a_row_without_measures_of_the_match_keeps_a_cell() -> None:
    node = pattern("SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS one PATTERN (a))")
    assert [cell.show() for cell in node.cells] == ["_time AS _c0"]


# --- measures ---------------------------------------------------------------------------------------------


def test_aggregates_of_all_rows_are_running_unless_final() -> None:
    node = pattern(
        match_recognize(
            "MEASURES count(*) AS n, FINAL count(*) AS m, RUNNING sum(a.f) AS r, array_agg(DISTINCT a.t) AS l "
            "ALL ROWS PER MATCH PATTERN (a b)"
        )
    )
    shown = [cell.show() for cell in node.cells if cell.kind == "aggregate"]
    assert [text.rsplit(" AS ", 1)[0] for text in shown] == [
        *("count(*)", "FINAL count(*)", "sum(A.f)", "array_agg(DISTINCT A.t)")
    ]


def test_equal_cells_are_one() -> None:
    query = match_recognize("MEASURES sum(a.f * 2) AS x, sum(a.f * 2) + 1 AS y, PREV(CLASSIFIER()) AS c PATTERN (a b)")
    assert measured(query) == {"k": '"_c0"', "x": '"_c1"', "y": '"_c1" + 1', "c": '"_c2"'}
    assert pattern(query).program.lookahead == 0


def test_next_in_a_measure_looks_ahead() -> None:
    assert pattern(match_recognize("MEASURES NEXT(a.f, 3) AS x PATTERN (a b)")).program.lookahead == 3


def test_unmatched_rows_have_no_measures() -> None:
    query = match_recognize("MEASURES 7 AS seven, count(*) AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b)")
    node = pattern(query)
    number = next(cell.name for cell in node.cells if cell.kind == "match_number")
    assert (node.program.unmatched, node.all_rows, node.show_empty) == (True, True, True)
    assert measured(query)["seven"] == f'CASE WHEN "{number}" IS NOT NULL THEN 7 END'


def test_timeout_rows() -> None:
    query = match_recognize("MEASURES TIMED_OUT() AS late PATTERN (a b) WITHIN 5 s TIMEOUT ROWS")
    node = pattern(query)
    assert (node.program.timeouts, node.program.within) == (True, 5_000_000)
    assert [cell.kind for cell in node.cells] == ["row", "timed_out"]


# --- WINDOW -----------------------------------------------------------------------------------------------


def test_a_window_tells_every_row_with_its_match() -> None:
    query = f"""SELECT k, m OVER w, count(*) OVER w AS n, first_value(t) OVER w AS x, nth_value(t, 3) OVER w AS y
      FROM s WINDOW w AS (PARTITION BY k ORDER BY ts MEASURES LAST(b.f) AS m {FRAME} SEEK PATTERN (a b+))"""
    node = pattern(query)
    assert (node.program.frame, node.all_rows, node.keys, node.order) == (Frame(seek=True), False, 1, 1)
    rows = [cell.column for cell in node.cells if cell.kind == "row"]
    assert rows == ["_time", "_key0", "i", "f", "t", "ok", "at"]
    others = [cell.show().rsplit(" AS ", 1)[0] for cell in node.cells if cell.kind != "row"]
    assert others == ["MATCH_NUMBER()", "FINAL B.f", "FINAL count(*)", "FINAL FIRST(t)", "FINAL FIRST(t, 2)"]
    added = {name: sql for name, sql in measured(query).items() if name.startswith("_over")}
    assert added == {
        "_over_1": 'CASE WHEN "_c7" IS NOT NULL THEN "_c8" END',
        "_over_2": '"_c9"',
        "_over_3": '"_c10"',
        "_over_4": '"_c11"',
    }


def test_a_frame_may_end() -> None:
    over = "OVER (ORDER BY ts MEASURES a.f AS m ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING PATTERN (a) WITHIN 5 s)"
    program = pattern(f"SELECT m {over} FROM s").program
    assert (program.frame, program.within) == (Frame(following=3), 5_000_000)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT *, m OVER w FROM s", ["ts", "k", "i", "f", "t", "ok", "at", "m"]),
        ("SELECT m OVER w, s.*, n OVER v AS n FROM s", ["m", "ts", "k", "i", "f", "t", "ok", "at", "n"]),
        ("SELECT count(*) OVER w, 2 * count(*) OVER v FROM s AS x WHERE x.f > 0", ["_col0", "_col1"]),
        ("WITH c AS (SELECT ts, f FROM s) SELECT c.f, m OVER w FROM c", ["f", "m"]),
        ("SELECT f, m OVER w FROM (SELECT f, ts FROM s WHERE f > 1)", ["f", "m"]),
    ],
)
def test_columns_of_a_select_with_windows(query: str, columns: list[str]) -> None:
    windows = f"""WINDOW w AS (ORDER BY ts MEASURES a.f AS m {FRAME} PATTERN (a)),
      v AS (ORDER BY ts MEASURES a.f AS n {FRAME} PATTERN (a a))"""
    graph = bind(f"{query} {windows}")
    top = graph.vertices[graph.inputs(graph.order[-1])[0]]
    assert isinstance(top, Project)
    assert [name for name, _ in top.columns] == columns


def test_windows_are_chained() -> None:
    query = f"""SELECT m OVER w, n OVER v FROM s WINDOW w AS (ORDER BY ts MEASURES a.f AS m {FRAME} PATTERN (a)),
      v AS (PARTITION BY k ORDER BY ts MEASURES a.f AS n {FRAME} PATTERN (a a))"""
    assert [node.keys for node in patterns(query)] == [0, 1]


def test_windows_beside_others_and_sorting_are_left_to_the_host() -> None:
    query = f"""SELECT f, m OVER w, rank() OVER (ORDER BY f) AS r FROM s
      WINDOW w AS (ORDER BY ts MEASURES a.f AS m {FRAME} PATTERN (a)) ORDER BY m OVER w LIMIT 3"""
    (relation,) = [node for node in bind(query).vertices.values() if isinstance(node, Relation)]
    assert relation.text == (
        'SELECT f, "_over_1" AS "m", RANK() OVER (ORDER BY f) AS r FROM _cep_1 AS "s" ORDER BY "_over_2" LIMIT 3'
    )


# --- several constructs in one query ----------------------------------------------------------------------


def test_patterns_over_patterns_joined_with_patterns() -> None:
    query = f"""WITH p AS (
        SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.f AS f, a.ts AS at PATTERN (a NOT b c))),
      q AS (SELECT * FROM p MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES sum(x.f) AS total PATTERN (x+))),
      r AS (SELECT k, n OVER w AS n FROM p WINDOW w AS (ORDER BY at MEASURES LAST(x.f) AS n {FRAME} PATTERN (x x)))
      SELECT p.k, q.total, r.n FROM p JOIN q ON p.k = q.k JOIN r ON r.k = q.k"""
    assert [show_pattern(node.program.pattern) for node in patterns(query)] == ["A NOT B C", "X+", "X X"]
