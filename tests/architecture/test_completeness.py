"""Nothing is forgotten: each kind of vertex has all that one needs, each rule is in order and has a golden file."""

from __future__ import annotations

import json
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

import cepheid.execution.sinks as sinks
import cepheid.execution.sources as sources
import cepheid.graph.operators as operators
import cepheid.rewrite.rules as rules
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import make_operator, unite_schemas
from cepheid.execution.sinks.kinds import SINK_KINDS
from cepheid.execution.sources.kinds import SOURCE_KINDS
from cepheid.graph.attributes import Beliefs
from cepheid.graph.json_form import READABLE, read_json, write_json
from cepheid.graph.node import EngineNode, PlanNode, plan_node
from cepheid.graph.operators import (
    NODE_TYPES,
    Changes,
    Filter,
    HostWindow,
    OverRows,
    Project,
    Relation,
    RowPattern,
    Sequence,
    Sink,
    Source,
    TableJoin,
    Union,
    WindowAggregate,
    WindowJoin,
)
from cepheid.graph.operators.over_rows import OverCell
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.render_mermaid import SHAPES
from cepheid.hosts import EMBEDDED, SPARK_STREAMS, SPARK_TABLES
from cepheid.kernel.expression import Cell
from cepheid.kernel.join import JoinInput, JoinProgram
from cepheid.kernel.over import OverFunction, OverProgram
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram, Step, Term
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowProgram
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.rewrite.rewriter import rewrite_graph
from cepheid.rewrite.rule import Rule
from cepheid.rewrite.rule_order import ALL_RULES
from cepheid.scalars.value import Column, Literal, binary, operation
from cepheid.simulation.scenarios.vertex_model import model_vertex

GOLDEN = Path(__file__).parent.parent / "golden" / "rewrite"
TYPES = {"_time": pa.timestamp("us"), "_key0": pa.int64()}
CELL = OutputCell(name="x", column="x")
ONE = operation("select", expressions=(operation("alias", this=Literal("1"), alias=operation("identifier", this="x")),))
EXAMPLES: dict[type[PlanNode], PlanNode] = {
    Source: Source(name="s"),
    Filter: Filter(predicate=binary("gt", Column("x"), Literal("1"))),
    Project: Project(columns=(("_time", Column("x")),)),
    Relation: Relation(query=ONE, inputs=("a",), text="SELECT 1"),
    RowPattern: RowPattern(program=RowPatternProgram(Term("a"), (("a", Cell("x", "bool")),)), cells=(CELL,), keys=1),
    Sequence: Sequence(program=SequenceProgram((Step("a", 0),)), cells=(CELL,), streams=("s",), keys=1),
    HostWindow: HostWindow(
        window=Window(kind="time", size=5, slide=5),
        aggregates=(WindowedAggregate(function="count"),),
        cells=(WindowCell(name="n", kind="aggregate"),),
        keys=1,
    ),
    WindowAggregate: WindowAggregate(
        program=WindowProgram(
            window=Window(kind="count", size=5),
            evaluation=Evaluation(when="event"),
            aggregates=(WindowedAggregate(function="avg", column="x", column_kind="float", kind="float"),),
        ),
        cells=(WindowCell(name="_a0", kind="aggregate"),),
        keys=1,
    ),
    WindowJoin: WindowJoin(
        program=JoinProgram(inputs=(JoinInput(kind="count", size=5),) * 2, preserved=(False, False)),
        cells=(JoinCell(name="a.x", column="a.x", input=0),),
        streams=("a", "b"),
        keys=1,
        parts=(0, 0),
    ),
    OverRows: OverRows(
        program=OverProgram(functions=(OverFunction(function="lag"),)),
        cells=(OverCell(name="x", kind="picked", column="x"),),
        keys=1,
    ),
    TableJoin: TableJoin(table="t", kind="left", keys=("id",), cells=(JoinCell(name="s.x", column="s.x", input=0),)),
    Union: Union(columns=("x",)),
    Changes: Changes(kind="istream", columns=("x",)),
    Sink: Sink(),
}


def names_in(module: object) -> set[str]:
    (folder,) = module.__path__  # type: ignore[attr-defined]
    return {path.stem for path in Path(folder).glob("*.py")} - {"__init__"}


@pytest.mark.parametrize(("folder", "kinds"), [(sources, SOURCE_KINDS), (sinks, SINK_KINDS)])
def test_every_file_of_a_source_or_a_sink_is_in_the_list(folder: object, kinds: list[object]) -> None:
    name = folder.__name__  # type: ignore[attr-defined]
    modules = [import_module(f"{name}.{each}") for each in sorted(names_in(folder))]
    found = [module.KIND for module in modules if hasattr(module, "KIND")]
    assert len(found) == len(kinds)
    assert all(kind in found for kind in kinds)


def test_every_operator_file_is_listed() -> None:
    assert {kind.implementation for kind in NODE_TYPES} == names_in(operators)


@pytest.mark.parametrize("kind", NODE_TYPES, ids=lambda kind: kind.__name__)
def test_every_kind_of_vertex_is_complete(kind: type[PlanNode]) -> None:
    node = EXAMPLES.get(kind)
    assert node is not None, f"give {kind.__name__} an example in this test"
    operations = ["classification", "parameters", "reads", "origin", "guess_ipe", "guess_selectivity"]
    missing = [name for name in operations if getattr(kind, name) is getattr(PlanNode, name)]
    if issubclass(kind, EngineNode):
        missing += [name for name in ("read_columns", "cell_names") if getattr(kind, name) is getattr(EngineNode, name)]
    assert not missing, f"graph/operators/{kind.implementation}.py: {kind.__name__} lacks {', '.join(missing)}"
    assert node.describe().startswith(f"{kind.__name__}(")
    assert node.role in SHAPES
    assert READABLE.get(kind.__name__) is kind, f"{kind.__name__} cannot be read from JSON"
    graph, vertex = QueryGraph().add(node)
    assert read_json(write_json(graph)) == graph
    assert place_by_nature(graph, SPARK_TABLES.native).places[vertex].show()
    assert set(json.loads(write_json(graph))["vertices"][0]["node"]) == {"$", *(field.name for field in fields(node))}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", NODE_TYPES, ids=lambda kind: kind.__name__)
def test_every_kind_of_vertex_is_simulated(kind: type[PlanNode]) -> None:
    assert model_vertex.dispatch(kind) is not model_vertex.dispatch(object), (
        f"simulation/scenarios/vertex_model.py has no model of {kind.__name__}"
    )


@pytest.mark.parametrize("kind", NODE_TYPES, ids=lambda kind: kind.__name__)
def test_every_kind_of_vertex_is_run_by_a_host(kind: type[PlanNode]) -> None:
    """On Spark: tests/spark/test_batch.py."""
    node = EXAMPLES[kind]
    if node.role != "operator":
        return
    if isinstance(node, EngineNode):
        many = isinstance(node, Sequence | WindowJoin)
        names = ["_time", "_key0", *node.read_columns()]
        layout = unite_schemas(
            [pa.schema([(name, TYPES.get(name, pa.float64())) for name in dict.fromkeys(names)])], many
        )
        assert make_operator([node], layout, many, "compiled").schemas, f"execution/engine.py: {kind.__name__}"
        return
    hosts = [host for host in (EMBEDDED, SPARK_TABLES, SPARK_STREAMS) if issubclass(kind, host.native)]
    assert hosts, f"hosts.py: no host runs a {kind.__name__}"
    if EMBEDDED in hosts and kind is not TableJoin:  # tests/execution/test_lookup.py has something to look up in
        rows = pa.table({"x": [1.0], "_sign": [1], "_evaluation": [0]})
        assert run_relational(node, [rows]) is not None, f"execution/embedded/relations.py: {kind.__name__}"


def test_a_kind_that_says_nothing_about_what_it_reads_is_never_pruned() -> None:
    """Forgotten, it raises; it does not pass for one that reads nothing."""

    @plan_node
    class Forgotten(PlanNode):
        implementation: ClassVar[str] = "forgotten"

        def parameters(self) -> list[str]:
            return []

    graph, source = QueryGraph().add(Source(name="s"))
    graph, project = graph.add(Project(columns=(("x", Column("x")), ("y", Column("y")))), [source])
    graph, above = graph.add(Forgotten(), [project])
    graph, _ = graph.add(Sink(), [above])
    with pytest.raises(NotImplementedError, match="Forgotten"):
        rewrite_graph(graph, EMBEDDED.rules, Beliefs())


def test_rules_are_those_in_their_folder() -> None:
    assert {rule.name for rule in ALL_RULES} == names_in(rules)
    used = [rule for host in (EMBEDDED, SPARK_STREAMS, SPARK_TABLES) for rule in host.rules]
    assert set(used) == set(ALL_RULES), "each rule is used by a host"


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_every_rule_says_what_it_is(rule: Rule) -> None:
    assert rule.looks_at, "the kinds of vertices that it is tried at"
    assert set(rule.looks_at) <= set(NODE_TYPES)
    assert len(rule.safe) > 20, "why rows stay the same"
    assert len(rule.gain) > 20, "what is had by it"


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_golden_file_with_both_sides(rule: Rule) -> None:
    name = rule.name
    path = GOLDEN / f"{name}.txt"
    assert path.exists(), f"write {path.name}: a query where {name} acts, and one where it must not"
    parts = path.read_text().split("\n====\n")
    unchanged = [part.rstrip().endswith("= unchanged") for part in parts]
    assert True in unchanged, f"{path.name} lacks a case that must not change"
    assert False in unchanged, f"{path.name} lacks a case that changes"
