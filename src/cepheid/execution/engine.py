"""An engine: one pattern vertex at work on its events, the same for every host.

    tables in the event layout ─▶ reject, set late apart ─▶ hold back ─▶ kernel ─▶ cells

All that an engine knows can be told by the events it keeps: released ones that a match may still need, and held
ones.  A snapshot is just those; to go on from it, they are fed in again.  The same way an engine forgets:
when most of what it keeps is no longer needed, it starts afresh from its own snapshot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.disorder.holdback import find_late, find_releasable, sort_events
from cepheid.event_time import BEGINNING, END, order_values
from cepheid.execution.cells import write_cells, write_schema
from cepheid.execution.event_log import EventLog
from cepheid.execution.general_evaluator import evaluate_call
from cepheid.execution.predicates import answer_predicates
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.kernel.columns import Column, Events, Int64s, Interner, read_column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.expression import HostCall
from cepheid.kernel.reference.operators import ReferenceRowPattern, ReferenceSequence
from cepheid.measurement import Counts

RowMatcher = CompiledRowPattern | ReferenceRowPattern
SequenceMatcher = CompiledSequence | ReferenceSequence

PENDING, PAST, HELD = range(3)
MOST_AT_ONCE = 1_048_576  # events that a matcher is given at once
SPARE_EVENTS = 8192  # forgotten events that are not worth starting afresh for


@dataclass(frozen=True, slots=True)
class KeptEvents:
    """What an engine must remember.

    table: events in the layout with `_arrival`; roles: uint8[n], PENDING, PAST (before its key's search) or
    HELD; numbers: int64[n], matches found so far in the event's partition; taken: bool[n], events that are in a match
    already, where that matters; partials: what the matcher has to say besides events (LIMIT PARTIALS).
    """

    table: pa.Table
    roles: npt.NDArray[np.uint8]
    numbers: Int64s
    taken: npt.NDArray[np.bool_]
    horizon: int
    arrivals: int
    partials: bytes = b""


@dataclass(frozen=True, slots=True)
class _Live:
    """For each event of the log: is it needed, its role, the number of matches in its partition, is it taken."""

    kept: npt.NDArray[np.bool_]
    roles: npt.NDArray[np.uint8]
    numbers: Int64s
    taken: npt.NDArray[np.bool_]
    partials: bytes = b""


class Engine:
    """`origin` tells where the events come from (graph.json_form.write_origin): snapshots are only for the same."""

    def __init__(
        self, node: RowPattern | Sequence, inputs: list[pa.Schema], twin: str = "compiled", origin: str = ""
    ) -> None:
        self.node = node
        self._origin = origin
        self._twin = twin
        self._many = len(inputs) > 1
        self.ties_by_arrival = not self._many and node.order == 1
        self._layout = unite_schemas(inputs, self._many)
        self.schema = write_schema(node, {field.name: field.type for field in self._layout})
        self._condition_columns = node.condition_columns()
        self._no_cells = self.schema.empty_table()
        self._no_events = self._layout.empty_table()
        self.counts = Counts()
        self.horizon = BEGINNING
        self._arrivals = 0
        self._needed = 0  # events of the log that were needed when we last looked
        self._held = self._no_events
        self.late: list[pa.Table] = []
        self._begin()

    @property
    def fingerprint(self) -> str:
        """Engines with equal fingerprints understand each other's snapshots."""
        told = f"{self._origin} {[(field.name, str(field.type)) for field in self._layout]}"
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def layout(self) -> pa.Schema:
        return self._layout

    def push(self, tables: list[pa.Table], horizon: int) -> pa.Table:
        """Take in one table per input; give the cells of all rows that are settled once `horizon` is known."""
        fresh = self._accept(tables)
        self.horizon = max(self.horizon, horizon)
        return self._release(fresh, final=False)

    def finish(self) -> pa.Table:
        """No more events: settle everything."""
        return self._release(self._no_events, final=True)

    def keep(self) -> KeptEvents:
        """A snapshot."""
        live = self._live()
        kept = live.kept
        table = pa.concat_tables([self._log.take_rows(kept), self._held])
        held = np.full(len(self._held), HELD, dtype=np.uint8)
        return KeptEvents(
            table=table,
            roles=np.concatenate([live.roles[kept], held]),
            numbers=np.concatenate([live.numbers[kept], np.zeros(len(held), dtype=np.int64)]),
            taken=np.concatenate([live.taken[kept], np.zeros(len(held), dtype=np.bool_)]),
            horizon=self.horizon,
            arrivals=self._arrivals,
            partials=live.partials,
        )

    def floor(self) -> int:
        """No row that is still to come is about an event older than this."""
        if isinstance(self._matcher, CompiledSequence):
            pending, _ = self._matcher.live(self.horizon)
        else:
            assert isinstance(self._matcher, CompiledRowPattern), "the reference twin runs whole tables"
            kept, past, _ = self._matcher.live()
            pending = kept & ~past
        if not pending.any():
            return self.horizon
        oldest = np.flatnonzero(pending)[:1]  # the log is in order of time
        times, _ = order_values(self._log.take("_time", oldest))
        return min(self.horizon, int(times[0]))

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        return len(self._held) > 0 or (self.node.program.within is not None and len(self._log) > 0)

    def restore(self, kept: KeptEvents) -> None:
        """Go on from a snapshot; its events may be in any order."""
        self.horizon, self._arrivals = kept.horizon, kept.arrivals
        held = kept.roles == HELD
        self._held = _by_arrival(kept.table.filter(pa.array(held)))
        self._begin()
        released = kept.table.filter(pa.array(~held))
        if len(released):
            self._replay(released, kept.roles[~held], kept.numbers[~held], kept.taken[~held], kept.partials)
        self._count_state()

    def _begin(self) -> None:
        self._log = EventLog(self._layout)
        self._interner = Interner()
        self._key_index = KeyIndex(self.node.keys)
        self._matcher = self._make_matcher()

    def _make_matcher(self) -> RowMatcher | SequenceMatcher:
        compiled = self._twin == "compiled"
        if isinstance(self.node, Sequence):
            find_sequences = CompiledSequence if compiled else ReferenceSequence
            return find_sequences(self.node.program, self._interner)
        find_rows = CompiledRowPattern if compiled else ReferenceRowPattern
        return find_rows(self.node.program, self._interner, self.node.lookback(), self._evaluate_call)

    def _evaluate_call(self, call: HostCall, events: list[Int64s]) -> Column:
        return evaluate_call(call, events, self._log, self._interner)

    def _accept(self, tables: list[pa.Table]) -> pa.Table:
        """The events of all inputs that have a place in the order and are not late."""
        fresh = _unite_tables(tables, self._layout, self._many)
        self.counts.events += len(fresh)
        times, placed = order_values(fresh.column("_time"))
        for number in range(1, self.node.order):
            _, also = order_values(fresh.column(f"_order{number}"))
            placed = also if placed is None else placed if also is None else placed & also
        if placed is not None:
            self.counts.rejected += len(fresh) - int(placed.sum())
            fresh, times = fresh.filter(pa.array(placed)), times[placed]
        late = find_late(times, self.horizon)
        if late.any():
            self.counts.late += int(late.sum())
            self.late.append(fresh.filter(pa.array(late)))
            fresh = fresh.filter(pa.array(~late))
        numbers = pa.array(np.arange(self._arrivals, self._arrivals + len(fresh)))
        self._arrivals += len(fresh)
        return fresh.set_column(fresh.schema.get_field_index("_arrival"), "_arrival", numbers)

    def _release(self, fresh: pa.Table, final: bool) -> pa.Table:
        waiting = (
            fresh if not len(self._held) else self._held if not len(fresh) else pa.concat_tables([self._held, fresh])
        )
        times, _ = order_values(waiting.column("_time"))
        if final:
            released = waiting
            self._held = self._no_events
        else:
            ready = find_releasable(times, self.horizon, self.ties_by_arrival)
            if ready.all():
                released, self._held = waiting, self._no_events
            elif not ready.any():
                released, self._held, times = self._no_events, waiting, times[:0]
            else:
                released, self._held = waiting.filter(pa.array(ready)), waiting.filter(pa.array(~ready))
                times = times[ready]
        order = sort_events(times, self._ties(released))
        if order is not None:
            released, times = released.take(pa.array(order)), times[order]
        cells = self._step_through(released, times, final)
        self.counts.rows += len(cells)
        if not final:
            self._forget()
        self._count_state()
        return cells

    def _ties(self, table: pa.Table) -> list[Int64s]:
        """What decides between events of one time, before arrival."""
        ties = [order_values(table.column(f"_order{number}"))[0] for number in range(1, self.node.order)]
        if self._many:
            ties = [table.column("_stream").to_numpy(), *ties]
        return [*ties, table.column("_arrival").to_numpy()] if ties else []

    def _step_through(self, released: pa.Table, times: Int64s, final: bool) -> pa.Table:
        """Large releases go piece by piece: what is needed for a while only is then small enough to be used again."""
        if len(released) <= MOST_AT_ONCE:
            return self._step(released, times, END if final else self.horizon, final)
        if isinstance(self._matcher, CompiledRowPattern):
            self._matcher.expect(len(released))
        found = []
        for begin in range(0, len(released), MOST_AT_ONCE):
            piece, moments = released.slice(begin, MOST_AT_ONCE), times[begin : begin + MOST_AT_ONCE]
            is_last = begin + MOST_AT_ONCE >= len(released)
            horizon = int(moments[-1]) if not is_last else END if final else self.horizon
            found.append(self._step(piece, moments, horizon, final and is_last))
        return pa.concat_tables(found)

    def _step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> pa.Table:
        events = self._read_events(released, times)
        self._log.append(released)
        found = self._matcher.step(events, horizon, final)
        if isinstance(self._matcher, CompiledSequence):
            self.counts.dropped += self._matcher.take_dropped()
        if not len(found):
            return self._no_cells
        neighbours = self._matcher if isinstance(self._matcher, CompiledRowPattern | ReferenceRowPattern) else None
        return write_cells(self.node, found, self._log, neighbours, self.schema)

    def _read_events(self, table: pa.Table, times: Int64s) -> Events:
        keys = self._number_keys(table)
        columns = {name: read_column(table.column(name), self._interner) for name in self._condition_columns}
        streams = table.column("_stream").to_numpy() if self._many else None
        if self.node.predicates:
            columns |= answer_predicates(self.node.predicates, table, streams)
        return Events(times, keys, columns, streams)

    def _number_keys(self, table: pa.Table) -> Int64s:
        if self.node.keys == 0:
            return np.zeros(len(table), dtype=np.int64)
        columns: list[Column] = [
            read_column(table.column(f"_key{number}"), self._interner) for number in range(self.node.keys)
        ]
        numbers, has_null = self._key_index.number_rows(columns, len(table))
        if isinstance(self.node, Sequence) and has_null.any():
            numbers = np.where(has_null, -1, numbers)  # null equals nothing
        return numbers

    def _live(self) -> _Live:
        if isinstance(self._matcher, CompiledSequence):
            kept, taken = self._matcher.live(self.horizon)
            return _Live(
                kept,
                np.full(len(kept), PENDING, dtype=np.uint8),
                np.zeros(len(kept), dtype=np.int64),
                taken,
                self._matcher.keep_partials(kept),
            )
        assert isinstance(self._matcher, CompiledRowPattern), "the reference twin keeps no snapshots"
        kept, past, taken = self._matcher.live()
        numbers = np.zeros(len(kept), dtype=np.int64)
        assert isinstance(self.node, RowPattern), "the matcher fits the node"
        if self.node.is_numbered and kept.any():
            table = self._log.take_rows(kept)
            numbers[kept] = self._matcher.numbers_of(self._number_keys(table))
        return _Live(kept, np.where(past, PAST, PENDING).astype(np.uint8), numbers, taken)

    def _replay(
        self,
        table: pa.Table,
        roles: npt.NDArray[np.uint8],
        numbers: Int64s,
        taken: npt.NDArray[np.bool_],
        partials: bytes,
    ) -> None:
        times, _ = order_values(table.column("_time"))
        ties = self._ties(table) or [table.column("_arrival").to_numpy()]
        order = sort_events(times, ties)
        if order is not None:
            table, times, taken = table.take(pa.array(order)), times[order], taken[order]
            roles, numbers = roles[order], numbers[order]
        events = self._read_events(table, times)
        self._log.append(table)
        if isinstance(self._matcher, CompiledSequence):
            self._matcher.replay(events, taken, partials, self.horizon)
        else:
            assert isinstance(self._matcher, CompiledRowPattern), "the reference twin keeps no snapshots"
            per_key = np.zeros(len(self._key_index) if self.node.keys else 1, dtype=np.int64)
            per_key[events.keys] = numbers
            self._matcher.replay(events, roles == PAST, taken, per_key)

    def _forget(self) -> None:
        """Start afresh once most events of the log are no longer needed."""
        if len(self._log) <= 2 * self._needed + SPARE_EVENTS:
            return
        self._needed = int(self._live().kept.sum())
        if len(self._log) > 2 * self._needed + SPARE_EVENTS:
            self.restore(self.keep())

    def _count_state(self) -> None:
        self.counts.held = len(self._held)
        self.counts.kept = len(self._log)


def name_events(events: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Events in the layout, under the names that users know; what has none was computed, and is left out."""
    chosen = [name for name in events.column_names if name in names]
    return events.select(chosen).rename_columns([names[name] for name in chosen])


def unite_schemas(inputs: list[pa.Schema], many: bool) -> pa.Schema:
    united = pa.unify_schemas(inputs, promote_options="permissive")
    if many:
        united = united.append(pa.field("_stream", pa.int64()))
    return united.append(pa.field("_arrival", pa.int64()))


def _unite_tables(tables: list[pa.Table], layout: pa.Schema, many: bool) -> pa.Table:
    """All inputs in one table, each event marked with its input; columns of other inputs are null."""
    if not many and tables[0].schema.names == layout.names[:-1] and tables[0].schema.types == layout.types[:-1]:
        nothing = pa.nulls(len(tables[0]), layout.field("_arrival").type)  # the usual case: nothing to fill in or cast
        return pa.Table.from_arrays([*tables[0].columns, nothing], schema=layout)
    marked = []
    for number, table in enumerate(tables):
        columns = dict(zip(table.column_names, table.columns, strict=True))
        if many:
            columns["_stream"] = pa.array(np.full(len(table), number, dtype=np.int64))
        for field in layout:
            if field.name not in columns:
                columns[field.name] = pa.nulls(len(table), field.type)
        marked.append(pa.table([columns[name] for name in layout.names], names=layout.names).cast(layout))
    return pa.concat_tables(marked)


def _by_arrival(table: pa.Table) -> pa.Table:
    return table.take(pc.sort_indices(table.column("_arrival"))) if len(table) > 1 else table
