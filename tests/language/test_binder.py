"""What the binder makes of a query, where rows alone would not show it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import Compilation, compile_query
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.operators import Filter, Project, Relation, RowPattern, Sequence, Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import show_expression
from cepheid.language.binder import bind_query
from cepheid.language.catalog import Catalog
from cepheid.language.parsing.parser import parse_query
from cepheid.language.parsing.syntax import SequenceClause
from cepheid.schema import CHANGE_COLUMNS, read_schema

SCHEMAS = {
    "s": read_schema("s", {"ts": "timestamp", "id": "int", "k": "bigint", "f": "double", "t": "string"}),
    "r": read_schema("r", {"ts": "timestamp", "user_id": "bigint", "f": "float", "t": "string"}),
}
PATTERN = "s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES a.f AS f, a.t AS t PATTERN (a b))"


def compile_text(query: str) -> Compilation:
    return compile_query(query, Catalog(SCHEMAS, describe_sql))


def kinds_of(query: str) -> set[type]:
    return {type(node) for node in compile_text(query).bound.vertices.values()}


def only_sequence(query: str) -> Sequence:
    (sequence,) = [node for node in compile_text(query).bound.vertices.values() if isinstance(node, Sequence)]
    return sequence


def test_conditions_go_to_the_terms_they_are_about() -> None:
    where = "a.f > 1 AND b[i].f > b[i-1].f AND c.f > 2 AND c.f < a.f AND avg(b[].f) < d.f"
    node = only_sequence(f"SELECT a.ts FROM PATTERN SEQ(s a, s+ b[], ~s c, s d) WHERE {where} WITHIN 5 s")
    shown = {
        term.variable: show_expression(term.condition) for term in node.program.terms if term.condition is not None
    }
    assert shown == {
        "a": "gt(a.s.f, 1)",
        "b": "or(lt(count(b[..i-1].*), 1), gt(b.s.f, LAST(b.s.f, 1)))",
        "c": "gt(c.s.f, 2)",
    }
    assert [show_expression(part) for part in node.program.joint] == ["lt(c.s.f, a.s.f)", "lt(avg(b.s.f), d.s.f)"]


def test_aggregates_of_single_events_stay_with_the_host() -> None:
    node = only_sequence("SELECT a.id, max(b.f) AS m FROM PATTERN SEQ(s a, s b) WITHIN 5 s GROUP BY a.id")
    assert [cell.kind for cell in node.cells] == ["navigate", "navigate"]
    node = only_sequence(
        "SELECT max(b.f) AS m, count(b.*) AS n, FIRST(b.t) AS t FROM PATTERN SEQ(s a, s+ b[]) WITHIN 5 s"
    )
    assert sorted(cell.kind for cell in node.cells) == ["aggregate", "aggregate", "navigate"]


def test_predicates_in_python_become_columns_of_the_events() -> None:
    def is_odd(events: pa.Table) -> pa.Array:
        return pa.array([True] * len(events))

    parsed = parse_query("SELECT a.ts FROM PATTERN SEQ(s a, r b) WHERE a.f > 1 WITHIN 5 s")
    (clause,) = parsed.clauses
    assert isinstance(clause, SequenceClause)
    first, second = clause.terms
    changed = replace(clause, items=(first, replace(second, predicates=(is_odd,))))
    graph = bind_query(replace(parsed, clauses=(changed,)), Catalog(SCHEMAS, describe_sql), QueryGraph())
    (node,) = [node for node in graph.vertices.values() if isinstance(node, Sequence)]
    (predicate,) = node.predicates
    assert (predicate.column, predicate.stream) == ("_q0", 1)
    assert predicate.reads == (("ts", "_time"), ("user_id", "r.user_id"), ("f", "r.f"), ("t", "r.t"))
    assert [show_expression(term.condition) for term in node.program.terms if term.condition] == [
        "gt(a.s.f, 1)",
        "b._q0",
    ]
    assert node.condition_columns() == ["s.f"]
    assert set(node.read_columns()) == {"s.f", "_time", "r.user_id", "r.f", "r.t"}


@pytest.mark.parametrize(
    ("terms", "where", "keys", "conditions"),
    [
        ("s a, s b", "a.id = b.id", 1, 0),
        ("s a, s b", "b.ID = A.id", 1, 0),
        ("s a, r b", "a.id = b.user_id", 1, 0),
        ("s a, s b", "a.id = b.id AND a.t = b.t", 2, 0),
        ("s a, s b, s c", "a.id = b.id AND (b.id = c.id)", 1, 0),
        ("s a, s b, s c", "a.id = b.id AND b.id = c.id AND a.id = c.id", 1, 0),
        ("s a, s b, s c", "a.id = b.id", 0, 1),
        ("s a, s b", "a.id = b.k", 0, 1),
        ("s a, r b", "a.f = b.f", 0, 1),
        ("s a, r b", "a.id = b.f", 0, 1),
        ("s a, s b", "a.id = b.id OR a.id = 1", 0, 1),
        ("s a, s b", "a.id = b.id AND b.f > a.f", 1, 1),
        ("s a, s b", "a.id = b.id AND a.id = 5", 1, 1),
        ("s a, s+ b[]", "a.id = b.id", 1, 0),
        ("s a, s+ b[]", "a.id = b[i].id", 1, 0),
        ("s a, s+ b[]", "a.id = b[1].id", 0, 1),
        ("s a, ~s b, s c", "a.id = c.id AND b.id = a.id", 1, 0),
        ("s a, ~s b, s c", "a.id = c.id", 0, 1),
        ("s a, ~s b", "a.id = b.id", 1, 0),
        ("s a, (s b & s c)", "a.id = b.id AND b.id = c.id", 1, 0),
        ("s a, (s b | s c)", "a.id = b.id AND a.id = c.id", 1, 0),
        ("s a, (s b | s c)", "a.id = b.id AND b.id = c.id", 0, 2),  # a and c are not tied if b is not there
        ("(s a | s b)", "a.id = b.id", 0, 1),
    ],
)
def test_equalities_that_tie_all_events_become_keys(terms: str, where: str, keys: int, conditions: int) -> None:
    graph = compile_text(f"SELECT a.ts FROM PATTERN SEQ({terms}) WHERE {where} WITHIN 5 s").bound
    (sequence,) = [node for node in graph.vertices.values() if isinstance(node, Sequence)]
    assert sequence.keys == keys
    assert len(sequence.conditions()) == conditions


def test_strict_has_no_keys() -> None:
    graph = compile_text("SELECT a.ts FROM PATTERN SEQ(s a, s b) WHERE a.id = b.id STRATEGY strict").bound
    (sequence,) = [node for node in graph.vertices.values() if isinstance(node, Sequence)]
    assert (sequence.keys, len(sequence.program.joint)) == (0, 1)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM {PATTERN}",
        f"SELECT m.* FROM {PATTERN} AS m WHERE f > 1",
        f"SELECT f + 1 FROM (SELECT * FROM {PATTERN} WHERE f > 1) AS q WHERE q.t = 'x'",
        f"WITH q AS (SELECT f AS g FROM {PATTERN}) SELECT g FROM q",
        "SELECT * FROM (SELECT ts, f FROM s WHERE id = 1) MATCH_RECOGNIZE (ORDER BY ts MEASURES a.f AS f PATTERN (a))",
    ],
)
def test_filters_and_projections_need_no_relation(query: str) -> None:
    assert kinds_of(query) <= {Source, Filter, Project, RowPattern, Sink}


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT DISTINCT f FROM {PATTERN}",
        f"SELECT count(*) FROM {PATTERN}",
        f"SELECT histogram(f) FROM {PATTERN}",
        f"SELECT f FROM {PATTERN} ORDER BY f",
        f"SELECT f FROM {PATTERN} LIMIT 1",
        f"SELECT f, row_number() OVER (ORDER BY f) FROM {PATTERN}",
        f"SELECT f FROM {PATTERN} WHERE f > (SELECT max(f) FROM s)",
        f"SELECT f FROM {PATTERN} WHERE EXISTS (SELECT 1 FROM s)",
        f"SELECT f FROM {PATTERN} UNION SELECT f FROM {PATTERN}",
        f"SELECT f FROM {PATTERN} UNION ALL SELECT f FROM {PATTERN} ORDER BY f",
        f"SELECT f FROM {PATTERN} UNION ALL SELECT max(f) FROM {PATTERN}",
    ],
)
@pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning", "ignore::cepheid.errors.RowsAtTheEndWarning")
def test_what_needs_more_than_one_row_is_left_to_the_host_and_kept_up_to_date_on_streams(query: str) -> None:
    assert Relation in kinds_of(query)
    final, changes = cep.open(query, **SCHEMAS).schema, cep.open(query, emit="changes", **SCHEMAS).schema
    assert changes.names == [*CHANGE_COLUMNS, *final.names]


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT f + 1 AS g, g + 1 AS h FROM {PATTERN}",
        f"SELECT *, 'x' AS kind FROM {PATTERN} UNION ALL SELECT *, 'y' FROM {PATTERN} WHERE f > 1",
        f"WITH q AS (SELECT f FROM {PATTERN}) (SELECT f FROM q) UNION ALL SELECT f + 1 FROM (SELECT f FROM q)",
    ],
)
def test_what_looks_at_each_row_by_itself_runs_on_streams_though_it_is_left_to_the_host(query: str) -> None:
    assert Relation in kinds_of(query)
    cep.open(query, **SCHEMAS)


def test_binding_leaves_the_parsed_query_as_it_was() -> None:
    query = "SELECT q.x FROM (SELECT a.id AS x FROM PATTERN SEQ(s a, s b) WHERE a.id = b.id WITHIN 5 s) AS q"
    assert "query: SELECT q.x FROM (SELECT a.id AS x FROM _cep_1) AS q" in cep.explain(query, step="parsed", **SCHEMAS)


def test_outputs_without_a_name_are_numbered() -> None:
    empty = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    assert cep.sql(f"SELECT f, f + 1, upper(t), t AS u FROM {PATTERN}", **empty).column_names == [
        *("f", "_col1", "_col2", "u")
    ]
