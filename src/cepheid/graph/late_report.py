"""What explain tells of late events at each vertex that remembers.

late events (held for 2 s, taken in up to 10 min late, corrected):
  sequence_1: only matches within 10 s of them are looked at again, of the same _key0
  window_aggregate_2: all that may still change is computed again
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from cepheid.graph.node import EngineNode
from cepheid.graph.operators import RowPattern, Sequence, WindowJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.reach import REACHES, find_reach
from cepheid.graph.stream_readers import meet_others
from cepheid.settings import Settings


def report_late(graph: QueryGraph, settings: Settings, engines: Iterable[Collection[str]]) -> str:
    """For people; empty if no vertex remembers.  engines: vertices that share one."""
    together = {vertex: members for members in engines for vertex in members}
    lines = [
        f"  {vertex}: {_tell(graph, vertex, node, settings, together.get(vertex, [vertex]))}"
        for vertex, node in graph.vertices.items()
        if isinstance(node, EngineNode)
    ]
    return "\n".join([f"late events ({_tell_choice(settings)}):", *lines]) if lines else ""


def _tell_choice(settings: Settings) -> str:
    waiting = settings.waiting
    if waiting is not None and waiting.follows_stream:
        shown = {"recall": f"as long as {waiting.recall:.4g} of the rows need", "fixed": _show(waiting.span)}
        held = shown.get(waiting.rule, f"by the rule {waiting.rule}")
        held += "" if waiting.max_wait is None else f", at most {_show(waiting.max_wait)}"
    else:
        held = f"for {_show(settings.wait or timedelta(0))}"
    bound = "" if settings.lateness is None else f", taken in up to {_show(settings.lateness)} late"
    becomes = "corrected" if settings.emit == "changes" else "what was given out stays"
    return f"held {held}{bound}, {becomes}"


def _tell(graph: QueryGraph, vertex: str, node: EngineNode, settings: Settings, together: Collection[str]) -> str:
    below = graph.reach(vertex, graph.inputs)
    if any(name != vertex and isinstance(graph.vertices[name], EngineNode) for name in below):
        return "what vertices below it take back and give anew is computed again"
    if settings.emit == "final" and settings.corrects and meet_others(graph, together):
        return "those that are later than they were held for are set apart, as for the others that read the stream"
    if not settings.corrects:
        return "those that are later than they were held for are set apart"
    reach = find_reach([node])
    rows = (
        "matches" if isinstance(node, RowPattern | Sequence) else "pairs" if isinstance(node, WindowJoin) else "windows"
    )
    if reach is None:
        return "all that may still change is computed again"
    same = f", of the same {', '.join(reach.scope)}" if reach.scope else ""
    if reach.chain_us is not None:
        span = _show(timedelta(microseconds=REACHES * reach.chain_us))
        return f"only matches from {span} before them on, up to where they are as they were{same}"
    near = reach.neighbours
    if near is not None and near.gap_us:
        return f"only sessions that they are in{same}"
    if near is not None:
        told = {"behind": near.before, "before": near.behind}
        others = " and ".join(f"{count} {where} them" for where, count in told.items() if count)
        return f"only their rows{f' and those of the {others}' if others else ''}{same}"
    if reach.is_endless:
        return f"only {rows} of the same {', '.join(reach.scope)}"
    return f"only {rows} within {_show(timedelta(microseconds=max(reach.back_us, reach.fore_us)))} of them{same}"


def _show(span: timedelta) -> str:
    seconds = span.total_seconds()
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
