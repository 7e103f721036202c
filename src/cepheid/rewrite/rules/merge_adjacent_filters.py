"""Make one filter of two that follow one another.

    Filter(p)                 Filter(p AND q)
      Filter(q)         =>      input
        input

Safe because filters are combinable (AGeCEP, section 5.4) and an event passes both or neither.
Pays always: one pass over the events instead of two.
"""

from __future__ import annotations

from cepheid.graph.operators import Filter
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import join_conjunction


def merge_adjacent_filters(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    outer = graph.vertices[vertex]
    (below,) = graph.inputs(vertex)
    inner = graph.vertices[below]
    if not isinstance(outer, Filter) or not isinstance(inner, Filter) or graph.outputs(below) != [vertex]:
        return None
    merged = Filter(predicate=join_conjunction([inner.predicate, outer.predicate]))
    return graph.remove(below).with_node(vertex, merged)


MERGE_ADJACENT_FILTERS = Rule(
    name="merge_adjacent_filters",
    looks_at=(Filter,),
    apply=merge_adjacent_filters,
    safe="filters are combinable: an event passes both or neither",
    gain="one pass over the events instead of two",
)
