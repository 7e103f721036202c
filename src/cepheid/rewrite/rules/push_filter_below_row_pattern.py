"""Move a filter on partition columns below the row pattern and its layout.

    Filter(bus = 7)                         RowPattern(keys: bus)
      RowPattern(keys: bus)           =>      Project(bus AS _key0)
        Project(bus AS _key0)                   Filter(bus = 7)
          input                                   input

Safe because a match lies within one partition: without the other partitions, those left match as before.
Pays because whole partitions are never matched at all.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project, RowPattern
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.sql_text import columns_of, join_conjunction, split_conjunction, substitute_columns


def push_filter_below_row_pattern(graph: QueryGraph) -> QueryGraph | None:
    for vertex, node in graph.vertices.items():
        if not isinstance(node, Filter):
            continue
        (below,) = graph.inputs(vertex)
        pattern = graph.vertices[below]
        if not isinstance(pattern, RowPattern) or graph.outputs(below) != [vertex]:
            continue
        keys = {
            cell.name: f'"{cell.column}"'
            for cell in pattern.cells
            if cell.kind == "row" and cell.column is not None and cell.column.startswith("_key")
        }
        parts = split_conjunction(node.predicate)
        movable = [part for part in parts if columns_of(part) and columns_of(part) <= set(keys)]
        if not movable:
            continue
        graph, layout = graph.copy_for(graph.inputs(below)[0], below)
        project = graph.vertices[layout]
        assert isinstance(project, Project), "a projection gives a pattern its layout"
        meanings = dict(project.columns)
        lowered = [substitute_columns(substitute_columns(part, keys), meanings) for part in movable]
        (feeding,) = graph.inputs(layout)
        graph = graph.insert_above(feeding, Filter(predicate=join_conjunction(lowered)), only_for=layout)
        staying = [part for part in parts if part not in movable]
        return graph.with_node(vertex, Filter(predicate=join_conjunction(staying))) if staying else graph.remove(vertex)
    return None
