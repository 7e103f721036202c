"""Let time windows with GROUP BY run on as many engines as there are groups.

    WindowAggregate([RANGE 1 h], on event, groups=1)        WindowAggregate([RANGE 1 h], on event, keys=1)
      Project("id" AS _group0)                        =>      Project("id" AS _key0)

Safe because a span of time holds the same events of a group whether or not others are looked at, and each row is about
one group, at a moment that this group or the clock tells.  Not so where windows count events, where the first or the
last event of all decides when the window is looked at (EVERY t, ON EXPIRY), or where rows of one look are compared
(ISTREAM, ORDER BY, rank).
Pays where engines are many: without keys there is one.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.graph.operators import Project, WindowAggregate
from cepheid.graph.operators.project import event_layout
from cepheid.graph.operators.window_aggregate import Arrangement, WindowCell
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.window import Evaluation
from cepheid.rewrite.rule import Rule

TOLD = frozenset(("group", "aggregate", "start", "end", "moment"))


def partition_windows_by_group(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node = graph.vertices[vertex]
    assert isinstance(node, WindowAggregate), "the rule looks at windows"
    if not _can_partition(node):
        return None
    graph, layout = graph.copy_for(graph.inputs(vertex)[0], vertex)
    project = graph.vertices[layout]
    assert isinstance(project, Project), "a window is fed by a projection"
    meanings = dict(project.columns)
    keys = [(f"_key{number}", meanings[f"_group{number}"]) for number in range(node.groups)]
    graph = graph.with_node(layout, event_layout([*project.columns, *keys]))
    partitioned = replace(node, keys=node.groups, groups=0, cells=tuple(map(_of_key, node.cells)))
    return graph.with_node(vertex, partitioned)


def _can_partition(node: WindowAggregate) -> bool:
    program, window = node.program, node.program.window
    is_event = window.slide is None and program.evaluation == Evaluation(when="event")
    is_close = window.slide is not None and program.evaluation == Evaluation(when="close")
    return (
        node.groups > 0
        and node.keys == 0
        and window.kind == "time"
        and window.size is not None
        and (is_event or is_close)
        and program.shows == "concerned"
        and not node.filtered
        and node.arrangement == Arrangement()
        and all(cell.kind in TOLD for cell in node.cells)
    )


def _of_key(cell: WindowCell) -> WindowCell:
    if cell.kind != "group" or cell.column is None:
        return cell
    return replace(cell, kind="key", column=cell.column.replace("_group", "_key"))


PARTITION_WINDOWS_BY_GROUP = Rule(
    name="partition_windows_by_group",
    looks_at=(WindowAggregate,),
    apply=partition_windows_by_group,
    safe="a span of time holds the same events of a group whether or not others are looked at",
    gain="as many engines can work as there are groups",
)
