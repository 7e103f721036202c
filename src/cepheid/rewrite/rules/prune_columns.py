"""Read, carry and hand out only the columns that something above needs.

    Project(bus)                              Project(bus)
      RowPattern(cells: bus, delay, line)       RowPattern(cells: bus)
        Project(ts, bus, delay, line)    =>       Project(ts, bus, delay)

Safe because nothing reads what is left out.  Pays most on Spark, where every column of every event crosses
from the JVM to Python.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.graph.node import PlanNode
from cepheid.graph.operators import OverRows, Project, RowPattern, Sequence, TableJoin, WindowAggregate, WindowJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import needed_columns
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import columns_of


def prune_columns(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node, needed = graph.vertices[vertex], needed_columns(graph, vertex)
    if needed is None:
        return None
    narrowed = _narrow(node, needed)
    return graph.with_node(vertex, narrowed) if narrowed != node else None


def _narrow(node: PlanNode, needed: frozenset[str]) -> PlanNode:
    """The node with only the needed columns; one column stays, so that rows can be counted."""
    match node:
        case Project(columns=columns):
            return replace(node, columns=tuple(pair for pair in columns if pair[0] in needed) or columns[:1])
        case RowPattern(cells=cells) | Sequence(cells=cells):
            return replace(node, cells=tuple(cell for cell in cells if cell.name in needed) or cells[:1])
        case WindowAggregate():
            return _narrow_window(node, needed)
        case OverRows():
            return _narrow_over(node, needed)
        case WindowJoin(cells=join_cells, condition=condition) | TableJoin(cells=join_cells, condition=condition):
            kept = needed | (columns_of(condition) if condition is not None else frozenset())
            return replace(node, cells=tuple(cell for cell in join_cells if cell.name in kept) or join_cells[:1])
    return node


def _narrow_window(node: WindowAggregate, needed: frozenset[str]) -> WindowAggregate:
    """Cells that order or rank the rows are needed whoever reads them; aggregates that no cell tells are not
    computed."""
    sorts = [*node.arrangement.order, *(term for cell in node.cells for term in cell.order)]
    kept = needed | {term.cell for term in sorts}
    cells = tuple(cell for cell in node.cells if cell.name in kept) or node.cells[:1]
    told = sorted({cell.number for cell in cells if cell.kind == "aggregate"})
    aggregates = tuple(node.program.aggregates[number] for number in told)
    cells = tuple(replace(cell, number=told.index(cell.number)) if cell.kind == "aggregate" else cell for cell in cells)
    return replace(node, cells=cells, program=replace(node.program, aggregates=aggregates))


def _narrow_over(node: OverRows, needed: frozenset[str]) -> OverRows:
    """Functions that no cell tells are not computed."""
    cells = tuple(cell for cell in node.cells if cell.name in needed) or node.cells[:1]
    summed = sorted({cell.number for cell in cells if cell.kind == "aggregate"})
    told = sorted({cell.number for cell in cells if cell.kind not in ("row", "aggregate")})
    places = {"row": [0], "aggregate": summed}
    return replace(
        node,
        cells=tuple(replace(cell, number=places.get(cell.kind, told).index(cell.number)) for cell in cells),
        program=replace(
            node.program, functions=tuple(node.program.functions[number] for number in told), spans=bool(summed)
        ),
        aggregates=tuple(node.aggregates[number] for number in summed),
    )


PRUNE_COLUMNS = Rule(
    name="prune_columns",
    looks_at=(
        Project,
        RowPattern,
        Sequence,
        WindowAggregate,
        WindowJoin,
        OverRows,
        TableJoin,
    ),
    apply=prune_columns,
    safe="nothing reads what is left out",
    gain="columns that nobody reads are neither computed nor carried",
)
