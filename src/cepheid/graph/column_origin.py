"""Where a column comes from: through filters and plain projections, down to a producer or to a cell of a pattern."""

from __future__ import annotations

from cepheid.graph.node import COMPUTED, MADE_HERE
from cepheid.graph.operators import Project, Sequence, Source, Union, WindowAggregate
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.expression import Position
from cepheid.kernel.pattern import Step


def trace_column(graph: QueryGraph, vertex: str, column: str) -> tuple[Source, str] | None:
    """The producer and its column that `column` of a vertex is a copy of; None if it is computed."""
    found = follow_column(graph, vertex, column)
    if found is None:
        return None
    node = graph.vertices[found[0]]
    return (node, found[1]) if isinstance(node, Source) else None


def trace_columns(graph: QueryGraph, vertex: str, column: str) -> list[tuple[Source, str]] | None:
    """The same through unions, which have several."""
    found = follow_column(graph, vertex, column)
    if found is None:
        return None
    node = graph.vertices[found[0]]
    if isinstance(node, Union):
        below = [trace_columns(graph, source, found[1]) for source in graph.inputs(found[0])]
        return None if any(each is None for each in below) else [pair for each in below for pair in each or []]
    return [(node, found[1])] if isinstance(node, Source) else None


def find_settled_times(graph: QueryGraph, vertex: str) -> list[str]:
    """Columns of a vertex in an engine that hold the time at which a row is settled: once the horizon was there, no row
    with an earlier one comes.  A match whose end is known later, since it might go on, has no such column."""
    match graph.vertices[vertex]:
        case Sequence(program=sequence, cells=cells):
            last = sequence.items[-1]
            if sequence.flow is not None or not isinstance(last, Step) or sequence.absences or sequence.timeouts:
                return []
            ends = Position((last.variable,))
            return [
                cell.name
                for cell in cells
                if cell.kind == "navigate" and cell.column == "_time" and cell.position == ends
            ]
        case WindowAggregate(cells=window_cells, program=window):
            settled = ("moment", "end") if window.evaluation.when == "close" else ("moment",)
            return [cell.name for cell in window_cells if cell.kind in settled and window.window.kind == "time"]
    return []


def is_time_of_match(cell: OutputCell) -> bool:
    """Is the cell the time of an event of its match, or of one after it?"""
    if cell.aggregate is not None:
        return cell.aggregate.function in ("min", "max") and cell.aggregate.column == "_time"
    return cell.kind in ("row", "navigate", "moment") and cell.column == "_time" and cell.position.shift >= 0


def name_columns(graph: QueryGraph, pattern: str) -> dict[str, str]:
    """What producers call the columns of a pattern's layout; those that are computed have no name.

    Columns of two inputs may have one name: an event has one of them.
    """
    names: dict[str, str] = {}
    for feed in graph.inputs(pattern):
        node = graph.vertices[feed]
        assert isinstance(node, Project), "a pattern is fed by projections"
        told = {names[layout] for layout, _ in node.columns if layout in names}
        for layout, _ in node.columns:
            name = _find_name(graph, feed, layout)
            if name is not None and layout not in names and name not in told:
                names[layout] = name
                told.add(name)
    return names


def _find_name(graph: QueryGraph, feed: str, layout: str) -> str | None:
    """What a producer calls the column, or a union of producers."""
    found = follow_column(graph, feed, layout)
    return None if found is None or trace_columns(graph, feed, layout) is None else found[1]


def follow_column(graph: QueryGraph, vertex: str, column: str) -> tuple[str, str] | None:
    """The vertex where the column is made, and its name there; None if it is computed on the way."""
    origin = graph.vertices[vertex].origin(column)
    if origin == COMPUTED:
        return None
    if origin == MADE_HERE:
        return vertex, column
    number, inner = origin
    return follow_column(graph, graph.inputs(vertex)[number], inner)
