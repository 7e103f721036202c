"""By which columns of its streams a whole chain may be split: windows, patterns and joins over the rows of others.

    buses ─▶ RowPattern (PARTITION BY bus) ─▶ rows with a copy of bus ─▶ WindowAggregate (PARTITION BY bus)

Every engine runs the whole chain for its share of the events.  That is right if at each vertex all events of a key are
at one engine.  So the columns by which events are handed out must be among the keys of each vertex; and where a vertex
reads rows of another, its key must be a copy of a key that all events behind the row agree on: such a row is where they
are.  A copy that may be null (of a variable that not every match binds, of a side that an outer join leaves out) will
not do: nulls of all engines would be one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch

import pyarrow as pa

from cepheid.graph.node import COMPUTED, MADE_HERE, EngineNode, PlanNode
from cepheid.graph.operators import (
    HostWindow,
    OverRows,
    Relation,
    RowPattern,
    Sequence,
    Source,
    Union,
    WindowAggregate,
    WindowJoin,
)
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.automaton import is_nullable
from cepheid.kernel.columns import kind_of
from cepheid.kernel.pattern import AnyOrder, Step

Columns = Mapping[str, str]  # by stream
Copy = tuple[int, str]  # input, column of its layout


@dataclass(frozen=True, slots=True)
class ChainKeys:
    """columns: of each stream those by which its events are handed out, empty if the chain cannot be split; why: not.

    keys: of each vertex in engines, the numbers of the key columns that they are there; cells: of each vertex that
    others read, the cells that are copies of them.  Columns, keys and cells at one place mean the same.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cells: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Choice:
    """One column for each stream: which key it is at each vertex, and which cell of those that others read."""

    columns: Columns = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)


def find_chain_keys(
    graph: QueryGraph, vertex: str, schemas: Mapping[str, pa.Schema] | None = None, by_groups: bool = False
) -> ChainKeys:
    """For all that runs at or below a vertex, results that are kept up to date over windows and patterns among it;
    schemas: of its streams; by_groups: are groups of windows over time keys as well?  (`is_split_by_groups`)

    Streams under one another (UNION ALL) may hold the same key as other types, which hash otherwise: such a chain is
    split only if schemas show that they do not.
    """
    below = sorted(graph.reach(vertex, graph.inputs))
    engines = [name for name in graph.reach(vertex, graph.inputs) if isinstance(graph.vertices[name], EngineNode)]
    for name in below:
        reason = _refuse(graph.vertices[name], by_groups)
        if reason:
            return ChainKeys(why=f"{name}: {reason}")
    if schemas is None and any(isinstance(graph.vertices[name], Union) for name in below):
        return ChainKeys(why="the types of streams under one another are not known")
    choices = [_Choice()]
    for name in engines:
        fitting = [
            joined
            for number, column in enumerate(list_split_columns(_engine(graph, name), by_groups))
            if (traced := _trace_key(graph, name, column)) is not None
            for choice in choices
            if (joined := _join(choice, name, number, traced)) is not None and _hash_alike(joined.columns, schemas)
        ]
        if not fitting:
            return ChainKeys(why=f"{name}: none of its keys is a copy of those below it, or of a column of its streams")
        choices = fitting
    by_columns = {tuple(sorted(choice.columns.items())): choice for choice in reversed(choices)}
    return _describe([by_columns[columns] for columns in sorted(by_columns)])  # together they spread keys better


def _describe(choices: list[_Choice]) -> ChainKeys:
    first = choices[0]
    return ChainKeys(
        {stream: tuple(choice.columns[stream] for choice in choices) for stream in sorted(first.columns)},
        {name: tuple(choice.keys[name] for choice in choices) for name in first.keys},
        {
            name: tuple(choice.cells[name] for choice in choices)
            for name in first.cells
            if all(name in choice.cells for choice in choices)
        },
    )


def _engine(graph: QueryGraph, vertex: str) -> EngineNode:
    node = graph.vertices[vertex]
    assert isinstance(node, EngineNode), f"{vertex} runs in an engine"
    return node


def list_split_columns(node: EngineNode, by_groups: bool = False) -> list[str]:
    """The columns of its layout by which a vertex may be split."""
    if by_groups and not node.split and isinstance(node, WindowAggregate) and is_split_by_groups(node):
        return [f"_group{number}" for number in range(node.groups)]
    return [f"_key{number}" for number in range(node.split)]


def is_split_by_groups(window: WindowAggregate) -> bool:
    """Is a row about the events of one group alone, as long as somebody tells how far time has come?  It is where the
    window follows time, and nothing is asked of all groups of an evaluation together.  Of OUTPUT EVERY the last
    evaluation is at the tick behind the last event, whichever group has that."""
    program, arrangement = window.program, window.arrangement
    if program.window.kind != "time" or program.members or program.shows != "concerned":
        return False
    shown = {cell.kind for cell in window.cells}
    if "evaluation" in shown or (program.window.is_landmark and "start" in shown):
        return False
    is_arranged = bool(arrangement.order) or arrangement.limit is not None
    return program.evaluation.when in ("event", "close") and not is_arranged


def _refuse(node: PlanNode, by_groups: bool) -> str:
    """Why a vertex must see all events; empty if it need not."""
    match node:
        case EngineNode() if list_split_columns(node, by_groups):
            return ""
        case EngineNode(split=0):
            return "it has no keys, or counts the events of all of them"
        case Relation() | HostWindow():
            return "a join, grouping or sorting that is left to the host sees all rows at once"
    return ""


def _trace_key(graph: QueryGraph, vertex: str, column: str) -> _Choice | None:
    """The columns of streams that a key of a vertex is a copy of, at all its inputs."""
    found = _Choice()
    for feed in graph.inputs(vertex):
        traced = _trace(graph, feed, column)
        both = None if traced is None else _unite(found, traced)
        if both is None:
            return None
        found = both
    return found


def _trace(graph: QueryGraph, vertex: str, column: str) -> _Choice | None:
    """Down to streams, through projections, filters and unions, and through cells that are sure copies."""
    node = graph.vertices[vertex]
    if isinstance(node, Source):
        return _Choice({node.name: column})
    if isinstance(node, Union):
        return _unite_all([_trace(graph, source, column) for source in graph.inputs(vertex)])
    if isinstance(node, EngineNode):
        copy = find_copy(node, column)
        traced = None if copy is None else _trace(graph, graph.inputs(vertex)[copy[0]], copy[1])
        return None if traced is None else _unite(_Choice(cells={vertex: column}), traced)
    origin = node.origin(column)
    if origin in (COMPUTED, MADE_HERE):
        return None
    assert isinstance(origin, tuple), "a column comes from an input"
    return _trace(graph, graph.inputs(vertex)[origin[0]], origin[1])


def _unite_all(traced: list[_Choice | None]) -> _Choice | None:
    found: _Choice | None = _Choice()
    for each in traced:
        found = None if found is None or each is None else _unite(found, each)
    return found


def _unite(left: _Choice, right: _Choice) -> _Choice | None:
    """None: a stream would be handed out by two columns at once."""
    if any(left.columns.get(stream, column) != column for stream, column in right.columns.items()):
        return None
    columns = {**left.columns, **right.columns}
    return _Choice(columns, {**left.keys, **right.keys}, {**right.cells, **left.cells})


def _join(choice: _Choice, vertex: str, number: int, traced: _Choice) -> _Choice | None:
    """The choice with a vertex more, of which this key is what events are handed out by."""
    return _unite(choice, _Choice(traced.columns, {vertex: number}, traced.cells))


def _hash_alike(columns: Columns, schemas: Mapping[str, pa.Schema] | None) -> bool:
    """Have equal values of these columns equal hashes (kernel/key_hash.py)?"""
    if schemas is None:
        return True
    kinds = {kind_of(schemas[stream].field(column).type) for stream, column in columns.items()}
    return len(kinds) == 1 and None not in kinds


# --- copies ----------------------------------------------------------------------------------------------
@singledispatch
def find_copy(node: EngineNode, cell: str) -> Copy | None:  # noqa: ARG001
    """The column of its layout that a cell is a copy of, of an event behind the row, and never null unless that is."""
    return None


@find_copy.register
def _(node: RowPattern, cell: str) -> Copy | None:
    found = next(each for each in node.cells if each.name == cell)
    if found.column is None:
        return None
    of_match = found.kind == "navigate" and not (found.position.variables or found.position.offset)
    never_empty = not is_nullable(node.program.pattern) and not node.program.unmatched
    sure = of_match and found.position.shift == 0 and never_empty
    return (0, found.column) if found.kind == "row" or sure else None


@find_copy.register
def _(node: Sequence, cell: str) -> Copy | None:
    found = next(each for each in node.cells if each.name == cell)
    position = found.position
    if found.kind != "navigate" or found.column is None or position.offset or position.shift:
        return None
    streams = {step.variable: step.stream for step in _list_bound(node)}
    if len(position.variables) != 1 or position.variables[0] not in streams or node.program.timeouts:
        return None
    return streams[position.variables[0]], found.column


def _list_bound(node: Sequence) -> list[Step]:
    """Steps that every match has."""
    if node.program.flow is not None:
        bound = node.program.flow.list_bound()
        return [step for step in node.program.steps if step.variable in bound]
    found: list[Step] = []
    for item in node.program.items:
        if isinstance(item, Step):
            found.append(item)
        elif isinstance(item, AnyOrder):
            found += item.steps
    return found


@find_copy.register
def _(node: WindowAggregate, cell: str) -> Copy | None:
    found = next(each for each in node.cells if each.name == cell)
    return (0, found.column) if found.kind in ("key", "group", "row") and found.column is not None else None


@find_copy.register
def _(node: OverRows, cell: str) -> Copy | None:
    found = next(each for each in node.cells if each.name == cell)
    return (found.input, found.column) if found.kind == "row" and found.column is not None else None


@find_copy.register
def _(node: WindowJoin, cell: str) -> Copy | None:
    found = next(each for each in node.cells if each.name == cell)
    if found.input < 0 or any(outer for side, outer in enumerate(node.program.preserved) if side != found.input):
        return None
    return found.input, found.column
