"""A pattern of a continuous query at work: its engine, and what tells it how far time has come.

The horizon of a pattern follows the newest event of each stream that feeds it, less the lateness; where the rows of
another pattern feed it, it follows the oldest event that those may still be about.  The slowest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import InvalidOrder, NotSupportedYet
from cepheid.event_time import BEGINNING, END, is_event_time, newest_time
from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.embedded.row_queue import RowQueue, with_places
from cepheid.execution.engine import Engine, name_events
from cepheid.execution.operator import KeptEvents
from cepheid.graph.column_origin import is_time_of_match, name_columns, trace_cell, trace_column
from cepheid.graph.json_form import write_origin
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.measurement import Counts

Tables = Mapping[str, pa.Table]
Newest = Callable[[pa.Table, Tables], int]


class PatternRun:
    """One pattern vertex.  `below`: the runs of patterns that may feed it."""

    def __init__(
        self,
        graph: QueryGraph,
        vertex: str,
        inputs: list[pa.Schema],
        below: Mapping[str, PatternRun],
        lateness_us: int,
    ) -> None:
        node = graph.vertices[vertex]
        assert isinstance(node, RowPattern | Sequence), f"{vertex} is a pattern"
        feeds = graph.inputs(vertex)
        self._lateness_us = lateness_us
        self._under = [_pattern_under(graph, feed, below) for feed in feeds]
        self._clocks = [_make_clock(graph, feed) for feed in feeds]
        self._newest = [BEGINNING] * len(feeds)
        self._names = name_columns(graph, vertex)
        self.floor = BEGINNING  # no row that is still to come is about an event older than this
        many, queues = len(inputs) > 1, _is_read_by_patterns(graph, vertex)
        self.engine = Engine([with_places(node, many) if queues else node], inputs, origin=write_origin(graph, vertex))
        self._queue = RowQueue(node, many, self.engine.schemas[0]) if queues else None
        self.schema = pa.schema([self.engine.schemas[0].field(cell.name) for cell in node.cells])
        self._check_event_time()

    @property
    def reads_streams(self) -> bool:
        """Does it read events that users push?"""
        return None in self._under

    @property
    def counts(self) -> Counts:
        return self.engine.counts

    def push(self, inputs: list[pa.Table], tables: Tables) -> pa.Table:
        """The rows that are settled by one more batch; `tables`: what was pushed, by stream."""
        for number, (clock, layout) in enumerate(zip(self._clocks, inputs, strict=True)):
            self._newest[number] = max(self._newest[number], clock(layout, tables))
        (cells,) = self.engine.push(inputs, min(map(self._reached, range(len(inputs)))))
        if self._queue is None:
            return cells
        floor = self.engine.floor()
        ready = self._queue.pass_on(cells, floor)
        self.floor = min(floor, self._queue.oldest())
        return ready

    def finish(self, inputs: list[pa.Table]) -> pa.Table:
        """The rows that are left, given the last events."""
        cells = pa.concat_tables([*self.engine.push(inputs, self.engine.horizon), *self.engine.finish()])
        return cells if self._queue is None else self._queue.pass_on(cells, END)

    def take_late(self) -> pa.Table:
        """The late events, under the names that users know; they are given out once."""
        late, self.engine.late = self.engine.late, []
        return name_events(pa.concat_tables([self.engine.layout.empty_table(), *late]), self._names)

    def _reached(self, number: int) -> int:
        """How far time has come for an input."""
        under = self._under[number]
        if under is not None:
            return under.floor
        newest = self._newest[number]
        return newest if newest == BEGINNING else newest - self._lateness_us

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        """What the pattern knows: a header for JSON, and parts."""
        kept = self.engine.keep()
        table = kept.table
        for name, values in {"_role": kept.roles, "_number": kept.numbers, "_taken": kept.taken}.items():
            table = table.append_column(name, pa.array(values))
        queued = [] if self._queue is None else [self._queue.waiting]
        header = {
            "horizon": kept.horizon,
            "arrivals": kept.arrivals,
            "newest": self._newest,
            "floor": self.floor,
            "counts": self.counts.as_dict(),
            "parts": 2 + len(queued) + len(self.engine.late),
        }
        return header, [kept.partials, *(write_table(part) for part in (table, *queued, *self.engine.late))]

    def read_state(self, header: Mapping[str, Any], parts: list[bytes]) -> None:
        """Go on from there."""
        table, *others = [read_table_bytes(part) for part in parts[1:]]
        self.engine.restore(
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
        if self._queue is not None:
            self._queue.waiting, *others = others
        self.engine.late = others
        held, kept = self.counts.held, self.counts.kept
        self.engine.counts = Counts(**{**header["counts"], "held": held, "kept": kept})
        self._newest, self.floor = list(header["newest"]), header["floor"]

    def _check_event_time(self) -> None:
        time_type = self.engine.layout.field("_time").type
        if not is_event_time(time_type):
            raise InvalidOrder(
                f"a stream is ordered by event time, but ORDER BY names a column of type {time_type}",
                hint="order by a timestamp column",
            )


def _reads_patterns(graph: QueryGraph, vertex: str) -> bool:
    below = graph.reach(vertex, graph.inputs)
    return any(isinstance(graph.vertices[name], RowPattern | Sequence) for name in below)


def _is_read_by_patterns(graph: QueryGraph, vertex: str) -> bool:
    above = [name for name in graph.reach(vertex, graph.outputs) if name != vertex]
    return any(isinstance(graph.vertices[name], RowPattern | Sequence) for name in above)


def _pattern_under(graph: QueryGraph, feed: str, below: Mapping[str, PatternRun]) -> PatternRun | None:
    """The pattern whose rows make up an input; None if it is made of events that users push."""
    if not _reads_patterns(graph, feed):
        return None
    origin = trace_cell(graph, feed, "_time")
    if origin is None or not is_time_of_match(origin[1]):
        raise NotSupportedYet(
            "a continuous pattern over the rows of another, if ORDER BY is not the time of an event that was matched",
            hint="order it by a measure that is such a time: LAST(b.ts), FIRST(a.ts)",
        )
    return below[origin[0]]


def _make_clock(graph: QueryGraph, feed: str) -> Newest:
    """The newest time of an input, told by all its events: those filtered out move time on as well."""
    origin = trace_column(graph, feed, "_time")
    if origin is None:
        return lambda layout, _: newest_time(layout.column("_time"))
    stream, column = origin[0].name, origin[1]
    return lambda _, tables: newest_time(tables[stream].column(column))
