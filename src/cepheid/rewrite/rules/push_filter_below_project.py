"""Move a filter below the projection it reads.

    Filter(bus = 7)                       Project("_key0" AS bus)
      Project("_key0" AS bus)       =>      Filter("_key0" = 7)
        input                                 input

Safe when the filter reads only columns that the projection passes on unchanged: it sees the same values.
Pays because what is filtered out is not projected, and the filter gets nearer to the producer.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.sql_text import columns_of, is_plain_column, substitute_columns


def push_filter_below_project(graph: QueryGraph) -> QueryGraph | None:
    for vertex, node in graph.vertices.items():
        if not isinstance(node, Filter):
            continue
        (below,) = graph.inputs(vertex)
        project = graph.vertices[below]
        if not isinstance(project, Project) or graph.outputs(below) != [vertex]:
            continue
        meanings = dict(project.columns)
        if all(is_plain_column(meanings[name]) for name in columns_of(node.predicate)):
            predicate = substitute_columns(node.predicate, meanings)
            return graph.with_node(vertex, Filter(predicate=predicate)).swap_with_input(vertex)
    return None
