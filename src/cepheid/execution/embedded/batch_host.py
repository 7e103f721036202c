"""The embedded host over whole tables: Arrow tables in, Arrow tables out; each engine runs once, from the first event
to the end."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.event_time import read_moment
from cepheid.execution.cores import choose_engines
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import Engine
from cepheid.execution.interpret import interpret
from cepheid.execution.lookup.database import DatabaseTable
from cepheid.execution.lookup.join_table import join_table, open_lookup
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.lookups import Database, Table
from cepheid.measurement import Counts
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import Clock, SystemClock, base_name, stamp_table


def run_batch(
    placed: PlacedGraph,
    tables: Mapping[str, pa.Table],
    twin: str = "compiled",
    lookups: Mapping[str, Table | Database] | None = None,
    engines: int | None = None,
    clock: Clock | None = None,
) -> tuple[dict[str, pa.Table], Counts]:
    """The rows of each query by its name, and what was counted on the way; lookups: tables that events are looked up
    in; engines: how many work at a time, None: as many as pay."""
    host = BatchHost(placed.graph, tables, twin, lookups or {}, engines, clock)
    return interpret(placed, host, placed.engines()), host.counts


class BatchHost:
    """Rows are Arrow tables."""

    def __init__(
        self,
        graph: QueryGraph,
        tables: Mapping[str, pa.Table],
        twin: str,
        lookups: Mapping[str, Table | Database],
        engines: int | None,
        clock: Clock | None = None,
    ) -> None:
        self._graph = graph
        self._tables = tables
        self._twin = twin
        self._lookups = lookups
        self._engines = engines
        self._stamp = read_moment((clock or SystemClock()).now())  # one for all: they are all here now
        self.counts = Counts()

    def runs_whole(self, vertex: str) -> bool:  # noqa: ARG002 (part of the protocol)
        return False

    def run_whole(self, vertex: str) -> pa.Table:
        raise AssertionError(f"{vertex} runs by itself")

    def read_source(self, vertex: str, node: Source) -> pa.Table:
        base = base_name(node.name)
        table = self._tables[node.name] if base is None else stamp_table(self._tables[base], self._stamp)
        return table.select(source_columns(self._graph, vertex, table.column_names))

    def run_engine(self, vertices: list[str], inputs: list[pa.Table]) -> list[pa.Table]:
        nodes = [node for vertex in vertices if isinstance(node := self._graph.vertices[vertex], EngineNode)]
        engines = choose_engines(sum(map(len, inputs))) if self._engines is None else self._engines
        engine = Engine(nodes, [table.schema for table in inputs], self._twin, engines=engines)
        rows = engine.run(inputs)
        self.counts.events += engine.counts.events
        self.counts.rejected += engine.counts.rejected
        self.counts.rows += sum(map(len, rows))
        return rows

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Table) -> pa.Table:  # noqa: ARG002 (part of the protocol)
        lookup = open_lookup(node, self._lookups.get(node.table))
        try:
            return join_table(node, rows, lookup)
        finally:
            if isinstance(lookup, DatabaseTable):
                self.counts.unanswered += lookup.counts.unanswered
            lookup.close()

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Table]) -> pa.Table:  # noqa: ARG002 (as above)
        return run_relational(node, inputs)
