"""The embedded host over streams whose rows come and go, beside others that only grow.

What is over a stream that changes carries who its rows are, and whether they come or go, in columns that users do not
see (changing/change_rows.py); all else is as in stream_host.py.  In a session, where other queries may come, every
vertex carries them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.disorder.lateness_report import LatenessReport
from cepheid.disorder.lateness_watch import LatenessWatch, report_lateness
from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.event_time import read_moment
from cepheid.execution.changelogs.changelog import Commit
from cepheid.execution.changelogs.kinds import find_changelog
from cepheid.execution.changing.change_rows import (
    ROW,
    ShownChanges,
    drop_hidden,
    with_carried,
    with_number,
    without_carried,
)
from cepheid.execution.changing.changed_evaluations import ChangedEvaluations
from cepheid.execution.changing.patience import Patience
from cepheid.execution.embedded.carried_vertex import passes_numbers_on, with_carried_columns
from cepheid.execution.embedded.changing_feed import ChangingFeed
from cepheid.execution.embedded.changing_streams import ChangingStreams
from cepheid.execution.embedded.engine_feed import Heard
from cepheid.execution.embedded.processor_load import ProcessorLoad
from cepheid.execution.embedded.row_wise import PreparedVertex, prepare_vertex
from cepheid.execution.embedded.saved_state import SavedEngine, SavedState, SavedStreams
from cepheid.execution.embedded.stream_host import (
    StreamHost,
    Tables,
    find_states,
    group_vertices,
    prepare_table_join,
    refuse_view,
)
from cepheid.execution.lookup.join_table import open_lookup
from cepheid.execution.views.find_views import find_views
from cepheid.graph.changing import ChangingVertices, count_origins, find_changing, refuse_unstable
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Changes, Sink, Source, TableJoin, WindowAggregate
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.graph.stream_readers import meet_others
from cepheid.lookups import Database, Table
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import Clock, SystemClock, base_name, find_schema
from cepheid.schema import CHANGE_COLUMNS, has_changes, without_changes
from cepheid.settings import ChangelogName, Waiting

if TYPE_CHECKING:
    from cepheid.execution.embedded.stream_host import Feed


@dataclass(frozen=True, slots=True)
class LateEvents:
    """What becomes of late events.  bound_us: how long events may be overtaken by others; None: not at all, and changes
    may be of any age.  wait_us: how long they are held back, if not as long as that; waiting: the rule, if it follows
    the stream.  shown: are changes told of every query, also of those whose rows stay?  corrects: are events of streams
    that only grow taken in behind what was computed?"""

    bound_us: int | None = None
    wait_us: int | None = None
    waiting: Waiting | None = None
    shown: bool = False
    corrects: bool = False

    @property
    def patience(self) -> Patience:
        wait_us = (self.bound_us or 0) if self.wait_us is None else self.wait_us
        return Patience(wait_us, self.bound_us, self.waiting, stays=self.corrects and not self.shown)


class ChangingHost(StreamHost):
    may_take_short_way = False

    def __init__(
        self,
        schemas: Mapping[str, pa.Schema],
        lookups: Mapping[str, Table | Database],
        late: LateEvents,
        reads_whole: bool = False,
        ends: bool = True,
        idle_after_us: Mapping[str, int] | None = None,
        clock: Clock | None = None,
        origin: str = "",
        changelog: ChangelogName = "cepheid",
    ) -> None:
        """origin: of several hosts that share a stream, each has one of its own: what its rows are told by."""
        super().__init__(schemas, lookups, late.bound_us or 0, reads_whole, ends, idle_after_us, clock)
        self._late = late
        self._load = ProcessorLoad(time.monotonic)
        self._clock = clock or SystemClock()
        self._changelog = find_changelog(changelog)
        self._commit = Commit(0, 0)  # of the rows that were given out last
        self._shows_all = late.shown
        self._views: frozenset[str] = frozenset()
        self._changing_streams = frozenset(name for name, schema in schemas.items() if has_changes(name, schema))
        self._origin = origin
        self._ledgers = ChangingStreams(schemas, self._changing_streams, origin)
        self._changes = ChangingVertices()
        self._netted: dict[str, ChangedEvaluations] = {}  # by vertex
        self._numbered: dict[str, str] = {}  # vertices whose rows are those of one stream that only grows, and which
        self._shown: dict[str, Callable[[pa.Table], pa.Table]] = {}  # by query: how its rows are told

    def open(self, placed: PlacedGraph, saved: SavedState | None = None) -> dict[str, pa.Schema]:
        """Vertices that say who their rows are do not share engines with those that need not."""
        self._views = find_views(placed.graph) if self._shows_all or self._changing_streams else frozenset()
        self._changes = self._find_changes(placed.graph)
        states = find_states(placed, saved)
        carried = self._changes.carried
        groups = [
            part
            for group in group_vertices(placed, states)
            for part in ([v for v in group if v in carried], [v for v in group if v not in carried])
            if part
        ]
        self.read_streams(saved)
        return self._extend(placed, groups, states)

    def extend(
        self, placed: PlacedGraph, groups: list[list[str]], saved: Mapping[str, SavedEngine] | None = None
    ) -> dict[str, pa.Schema]:
        """Prepare what is new in the graph of a session."""
        if find_views(placed.graph):
            raise refuse_view()
        known = self._changes
        found = self._find_changes(placed.graph)
        carried = [name for name, node in placed.graph.vertices.items() if not isinstance(node, Sink)]
        self._changes = ChangingVertices(known.changing | found.changing, known.carried.union(carried))
        try:
            return self._extend(placed, groups, saved or {})
        except Exception:
            self._changes = known
            raise

    def _extend(
        self, placed: PlacedGraph, groups: list[list[str]], saved: Mapping[str, SavedEngine]
    ) -> dict[str, pa.Schema]:
        known = set(self._netted)
        given = super().extend(placed, groups, saved)
        if self._changes.carried:
            feeds = {name: feed for name, feed in self.feeds.items() if isinstance(feed, ChangingFeed)}
            self._ledgers.open(self._graph, self._changes.carried, feeds, self._is_bounded)
        for vertex, netted in self._netted.items():
            if vertex not in known:
                netted.fill(self._rerun(self._inputs[vertex][0]))
        return {query: self._show_changes(query, schema) for query, schema in given.items()}

    def _find_changes(self, graph: QueryGraph) -> ChangingVertices:
        changes = find_changing(graph, self._changing_streams, self._views, self._shows_all, self._late.corrects)
        databases = [name for name, table in self._lookups.items() if isinstance(table, Database)]
        refuse_unstable(graph, changes.changing, databases)
        ending = find_views(graph) - self._views  # of rows that stay; theirs come at the end
        above = [name for view in ending for name in graph.reach(view, graph.outputs)]
        return ChangingVertices(changes.changing, changes.carried.difference(ending, above))

    def drop(self, queries: Iterable[str], vertices: Iterable[str]) -> None:
        """Forget queries, and vertices that no other needs."""
        queries, vertices = list(queries), list(vertices)
        for query in queries:
            self._shown.pop(query, None)
        for vertex in vertices:
            self._netted.pop(vertex, None)
            self._numbered.pop(vertex, None)
        super().drop(queries, vertices)
        gone = frozenset(vertices)
        self._changes = ChangingVertices(self._changes.changing - gone, self._changes.carried - gone)

    def run(
        self,
        tables: Tables,
        last: bool = False,
        heard: Heard | None = None,
        newest: Heard | None = None,
    ) -> dict[str, pa.Table]:
        """All vertices over what was pushed, or over the end; the rows of each query."""
        self._commit = Commit(self._commit.number + 1, read_moment(self._clock.now()))
        tables = {name: tables.get(name, schema.empty_table()) for name, schema in self._schemas.items()}
        tables, heard = self._move_time(tables, last, heard or {}, newest)
        told = newest or {}
        spoken = {**told, **{name: max(time, told.get(name, time)) for name, time in self.times.pace_idle().items()}}
        made: dict[str, pa.Table] = {}
        carried = self._changes.carried
        changes, tables = self._ledgers.read(tables) if carried else ({}, tables)
        for vertex in self._made:
            if vertex in self.sources:
                name, columns = self.sources[vertex]
                made[vertex] = (changes if vertex in carried else tables)[name].select(columns)
                continue
            inputs = [self._hand_over(made[source], source, vertex) for source in self._inputs[vertex]]
            feed = self.feeds.get(vertex)
            if feed is None:
                made[vertex] = self._others[vertex].run(inputs)
            elif vertex not in made:
                if last:
                    rows = feed.finish(inputs)
                elif isinstance(feed, ChangingFeed):
                    rows = feed.push(inputs, tables, heard, spoken)
                else:
                    rows = feed.push(inputs, tables, heard)
                made.update(zip(feed.vertices, rows, strict=True))
        if carried and not last and self._is_bounded:
            self._forget_settled()
        return {
            query: self._shown[query](made[vertex]) if query in self._shown else made[vertex]
            for query, vertex in self.results.items()
        }

    def _hand_over(self, rows: pa.Table, source: str, reader: str) -> pa.Table:
        """Rows as their reader wants them."""
        if source not in self._changes.carried:
            return rows
        if reader not in self._changes.carried:
            return without_carried(rows)
        takes_numbers = reader in self._numbered or isinstance(self.feeds.get(reader), ChangingFeed)
        return rows if takes_numbers else self._spell_out(rows, source)

    def _spell_out(self, rows: pa.Table, vertex: str) -> pa.Table:
        """Rows of a vertex that all have four columns of ours."""
        return self._ledgers.spell_out(self._numbered[vertex], rows) if vertex in self._numbered else rows

    # --- the protocol of hosts ---------------------------------------------------------------------------
    def read_source(self, vertex: str, node: Source) -> pa.Schema:
        if base_name(node.name) in self._changing_streams:
            raise NotSupportedYet(
                "PROCTIME() of a stream whose rows come and go", hint="order by a time that the rows have"
            )
        known = without_changes(find_schema(self._schemas, node.name))
        columns = known.names if self._reads_whole else source_columns(self._graph, vertex, known.names)
        read = pa.schema([known.field(column) for column in columns])
        if vertex in self._changes.carried and node.name in self._changing_streams:
            read = with_carried(read)
        elif vertex in self._changes.carried:
            self._numbered[vertex] = node.name
            read = with_number(read)
        self.sources[vertex] = (node.name, read.names)
        return read

    def run_engine(self, vertices: list[str], inputs: list[pa.Schema]) -> list[pa.Schema]:
        return super().run_engine(vertices, self._fit_inputs(vertices[0], inputs))

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Schema) -> pa.Schema:
        (rows,) = self._fit_inputs(vertex, [rows])
        if vertex not in self._changes.carried:
            return super().look_up(vertex, node, rows)
        table = self._lookups.get(node.table)
        lookup = open_lookup(node, table)
        self.opened[vertex] = (node, lookup)
        carrying = with_carried_columns(node)
        assert isinstance(carrying, TableJoin), "it stays what it is"
        self._others[vertex] = _refuse_refreshed(prepare_table_join(carrying, rows, lookup), node, table)
        return self._others[vertex].schema

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Schema]) -> pa.Schema:
        inputs = self._fit_inputs(vertex, inputs)
        if vertex not in self._changes.carried:
            return super().run_relational(vertex, node, inputs)
        self._refuse_unsupported(vertex, node)
        if vertex in self._views:
            changing = [source in self._changes.changing for source in self._graph.inputs(vertex)]
            return self._open_view(vertex, inputs, changing, changes=True)
        if isinstance(node, Changes):
            self._netted[vertex] = netted = ChangedEvaluations(node, self._graph.digests[vertex], inputs[0])
            self._others[vertex] = PreparedVertex(lambda tables: netted.push(tables[0]), netted.schema)
        else:
            numbered = passes_numbers_on(node) and self._graph.inputs(vertex)[0] in self._numbered
            if numbered:
                self._numbered[vertex] = self._numbered[self._graph.inputs(vertex)[0]]
            self._others[vertex] = prepare_vertex(with_carried_columns(node, numbered), inputs)
        return self._others[vertex].schema

    def report_lateness(self) -> LatenessReport | None:
        """How late events are; None: nobody looks."""
        watches = self.list_watches()
        return report_lateness(watches) if watches else None

    def list_watches(self) -> list[LatenessWatch]:
        """Of engines that read streams."""
        feeds = [feed for feed in self.list_engines() if isinstance(feed, ChangingFeed) and feed.reads_streams]
        return [feed.engine.watch for feed in feeds if feed.engine.watch is not None]

    def is_waiting(self) -> bool:
        """May rows come out when only time moves on?"""
        changing = [feed for feed in self.list_engines() if isinstance(feed, ChangingFeed)]
        return super().is_waiting() or any(feed.engine.is_waiting() for feed in changing)

    @property
    def _is_bounded(self) -> bool:
        """Are changes accepted for a while only?"""
        return self._late.bound_us is not None or self._late.waiting is not None

    # --- rows that come and go ---------------------------------------------------------------------------
    def save_streams(self) -> SavedStreams | None:
        """What is known of the streams, for a snapshot; None: nothing."""
        known = super().save_streams()
        if not self._changes.carried:
            return known
        header, parts = self._ledgers.write_state()
        header = {**({} if known is None else known.header), **header, "commits": self._commit.number}
        return SavedStreams(header, parts)

    def _fit_inputs(self, vertex: str, inputs: list[pa.Schema]) -> list[pa.Schema]:
        """What a vertex reads: whether rows go as well as come, only those know that may see it."""
        if vertex not in self._changes.carried:
            return [drop_hidden(schema) for schema in inputs]
        if passes_numbers_on(self._graph.vertices[vertex]) or isinstance(self._graph.vertices[vertex], EngineNode):
            return inputs
        sources = self._graph.inputs(vertex)
        return [
            with_carried(drop_hidden(schema)) if source in self._numbered else schema
            for source, schema in zip(sources, inputs, strict=True)
        ]

    def _make_feed(self, vertices: list[str], inputs: list[pa.Schema]) -> Feed:
        if vertices[0] not in self._changes.carried:
            return super()._make_feed(vertices, inputs)
        only_comes = vertices[0] not in self._changes.changing and not self._late.corrects
        patience = Patience(self._lateness_us, self._lateness_us) if only_comes else self._late.patience
        if patience.stays and meet_others(self._graph, vertices):
            if self._learns_from_rows(vertices):
                hint = 'emit="changes", or wait="quantile": each learns from its own rows how long events have to wait'
                raise NotSupportedYet('recall with emit="final" where several read one stream', hint=hint)
            patience = patience.without_bound()
        origins = [self._numbered.get(source, "") + self._origin for source in self._graph.inputs(vertices[0])]
        return ChangingFeed(self._graph, vertices, inputs, self.feeds, patience, origins, only_comes, not self._ends)

    def _learns_from_rows(self, vertices: list[str]) -> bool:
        """Of windows, each event is looked at by itself."""
        waiting = self._late.waiting
        if waiting is None or waiting.rule != "recall":
            return False
        return any(not isinstance(self._graph.vertices[name], WindowAggregate) for name in vertices)

    def read_streams(self, saved: SavedState | None) -> None:
        """Go on with what was known of the streams."""
        super().read_streams(saved)
        if saved is not None and saved.streams is not None and "ledgers" in saved.streams.header:
            self._ledgers.read_state(saved.streams.header, saved.streams.parts)
            self._commit = Commit(saved.streams.header.get("commits", 0), 0)

    def _show_changes(self, query: str, schema: pa.Schema) -> pa.Schema:
        """The schema of a query's rows as users see them."""
        vertex = self.results[query]
        if vertex not in self._changes.carried:
            return schema
        if vertex not in self._changes.changing and not self._shows_all:
            self._shown[query] = without_carried
            return drop_hidden(schema)
        taken = [name for name in schema.names if name in CHANGE_COLUMNS]
        if taken:
            hint = f"{', '.join(CHANGE_COLUMNS)} are put in front of the rows: call it something else"
            raise InvalidQuery(f'the query "{query}" has a column "{taken[0]}"', hint=hint)
        streams, has_made = count_origins(self._graph, vertex, self._views)
        known = None
        if not has_made and len(streams) == 1 and vertex in self._changes.changing:
            known = self._schemas[streams.pop()].field("_match").type
        shown = ShownChanges(schema, known)
        self._shown[query] = lambda table: self._changelog.write(
            shown.show(self._spell_out(table, vertex)), self._commit
        )
        return self._changelog.make_schema(shown.schema)

    def _rerun(self, vertex: str) -> pa.Table:
        """The rows that may still change, of a vertex between an engine and those who compare evaluations."""
        feed = self.feeds.get(vertex)
        if feed is not None:
            assert isinstance(feed, ChangingFeed), "below what changes, all is carried"
            return feed.engine.given[feed.vertices.index(vertex)].show()
        return self._others[vertex].run([self._rerun(source) for source in self._inputs[vertex]])

    def _forget_settled(self) -> None:
        self._ledgers.forget()
        for vertex, netted in self._netted.items():
            netted.keep_only(self._rerun(self._inputs[vertex][0]).column(ROW))


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
