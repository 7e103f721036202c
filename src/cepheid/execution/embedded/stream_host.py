"""The embedded host over streams: every vertex is prepared once, and each push goes through what was prepared.

    interpret(placed, StreamHost)     over schemas: prepares filters, projections, look-ups and engines
    host.run(tables, last)            over Arrow tables: all vertices, from producers to the consumers

The graph may change between pushes: vertices that stay keep what they know, new ones begin empty.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.execution.embedded.engine_feed import EngineFeed
from cepheid.execution.embedded.row_wise import PreparedVertex, prepare_vertex
from cepheid.execution.embedded.saved_state import SavedEngine, SavedState
from cepheid.execution.interpret import interpret
from cepheid.execution.lookup.found import Lookup
from cepheid.execution.lookup.join_table import join_schema, join_table, open_lookup
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Relation, Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.language.relations.row_wise_query import is_row_wise_query
from cepheid.lookups import Database, Table
from cepheid.placement.placed_graph import PlacedGraph

Tables = Mapping[str, pa.Table]


class StreamHost:
    """Rows are schemas while the graph is walked, Arrow tables at each push."""

    def __init__(
        self, schemas: Mapping[str, pa.Schema], lookups: Mapping[str, Table | Database], lateness_us: int
    ) -> None:
        self._schemas = schemas
        self._lookups = lookups
        self._lateness_us = lateness_us
        self._graph = QueryGraph()
        self._saved: dict[str, SavedEngine] = {}  # by vertex
        self._sources: dict[str, tuple[str, list[str]]] = {}
        self._others: dict[str, PreparedVertex] = {}
        self.feeds: dict[str, EngineFeed] = {}  # by vertex
        self.opened: dict[str, Lookup] = {}  # by vertex
        self.results: dict[str, str] = {}  # by query: the vertex whose rows are its answer

    def open(self, placed: PlacedGraph, saved: SavedState | None = None) -> dict[str, pa.Schema]:
        """Prepare a graph; gives the schema of each query's rows."""
        self._graph = placed.graph
        groups, self._saved = _group_vertices(placed, saved)
        given = interpret(placed, self, groups)
        graph = self._graph
        sinks = graph.of_role("consumer")
        self.results = {query: graph.inputs(sink)[0] for query, sink in zip(given, sinks, strict=True)}
        self._order = [(vertex, graph.inputs(vertex)) for vertex in graph.order if vertex not in set(sinks)]
        return given

    def run(self, tables: Tables, last: bool) -> dict[str, pa.Table]:
        """All vertices over what was pushed, or over the end; the rows of each query."""
        made: dict[str, pa.Table] = {}
        for vertex, sources in self._order:
            if vertex in self._sources:
                name, columns = self._sources[vertex]
                made[vertex] = tables[name].select(columns)
                continue
            inputs = [made[source] for source in sources]
            feed = self.feeds.get(vertex)
            if feed is None:
                made[vertex] = self._others[vertex].run(inputs)
            elif vertex not in made:
                rows = feed.finish(inputs) if last else feed.push(inputs, tables)
                made.update(zip(feed.vertices, rows, strict=True))
        return {query: made[vertex] for query, vertex in self.results.items()}

    def list_engines(self) -> list[EngineFeed]:
        """Each engine once."""
        return list(dict.fromkeys(self.feeds.values()))

    def close(self) -> None:
        for lookup in self.opened.values():
            lookup.close()

    # --- the protocol of hosts ---------------------------------------------------------------------------
    def runs_whole(self, vertex: str) -> bool:  # noqa: ARG002 (part of the protocol)
        return False

    def run_whole(self, vertex: str) -> pa.Schema:
        raise AssertionError(f"{vertex} runs by itself")

    def read_source(self, vertex: str, node: Source) -> pa.Schema:
        known = self._schemas[node.name]
        columns = source_columns(self._graph, vertex, known.names)
        self._sources[vertex] = (node.name, columns)
        return pa.schema([known.field(column) for column in columns])

    def run_engine(self, vertices: list[str], inputs: list[pa.Schema]) -> list[pa.Schema]:
        feed = EngineFeed(self._graph, vertices, inputs, self.feeds, self._lateness_us)
        saved = self._saved.get(vertices[0])
        if saved is not None:
            feed.read_state(saved.header, saved.parts)
        self.feeds |= dict.fromkeys(vertices, feed)
        return feed.schemas

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Schema) -> pa.Schema:
        self.opened[vertex] = lookup = open_lookup(node, self._lookups.get(node.table))
        self._others[vertex] = _prepare_table_join(node, rows, lookup)
        return self._others[vertex].schema

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Schema]) -> pa.Schema:
        if isinstance(node, Relation):
            _refuse_unsupported(self._graph, vertex, node)
        self._others[vertex] = prepare_vertex(node, inputs)
        return self._others[vertex].schema


def _group_vertices(placed: PlacedGraph, saved: SavedState | None) -> tuple[list[list[str]], dict[str, SavedEngine]]:
    """The vertices that share engines, and by vertex the state that its engine has.  Vertices that could share one but
    have not seen the same events do not."""
    groups: list[list[str]] = []
    states: dict[str, SavedEngine] = {}
    digests = placed.graph.digests
    for group in placed.engines():
        apart: dict[int | None, list[str]] = {}
        for vertex in group:
            apart.setdefault(None if saved is None else saved.find(digests[vertex]), []).append(vertex)
        for number, members in apart.items():
            groups.append(members)
            if saved is not None and number is not None:
                states |= dict.fromkeys(members, saved.engines[number])
    return groups, states


def _prepare_table_join(node: TableJoin, schema: pa.Schema, lookup: Lookup) -> PreparedVertex:
    made = join_schema(node, schema, lookup.schema)

    def run(tables: list[pa.Table]) -> pa.Table:
        return join_table(node, tables[0], lookup).cast(made) if len(tables[0]) else made.empty_table()

    return PreparedVertex(run, made)


def _refuse_unsupported(graph: QueryGraph, vertex: str, node: Relation) -> None:
    """What a continuous query cannot do yet is refused by name."""
    is_under = any(isinstance(graph.vertices[name], EngineNode) for name in graph.reach(vertex, graph.outputs))
    if is_under or not is_row_wise_query(node.query, node.inputs):
        side = "under a pattern or window" if is_under else "over rows that go on for ever"
        raise NotSupportedYet(
            f"a join, grouping, sorting or subquery {side} in a continuous query",
            hint="give the stream a window: FROM s [ROWS 500], FROM s [RANGE 1 HOUR]; columns, expressions, WHERE "
            "and UNION ALL need none",
        )
