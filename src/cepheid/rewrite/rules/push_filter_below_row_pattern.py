"""Move a filter on partition columns below the row pattern and its layout.

    Filter(bus = 7)                         RowPattern(keys: bus)
      RowPattern(keys: bus)           =>      Project(bus AS _key0)
        Project(bus AS _key0)                   Filter(bus = 7)
          input                                   input

Safe because a match lies within one partition: without the other partitions, those left match as before.
Pays because whole partitions are never matched at all, unless nearly all events pass: then the filter is cheaper
on the few rows of matches.
"""

from __future__ import annotations

from cepheid.cost.estimate import Estimate
from cepheid.graph.operators import Filter, Project, RowPattern
from cepheid.graph.query_graph import QueryGraph
from cepheid.rewrite.known_conditions import columns_passed_on
from cepheid.rewrite.rule import Rule
from cepheid.scalars.value import columns_of, join_conjunction, split_conjunction, substitute_columns


def push_filter_below_row_pattern(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node = graph.vertices[vertex]
    (below,) = graph.inputs(vertex)
    pattern = graph.vertices[below]
    if not isinstance(node, Filter) or not isinstance(pattern, RowPattern) or graph.outputs(below) != [vertex]:
        return None
    keys = columns_passed_on(pattern)
    parts = split_conjunction(node.predicate)
    movable = [part for part in parts if columns_of(part) and columns_of(part) <= keys.keys()]
    if not movable:
        return None
    graph, layout = graph.copy_for(graph.inputs(below)[0], below)
    project = graph.vertices[layout]
    assert isinstance(project, Project), "a projection gives a pattern its layout"
    meanings = dict(project.columns)
    lowered = [substitute_columns(substitute_columns(part, keys), meanings) for part in movable]
    (feeding,) = graph.inputs(layout)
    graph = graph.insert_above(feeding, Filter(predicate=join_conjunction(lowered)), only_for=layout)
    staying = [part for part in parts if part not in movable]
    return graph.with_node(vertex, Filter(predicate=join_conjunction(staying))) if staying else graph.remove(vertex)


def _saves_matching(estimate: Estimate, vertex: str) -> bool:
    """Matching what is dropped must cost more than to filter every event, instead of every row of a match."""
    (pattern,) = estimate.graph.inputs(vertex)
    saved = (1 - estimate.selectivity(vertex)) * estimate.ipe(pattern) + estimate.selectivity(pattern)
    return saved > estimate.ipe(vertex)


PUSH_FILTER_BELOW_ROW_PATTERN = Rule(
    name="push_filter_below_row_pattern",
    looks_at=(Filter,),
    apply=push_filter_below_row_pattern,
    safe="a match lies within one partition: without the other partitions, those left match as before",
    gain="whole partitions are never matched at all",
    pays=_saves_matching,
)
