"""Where a column comes from: through filters and plain projections, down to a producer or to a cell of a pattern."""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project, RowPattern, Sequence, Source
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.query_graph import QueryGraph


def trace_column(graph: QueryGraph, vertex: str, column: str) -> tuple[Source, str] | None:
    """The producer and its column that `column` of a vertex is a copy of; None if it is computed."""
    found = _follow(graph, vertex, column)
    if found is None:
        return None
    node = graph.vertices[found[0]]
    return (node, found[1]) if isinstance(node, Source) else None


def trace_cell(graph: QueryGraph, vertex: str, column: str) -> tuple[str, OutputCell] | None:
    """The pattern and the cell of it that `column` of a vertex is a copy of; None if it is something else."""
    found = _follow(graph, vertex, column)
    if found is None:
        return None
    node = graph.vertices[found[0]]
    if not isinstance(node, RowPattern | Sequence):
        return None
    return found[0], next(cell for cell in node.cells if cell.name == found[1])


def is_time_of_match(cell: OutputCell) -> bool:
    """Is the cell the time of an event of its match, or of one after it?"""
    if cell.aggregate is not None:
        return cell.aggregate.function in ("min", "max") and cell.aggregate.column == "_time"
    return cell.kind in ("row", "navigate") and cell.column == "_time" and cell.position.shift >= 0


def name_columns(graph: QueryGraph, pattern: str) -> dict[str, str]:
    """What producers call the columns of a pattern's layout; those that are computed have no name."""
    names: dict[str, str] = {}
    for feed in graph.inputs(pattern):
        node = graph.vertices[feed]
        assert isinstance(node, Project), "a pattern is fed by projections"
        for layout, _ in node.columns:
            origin = trace_column(graph, feed, layout)
            if origin is not None and layout not in names and origin[1] not in names.values():
                names[layout] = origin[1]
    return names


def _follow(graph: QueryGraph, vertex: str, column: str) -> tuple[str, str] | None:
    """The vertex where the column is made, and its name there; None if a projection computes it."""
    match graph.vertices[vertex]:
        case Filter():
            return _follow(graph, graph.inputs(vertex)[0], column)
        case Project(columns=columns):
            sql = dict(columns)[column]
            inner = sql[1:-1].replace('""', '"')
            is_plain = sql == '"' + inner.replace('"', '""') + '"'
            return _follow(graph, graph.inputs(vertex)[0], inner) if is_plain else None
    return vertex, column
