"""A continuous query in this process: push batches, get rows as soon as they are settled.

    query = cep.open("SELECT ...", buses=schema)
    rows = query.push(buses=batch)       an Arrow table
    rest = query.finish()

The horizon follows the newest event of each stream, less the lateness; with several streams it is that of
the slowest.  A snapshot is one blob; a query opened with it goes on where it was taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler import Compilation
from cepheid.errors import InvalidInput, InvalidOrder, NotSupportedYet, SnapshotMismatch
from cepheid.event_time import BEGINNING, in_microseconds, is_event_time, newest_time
from cepheid.execution.blob import read_blob, read_table_bytes, write_blob, write_table
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.engine import Engine, KeptEvents, name_events
from cepheid.graph.column_origin import name_columns, trace_column
from cepheid.graph.json_form import write_origin
from cepheid.graph.operators import Relation, RowPattern, Sequence, Sink, Source
from cepheid.measurement import Counts
from cepheid.schema import fit_schema, read_table
from cepheid.settings import Settings


class ContinuousQuery:
    """One query, its engine and its state."""

    def __init__(
        self,
        compilation: Compilation,
        schemas: Mapping[str, pa.Schema],
        settings: Settings,
        snapshot: bytes | None = None,
    ) -> None:
        self._graph = compilation.placed.graph
        self._schemas = schemas
        self._lateness = 0 if settings.lateness is None else in_microseconds(settings.lateness)
        self._pattern = _only_pattern(compilation)
        self._feeds = self._graph.inputs(self._pattern)
        empty = {name: schema.empty_table() for name, schema in schemas.items()}
        inputs = [table.schema for table in self._layouts(empty)]
        self._engine = Engine(self._node, inputs, origin=write_origin(self._graph, self._pattern))
        _check_event_time(self._engine)
        self._newest = dict.fromkeys(self._feeds, BEGINNING)
        self._names = name_columns(self._graph, self._pattern)
        self._finished = False
        if snapshot is not None:
            self._restore(snapshot)

    @property
    def _node(self) -> RowPattern | Sequence:
        node = self._graph.vertices[self._pattern]
        assert isinstance(node, RowPattern | Sequence), "a continuous query has a pattern"
        return node

    def push(self, **batches: Any) -> pa.Table:
        """Take in events of one or more streams; give the rows that are settled now."""
        self._refuse_finished()
        tables = self._read_batches(batches)
        layouts = self._layouts(tables)
        for feed, layout in zip(self._feeds, layouts, strict=True):
            self._newest[feed] = max(self._newest[feed], self._newest_of(feed, layout, tables))
        slowest = min(self._newest.values())
        horizon = slowest if slowest == BEGINNING else slowest - self._lateness
        return self._finish_rows(self._engine.push(layouts, horizon))

    def finish(self) -> pa.Table:
        """No more events will come: give all rows that are left."""
        self._refuse_finished()
        self._finished = True
        return self._finish_rows(self._engine.finish())

    def snapshot(self) -> bytes:
        """All the query knows, as bytes; `cep.open(text, ..., snapshot=blob)` goes on from there."""
        self._refuse_finished()
        kept = self._engine.keep()
        told = {"_role": kept.roles, "_number": kept.numbers, "_taken": kept.taken}
        table = kept.table
        for name, values in told.items():
            table = table.append_column(name, pa.array(values))
        header = {
            "fingerprint": self._engine.fingerprint,
            "horizon": kept.horizon,
            "arrivals": kept.arrivals,
            "newest": [self._newest[feed] for feed in self._feeds],
            "counts": self._engine.counts.as_dict(),
        }
        return write_blob(header, [kept.partials, *(write_table(part) for part in (table, *self._engine.late))])

    def late_events(self) -> pa.Table:
        """Events that came after the horizon had passed them, with the columns that the query reads.

        They are taken out of the query; how many there were stays in `counts`.
        """
        late, self._engine.late = self._engine.late, []
        return name_events(pa.concat_tables([self._engine.layout.empty_table(), *late]), self._names)

    @property
    def counts(self) -> Counts:
        return self._engine.counts

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows that come out."""
        return self._finish_rows(self._engine.schema.empty_table()).schema

    def _restore(self, snapshot: bytes) -> None:
        header, parts = read_blob(snapshot)
        if header["fingerprint"] != self._engine.fingerprint:
            raise SnapshotMismatch(
                "this snapshot was taken of another query, or of streams with other columns",
                hint="open it with the same text and schemas",
            )
        table, *late = [read_table_bytes(part) for part in parts[1:]]
        self._engine.restore(
            KeptEvents(
                table=table.drop_columns(["_role", "_number", "_taken"]),
                roles=table.column("_role").to_numpy().astype(np.uint8),
                numbers=table.column("_number").to_numpy(),
                taken=table.column("_taken").to_numpy(),
                horizon=header["horizon"],
                arrivals=header["arrivals"],
                partials=parts[0],
            )
        )
        self._engine.late = late
        held, kept = self._engine.counts.held, self._engine.counts.kept
        self._engine.counts = Counts(**{**header["counts"], "held": held, "kept": kept})
        self._newest = dict(zip(self._feeds, header["newest"], strict=True))

    def _read_batches(self, batches: Mapping[str, Any]) -> dict[str, pa.Table]:
        unknown = [name for name in batches if name not in self._schemas]
        if unknown:
            raise InvalidInput(
                f'the query has no stream "{unknown[0]}"', hint=f"its streams: {', '.join(self._schemas)}"
            )
        return {
            name: fit_schema(name, read_table(name, batches[name]), schema) if name in batches else schema.empty_table()
            for name, schema in self._schemas.items()
        }

    def _layouts(self, tables: Mapping[str, pa.Table]) -> list[pa.Table]:
        """The pattern's inputs: everything below it, run over one batch."""
        made: dict[str, pa.Table] = {}
        below = self._graph.reach(self._pattern, self._graph.inputs)
        for vertex in below[:-1]:
            node = self._graph.vertices[vertex]
            if isinstance(node, Source):
                made[vertex] = tables[node.name].select(list(node.columns))
            else:
                made[vertex] = run_relational(node, [made[source] for source in self._graph.inputs(vertex)])
        return [made[feed] for feed in self._feeds]

    def _newest_of(self, feed: str, layout: pa.Table, tables: Mapping[str, pa.Table]) -> int:
        """The newest time of a stream, told by all its events: those filtered out move time on as well."""
        origin = trace_column(self._graph, feed, "_time")
        if origin is None:
            return newest_time(layout.column("_time"))
        source, column = origin
        return newest_time(tables[source.name].column(column))

    def _finish_rows(self, cells: pa.Table) -> pa.Table:
        """Everything above the pattern, run over the rows that are new."""
        rows = cells
        for vertex in self._graph.reach(self._pattern, self._graph.outputs)[1:]:
            node = self._graph.vertices[vertex]
            if not isinstance(node, Sink):
                rows = run_relational(node, [rows])
        return rows

    def _refuse_finished(self) -> None:
        if self._finished:
            raise InvalidInput("the query is finished", hint="open a new one")


def _only_pattern(compilation: Compilation) -> str:
    """The one pattern of a continuous query; what it cannot do yet is refused by name."""
    placed = compilation.placed
    patterns = placed.at_engines()
    if len(patterns) != 1:
        count = "no pattern" if not patterns else f"{len(patterns)} patterns"
        raise NotSupportedYet(f"a continuous query with {count}")
    above = placed.graph.reach(patterns[0], placed.graph.outputs)
    for vertex in placed.graph.vertices:
        if isinstance(placed.graph.vertices[vertex], Relation):
            side = "over the rows of a pattern" if vertex in above else "under a pattern"
            raise NotSupportedYet(
                f"a join, grouping, sorting or subquery {side} in a continuous query",
                hint="use columns, expressions and WHERE, or run it on Spark",
            )
    return patterns[0]


def _check_event_time(engine: Engine) -> None:
    time_type = engine.layout.field("_time").type
    if not is_event_time(time_type):
        raise InvalidOrder(
            f"a stream is ordered by event time, but ORDER BY names a column of type {time_type}",
            hint="order by a timestamp column",
        )
