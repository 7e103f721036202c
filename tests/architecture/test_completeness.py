"""Nothing is forgotten: each kind of vertex has all that one needs, each rule is in order and has a golden file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

import cepheid.graph.operators as operators
import cepheid.rewrite.rules as rules
from cepheid.graph.json_form import READABLE, read_json, write_json
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import (
    NODE_TYPES,
    Changes,
    Filter,
    HostWindow,
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
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.operators.window_aggregate import WindowCell
from cepheid.graph.operators.window_join import JoinCell
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.render_mermaid import SHAPES
from cepheid.kernel.expression import Cell
from cepheid.kernel.join import JoinInput, JoinProgram
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram, Step, Term
from cepheid.kernel.window import Evaluation, Window, WindowedAggregate, WindowProgram
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.rewrite.rule_order import CARRYING_RULES, RULES, WHOLE_TABLE_RULES

GOLDEN = Path(__file__).parent.parent / "golden" / "rewrite"
CELL = OutputCell(name="x", column="x")
EXAMPLES: dict[type[PlanNode], PlanNode] = {
    Source: Source(name="s", columns=("x",)),
    Filter: Filter(predicate='"x" > 1'),
    Project: Project(columns=(("_time", '"x"'),)),
    Relation: Relation(sql="SELECT 1", inputs=("a",)),
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
    TableJoin: TableJoin(table="t", kind="left", keys=("id",), cells=(JoinCell(name="s.x", column="s.x", input=0),)),
    Union: Union(columns=("x",)),
    Changes: Changes(kind="istream", columns=("x",)),
    Sink: Sink(),
}


def names_in(module: object) -> set[str]:
    (folder,) = module.__path__  # type: ignore[attr-defined]
    return {path.stem for path in Path(folder).glob("*.py")} - {"__init__"}


def test_every_operator_file_is_listed() -> None:
    assert {kind.implementation for kind in NODE_TYPES} == names_in(operators)


@pytest.mark.parametrize("kind", NODE_TYPES, ids=lambda kind: kind.__name__)
def test_every_kind_of_vertex_is_complete(kind: type[PlanNode]) -> None:
    node = EXAMPLES.get(kind)
    assert node is not None, f"give {kind.__name__} an example in this test"
    operations = ("classification", "parameters")
    missing = [name for name in operations if getattr(kind, name) is getattr(PlanNode, name)]
    assert not missing, f"{kind.__name__} lacks {', '.join(missing)}"
    assert node.describe().startswith(f"{kind.__name__}(")
    assert node.role in SHAPES
    assert READABLE.get(kind.__name__) is kind, f"{kind.__name__} cannot be read from JSON"
    graph, vertex = QueryGraph().add(node)
    assert read_json(write_json(graph)) == graph
    assert place_by_nature(graph).places[vertex].show()
    assert set(json.loads(write_json(graph))["vertices"][0]["node"]) == {"$", *(field.name for field in fields(node))}  # type: ignore[arg-type]


def test_rules_are_those_in_their_folder() -> None:
    assert {rule.__name__ for rule in WHOLE_TABLE_RULES} == names_in(rules)
    assert set(RULES) <= set(CARRYING_RULES) <= set(WHOLE_TABLE_RULES)


@pytest.mark.parametrize("rule", WHOLE_TABLE_RULES, ids=lambda rule: rule.__name__)
def test_every_rule_has_a_golden_file_with_both_sides(rule: object) -> None:
    name = rule.__name__  # type: ignore[attr-defined]
    path = GOLDEN / f"{name}.txt"
    assert path.exists(), f"write {path.name}: a query where {name} acts, and one where it must not"
    parts = path.read_text().split("\n====\n")
    unchanged = [part.rstrip().endswith("= unchanged") for part in parts]
    assert True in unchanged, f"{path.name} lacks a case that must not change"
    assert False in unchanged, f"{path.name} lacks a case that changes"
