"""Let the host test conditions on single events, so that one bit crosses to the engines instead of a column.

    Sequence(b: b.a1 > 99)               Sequence(b: b._p0)
      Project(ts, id, a1)          =>      Project(ts, id, a1 > 99 AS _p0)
        Source                               Source

Safe because such a condition sees one event, before and after, and a null is no match either way.
Pays when the column is read by nothing else, on hosts where every column of every event is carried to another
process: it is not among the rules of the embedded host.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.graph.operators import Project, RowPattern, Sequence
from cepheid.graph.operators.project import event_layout
from cepheid.graph.predicate import read_by_predicates
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import (
    CURRENT,
    Cell,
    Expression,
    Position,
    join_conjunction,
    list_cells,
    list_columns,
    list_facts,
    split_conjunction,
)
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, Step
from cepheid.rewrite.condition_value import condition_value
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import substitute_columns


def move_conditions_to_host(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node = graph.vertices[vertex]
    assert isinstance(node, RowPattern | Sequence), "the rule looks at patterns"
    for port, layout in enumerate(graph.inputs(vertex)):
        changed = _move_one(graph, vertex, node, port, layout)
        if changed is not None:
            return changed
    return None


def _move_one(graph: QueryGraph, vertex: str, node: RowPattern | Sequence, port: int, layout: str) -> QueryGraph | None:
    project = graph.vertices[layout]
    if not isinstance(project, Project) or graph.outputs(layout) != [vertex]:
        return None
    meanings = dict(project.columns)
    carried = {column for cell in node.cells for column in cell.read_columns()}
    carried |= {"_time", *read_by_predicates(node.predicates)} | {f"_key{number}" for number in range(node.keys)}
    for part, position in _movable_parts(node, port):
        columns = {cell.column for cell in list_cells(part)}
        others = [other for other in _all_parts(node) if other != part]
        read_elsewhere = carried | {column for other in others for column in list_columns(other)}
        value = condition_value(part)
        if value is None or not columns - read_elsewhere or not columns <= set(meanings):
            continue
        tested = substitute_columns(value, meanings)
        name = f"_p{port}_{sum(known.startswith('_p') for known in meanings)}"
        graph = graph.with_node(layout, event_layout([*project.columns, (name, tested)]))
        flag = Cell(name, "bool", position)
        return graph.with_node(vertex, _replace_part(node, part, flag))
    return None


def _movable_parts(node: RowPattern | Sequence, port: int) -> list[tuple[Expression, Position]]:
    """Parts of conditions that test the event at hand alone, and how they refer to it."""
    found: list[tuple[Expression, Position]] = []
    for variable, stream, condition in _conditions(node):
        own = (Position((variable,)),) if isinstance(node, Sequence) else (Position((variable,)), CURRENT)
        for part in split_conjunction(condition):
            cells = list_cells(part)
            if list_facts(part) or isinstance(part, Cell):
                continue
            if stream == port and cells and all(cell.position in own for cell in cells):
                found.append((part, own[0]))
    return found


def _all_parts(node: RowPattern | Sequence) -> list[Expression]:
    parts = [part for _, _, condition in _conditions(node) for part in split_conjunction(condition)]
    return [*parts, *node.program.joint] if isinstance(node, Sequence) else parts


def _conditions(node: RowPattern | Sequence) -> list[tuple[str, int, Expression]]:
    if isinstance(node, RowPattern):
        return [(variable, 0, condition) for variable, condition in node.program.conditions]
    return [(term.variable, term.stream, term.condition) for term in node.program.terms if term.condition is not None]


def _replace_part(node: RowPattern | Sequence, old: Expression, new: Expression) -> RowPattern | Sequence:
    def rebuild(condition: Expression) -> Expression:
        rebuilt = join_conjunction([new if part == old else part for part in split_conjunction(condition)])
        assert rebuilt is not None, "a condition has parts"
        return rebuilt

    def rebuild_item(item: SequenceItem) -> SequenceItem:
        match item:
            case Choice(options=steps):
                return Choice(tuple(rebuild_step(step) for step in steps))
            case AnyOrder(steps=steps):
                return AnyOrder(tuple(rebuild_step(step) for step in steps))
            case Absent(condition=condition):
                return item if condition is None else replace(item, condition=rebuild(condition))
            case Step():
                return rebuild_step(item)
        raise AssertionError(f"not an item of a sequence: {item!r}")

    def rebuild_step(step: Step) -> Step:
        return step if step.condition is None else replace(step, condition=rebuild(step.condition))

    if isinstance(node, RowPattern):
        conditions = tuple((variable, rebuild(condition)) for variable, condition in node.program.conditions)
        return replace(node, program=replace(node.program, conditions=conditions))
    return replace(node, program=replace(node.program, items=tuple(map(rebuild_item, node.program.items))))


MOVE_CONDITIONS_TO_HOST = Rule(
    name="move_conditions_to_host",
    looks_at=(
        RowPattern,
        Sequence,
    ),
    apply=move_conditions_to_host,
    safe="the condition sees one event, before and after, and a null is no match either way",
    gain="one bit of each event is carried to the engines instead of a column",
)
