"""Read, carry and hand out only the columns that something above needs.

    Project(bus)                              Project(bus)
      RowPattern(cells: bus, delay, line)       RowPattern(cells: bus)
        Project(ts, bus, delay, line)    =>       Project(ts, bus, delay)
          Source(all columns)                       Source(ts, bus, delay)

Safe because nothing reads what is left out.  Pays most on Spark, where every column of every event crosses
from the JVM to Python.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import (
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
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.sql_text import columns_of

_Needed = set[str] | None  # None: every column


def prune_columns(graph: QueryGraph) -> QueryGraph | None:
    needed: dict[str, _Needed] = {vertex: set() for vertex in graph.vertices}
    pruned = graph
    for vertex in reversed(graph.order):
        node = _narrow(graph.vertices[vertex], needed[vertex])
        if node != graph.vertices[vertex]:
            pruned = pruned.with_node(vertex, node)
        reads = _reads(node, needed[vertex])
        for source in graph.inputs(vertex):
            wanted = needed[source]
            needed[source] = None if wanted is None or reads is None else wanted | reads
    return pruned if pruned is not graph else None


def _narrow(node: PlanNode, needed: _Needed) -> PlanNode:
    """The node with only the needed columns; one column stays, so that rows can be counted."""
    if needed is None:
        return node
    match node:
        case Source(columns=columns):
            return replace(node, columns=tuple(name for name in columns if name in needed) or columns[:1])
        case Project(columns=columns):
            return replace(node, columns=tuple(pair for pair in columns if pair[0] in needed) or columns[:1])
        case RowPattern(cells=cells) | Sequence(cells=cells):
            return replace(node, cells=tuple(cell for cell in cells if cell.name in needed) or cells[:1])
        case WindowAggregate():
            return _narrow_window(node, needed)
        case WindowJoin(cells=join_cells, condition=condition) | TableJoin(cells=join_cells, condition=condition):
            kept = needed | (columns_of(condition) if condition is not None else set())
            return replace(node, cells=tuple(cell for cell in join_cells if cell.name in kept) or join_cells[:1])
    return node


def _reads(node: PlanNode, needed: _Needed) -> _Needed:
    """The columns of its inputs that the node reads."""
    match node:
        case Project(columns=columns):
            return set().union(*(columns_of(sql) for _, sql in columns))
        case Filter(predicate=predicate):
            return None if needed is None else needed | columns_of(predicate)
        case EngineNode():
            layout = ["_time", *(f"_order{number}" for number in range(1, node.order))]
            return {*layout, *(f"_key{number}" for number in range(node.keys)), *node.read_columns()}
        case TableJoin(cells=cells, keys=keys):
            return {*(cell.column for cell in cells if cell.input == 0), *(f"_key{n}" for n in range(len(keys)))}
        case Union(columns=columns):
            return set(columns)
        case HostWindow():
            return set(node.read_columns())
        case Changes(columns=columns, keys=keys):
            return {*columns, *keys, "_sign", "_evaluation"}
        case Relation() | Sink():
            return None
    return set()


def _narrow_window(node: WindowAggregate, needed: set[str]) -> WindowAggregate:
    """Cells that order or rank the rows are needed whoever reads them; aggregates that no cell tells are not
    computed."""
    sorts = [*node.arrangement.order, *(term for cell in node.cells for term in cell.order)]
    kept = needed | {term.cell for term in sorts}
    cells = tuple(cell for cell in node.cells if cell.name in kept) or node.cells[:1]
    told = sorted({cell.number for cell in cells if cell.kind == "aggregate"})
    aggregates = tuple(node.program.aggregates[number] for number in told)
    cells = tuple(replace(cell, number=told.index(cell.number)) if cell.kind == "aggregate" else cell for cell in cells)
    return replace(node, cells=cells, program=replace(node.program, aggregates=aggregates))
