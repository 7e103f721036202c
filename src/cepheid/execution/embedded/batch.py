"""A whole query over whole tables: walk the graph once, from producers to the consumer."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.event_time import BEGINNING
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import Engine
from cepheid.graph.operators import RowPattern, Sequence, Sink, Source
from cepheid.measurement import Counts
from cepheid.placement.placed_graph import PlacedGraph


def run_batch(placed: PlacedGraph, tables: Mapping[str, pa.Table], twin: str = "compiled") -> tuple[pa.Table, Counts]:
    """The rows of the query, and what was counted on the way."""
    graph = placed.graph
    made: dict[str, pa.Table] = {}
    counts = Counts()
    for vertex in graph.order:
        node = graph.vertices[vertex]
        inputs = [made[source] for source in graph.inputs(vertex)]
        match node:
            case Source(name=name, columns=columns):
                made[vertex] = tables[name].select(list(columns))
            case RowPattern() | Sequence():
                made[vertex] = _run_pattern(node, inputs, twin, counts)
            case Sink():
                return inputs[0], counts
            case _:
                made[vertex] = run_relational(node, inputs)
    raise AssertionError("a graph ends in a consumer")


def _run_pattern(node: RowPattern | Sequence, inputs: list[pa.Table], twin: str, counts: Counts) -> pa.Table:
    engine = Engine([node], [table.schema for table in inputs], twin)
    cells = pa.concat_tables([*engine.push(inputs, BEGINNING), *engine.finish()])
    counts.events += engine.counts.events
    counts.rejected += engine.counts.rejected
    counts.rows += len(cells)
    return cells
