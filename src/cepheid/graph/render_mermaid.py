"""A query graph as a Mermaid flowchart, left to right."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.graph.query_graph import QueryGraph

SHAPES = {"producer": ('(["', '"])'), "operator": ('["', '"]'), "consumer": ('[/"', '"/]')}


def render_mermaid(graph: QueryGraph, notes: Mapping[str, str] | None = None) -> str:
    lines = ["flowchart LR"]
    for vertex in graph.order:
        node = graph.vertices[vertex]
        left, right = SHAPES[node.role]
        parts = [type(node).__name__, *node.parameters()]
        if notes and vertex in notes:
            parts.append(f"at {notes[vertex]}")
        lines.append(f"  {vertex}{left}{'<br/>'.join(_escape(part) for part in parts)}{right}")
    lines += [f"  {edge.source} --> {edge.target}" for edge in graph.edges]
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Mermaid's own entity codes for what would end a label."""
    for character, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, code)
    return text
