"""The embedded host over streams: every vertex is prepared once, and each push goes through what was prepared.

    host.extend(placed)           over schemas: prepares filters, projections, look-ups and engines
    host.run(tables, last)        over Arrow tables: the vertices that the pushed streams lead to, up to the consumers
    host.drop(vertices)           what is no longer wanted

The graph may grow and shrink between pushes: vertices that stay keep what they know, new ones begin empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.errors import NotSupportedYet
from cepheid.execution.embedded.engine_feed import EngineFeed, Heard, is_read_by_engines
from cepheid.execution.embedded.row_wise import PreparedVertex, prepare_vertex
from cepheid.execution.embedded.saved_state import SavedEngine, SavedState, SavedStreams
from cepheid.execution.embedded.stream_times import StreamTimes
from cepheid.execution.interpret import interpret
from cepheid.execution.views.find_views import find_views, is_view
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Relation, Sink, Source, TableJoin
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.lookups import Database, Table
from cepheid.measurement import Counts
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import Clock, Stamps, find_schema
from cepheid.schema import empty_table, unify_schemas

Tables = Mapping[str, pa.Table]

if TYPE_CHECKING:  # what few queries need is not loaded for the others: rows that come and go, tables to look up in
    from cepheid.disorder.lateness_report import LatenessReport
    from cepheid.disorder.lateness_watch import LatenessWatch
    from cepheid.execution.embedded.changing_feed import ChangingFeed
    from cepheid.execution.embedded.view_feed import ViewFeed
    from cepheid.execution.lookup.found import Lookup

    Feed = EngineFeed | ChangingFeed | ViewFeed


class StreamHost:
    """Rows are schemas while a graph is walked, Arrow tables at each push.

    reads_whole: streams are read with all their columns, so that the schemas of vertices do not change when the graph
    does; else with those that are needed.  ends: will it be told when the streams have ended, so that rows may come
    then?  may_take_short_way: see stream_lane.py.
    """

    may_take_short_way = True

    def __init__(
        self,
        schemas: Mapping[str, pa.Schema],
        lookups: Mapping[str, Table | Database],
        lateness_us: int,
        reads_whole: bool = False,
        ends: bool = True,
        idle_after_us: Mapping[str, int] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._schemas = schemas
        self._lookups = lookups
        self._lateness_us = lateness_us
        self._reads_whole = reads_whole
        self.times = StreamTimes(idle_after_us or {}, lateness_us)
        self.stamps = Stamps(clock)
        self._ends = ends
        self._graph = QueryGraph()  # that is walked now
        self._saved: Mapping[str, SavedEngine] = {}  # by vertex, of that graph
        self._made: dict[str, pa.Schema] = {}  # of every vertex that is there, in an order in which they can run
        self._inputs: dict[str, list[str]] = {}
        self._streams: dict[str, frozenset[str]] = {}  # by vertex: the streams that it is made of
        self.sources: dict[str, tuple[str, list[str]]] = {}  # by vertex: the stream, and its columns that are read
        self._others: dict[str, PreparedVertex] = {}
        self._plans: dict[frozenset[str], list[str]] = {}  # by what is pushed: the vertices to run
        self.feeds: dict[str, Feed] = {}  # by vertex
        self._views_kept: dict[str, ViewFeed] = {}  # by vertex
        self.opened: dict[str, tuple[TableJoin, Lookup]] = {}  # by vertex
        self.results: dict[str, str] = {}  # by query: the vertex whose rows are its answer

    def open(self, placed: PlacedGraph, saved: SavedState | None = None) -> dict[str, pa.Schema]:
        """Prepare a whole graph; gives the schema of each query's rows."""
        states = find_states(placed, saved)
        self.read_streams(saved)
        return self.extend(placed, group_vertices(placed, states), states)

    def extend(
        self, placed: PlacedGraph, groups: list[list[str]], saved: Mapping[str, SavedEngine] | None = None
    ) -> dict[str, pa.Schema]:
        """Prepare what is new in a graph; gives the schema of each of its queries' rows.  groups: vertices that share
        engines; saved: by vertex, the state that its engine has."""
        self._graph, self._saved = placed.graph, saved or {}
        known = set(self._made)
        fresh = [[vertex for vertex in group if vertex not in known] for group in groups]
        try:
            given = interpret(placed, self, fresh, self._made)
        except Exception:
            self.drop([], [vertex for vertex in self._made if vertex not in known])
            raise
        for vertex in self._graph.order:
            node = self._graph.vertices[vertex]
            inputs = self._graph.inputs(vertex)
            if isinstance(node, Sink):
                self.results[node.query] = inputs[0]
            elif vertex not in known:
                self._inputs[vertex] = inputs
                own = frozenset([node.name]) if isinstance(node, Source) else frozenset()
                self._streams[vertex] = own.union(*(self._streams[source] for source in inputs))
            elif isinstance(feed := self.feeds.get(vertex), EngineFeed) and is_read_by_engines(self._graph, vertex):
                feed.is_read = True
        self._plans.clear()
        self._find_companies()
        self.times.read_graph(self._graph)
        self._find_stamped()
        return given

    def _find_companies(self) -> None:
        self.times.meet(self._streams[vertex] for vertex in self.feeds if vertex not in self._views_kept)

    def _find_stamped(self) -> None:
        self.stamps.read_sources({name for name, _ in self.sources.values()}, self._schemas)

    def drop(self, queries: Iterable[str], vertices: Iterable[str]) -> None:
        """Forget queries, and vertices that no other needs."""
        for query in queries:
            del self.results[query]
        for vertex in vertices:
            for known in (self._made, self._inputs, self._streams, self.sources, self._others, self.feeds):
                known.pop(vertex, None)
            if vertex in self.opened:
                self.opened.pop(vertex)[1].close()
        self._plans.clear()
        self._find_stamped()
        self._find_companies()

    def run(
        self, tables: Tables, last: bool = False, heard: Heard | None = None, newest: Heard | None = None
    ) -> dict[str, pa.Table]:
        """The vertices over what was pushed, by stream, or all of them over the end; the rows of each query that these
        streams lead to.  heard: of streams that were pushed, if only an empty table, that no event older than this will
        come; newest: of streams that have spoken, if others know more of that than the tables tell."""
        tables, heard = self._move_time(tables, last, heard or {}, newest)
        plan = list(self._made) if last else self._plan(frozenset(tables))
        made: dict[str, pa.Table] = {}
        for vertex in plan:
            if vertex in self.sources:
                name, columns = self.sources[vertex]
                made[vertex] = tables[name].select(columns)
                continue
            inputs = [made[source] if source in made else self._no_rows(source) for source in self._inputs[vertex]]
            feed = self.feeds.get(vertex)
            if feed is None:
                made[vertex] = self._others[vertex].run(inputs)
            elif vertex not in made:
                rows = feed.finish(inputs) if last else feed.push(inputs, tables, heard)
                made.update(zip(feed.vertices, rows, strict=True))
        return {query: made[vertex] for query, vertex in self.results.items() if vertex in made}

    def _move_time(self, tables: Tables, last: bool, heard: Heard, newest: Heard | None) -> tuple[Tables, Heard]:
        """What is pushed, with the events that are stamped, and how far time has come on streams that say nothing."""
        if self.stamps.streams:
            nothing = {name: empty_table(self._schemas[name]) for name in self.stamps.streams}
            stamped = self.stamps.stamp(tables, nothing)
            tables = {**tables, **stamped}
            heard = {**heard, **dict.fromkeys(stamped, self.stamps.last)}
        if self.times.are_needed and not last:
            heard = self.times.hear(tables, heard, newest)
            tables = {**{name: empty_table(find_schema(self._schemas, name)) for name in heard}, **tables}
        return tables, heard

    def _plan(self, pushed: frozenset[str]) -> list[str]:
        """The vertices that something new may come out of: how far time has come is known by events alone."""
        if pushed not in self._plans:
            self._plans[pushed] = [vertex for vertex in self._made if not self._streams[vertex].isdisjoint(pushed)]
        return self._plans[pushed]

    def _no_rows(self, vertex: str) -> pa.Table:
        return empty_table(self._made[vertex])

    # --- what a short way is planned by (stream_lane.py) ---------------------------------------------------
    def schema_of(self, vertex: str) -> pa.Schema:
        return self._made[vertex]

    def inputs_of(self, vertex: str) -> list[str]:
        return self._inputs[vertex]

    def prepared(self, vertex: str) -> PreparedVertex | None:
        """How a vertex looks at single rows; None: it is of another kind."""
        return self._others.get(vertex)

    def columns_of_source(self, vertex: str) -> tuple[int, ...] | None:
        """Which columns of its stream a source reads; None: it is no source."""
        if vertex not in self.sources:
            return None
        name, columns = self.sources[vertex]
        return tuple(find_schema(self._schemas, name).get_field_index(column) for column in columns)

    def list_engines(self) -> list[Feed]:
        """Each engine once."""
        return list(dict.fromkeys(self.feeds.values()))

    def list_views(self) -> list[ViewFeed]:
        return list(self._views_kept.values())

    def streams_of(self, query: str) -> frozenset[str]:
        return self._streams[self.results[query]]

    def is_waiting(self) -> bool:
        """May rows come out when only time moves on?"""
        return any(feed.engine.is_waiting() for feed in self.list_engines() if isinstance(feed, EngineFeed))

    def count(self) -> Counts:
        """What was counted by all engines and look-ups together."""
        counted = [feed.counts.as_dict() for feed in self.list_engines()]
        total = Counts(**{name: sum(each[name] for each in counted) for name in Counts().as_dict()})
        total.unanswered = sum(each["unanswered"] for each in self.count_lookups().values())
        total.streams = self.times.describe(self.list_engines())
        return total

    def report_lateness(self) -> LatenessReport | None:
        """How late events are; None: nobody looks."""
        return None

    def list_watches(self) -> list[LatenessWatch]:
        """Who looks."""
        return []

    def count_lookups(self) -> dict[str, dict[str, int]]:
        """By the name of each database."""
        if not self.opened:
            return {}
        from cepheid.execution.lookup.database import DatabaseTable

        return {
            node.table: asdict(lookup.counts)
            for node, lookup in self.opened.values()
            if isinstance(lookup, DatabaseTable)
        }

    def take_late(self) -> pa.Table:
        """Late events of all engines that read streams; they are given out once."""
        return _stack_tables([feed.take_late() for feed in self.list_engines() if feed.reads_streams])

    def save_streams(self) -> SavedStreams | None:
        """What is known of the streams, for a snapshot; None: nothing."""
        known: dict[str, Any] = {"clocks": self.times.write_state()} if self.times.are_known else {}
        if self.stamps.streams:
            known["stamp"] = self.stamps.last
        return SavedStreams(known, []) if known else None

    def read_streams(self, saved: SavedState | None) -> None:
        """Go on with what was known of the streams."""
        known = {} if saved is None or saved.streams is None else saved.streams.header
        if "clocks" in known:
            self.times.read_state(known["clocks"])
        self.stamps.last = max(self.stamps.last, known.get("stamp", self.stamps.last))

    def close(self) -> None:
        for _, lookup in self.opened.values():
            lookup.close()

    # --- the protocol of hosts ---------------------------------------------------------------------------
    def runs_whole(self, vertex: str) -> bool:  # noqa: ARG002 (part of the protocol)
        return False

    def run_whole(self, vertex: str) -> pa.Schema:
        raise AssertionError(f"{vertex} runs by itself")

    def read_source(self, vertex: str, node: Source) -> pa.Schema:
        known = find_schema(self._schemas, node.name)
        columns = known.names if self._reads_whole else source_columns(self._graph, vertex, known.names)
        self.sources[vertex] = (node.name, columns)
        return pa.schema([known.field(column) for column in columns])

    def run_engine(self, vertices: list[str], inputs: list[pa.Schema]) -> list[pa.Schema]:
        feed = self._make_feed(vertices, inputs)
        saved = self._saved.get(vertices[0])
        if saved is not None:
            feed.read_state(saved.header, saved.parts)
        self.feeds |= dict.fromkeys(vertices, feed)
        return feed.schemas

    def _make_feed(self, vertices: list[str], inputs: list[pa.Schema]) -> Feed:
        plain = {name: feed for name, feed in self.feeds.items() if isinstance(feed, EngineFeed)}
        return EngineFeed(self._graph, vertices, inputs, plain, self._lateness_us)

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Schema) -> pa.Schema:
        from cepheid.execution.lookup.join_table import open_lookup

        lookup = open_lookup(node, self._lookups.get(node.table))
        self.opened[vertex] = (node, lookup)
        self._others[vertex] = prepare_table_join(node, rows, lookup)
        return self._others[vertex].schema

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Schema]) -> pa.Schema:
        self._refuse_unsupported(vertex, node)
        if is_view(node):
            if not self._ends:
                raise refuse_view()
            return self._open_view(vertex, inputs, [False] * len(inputs), changes=False)
        self._others[vertex] = prepare_vertex(node, inputs)
        return self._others[vertex].schema

    def _open_view(self, vertex: str, inputs: list[pa.Schema], changing: list[bool], changes: bool) -> pa.Schema:
        from cepheid.execution.embedded.view_feed import ViewFeed

        feed = ViewFeed(self._graph, vertex, inputs, changing, changes)
        saved = self._saved.get(vertex)
        if saved is not None:
            feed.read_state(saved.header, saved.parts)
        self.feeds[vertex] = self._views_kept[vertex] = feed
        return feed.schemas[0]

    def _refuse_unsupported(self, vertex: str, node: PlanNode) -> None:
        """What a continuous query cannot do yet is refused by name."""
        if not isinstance(node, Relation):
            return
        graph = self._graph
        if any(isinstance(graph.vertices[name], EngineNode) for name in graph.reach(vertex, graph.outputs)):
            raise NotSupportedYet(
                "a join, grouping, sorting or subquery under a pattern or window in a continuous query",
                hint="give the stream a window: FROM s [ROWS 500], FROM s [RANGE 1 HOUR]; columns, expressions, WHERE "
                "and UNION ALL need none",
            )


def refuse_view() -> NotSupportedYet:
    return NotSupportedYet(
        "a join, grouping, sorting or subquery over rows that go on for ever, in a session",
        hint="give the stream a window: FROM s [ROWS 500]; or cep.open(..., emit='changes')",
    )


def find_states(placed: PlacedGraph, saved: SavedState | None) -> dict[str, SavedEngine]:
    """By vertex: the state of the engine that it ran in when the snapshot was taken."""
    if saved is None:
        return {}
    stateful = [*placed.at_engines(), *find_views(placed.graph)]
    found = {vertex: saved.find(placed.graph.digests[vertex]) for vertex in stateful}
    return {vertex: saved.engines[number] for vertex, number in found.items() if number is not None}


def group_vertices(placed: PlacedGraph, states: Mapping[str, SavedEngine]) -> list[list[str]]:
    """The vertices that share engines.  Those that could share one but have not seen the same events do not."""
    groups: list[list[str]] = []
    for group in placed.engines():
        apart: dict[int, list[str]] = {}
        for vertex in group:
            apart.setdefault(id(states.get(vertex)), []).append(vertex)
        groups += apart.values()
    return groups


def prepare_table_join(node: TableJoin, schema: pa.Schema, lookup: Lookup) -> PreparedVertex:
    from cepheid.execution.lookup.join_table import join_schema, join_table

    made = join_schema(node, schema, lookup.schema)

    def run(tables: list[pa.Table]) -> pa.Table:
        return join_table(node, tables[0], lookup).cast(made) if len(tables[0]) else empty_table(made)

    return PreparedVertex(run, made)


def _stack_tables(tables: list[pa.Table]) -> pa.Table:
    """All rows under one another; of columns that have one name and no common type, the first is kept."""
    if not tables:
        return pa.table({})
    stacked = tables[0]
    for table in tables[1:]:
        fitting = [name for name in table.column_names if _can_stack(stacked.schema, table.schema, name)]
        stacked = pa.concat_tables([stacked, table.select(fitting)], promote_options="permissive")
    return stacked


def _can_stack(upper: pa.Schema, lower: pa.Schema, name: str) -> bool:
    if name not in upper.names:
        return True
    try:
        unify_schemas([pa.schema([each.field(name)]) for each in (upper, lower)])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True
