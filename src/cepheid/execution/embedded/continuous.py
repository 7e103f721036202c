"""A continuous query in this process: push batches, get rows as soon as they are settled.

    query = cep.open("SELECT ...", buses=schema)
    rows = query.push(buses=batch)       an Arrow table
    rest = query.finish()

Everything in the query's graph runs over each batch, from producers to the consumer: filters and projections look at
single rows, patterns remember.  A snapshot is one blob; a query opened with it goes on where it was taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from cepheid.errors import EmptyStateWarning, InvalidInput
from cepheid.event_time import in_microseconds
from cepheid.execution.embedded.saved_state import OnChange, Restored, SavedEngine, SavedState, write_saved_state
from cepheid.execution.embedded.stream_host import StreamHost
from cepheid.execution.lookup.database import DatabaseTable
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Sink, TableJoin
from cepheid.lookups import Database, Table
from cepheid.measurement import CountedVertices, Counts
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.schema import fit_schema, is_plain_schema, read_table
from cepheid.settings import Settings


class ContinuousQuery:
    """One query or several, their stateful vertices and what those know."""

    def __init__(
        self,
        placed: PlacedGraph,
        schemas: Mapping[str, pa.Schema],
        settings: Settings,
        snapshot: bytes | None = None,
        several: bool = False,
        lookups: Mapping[str, Table | Database] | None = None,
        on_change: OnChange = "refuse",
    ) -> None:
        """several: answers are told by the names of the queries; lookups: tables that events are looked up in;
        on_change: what to do with a query that is not the one in the snapshot."""
        self._several = several
        self._schemas = schemas
        self._plain = {name: is_plain_schema(schema) for name, schema in schemas.items()}
        self._empty = {name: schema.empty_table() for name, schema in schemas.items()}
        self._graph = placed.graph
        lateness_us = None if settings.lateness is None else in_microseconds(settings.lateness)
        wait_us = None if settings.wait is None else in_microseconds(settings.wait)
        self._host = StreamHost(schemas, lookups or {}, lateness_us, wait_us)
        saved = None if snapshot is None else SavedState.read(snapshot)
        self.restored = Restored() if saved is None else saved.compare(self._list_stateful(), on_change)
        self._result_schemas = self._host.open(placed, saved)
        self._finished = False
        if self.restored.empty:
            message = f"not in the snapshot, and begin empty: {', '.join(self.restored.empty)}"
            warnings.warn(message, EmptyStateWarning, stacklevel=3)

    def push(self, **batches: Any) -> Any:
        """Take in events of one or more streams; give the rows that are settled now: a table, or, if several queries
        were opened together, one by the name of each."""
        self._refuse_finished()
        return self._by_name(self._host.run(self._read_batches(batches), last=False))

    def finish(self) -> Any:
        """No more events will come: give all rows that are left."""
        self._refuse_finished()
        self._finished = True
        rest = self._by_name(self._host.run(self._empty, last=True))
        self._host.close()
        return rest

    def snapshot(self) -> bytes:
        """All the query knows, as bytes; `cep.open(text, ..., snapshot=blob)` goes on from there."""
        self._refuse_finished()
        return write_saved_state(
            self._list_stateful(),
            [SavedEngine(*run.write_state()) for run in self._host.list_engines()],
            self._host.save_streams(),
        )

    def late_events(self) -> pa.Table:
        """Events that came after the horizon had passed them, with the columns that the query reads.

        They are taken out of the query; how many there were stays in `counts`.  An event that is late for several
        engines is told by each.
        """
        return _stack_tables([run.take_late() for run in self._host.list_engines() if run.reads_streams])

    @property
    def counts(self) -> Counts:
        """What was counted by all engines and look-ups together."""
        counted = [run.counts.as_dict() for run in self._host.list_engines()]
        total = Counts(**{name: sum(each[name] for each in counted) for name in Counts().as_dict()})
        total.unanswered = sum(each["unanswered"] for each in self.lookups.values())
        return total

    @property
    def measurements(self) -> dict[str, CountedVertices]:
        """By the digest of each vertex that remembers: what was counted where it runs."""
        return {
            digest: CountedVertices(labels=tuple(run.vertices), digests=run.identity.digests, counts=run.counts)
            for run in self._host.list_engines()
            for digest in run.identity.digests
        }

    @property
    def lookups(self) -> dict[str, dict[str, int]]:
        """What was counted of each database: answers that were remembered (hits) and asked for (misses, fetches),
        failures, and events that went without an answer while it was away (unanswered)."""
        opened = self._host.opened
        nodes = {vertex: self._graph.vertices[vertex] for vertex in opened}
        return {
            node.table: asdict(lookup.counts)
            for vertex, lookup in opened.items()
            if isinstance(lookup, DatabaseTable) and isinstance(node := nodes[vertex], TableJoin)
        }

    @property
    def schema(self) -> Any:
        """The columns of the rows that come out; by name, if several queries were opened together."""
        return self._by_name(dict(self._result_schemas))

    def _list_stateful(self) -> dict[str, dict[str, str]]:
        """By query: the digests of the vertices that remember, and what people are told of each."""
        graph = self._graph
        return {
            node.query: {
                graph.digests[name]: f"{name}: {graph.vertices[name].describe()}"
                for name in graph.reach(vertex, graph.inputs)
                if isinstance(graph.vertices[name], EngineNode)
            }
            for vertex, node in graph.vertices.items()
            if isinstance(node, Sink)
        }

    def _by_name(self, results: dict[str, Any]) -> Any:
        return results if self._several else results["query"]

    def _read_batches(self, batches: Mapping[str, Any]) -> dict[str, pa.Table]:
        unknown = [name for name in batches if name not in self._schemas]
        if unknown:
            raise InvalidInput(
                f'the query has no stream "{unknown[0]}"', hint=f"its streams: {', '.join(self._schemas)}"
            )
        return {
            name: self._read_batch(name, batches[name], schema) if name in batches else self._empty[name]
            for name, schema in self._schemas.items()
        }

    def _read_batch(self, name: str, batch: Any, schema: pa.Schema) -> pa.Table:
        if self._plain[name] and isinstance(batch, pa.Table) and batch.schema.equals(schema):
            return batch  # as it was announced: nothing to look for
        return fit_schema(name, read_table(name, batch), schema)

    def _refuse_finished(self) -> None:
        if self._finished:
            raise InvalidInput("the query is finished", hint="open a new one")


def _stack_tables(tables: list[pa.Table]) -> pa.Table:
    """All rows under one another; of columns that have one name and no common type, the first is kept."""
    stacked = tables[0]
    for table in tables[1:]:
        fitting = [name for name in table.column_names if _can_stack(stacked.schema, table.schema, name)]
        stacked = pa.concat_tables([stacked, table.select(fitting)], promote_options="permissive")
    return stacked


def _can_stack(upper: pa.Schema, lower: pa.Schema, name: str) -> bool:
    if name not in upper.names:
        return True
    try:
        pa.unify_schemas([pa.schema([each.field(name)]) for each in (upper, lower)], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True
