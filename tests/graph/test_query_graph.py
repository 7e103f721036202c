"""The graph: attributes of AGeCEP's tables, sharing by value, invariants, rendering."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.compiler import compile_query
from cepheid.errors import InvalidInput
from cepheid.execution.embedded.relations import describe_sql
from cepheid.graph.attributes import Beliefs
from cepheid.graph.json_form import read_json, write_json
from cepheid.graph.operators import Filter, Project, Relation, RowPattern, Sequence, Sink, Source
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.query_graph import Edge, QueryGraph
from cepheid.graph.render_mermaid import render_mermaid
from cepheid.graph.render_text import render_text
from cepheid.graph.validation import validate_graph
from cepheid.kernel.expression import Call, Cell, Constant, Expression, Position
from cepheid.kernel.pattern import Alternation, Concatenation, Repetition, RowPatternProgram, Skip, Term
from cepheid.language.catalog import Catalog
from cepheid.scalars.value import TRUE, Column, Literal, Scalar, binary, join_conjunction
from cepheid.schema import read_schema

SCHEMAS = {
    "buses": read_schema("buses", {"ts": "timestamp", "bus": "int", "delay": "double", "line": "string"}),
    "stops": read_schema("stops", {"ts": "timestamp", "bus": "int", "stop": "string"}),
}
PATTERN = """buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts MEASURES b.delay AS d PATTERN (a b) WITHIN 5 s DEFINE b AS b.delay > a.delay)"""


def bind(query: str) -> QueryGraph:
    return compile_query(query, Catalog(SCHEMAS, describe_sql)).bound


def vertex_of(graph: QueryGraph, kind: type) -> str:
    return next(vertex for vertex, node in graph.vertices.items() if isinstance(node, kind))


# --- Tables I and II --------------------------------------------------------------------------------------


def test_operator_attributes_are_those_of_table_1() -> None:
    graph = bind(f"SELECT d FROM {PATTERN} WHERE d > 1")
    attributes = graph.operator_attributes(vertex_of(graph, RowPattern))
    assert (attributes.id, attributes.impl) == ("row_pattern_1", "row_pattern")
    assert attributes.params[0] == "pattern=(A B)"
    assert (attributes.in_degree, attributes.out_degree) == (1, 1)
    assert (attributes.type, attributes.merge_type, attributes.split_type) == ("processing", "N/A", "N/A")
    assert (attributes.shareable, attributes.sh_strategy) == (True, "proc+source")
    assert (attributes.duplicable, attributes.req_split, attributes.req_merge) == (True, "attribute", "union")
    assert (attributes.combinable, attributes.comb_impl, attributes.comb_param) == (False, None, None)


def test_filters_are_combinable_and_say_how() -> None:
    graph = bind(f"SELECT d FROM {PATTERN} WHERE d > 1")
    attributes = graph.operator_attributes(vertex_of(graph, Filter))
    assert (attributes.combinable, attributes.comb_impl) == (True, "filter")
    assert attributes.comb_param is not None
    assert attributes.comb_param([["p"], ["q"]]) == ["(p) AND (q)"]


def test_pattern_without_keys_is_not_duplicable() -> None:
    graph = bind("SELECT t FROM buses MATCH_RECOGNIZE (ORDER BY ts MEASURES a.ts AS t PATTERN (a b))")
    attributes = graph.operator_attributes(vertex_of(graph, RowPattern))
    assert (attributes.duplicable, attributes.req_split) == (False, "N/A")


def test_sequence_of_two_streams_merges_them_sorted() -> None:
    graph = bind("SELECT a.bus FROM PATTERN SEQ(buses a, stops b) WHERE a.bus = b.bus WITHIN 5 s")
    attributes = graph.operator_attributes(vertex_of(graph, Sequence))
    assert (attributes.type, attributes.merge_type, attributes.in_degree) == ("merge", "sorted", 2)


def test_producers_and_consumers_have_five_attributes() -> None:
    graph = bind(f"SELECT d FROM {PATTERN}")
    for kind, degrees in ((Source, (0, 1)), (Sink, (1, 0))):
        attributes = graph.operator_attributes(vertex_of(graph, kind))
        assert (attributes.in_degree, attributes.out_degree) == degrees
        assert (attributes.type, attributes.shareable, attributes.duplicable) == ("N/A", False, False)


def test_edge_attributes_are_those_of_table_2() -> None:
    graph = bind("SELECT a.bus FROM PATTERN SEQ(buses a, stops b) WHERE a.bus = b.bus WITHIN 5 s")
    sequence = vertex_of(graph, Sequence)
    feeding = [graph.edge_attributes(edge) for edge in graph.edges if edge.target == sequence]
    assert [attributes.sources for attributes in feeding] == [("source_1",), ("source_2",)]
    assert {attributes.attrs for attributes in feeding} == {("_key0",)}
    (leaving,) = [graph.edge_attributes(edge) for edge in graph.edges if edge.source == sequence]
    assert leaving.id == "sequence_1->project_3:0"
    assert leaving.sources == ("source_1", "source_2")
    assert (leaving.queries, leaving.attrs) == (("query",), ())


def test_beliefs_are_renewed_beside_the_graph() -> None:
    graph = bind(f"SELECT d FROM {PATTERN}")
    digest = graph.digests["source_1"]
    beliefs = Beliefs().renewed(digest, rate_per_s=5.0).renewed(digest, label="buses")
    assert (beliefs.of(graph, "source_1").rate_per_s, beliefs.of(graph, "source_1").label) == (5.0, "buses")
    assert beliefs.of(graph, "sink_1").rate_per_s is None
    other = bind("SELECT a.bus FROM PATTERN SEQ(stops b, buses a) WHERE a.bus = b.bus WITHIN 5 s")
    assert beliefs.of(other, "source_2").rate_per_s == 5.0, "the same producer in another plan"


# --- sharing ----------------------------------------------------------------------------------------------


def test_equal_patterns_in_one_query_are_one_vertex() -> None:
    graph = bind(f"SELECT x.d FROM {PATTERN} AS x JOIN {PATTERN} AS y ON x.d = y.d")
    assert [type(node) for node in graph.vertices.values()].count(RowPattern) == 1
    assert len(graph.outputs(vertex_of(graph, RowPattern))) == 1
    assert graph.inputs(vertex_of(graph, Relation)) == ["project_2", "project_2"]


def test_patterns_that_differ_are_two() -> None:
    other = PATTERN.replace(">", "<")
    graph = bind(f"SELECT x.d FROM {PATTERN} AS x JOIN {other} AS y ON x.d = y.d")
    assert [type(node) for node in graph.vertices.values()].count(RowPattern) == 2
    assert [type(node) for node in graph.vertices.values()].count(Source) == 1


def test_stored_hash_does_not_travel_to_another_process() -> None:
    node = Filter(predicate=binary("gt", Column("x"), Literal("1")))
    hash(node)
    assert "_hash" not in pickle.loads(pickle.dumps(node)).__dict__
    check = (
        "import pickle, sys; node = pickle.load(sys.stdin.buffer);"
        "from cepheid.graph.operators import Filter; from cepheid.scalars.value import Column, Literal, binary;"
        "sys.exit(0 if {node: 1}.get(Filter(predicate=binary('gt', Column('x'), Literal('1')))) else 1)"
    )
    subprocess.run(
        [sys.executable, "-c", check], input=pickle.dumps(node), check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )


# --- invariants: each can fail ----------------------------------------------------------------------------

GRAPH = bind(f"SELECT d FROM {PATTERN} WHERE d > 1")


def broken_graphs() -> list[Any]:
    vertices, edges = dict(GRAPH.vertices), GRAPH.edges
    layout, pattern = vertex_of(GRAPH, Project), vertex_of(GRAPH, RowPattern)
    bare = Project(columns=(("_key0", Column("bus")),))
    timeless = Project(columns=(("_time", Column("ts")), ("_key0", Column("bus"))))
    without_sink = {name: node for name, node in vertices.items() if name != "sink_1"}
    return [
        pytest.param(QueryGraph(), "bound", "something that makes rows", id="empty"),
        pytest.param(
            QueryGraph(without_sink, tuple(edge for edge in edges if edge.target != "sink_1")),
            "bound", "has a consumer", id="no consumer",
        ),
        pytest.param(QueryGraph(vertices, (*edges, Edge("ghost", pattern, 1))), "bound", "starts nowhere", id="from"),
        pytest.param(QueryGraph(vertices, (*edges, Edge(pattern, "ghost"))), "bound", "ends nowhere", id="to"),
        pytest.param(QueryGraph(vertices, (*edges, Edge(layout, pattern, 2))), "bound", "are numbered", id="ports"),
        pytest.param(QueryGraph(vertices, (*edges, Edge(layout, "source_1"))), "bound", "has inputs", id="producer"),
        pytest.param(QueryGraph(vertices, (*edges, Edge(layout, "sink_1", 1))), "bound", "has 2 inputs", id="consumer"),
        pytest.param(QueryGraph(vertices, (*edges, Edge("sink_1", layout, 1))), "bound", "has outputs", id="outputs"),
        pytest.param(QueryGraph(vertices, (*edges, Edge(pattern, layout, 1))), "bound", "cycle", id="cycle"),
        pytest.param(GRAPH.with_node(layout, Filter(predicate=TRUE)), "rewritten", "not a projection", id="layout"),
        pytest.param(GRAPH.with_node(layout, bare), "rewritten", "no _time", id="no time"),
        pytest.param(GRAPH.with_node(layout, timeless), "rewritten", "which nothing gives", id="no column"),
        pytest.param(GRAPH, "placed", "without a place", id="no place"),
    ]  # fmt: skip


@pytest.mark.parametrize(("graph", "stage", "invariant"), broken_graphs())
def test_broken_invariant_is_named(graph: QueryGraph, stage: Any, invariant: str) -> None:
    with pytest.raises(AssertionError, match=invariant):
        validate_graph(graph, stage)


def test_sound_graph_is_valid() -> None:
    validate_graph(GRAPH, "rewritten")
    validate_graph(GRAPH, "placed", dict.fromkeys(GRAPH.vertices))


# --- JSON and rendering -----------------------------------------------------------------------------------

names = st.text("abc_. \"'é", min_size=1, max_size=4)
positions = st.builds(
    Position,
    st.lists(names, max_size=2).map(tuple),
    st.sampled_from(["first", "last"]),
    st.integers(0, 3),
    st.integers(-2, 2),
)
constants = st.one_of(
    st.builds(Constant, st.floats(allow_nan=False), st.just("float")),
    st.builds(Constant, st.integers(-(2**63), 2**63 - 1), st.just("int")),
    st.builds(Constant, st.one_of(names, st.none()), st.just("string")),
    st.builds(Constant, st.booleans(), st.just("bool")),
)
expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(constants, st.builds(Cell, names, st.just("int"), positions)),
    lambda inner: st.builds(Call, st.sampled_from(["and", "eq", "add"]), st.tuples(inner, inner), st.just("bool")),
    max_leaves=4,
)
scalars: st.SearchStrategy[Scalar] = st.recursive(
    st.one_of(st.builds(Column, names), st.builds(Literal, names, st.booleans())),
    lambda inner: st.one_of(
        st.builds(binary, st.sampled_from(["eq", "lt", "add"]), inner, inner),
        st.lists(inner, min_size=1, max_size=3).map(join_conjunction),
    ),
    max_leaves=4,
)
patterns: Any = st.recursive(
    st.builds(Term, names),
    lambda inner: st.one_of(
        st.builds(Concatenation, st.tuples(inner, inner)),
        st.builds(Alternation, st.tuples(inner, inner)),
        st.builds(Repetition, inner, st.integers(0, 2), st.one_of(st.none(), st.integers(3, 4)), st.booleans()),
    ),
    max_leaves=4,
)
cells = st.lists(st.builds(OutputCell, name=names, column=names, position=positions), max_size=2).map(tuple)
nodes = st.one_of(
    st.builds(Filter, predicate=scalars),
    st.builds(Project, columns=st.lists(st.tuples(names, scalars), max_size=3).map(tuple)),
    st.builds(
        RowPattern,
        program=st.builds(
            RowPatternProgram,
            patterns,
            st.lists(st.tuples(names, expressions), max_size=2).map(tuple),
            st.builds(Skip, st.just("to_last"), st.tuples(names)),
            st.one_of(st.none(), st.integers(1, 10**12)),
        ),
        cells=cells,
        keys=st.integers(0, 2),
    ),
)


@st.composite
def graphs(draw: st.DrawFn) -> QueryGraph:
    graph, made = QueryGraph().add(Source(name="s"))
    known = [made]
    for _ in range(draw(st.integers(0, 4))):
        graph, made = graph.add(draw(nodes), [draw(st.sampled_from(known))])
        known.append(made)
    return graph.add(Sink(), [known[-1]])[0]


@given(graphs())
def test_json_reads_back_equal(graph: QueryGraph) -> None:
    assert read_json(write_json(graph)) == graph
    assert render_text(graph).startswith("sink_1: Sink(query)")
    assert render_mermaid(graph).count("-->") == len(graph.edges)


def test_not_a_number_reads_back() -> None:
    graph, _ = QueryGraph().add(replace(EXAMPLE, program=replace(EXAMPLE.program, conditions=(("a", NAN),))))
    assert write_json(read_json(write_json(graph))) == write_json(graph)


NAN = Constant(float("nan"), "float")
EXAMPLE = RowPattern(program=RowPatternProgram(Term("a"), ()), cells=(), keys=0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"vertices": [{"id": "x", "node": {"$": "os"}}], "edges": []}'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_json(text)


def test_shared_vertex_is_printed_once() -> None:
    text = render_text(bind(f"SELECT x.d FROM {PATTERN} AS x JOIN {PATTERN} AS y ON x.d = y.d"))
    assert text.count("RowPattern(") == 1
    assert "project_2 (above)" in text


def test_notes_stand_behind_vertices() -> None:
    assert "[here]" in render_text(GRAPH, {"sink_1": "here"})
    assert "at here" in render_mermaid(GRAPH, {"sink_1": "here"})
