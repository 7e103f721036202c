"""Move a filter, or as much of it as can go, below the projection it reads.

    Filter(bus = 7)                       Project("_key0" AS bus)
      Project("_key0" AS bus)       =>      Filter("_key0" = 7)
        input                                 input

Safe when the filter reads only columns that the projection passes on unchanged: it sees the same values.
Pays because what is filtered out is not projected, and the filter gets nearer to the producer.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter, Project
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.known_conditions import columns_passed_on
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import columns_of, join_conjunction, split_conjunction, substitute_columns


def push_filter_below_project(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node = graph.vertices[vertex]
    (below,) = graph.inputs(vertex)
    project = graph.vertices[below]
    if not isinstance(node, Filter) or not isinstance(project, Project) or graph.outputs(below) != [vertex]:
        return None
    meanings = columns_passed_on(project)
    parts = split_conjunction(node.predicate)
    movable = [part for part in parts if columns_of(part) <= meanings.keys()]
    if not movable:
        return None
    lowered = Filter(predicate=join_conjunction([substitute_columns(part, meanings) for part in movable]))
    staying = [part for part in parts if part not in movable]
    if not staying:
        return graph.with_node(vertex, lowered).swap_with_input(vertex)
    graph = graph.with_node(vertex, Filter(predicate=join_conjunction(staying)))
    return graph.insert_above(graph.inputs(below)[0], lowered, only_for=below)


PUSH_FILTER_BELOW_PROJECT = Rule(
    name="push_filter_below_project",
    looks_at=(Filter,),
    apply=push_filter_below_project,
    safe="the filter reads only columns that the projection passes on unchanged",
    gain="what is filtered out is not projected, and the filter gets nearer to the producer",
)
