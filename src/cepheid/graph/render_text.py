"""A query graph as indented text, consumers on top, shared vertices printed once."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.graph.query_graph import QueryGraph


def render_text(graph: QueryGraph, notes: Mapping[str, str] | None = None) -> str:
    """One line per vertex; `notes` are put behind a vertex in brackets."""
    lines: list[str] = []
    printed: set[str] = set()

    def draw(vertex: str, depth: int) -> None:
        note = f"  [{notes[vertex]}]" if notes and vertex in notes else ""
        if vertex in printed:
            lines.append(f"{'  ' * depth}{vertex} (above)")
            return
        printed.add(vertex)
        lines.append(f"{'  ' * depth}{vertex}: {graph.vertices[vertex].describe()}{note}")
        for source in graph.inputs(vertex):
            draw(source, depth + 1)

    for consumer in graph.of_role("consumer"):
        draw(consumer, 0)
    return "\n".join(lines)
