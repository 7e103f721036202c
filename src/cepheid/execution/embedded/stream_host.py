"""The embedded host over streams: every vertex is prepared once, and each push goes through what was prepared.

    interpret(placed, StreamHost)     over schemas: prepares filters, projections, look-ups and engines
    host.run(tables, last)            over Arrow tables: all vertices, from producers to the consumers

The graph may change between pushes: vertices that stay keep what they know, new ones begin empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.execution.changing.change_rows import CARRIED, ROW, ShownChanges, with_carried, without_carried
from cepheid.execution.changing.changed_evaluations import ChangedEvaluations
from cepheid.execution.changing.changing_engine import Patience
from cepheid.execution.embedded.carried_vertex import with_carried_columns
from cepheid.execution.embedded.changing_feed import ChangingFeed
from cepheid.execution.embedded.changing_streams import ChangingStreams
from cepheid.execution.embedded.engine_feed import EngineFeed
from cepheid.execution.embedded.row_wise import PreparedVertex, prepare_vertex
from cepheid.execution.embedded.saved_state import SavedEngine, SavedState, SavedStreams
from cepheid.execution.interpret import interpret
from cepheid.execution.lookup.found import Lookup
from cepheid.execution.lookup.join_table import join_schema, join_table, open_lookup
from cepheid.graph.changing import ChangingVertices, count_origins, find_changing, refuse_unstable
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Changes, Relation, Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.language.relations.row_wise_query import is_row_wise_query
from cepheid.lookups import Database, Table
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.schema import CHANGE_COLUMNS, has_changes, without_changes

Tables = Mapping[str, pa.Table]


class StreamHost:
    """Rows are schemas while the graph is walked, Arrow tables at each push."""

    def __init__(
        self,
        schemas: Mapping[str, pa.Schema],
        lookups: Mapping[str, Table | Database],
        lateness_us: int | None,
        wait_us: int | None = None,
    ) -> None:
        """lateness_us: how long events may be overtaken by others; None: not at all, and changes may be of any age.
        wait_us: how long events of streams that change are held back, if not as long as that."""
        self._schemas = schemas
        self._lookups = lookups
        self._lateness_us = lateness_us
        self._wait_us = wait_us
        streams = frozenset(name for name, schema in schemas.items() if has_changes(name, schema))
        self._streams = ChangingStreams(schemas, streams)
        self._changing_streams = streams
        self._changes = ChangingVertices()
        self._netted: dict[str, ChangedEvaluations] = {}  # by vertex
        self._shown: dict[str, Callable[[pa.Table], pa.Table]] = {}  # by query: how its rows are told
        self._graph = QueryGraph()
        self._saved: dict[str, SavedEngine] = {}  # by vertex
        self._sources: dict[str, tuple[str, list[str]]] = {}
        self._others: dict[str, PreparedVertex] = {}
        self.feeds: dict[str, EngineFeed | ChangingFeed] = {}  # by vertex
        self.opened: dict[str, Lookup] = {}  # by vertex
        self.results: dict[str, str] = {}  # by query: the vertex whose rows are its answer

    def open(self, placed: PlacedGraph, saved: SavedState | None = None) -> dict[str, pa.Schema]:
        """Prepare a graph; gives the schema of each query's rows."""
        self._graph = graph = placed.graph
        self._changes = find_changing(graph, self._changing_streams)
        databases = [name for name, table in self._lookups.items() if isinstance(table, Database)]
        refuse_unstable(graph, self._changes.changing, databases)
        self._netted, self._shown = {}, {}
        groups, self._saved = _group_vertices(placed, saved, self._changes.carried)
        given = interpret(placed, self, groups)
        sinks = graph.of_role("consumer")
        self.results = {query: graph.inputs(sink)[0] for query, sink in zip(given, sinks, strict=True)}
        self._order = [(vertex, graph.inputs(vertex)) for vertex in graph.order if vertex not in set(sinks)]
        self._open_streams(saved)
        return {query: self._show_changes(query, schema) for query, schema in given.items()}

    def run(self, tables: Tables, last: bool) -> dict[str, pa.Table]:
        """All vertices over what was pushed, or over the end; the rows of each query."""
        made: dict[str, pa.Table] = {}
        carried = self._changes.carried
        changes: Tables = {}
        if carried:
            changes, tables = self._streams.read(tables)
        for vertex, sources in self._order:
            if vertex in self._sources:
                name, columns = self._sources[vertex]
                made[vertex] = (changes if vertex in carried else tables)[name].select(columns)
                continue
            inputs = [made[source] for source in sources]
            if carried and vertex not in carried:
                inputs = [
                    without_carried(table) if source in carried else table
                    for source, table in zip(sources, inputs, strict=True)
                ]
            feed = self.feeds.get(vertex)
            if feed is None:
                made[vertex] = self._others[vertex].run(inputs)
            elif vertex not in made:
                rows = feed.finish(inputs) if last else feed.push(inputs, tables)
                made.update(zip(feed.vertices, rows, strict=True))
        if carried and not last and self._lateness_us is not None:
            self._forget_settled()
        return {
            query: self._shown[query](made[vertex]) if query in self._shown else made[vertex]
            for query, vertex in self.results.items()
        }

    def list_engines(self) -> list[EngineFeed | ChangingFeed]:
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
        known = without_changes(self._schemas[node.name])
        columns = source_columns(self._graph, vertex, known.names)
        read = pa.schema([known.field(column) for column in columns])
        if vertex in self._changes.carried:
            read = with_carried(read)
        self._sources[vertex] = (node.name, read.names)
        return read

    def run_engine(self, vertices: list[str], inputs: list[pa.Schema]) -> list[pa.Schema]:
        inputs = self._fit_inputs(vertices[0], inputs)
        feed = self._make_feed(vertices, inputs)
        saved = self._saved.get(vertices[0])
        if saved is not None:
            feed.read_state(saved.header, saved.parts)
        self.feeds |= dict.fromkeys(vertices, feed)
        return feed.schemas

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Schema) -> pa.Schema:
        (rows,) = self._fit_inputs(vertex, [rows])
        table = self._lookups.get(node.table)
        self.opened[vertex] = lookup = open_lookup(node, table)
        if vertex in self._changes.carried:
            carrying = with_carried_columns(node)
            assert isinstance(carrying, TableJoin), "it stays what it is"
            self._others[vertex] = _refuse_refreshed(_prepare_table_join(carrying, rows, lookup), node, table)
        else:
            self._others[vertex] = _prepare_table_join(node, rows, lookup)
        return self._others[vertex].schema

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Schema]) -> pa.Schema:
        if isinstance(node, Relation):
            _refuse_unsupported(self._graph, vertex, node)
        inputs = self._fit_inputs(vertex, inputs)
        if vertex not in self._changes.carried:
            self._others[vertex] = prepare_vertex(node, inputs)
        elif isinstance(node, Changes):
            self._netted[vertex] = netted = ChangedEvaluations(node, self._graph.digests[vertex], inputs[0])
            self._others[vertex] = PreparedVertex(lambda tables: netted.push(tables[0]), netted.schema)
        else:
            self._others[vertex] = prepare_vertex(with_carried_columns(node), inputs)
        return self._others[vertex].schema

    # --- rows that come and go ---------------------------------------------------------------------------
    def save_streams(self) -> SavedStreams | None:
        """What is known of the streams, for a snapshot; None if none of them changes."""
        return SavedStreams(*self._streams.write_state()) if self._changes.carried else None

    def _fit_inputs(self, vertex: str, inputs: list[pa.Schema]) -> list[pa.Schema]:
        """What a vertex reads: whether rows go as well as come, only those know that may see it."""
        if vertex in self._changes.carried:
            return inputs
        return [pa.schema([field for field in schema if field.name not in CARRIED.names]) for schema in inputs]

    def _make_feed(self, vertices: list[str], inputs: list[pa.Schema]) -> EngineFeed | ChangingFeed:
        lateness_us = self._lateness_us or 0
        if vertices[0] not in self._changes.carried:
            plain = {name: feed for name, feed in self.feeds.items() if isinstance(feed, EngineFeed)}
            return EngineFeed(self._graph, vertices, inputs, plain, lateness_us)
        patience = Patience(lateness_us, lateness_us)
        if vertices[0] in self._changes.changing:
            patience = Patience(lateness_us if self._wait_us is None else self._wait_us, self._lateness_us)
        return ChangingFeed(self._graph, vertices, inputs, self.feeds, patience)

    def _open_streams(self, saved: SavedState | None) -> None:
        if not self._changes.carried:
            return
        feeds = {name: feed for name, feed in self.feeds.items() if isinstance(feed, ChangingFeed)}
        self._streams.open(self._graph, self._changes.carried, feeds, self._lateness_us is not None)
        if saved is not None and saved.streams is not None:
            self._streams.read_state(saved.streams.header, saved.streams.parts)
        for vertex, netted in self._netted.items():
            netted.fill(self._rerun(self._graph.inputs(vertex)[0]))

    def _show_changes(self, query: str, schema: pa.Schema) -> pa.Schema:
        """The schema of a query's rows as users see them."""
        vertex = self.results[query]
        if vertex not in self._changes.carried:
            return schema
        if vertex not in self._changes.changing:
            self._shown[query] = without_carried
            return pa.schema([field for field in schema if field.name not in CARRIED.names])
        taken = [name for name in schema.names if name in CHANGE_COLUMNS]
        if taken:
            hint = f"{', '.join(CHANGE_COLUMNS)} are put in front of the rows: call it something else"
            raise InvalidQuery(f'the query "{query}" has a column "{taken[0]}"', hint=hint)
        streams, has_made = count_origins(self._graph, vertex)
        known = None if has_made or len(streams) > 1 else self._schemas[streams.pop()].field("_match").type
        shown = ShownChanges(schema, known)
        self._shown[query] = shown.show
        return shown.schema

    def _rerun(self, vertex: str) -> pa.Table:
        """The rows that may still change, of a vertex between an engine and those who compare evaluations."""
        feed = self.feeds.get(vertex)
        if feed is not None:
            assert isinstance(feed, ChangingFeed), "below what changes, all is carried"
            return feed.engine.given[feed.vertices.index(vertex)].show()
        return self._others[vertex].run([self._rerun(source) for source in self._graph.inputs(vertex)])

    def _forget_settled(self) -> None:
        self._streams.forget()
        for vertex, netted in self._netted.items():
            netted.keep_only(self._rerun(self._graph.inputs(vertex)[0]).column(ROW))


def _group_vertices(
    placed: PlacedGraph, saved: SavedState | None, carried: frozenset[str]
) -> tuple[list[list[str]], dict[str, SavedEngine]]:
    """The vertices that share engines, and by vertex the state that its engine has.  Vertices that could share one but
    have not seen the same events do not; nor do those that say who their rows are and those that need not."""
    groups: list[list[str]] = []
    states: dict[str, SavedEngine] = {}
    digests = placed.graph.digests
    for group in placed.engines():
        apart: dict[tuple[int | None, bool], list[str]] = {}
        for vertex in group:
            number = None if saved is None else saved.find(digests[vertex])
            apart.setdefault((number, vertex in carried), []).append(vertex)
        for (number, _), members in apart.items():
            groups.append(members)
            if saved is not None and number is not None:
                states |= dict.fromkeys(members, saved.engines[number])
    return groups, states


def _prepare_table_join(node: TableJoin, schema: pa.Schema, lookup: Lookup) -> PreparedVertex:
    made = join_schema(node, schema, lookup.schema)

    def run(tables: list[pa.Table]) -> pa.Table:
        return join_table(node, tables[0], lookup).cast(made) if len(tables[0]) else made.empty_table()

    return PreparedVertex(run, made)


def _refuse_refreshed(prepared: PreparedVertex, node: TableJoin, table: Table | Database | None) -> PreparedVertex:
    """A row that is taken back must find what it found when it came."""
    assert isinstance(table, Table), "databases were refused before"
    content = table.data

    def run(tables: list[pa.Table]) -> pa.Table:
        if table.data is not content:
            raise NotSupportedYet(
                f'a refresh of the table "{node.table}", joined with a stream that takes rows back,',
                hint="open the query anew with the new table",
            )
        return prepared.run(tables)

    return PreparedVertex(run, prepared.schema)


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
