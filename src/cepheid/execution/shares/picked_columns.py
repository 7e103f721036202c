"""The columns of a stream that are handed out: those that something reads."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns


def pick_columns(graph: QueryGraph, stream: str, schema: pa.Schema, also: Iterable[str] = ()) -> pa.Schema:
    (source,) = (vertex for vertex, node in graph.vertices.items() if isinstance(node, Source) and node.name == stream)
    read = {*source_columns(graph, source, schema.names), *also}
    return pa.schema([field for field in schema if field.name in read])
