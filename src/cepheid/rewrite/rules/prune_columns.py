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

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation, RowPattern, Sequence, Sink, Source
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
    return node


def _reads(node: PlanNode, needed: _Needed) -> _Needed:
    """The columns of its inputs that the node reads."""
    match node:
        case Project(columns=columns):
            return set().union(*(columns_of(sql) for _, sql in columns))
        case Filter(predicate=predicate):
            return None if needed is None else needed | columns_of(predicate)
        case RowPattern() | Sequence():
            layout = ["_time", *(f"_order{number}" for number in range(1, node.order))]
            return {*layout, *(f"_key{number}" for number in range(node.keys)), *node.read_columns()}
        case Relation() | Sink():
            return None
    return set()
