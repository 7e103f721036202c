"""A query as a graph: producers on the left, consumers on the right, what each vertex costs and how much work it is.

+---------------+         +---------------+
| spout         |  x 1    | outlier       |  x 0.95
| producer      | ------> | operator      | ------> ...
| 1,000 instr.  |         | 18,000 instr. |
+===------------+         +=======--------+      (the bar: its share of the query's work)
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.simulation.report.quantities import clean_name, write_count, write_share, write_value
from cepheid.simulation.report.svg import hint, label, picture, shape
from cepheid.simulation.scenario import Query, ScenarioVertex

BOX_WIDTH, BOX_HEIGHT = 150.0, 84.0
GAP_X, GAP_Y = 54.0, 22.0
COLOURS = {"producer": 3, "operator": 1, "window": 4, "consumer": 2}


def draw_query(query: Query, work: Mapping[str, float], duration_s: float) -> str:
    """work: instructions each vertex has spent, over all copies; empty: not known."""
    columns = arrange_vertices(query)
    known = {vertex.id: vertex for vertex in query.vertices}
    tallest = max(len(column) for column in columns)
    width = len(columns) * (BOX_WIDTH + GAP_X) - GAP_X + 8.0
    height = tallest * (BOX_HEIGHT + GAP_Y) - GAP_Y + 8.0
    corner: dict[str, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        free = (tallest - len(column)) * (BOX_HEIGHT + GAP_Y) / 2
        for place, name in enumerate(column):
            corner[name] = (4.0 + number * (BOX_WIDTH + GAP_X), 4.0 + free + place * (BOX_HEIGHT + GAP_Y))
    total = sum(work.values())
    parts = [_draw_edge(corner[edge.source], corner[edge.target], edge.selectivity) for edge in query.edges]
    for name, (x, y) in corner.items():
        vertex = known.get(name)
        if vertex is None:
            parts.append(_draw_foreign(name, x, y))
        else:
            share = work.get(name, 0.0) / total if total > 0.0 else None
            parts.append(_draw_vertex(vertex, query.placement.get(name, ""), share, duration_s, x, y))
    return picture(width, height, parts, f"graph of {clean_name(query.name)}", natural=True)


def arrange_vertices(query: Query) -> list[list[str]]:
    """Columns by the longest way from a producer; within one, each near those before it."""
    names = list(
        dict.fromkeys([each.id for each in query.vertices] + [n for e in query.edges for n in (e.source, e.target)])
    )
    before: dict[str, list[str]] = {name: [] for name in names}
    for edge in query.edges:
        before[edge.target].append(edge.source)
    depth: dict[str, int] = {}
    waiting = list(names)
    while waiting:
        ready = [name for name in waiting if all(each in depth for each in before[name])]
        assert ready, "a query has no cycles"
        for name in ready:
            depth[name] = 1 + max((depth[each] for each in before[name]), default=-1)
        waiting = [name for name in waiting if name not in depth]
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    height: dict[str, float] = {}
    for name in sorted(names, key=lambda each: depth[each]):
        columns[depth[name]].append(name)
    for column in columns:
        column.sort(key=lambda name: sum(height[each] for each in before[name]) / max(len(before[name]), 1))
        height |= {name: place - (len(column) - 1) / 2 for place, name in enumerate(column)}
    return columns


def _draw_edge(start: tuple[float, float], end: tuple[float, float], selectivity: float) -> str:
    x1, y1 = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT / 2
    x2, y2 = end[0] - 7.0, end[1] + BOX_HEIGHT / 2
    bend = max(GAP_X / 2, (x2 - x1) / 3)
    way = f"M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
    tip = f"M{x2:.1f},{y2 - 4.5:.1f} l8,4.5 l-8,4.5 z"
    drawn = shape("path", hint(f"selectivity {selectivity:g}"), d=way, kind="edge") + shape("path", d=tip, kind="tip")
    text = f"× {selectivity:.4g}"  # noqa: RUF001
    return drawn + label((x1 + x2) / 2, (y1 + y2) / 2 - 7.0, text, text_anchor="middle", kind="note halo")


def _draw_vertex(vertex: ScenarioVertex, vm: str, share: float | None, duration_s: float, x: float, y: float) -> str:
    facts = [f"{clean_name(vertex.id)} on {clean_name(vm)}", f"{vertex.kind}, {vertex.ipe:g} instructions per event"]
    facts += [f"queue of {vertex.queue:g}"] if vertex.queue else []
    facts += [f"window of {vertex.window_s:g} s every {vertex.advance_s:g} s"] if vertex.kind == "window" else []
    facts += [f"{write_share(share)} of the work"] if share is not None else []
    parts = [
        shape("rect", hint("\n".join(facts)), x=x, y=y, width=BOX_WIDTH, height=BOX_HEIGHT, rx=7, kind="box"),
        shape("rect", x=x, y=y + 8.0, width=4.0, height=BOX_HEIGHT - 16.0, kind=f"f{COLOURS[vertex.kind]}"),
        label(x + 12.0, y + 20.0, clean_name(vertex.id, 17), kind="name"),
        label(x + 12.0, y + 36.0, _describe(vertex, duration_s), kind="tick"),
        label(x + 12.0, y + 52.0, f"{write_count(vertex.ipe)} instr./event", kind="tick"),
    ]
    if share is not None:
        parts.append(shape("rect", x=x + 12.0, y=y + 66.0, width=84.0, height=6.0, rx=3, kind="trough"))
        parts.append(shape("rect", x=x + 12.0, y=y + 66.0, width=84.0 * share, height=6.0, rx=3, kind="f1"))
        parts.append(label(x + 102.0, y + 73.0, write_share(share), kind="tick"))
    return "".join(parts)


def _describe(vertex: ScenarioVertex, duration_s: float) -> str:
    if vertex.kind == "producer" and vertex.arrivals is not None:
        return f"{write_count(vertex.arrivals.mean_rate(duration_s))} events/s"
    if vertex.kind == "window":
        gives = "" if vertex.output is None else f" → {write_value(vertex.output)}"
        every = "" if vertex.advance_s == vertex.window_s else f" / {vertex.advance_s:g} s"
        return f"{vertex.window_s:g} s{every}{gives}"
    return vertex.kind


def _draw_foreign(name: str, x: float, y: float) -> str:
    return "".join(
        (
            shape("rect", x=x, y=y, width=BOX_WIDTH, height=BOX_HEIGHT, rx=7, kind="box foreign"),
            label(x + 12.0, y + 20.0, clean_name(name, 17), kind="name"),
            label(x + 12.0, y + 36.0, "of another query", kind="tick"),
        )
    )
