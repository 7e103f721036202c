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
from cepheid.rewrite.sql_text import join_conjunction


def merge_adjacent_filters(graph: QueryGraph) -> QueryGraph | None:
    for vertex, outer in graph.vertices.items():
        if not isinstance(outer, Filter):
            continue
        (below,) = graph.inputs(vertex)
        inner = graph.vertices[below]
        if isinstance(inner, Filter) and graph.outputs(below) == [vertex]:
            merged = Filter(predicate=join_conjunction([inner.predicate, outer.predicate]))
            return graph.remove(below).with_node(vertex, merged)
    return None
