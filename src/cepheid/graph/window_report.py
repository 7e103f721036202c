"""What explain tells of each window and join: what is kept of the events, and with whom it is shared.

window_1: [RANGE 3600 s] every 1 s
  computed by panes of 1 s: no event is kept
window_2: [ROWS 500] on event
  the last 500 events are kept, for window_2 and window_3 together
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.graph.operators import OverRows, WindowAggregate, WindowJoin
from cepheid.graph.operators.over_rows import describe_state
from cepheid.graph.operators.window_aggregate import show_evaluation, show_window
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.state_bounds import HOW_TO_BOUND_WINDOW, explain_window
from cepheid.kernel.compiled.window_choice import is_mergeable, is_sliding, pane_length
from cepheid.kernel.join import JoinInput
from cepheid.scalars.show import show_scalar


def report_windows(graph: QueryGraph) -> str:
    """One part for each window and join of the graph; empty if it has none."""
    lines: list[str] = []
    for vertex in graph.order:
        node = graph.vertices[vertex]
        if isinstance(node, WindowAggregate):
            program = node.program
            lines.append(f"  {vertex}: {show_window(program.window)} {show_evaluation(program.evaluation)}")
            lines += [f"    {line}" for line in (*_report_window(node), *_report_sharing(graph, vertex))]
        elif isinstance(node, WindowJoin):
            lines.append(f"  {vertex}: join of {', '.join(node.streams)}")
            lines += [f"    {line}" for line in (*_report_join(node), *_report_sharing(graph, vertex))]
        elif isinstance(node, OverRows):
            lines.append(f"  {vertex}: {', '.join(node.show_functions())}")
            lines.append(f"    {describe_state(node)}")
    return "\n".join(["windows:", *lines]) if lines else ""


def _report_window(node: WindowAggregate) -> Iterator[str]:
    program, window = node.program, node.program.window
    length = pane_length(program)
    if length:
        yield f"computed by panes of {length / 1e6:g} s: no event is kept"
    elif is_mergeable(program) and (window.is_landmark or not is_sliding(program)):
        yield "computed as events come: no event is kept"
    else:
        extent = {"count": f"the last {window.size} events", "time": f"the events of {(window.size or 0) / 1e6:g} s"}
        kept = "all events" if window.is_landmark else extent.get(window.kind, "the events of open windows")
        yield f"kept: {kept}{' of each key' if node.keys else ''}"
    reason = explain_window(program)
    if reason is not None:
        yield f"no bound: {reason}; {HOW_TO_BOUND_WINDOW}"
    functions = [aggregate.function for aggregate in program.aggregates]
    if "python" in functions:
        yield "an aggregate in Python is called for every event: not compiled"


def _report_join(node: WindowJoin) -> Iterator[str]:
    for stream, side in zip(node.streams, node.program.inputs, strict=True):
        yield f"kept of {stream}: {_show_side(side)}"
    if not node.keys:
        yield "no equality: every event is compared with all events of the other windows"
    if node.condition is not None:
        yield f"asked of each pair by DuckDB: {show_scalar(node.condition)}"


def _show_side(side: JoinInput) -> str:
    if side.size is None:
        return f"all events: no bound; {HOW_TO_BOUND_WINDOW}"
    each = " of each partition" if side.partitioned else ""
    return f"the last {side.size} events{each}" if side.kind == "count" else f"the events of {side.size / 1e6:g} s"


def _report_sharing(graph: QueryGraph, vertex: str) -> Iterator[str]:
    node = graph.vertices[vertex]
    others = [
        name
        for name, other in graph.vertices.items()
        if name != vertex
        and type(other) is type(node)
        and graph.inputs(name) == graph.inputs(vertex)
        and getattr(other, "keys", 0) == getattr(node, "keys", 0)
    ]
    if others:
        yield f"events are kept once, together with {', '.join(others)}"
