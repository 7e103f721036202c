"""Which columns of each vertex something above it reads: derived from the graph, never stored in it."""

from __future__ import annotations

from collections.abc import Sequence as Names

from cepheid.graph.node import Needed
from cepheid.graph.operators import Filter
from cepheid.graph.query_graph import QueryGraph


def needed_columns(graph: QueryGraph, vertex: str) -> Needed:
    """The columns of a vertex that its readers read; None: every one."""
    found: frozenset[str] = frozenset()
    for reader in set(graph.outputs(vertex)):
        node = graph.vertices[reader]
        read = node.reads(needed_columns(graph, reader) if isinstance(node, Filter) else None)
        if read is None:
            return None
        found |= read
    return found


def source_columns(graph: QueryGraph, source: str, known: Names[str]) -> list[str]:
    """The columns of a producer that are read, in its order; one at least, so that rows can be counted.  known: all
    it has."""
    needed = needed_columns(graph, source)
    return [name for name in known if needed is None or name in needed] or list(known[:1])
