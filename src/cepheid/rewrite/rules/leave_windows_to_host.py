"""Leave to the host what it groups quicker than our engines: jumping time windows over whole tables.

    WindowAggregate([RANGE 1 h SLIDE 1 h], on close, avg(a1))        HostWindow([RANGE 1 h SLIDE 1 h], avg(a1))
      Project                                                  =>      Project

Safe because such a window is told by the time of an event alone, and these aggregates mean the same there: nulls are
left out, NaN is the greatest, integers are added exactly.  Floats are added as the host does it: the last digits may
differ.
Pays where events would have to be carried to another process: Spark groups 5 M events twice as quickly.  Hopping
windows stay: the host would copy each event for each of its windows, while our panes take it once.  So do streams: our
engines tell the rows of a window a batch earlier, and keep events that come too late; they are as quick where they read
files themselves, and take half as long again where events come through the JVM.
"""

from __future__ import annotations

from cepheid.cost.estimate import Estimate
from cepheid.graph.operators import HostWindow, WindowAggregate
from cepheid.graph.operators.window_aggregate import Arrangement
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.window import Evaluation, WindowedAggregate
from cepheid.rewrite.rule import Rule

OF_NUMBERS = frozenset(("sum", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop"))
OF_ANYTHING = frozenset(("count", "count_distinct", "min", "max"))
TOLD = frozenset(("key", "group", "aggregate", "start", "end", "moment"))


def leave_windows_to_host(graph: QueryGraph, vertex: str) -> QueryGraph | None:
    node = graph.vertices[vertex]
    assert isinstance(node, WindowAggregate), "the rule looks at windows"
    return graph.with_node(vertex, _as_grouping(node)) if _is_grouping(node) else None


def _as_grouping(node: WindowAggregate) -> HostWindow:
    return HostWindow(
        window=node.program.window,
        aggregates=node.program.aggregates,
        cells=node.cells,
        keys=node.keys,
        groups=node.groups,
    )


def _is_grouping(node: WindowAggregate) -> bool:
    program, window = node.program, node.program.window
    return (
        window.kind == "time"
        and window.size is not None
        and window.size == window.slide
        and program.evaluation == Evaluation(when="close")
        and program.shows == "concerned"
        and not program.members
        and not node.filtered
        and node.order == 1
        and node.arrangement == Arrangement()
        and all(cell.kind in TOLD for cell in node.cells)
        and all(map(_means_the_same, program.aggregates))
    )


def _means_the_same(aggregate: WindowedAggregate) -> bool:
    if aggregate.function in OF_NUMBERS:
        return aggregate.column_kind in ("int", "float")
    return aggregate.function in OF_ANYTHING


def _is_cheaper(estimate: Estimate, vertex: str) -> bool:
    node = estimate.graph.vertices[vertex]
    assert isinstance(node, WindowAggregate), "the rule looks at windows"
    return _as_grouping(node).guess_ipe() < estimate.ipe(vertex)


LEAVE_WINDOWS_TO_HOST = Rule(
    name="leave_windows_to_host",
    looks_at=(WindowAggregate,),
    apply=leave_windows_to_host,
    safe="the time of an event alone says which window it is in, and these aggregates mean the same at the host",
    gain="events are not carried to another process",
    pays=_is_cheaper,
)
