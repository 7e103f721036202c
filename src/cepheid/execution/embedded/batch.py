"""A whole query over whole tables: walk the graph once, from producers to the consumers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.event_time import BEGINNING
from cepheid.execution.cores import choose_engines
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import Engine
from cepheid.execution.lookup.database import DatabaseTable
from cepheid.execution.lookup.join_table import join_table, open_lookup
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Sink, Source, TableJoin
from cepheid.graph.read_columns import source_columns
from cepheid.lookups import Database, Table
from cepheid.measurement import Counts
from cepheid.placement.placed_graph import PlacedGraph


def run_batch(
    placed: PlacedGraph,
    tables: Mapping[str, pa.Table],
    twin: str = "compiled",
    lookups: Mapping[str, Table | Database] | None = None,
    engines: int | None = None,
) -> tuple[dict[str, pa.Table], Counts]:
    """The rows of each query by its name, and what was counted on the way; lookups: tables that events are looked up
    in; engines: how many work at a time, None: as many as pay."""
    graph = placed.graph
    together = {vertex: group for group in placed.engines() for vertex in group}
    made: dict[str, pa.Table] = {}
    results: dict[str, pa.Table] = {}
    counts = Counts()
    for vertex in graph.order:
        node = graph.vertices[vertex]
        inputs = [made[source] for source in graph.inputs(vertex)]
        match node:
            case Source(name=name):
                made[vertex] = tables[name].select(source_columns(graph, vertex, tables[name].column_names))
            case EngineNode():
                if vertex not in made:
                    nodes = [_engine_node(placed, member) for member in together[vertex]]
                    found = _run_engine(nodes, inputs, twin, counts, engines)
                    made |= dict(zip(together[vertex], found, strict=True))
            case TableJoin(table=table):
                made[vertex] = _look_up(node, inputs[0], (lookups or {}).get(table), counts)
            case Sink(query=query):
                results[query] = inputs[0]
            case _:
                made[vertex] = run_relational(node, inputs)
    return results, counts


def _engine_node(placed: PlacedGraph, vertex: str) -> EngineNode:
    node = placed.graph.vertices[vertex]
    assert isinstance(node, EngineNode), f"{vertex} runs in an engine"
    return node


def _look_up(node: TableJoin, batch: pa.Table, table: Table | Database | None, counts: Counts) -> pa.Table:
    lookup = open_lookup(node, table)
    try:
        return join_table(node, batch, lookup)
    finally:
        if isinstance(lookup, DatabaseTable):
            counts.unanswered += lookup.counts.unanswered
        lookup.close()


def _run_engine(
    nodes: list[EngineNode], inputs: list[pa.Table], twin: str, counts: Counts, engines: int | None
) -> list[pa.Table]:
    ways = engines if engines is not None else choose_engines(sum(map(len, inputs)))
    engine = Engine(nodes, [table.schema for table in inputs], twin, engines=ways)
    rows = [pa.concat_tables(parts) for parts in zip(engine.push(inputs, BEGINNING), engine.finish(), strict=True)]
    counts.events += engine.counts.events
    counts.rejected += engine.counts.rejected
    counts.rows += sum(map(len, rows))
    return rows
