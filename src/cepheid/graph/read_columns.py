"""Which columns of each vertex something above it reads: derived from the graph, never stored in it.

Each kind of vertex says what it reads of its inputs; a kind that is not listed here reads everything, so that nothing
it needs can be pruned (tests/architecture names kinds that are missing).
"""

from __future__ import annotations

from collections.abc import Sequence as Names
from functools import singledispatch

from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import (
    Changes,
    Filter,
    HostWindow,
    Project,
    Relation,
    Sink,
    Source,
    TableJoin,
    Union,
)
from cepheid.graph.query_graph import QueryGraph
from cepheid.scalars.value import columns_of

Needed = frozenset[str] | None  # None: every column
EVERYTHING: Needed = None


@singledispatch
def reads_of(node: PlanNode, needed: Needed) -> Needed:  # noqa: ARG001 (cases read both)
    """The columns of its inputs that a vertex reads, if `needed` of its own are read."""
    return EVERYTHING


@reads_of.register
def _(node: Project, needed: Needed) -> Needed:  # noqa: ARG001
    return frozenset().union(*(columns_of(value) for _, value in node.columns))


@reads_of.register
def _(node: Filter, needed: Needed) -> Needed:
    return None if needed is None else needed | columns_of(node.predicate)


@reads_of.register
def _(node: EngineNode, needed: Needed) -> Needed:  # noqa: ARG001
    layout = ["_time", *(f"_order{number}" for number in range(1, node.order))]
    return frozenset((*layout, *(f"_key{number}" for number in range(node.keys)), *node.read_columns()))


@reads_of.register
def _(node: TableJoin, needed: Needed) -> Needed:  # noqa: ARG001
    keys = (f"_key{number}" for number in range(len(node.keys)))
    return frozenset((*(cell.column for cell in node.cells if cell.input == 0), *keys))


@reads_of.register
def _(node: Union, needed: Needed) -> Needed:  # noqa: ARG001
    return frozenset(node.columns)


@reads_of.register
def _(node: HostWindow, needed: Needed) -> Needed:  # noqa: ARG001
    return frozenset(node.read_columns())


@reads_of.register
def _(node: Changes, needed: Needed) -> Needed:  # noqa: ARG001
    return frozenset((*node.columns, *node.keys, "_sign", "_evaluation"))


@reads_of.register(Relation)
@reads_of.register(Sink)
def _(node: PlanNode, needed: Needed) -> Needed:  # noqa: ARG001
    return EVERYTHING


@reads_of.register
def _(node: Source, needed: Needed) -> Needed:  # noqa: ARG001
    return frozenset()


def needed_columns(graph: QueryGraph, vertex: str) -> Needed:
    """The columns of a vertex that its readers read."""
    found: frozenset[str] = frozenset()
    for reader in set(graph.outputs(vertex)):
        node = graph.vertices[reader]
        read = reads_of(node, needed_columns(graph, reader) if isinstance(node, Filter) else EVERYTHING)
        if read is None:
            return EVERYTHING
        found |= read
    return found


def source_columns(graph: QueryGraph, source: str, known: Names[str]) -> list[str]:
    """The columns of a producer that are read, in its order; one at least, so that rows can be counted.  known: all
    it has."""
    needed = needed_columns(graph, source)
    return [name for name in known if needed is None or name in needed] or list(known[:1])
