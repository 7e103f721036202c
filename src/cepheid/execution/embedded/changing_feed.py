"""An engine of a continuous query over rows that come and go, and what tells it how far time has come.

As engine_feed.py, with two horizons: where the rows of another engine feed it, the present one follows what those are
about as it looks now, the settled one what they are about whatever is corrected.  Rows of patterns need no queue:
each has a place among the others (given_rows.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import NotSupportedYet, SnapshotMismatch
from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.changing.change_rows import NUMBER
from cepheid.execution.changing.changing_engine import ChangingEngine
from cepheid.execution.changing.content_pieces import cut_by_content
from cepheid.execution.changing.given_rows import VALUES, Reading
from cepheid.execution.changing.kept_changes import KeptChanges
from cepheid.execution.changing.patience import Patience
from cepheid.execution.changing.row_identity import EVENT, LATENESS, needs_whole_moments
from cepheid.execution.embedded.engine_feed import (
    Heard,
    Tables,
    check_event_time,
    find_engine_under,
    is_read_by_engines,
    list_clocks,
    make_clocks,
    name_streams,
)
from cepheid.execution.embedded.row_queue import order_rows, with_places
from cepheid.execution.engine import name_events
from cepheid.execution.engine_identity import RESTART_HINT, identify_engine
from cepheid.execution.operator import KeptEvents
from cepheid.graph.column_origin import name_columns
from cepheid.graph.identity import cell_meanings
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Changes, RowPattern, Sequence
from cepheid.graph.query_graph import QueryGraph
from cepheid.measurement import Counts


class ChangingFeed:
    """The vertices that share an engine.  `below`: those that may feed it."""

    def __init__(
        self,
        graph: QueryGraph,
        vertices: list[str],
        inputs: list[pa.Schema],
        below: Mapping[str, Any],
        patience: Patience,
        origins: list[str],
        only_comes: bool = False,
        may_be_read: bool = False,
    ) -> None:
        """origins: by input, what tells its rows from those of others that have the same numbers.  only_comes: does
        nothing that it reads ever change?  may_be_read: may other engines come that read it?"""
        self.vertices = vertices
        vertex = vertices[0]
        nodes = [node for name in vertices if isinstance(node := graph.vertices[name], EngineNode)]
        feeds = graph.inputs(vertex)
        self._under = [find_engine_under(graph, feed, below) for feed in feeds]
        if not only_comes and any(under is not None and under.clocks for under in self._under):
            raise NotSupportedYet(
                "a pattern or window over a union of events with rows that come and go",
                hint="put a window or pattern over each of them, and UNION ALL above",
            )
        self._clocks = [
            make_clocks(graph, feed) if under is None or not under.clocks else under.make_clocks(patience.wait_us)
            for feed, under in zip(feeds, self._under, strict=True)
        ]
        self._streams = [
            name_streams(graph, feed) if under is None or not under.clocks else [*under.streams, ""]
            for feed, under in zip(feeds, self._under, strict=True)
        ]
        self._names = name_columns(graph, vertex)
        self._cells = [cell_meanings(graph, name) for name in vertices]
        self.identity = identify_engine(graph, vertices)
        in_order = may_be_read or any(is_read_by_engines(graph, name) for name in vertices)
        above = {name for each in vertices for name in graph.reach(each, graph.outputs)}
        nets = any(isinstance(graph.vertices[name], Changes) for name in above)
        reading = Reading(in_order, nets=nets)
        many = len(inputs) > 1
        first = nodes[0]
        given: list[EngineNode] = nodes
        if in_order and isinstance(first, RowPattern | Sequence):
            reading = Reading(in_order, lambda rows: order_rows(first, many, rows))
            given = [with_places(first, many)]
        streams = [len(clocks) for clocks in self._clocks]
        is_settled = only_comes or not (NUMBER not in inputs[0].names or any(map(needs_whole_moments, nodes)))
        by_arrival = is_settled and self._under == [None] and first.order == 1
        self.engine = ChangingEngine(
            given, inputs, list(self.identity.digests), patience, streams, reading, origins, by_arrival
        )
        self.schemas = self.engine.schemas
        self._in_order = in_order
        self.floor = self.settled_floor = BEGINNING  # no row that is still to come is about an event older than this
        check_event_time(self.engine.layout)

    @property
    def reads_streams(self) -> bool:
        """Does it read events that users push?"""
        return any(under is None or under.clocks for under in self._under)

    @property
    def counts(self) -> Counts:
        return self.engine.counts

    @property
    def settled_horizon(self) -> int:
        """What is older is late."""
        return self.engine.bound.horizon

    def push(self, inputs: list[pa.Table], tables: Tables, heard: Heard, newest: Heard | None = None) -> list[pa.Table]:
        """The changes of each vertex by one more batch; `tables`: what was pushed, by stream; newest: of streams, if
        others know more of them than the tables tell."""
        if self.reads_streams:
            self.engine.measure(inputs)
        for number, (under, layout) in enumerate(zip(self._under, inputs, strict=True)):
            if under is None or under.clocks:
                self.engine.see(number, [clock(layout, tables) for clock in self._clocks[number]])
                if newest:
                    self.engine.see(number, [newest.get(name, BEGINNING) for name in self._streams[number]])
                if heard:
                    self.engine.hear(number, [heard.get(name, BEGINNING) for name in self._streams[number]])
            else:
                self.engine.follow(number, under.floor, under.settled_floor)
        rows = self.engine.push(inputs)
        if self._in_order:
            self.floor, self.settled_floor = self.engine.floor(), self.engine.settled_floor()
        return rows

    def finish(self, inputs: list[pa.Table]) -> list[pa.Table]:
        """The changes that are left, given the last ones that come in."""
        return self.engine.push(inputs, final=True)

    def list_clocks(self) -> list[tuple[str, int]]:
        """Streams that its inputs are made of, each with the time that it has reached there."""
        return list_clocks(self._streams, self.engine.gate, self._under)

    def take_late(self) -> pa.Table:
        """The late events, under the names that users know; they are given out once."""
        late, self.engine.late = self.engine.late, []
        return name_events(pa.concat_tables([self.engine.layout.empty_table(), *late]), self._names)

    # --- snapshots ---------------------------------------------------------------------------------------
    def write_state(self) -> tuple[dict[str, Any], list[bytes]]:
        """What the engine knows: a header for JSON, and parts."""
        kept = self.engine.keep()
        header = {
            **self.identity.header(),
            "changing": True,
            "cells": self._cells,
            "base": None if kept.base is None else {"horizon": kept.base.horizon, "arrivals": kept.base.arrivals},
            "turns": kept.turns,
            "places": kept.places,
            "present": kept.present,
            "settled": kept.settled,
            "newest_event": kept.newest,
            "confined": kept.confined,
            "newest": self.engine.gate.newest,
            "reached": self.engine.gate.reached,
            "settled_reached": self.engine.bound.reached,
            "floor": self.floor,
            "settled_floor": self.settled_floor,
            "counts": self.counts.as_dict(),
            "lateness": None if self.engine.watch is None else self.engine.watch.write_state(),
        }
        partials, base = b"", self.engine.layout.empty_table()
        if kept.base is not None:
            partials, base = kept.base.partials, kept.base.table
            told = {"_role": kept.base.roles, "_number": kept.base.numbers, "_taken": kept.base.taken}
            for name, values in told.items():
                base = base.append_column(name, pa.array(values))
        cut = [cut_by_content(events, events.column(EVENT).to_numpy()) for events in (base, kept.log, kept.held)]
        cut += [cut_by_content(rows, rows.column(VALUES).to_numpy()) for rows in (*kept.rows, *kept.past)]
        header["pieces"] = [len(pieces) for pieces in cut]
        tables = [*chain.from_iterable(cut), *self.engine.late]
        return header, [partials, *map(write_table, tables)]

    def read_state(self, header: Mapping[str, Any], parts: list[bytes]) -> None:
        """Go on from there."""
        if not header.get("changing"):
            raise SnapshotMismatch(
                f"the snapshot is of events that only come: {header['described'][0]}",
                hint=f"open it with the streams that it was taken with; {RESTART_HINT}",
            )
        engine, columns = self.engine, header["columns"]
        tables = iter([read_table_bytes(part) for part in parts[1:]])
        cut = [pa.concat_tables(islice(tables, pieces)) for pieces in header.get("pieces", ())]  # none: they were whole
        base, log, held, *others = [*cut, *tables]
        count = len(header["digests"])
        members = [header["digests"].index(digest) for digest in self.identity.digests]

        def fit(events: pa.Table) -> pa.Table:
            return self._fit_events(events, columns)

        engine.restore(
            KeptChanges(
                self._read_base(header, base, parts[0], members),
                fit(log),
                fit(held),
                [
                    self._fit_rows(place, others[number], header["cells"][number])
                    for place, number in enumerate(members)
                ],
                [
                    self._fit_rows(place, others[count + number], header["cells"][number])
                    for place, number in enumerate(members)
                ],
                [header["turns"][number] for number in members],
                [header["places"][number] for number in members],
                header["present"],
                header["settled"],
                header["newest_event"],
                header.get("confined", False),
            )
        )
        engine.late = [fit(late) for late in others[2 * count :]]
        held_now, kept_now = self.counts.held, self.counts.kept
        engine.counts = Counts(**{**header["counts"], "held": held_now, "kept": kept_now})
        engine.gate.newest = [list(each) for each in header["newest"]]
        engine.bound.newest = [list(each) for each in header["newest"]]
        for gate, known in ((engine.gate, "reached"), (engine.bound, "settled_reached")):
            for number, reached in enumerate(header.get(known, ())):
                gate.hear(number, reached)
        self.floor, self.settled_floor = header["floor"], header["settled_floor"]
        if engine.watch is not None and header.get("lateness"):
            engine.watch.read_state(header["lateness"])
            engine.hold()

    def _read_base(
        self, header: Mapping[str, Any], base: pa.Table, partials: bytes, members: list[int]
    ) -> KeptEvents | None:
        if header["base"] is None:
            return None
        kept = KeptEvents(
            table=self._fit_events(base, header["columns"]),
            roles=base.column("_role").to_numpy().astype(np.uint8),
            numbers=base.column("_number").to_numpy(),
            taken=base.column("_taken").to_numpy(),
            horizon=header["base"]["horizon"],
            arrivals=header["base"]["arrivals"],
            partials=partials,
        )
        return kept if members == list(range(len(header["digests"]))) else self.engine.pick(kept, members)

    def _fit_events(self, events: pa.Table, columns: dict[str, str]) -> pa.Table:
        layout = self.engine.layout
        if LATENESS in layout.names and LATENESS not in events.column_names:  # nobody asked how late they were
            events = events.append_column(LATENESS, pa.array(np.zeros(len(events), dtype=np.int64)))
        return self.identity.fit_events(events, columns, layout)

    def _fit_rows(self, place: int, rows: pa.Table, stored: Mapping[str, str]) -> pa.Table:
        """Stored rows under the names that cells have now; two cells may mean the same."""
        wanted = self.engine.given[place].kept_schema
        now, found = self._cells[place], []
        for name in wanted.names:
            known = name
            if name in now:
                known = next((old for old, meaning in stored.items() if meaning == now[name]), "")
            if known not in rows.column_names:
                raise SnapshotMismatch(f'the stored rows have no column "{name}"', hint=RESTART_HINT)
            found.append(rows.column(known))
        return pa.table(found, names=wanted.names).cast(wanted)
