"""A pattern vertex at work on events in order: the log of events, a matcher over it, and cells out of its matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from cepheid.event_time import order_values
from cepheid.execution.cells import order_rows, write_cells, write_schema
from cepheid.execution.event_log import EventLog
from cepheid.execution.general_evaluator import evaluate_call
from cepheid.execution.kept_parts import merge_events, refuse_split, split_events
from cepheid.execution.operator import PAST, PENDING, KeptEvents, Owners, PlacedRows, Share
from cepheid.execution.placed_rows import Ordinals, take_events
from cepheid.execution.predicates import answer_predicates
from cepheid.graph.operators import RowPattern, Sequence
from cepheid.kernel.columns import Column, Events, Int64s, Interner, read_column
from cepheid.kernel.compiled.flow_pool import FLOW_HEAD
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.row_pattern import CompiledRowPattern
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.compiled.sequence_parts import merge_runs, split_runs
from cepheid.kernel.compiled.sequence_records import HEAD
from cepheid.kernel.expression import HostCall
from cepheid.kernel.matches import Paths
from cepheid.kernel.pattern import RowPatternProgram, SequenceProgram
from cepheid.schema import empty_table

if TYPE_CHECKING:  # the reference twin is loaded if it is asked for
    from cepheid.kernel.reference.operators import ReferenceRowPattern, ReferenceSequence

    RowMatcher = CompiledRowPattern | ReferenceRowPattern
    SequenceMatcher = CompiledSequence | ReferenceSequence


class PatternOperator:
    def __init__(
        self, node: RowPattern | Sequence, layout: pa.Schema, many: bool, twin: str, few: bool = False
    ) -> None:
        """many: there are several inputs; few: events will come a few at a time as well."""
        self.node = node
        self._many = many
        self.schemas = [write_schema(node, {field.name: field.type for field in layout})]
        self._no_cells = empty_table(self.schemas[0])
        self._condition_columns = node.condition_columns()
        asked = [column for predicate in node.predicates for _, column in predicate.reads]
        keys = [f"_key{number}" for number in range(node.keys)]
        self._computed = list(dict.fromkeys([*keys, *self._condition_columns, *asked, *(["_stream"] if many else [])]))
        self._interner = Interner()
        self._log = EventLog(layout, self._interner if few else None)
        self._key_index = KeyIndex(node.keys)
        self._matcher = self._make_matcher(twin == "compiled")
        self._ordinals = Ordinals()

    def _make_matcher(self, compiled: bool) -> RowMatcher | SequenceMatcher:
        if isinstance(self.node, Sequence):
            find_sequences = CompiledSequence if compiled else _load_reference_sequence()
            return find_sequences(self.node.program, self._interner)
        find_rows = CompiledRowPattern if compiled else _load_reference_rows()
        log, interner = self._log, self._interner

        def evaluate(call: HostCall, events: list[Int64s], paths: Paths | None) -> Column:
            """Without `self`: in a circle with the matcher, all arrays would stay until the garbage is collected."""
            return evaluate_call(call, events, paths, log, interner)

        return find_rows(self.node.program, interner, self.node.lookback(), evaluate)

    def expect(self, count: int) -> None:
        self._log.expect(count)
        if isinstance(self._matcher, CompiledRowPattern):
            self._matcher.expect(count)

    def step(self, released: pa.Table, times: Int64s, horizon: int, final: bool) -> list[pa.Table]:
        events = self._read_events(released, times)
        self._log.append(released)
        return [self._find_rows(events, horizon, final)[0]]

    def step_placed(self, share: Share) -> list[PlacedRows]:
        self._ordinals.append(share.events, share.first)
        events = self._read_events(take_events(share.released, self._computed, share.events), share.times)
        self._log.append(share.released, share.events)
        table, places = self._find_rows(events, share.horizon, share.final)
        return [PlacedRows(table, (self._ordinals.take(places),))]

    def _find_rows(self, events: Events, horizon: int, final: bool) -> tuple[pa.Table, Int64s]:
        """Rows, and for each the event by which they are ordered."""
        found = self._matcher.step(events, horizon, final)
        if not len(found):
            return self._no_cells, np.zeros(0, dtype=np.int64)
        rows = order_rows(self.node, found)
        neighbours = None if isinstance(self.node, Sequence) else cast("RowMatcher", self._matcher)
        return write_cells(self.node, rows, found, self._log, neighbours, self.schemas[0]), rows.place

    # --- a few events at a time (execution/lane) -----------------------------------------------------------
    @property
    def interner(self) -> Interner:
        return self._interner

    @property
    def log(self) -> EventLog:
        return self._log

    @property
    def key_index(self) -> KeyIndex:
        return self._key_index

    @property
    def matcher(self) -> RowMatcher | SequenceMatcher:
        return self._matcher

    def take_dropped(self) -> int:
        return self._matcher.take_dropped() if isinstance(self._matcher, CompiledSequence) else 0

    def is_waiting(self) -> bool:
        program = self.node.program
        is_timed = program.waits_for_time if isinstance(program, RowPatternProgram) else _waits_for_time(program)
        return is_timed and len(self._log) > 0

    def floor(self, horizon: int) -> int:
        if isinstance(self._matcher, CompiledSequence):
            pending = self._matcher.find_told(horizon)
        else:
            assert isinstance(self._matcher, CompiledRowPattern), "the reference twin runs whole tables"
            kept, past, _ = self._matcher.live()
            pending = kept & ~past
        if not pending.any():
            return horizon
        oldest = np.flatnonzero(pending)[:1]  # the log is in order of time
        times, _ = order_values(self._log.take("_time", oldest))
        return min(horizon, int(times[0]))

    def count_kept(self) -> int:
        return len(self._log)

    def count_needed(self, horizon: int) -> int:
        if isinstance(self._matcher, CompiledSequence):
            return int(self._matcher.live(horizon)[0].sum())
        assert isinstance(self._matcher, CompiledRowPattern), "the reference twin runs whole tables"
        return int(self._matcher.live()[0].sum())

    def keep(self, horizon: int) -> KeptEvents:
        if isinstance(self._matcher, CompiledSequence):
            self._matcher.pass_horizon(horizon)
            kept, taken = self._matcher.live(horizon)
            count = int(kept.sum())
            return KeptEvents(
                self._log.take_rows(kept),
                np.full(count, PENDING, dtype=np.uint8),
                np.zeros(count, dtype=np.int64),
                taken[kept],
                0,
                0,
                self._matcher.keep_partials(kept),
            )
        assert isinstance(self._matcher, CompiledRowPattern), "the reference twin keeps no snapshots"
        kept, past, taken = self._matcher.live()
        table = self._log.take_rows(kept)
        numbers = np.zeros(len(table), dtype=np.int64)
        assert isinstance(self.node, RowPattern), "the matcher fits the node"
        if self.node.is_numbered and len(table):
            numbers = self._matcher.numbers_of(self._number_keys(table))
        return KeptEvents(table, np.where(past, PAST, PENDING).astype(np.uint8)[kept], numbers, taken[kept], 0, 0)

    def pick(self, partials: bytes, members: list[int]) -> bytes:
        assert members == [0], "a pattern has an engine of its own"
        return partials

    def split(self, kept: KeptEvents, owners: Owners, count: int) -> list[KeptEvents]:
        refuse_split([self.node], count)
        if count == 1:
            return [kept]
        parts, owner = split_events(kept, owners, count, self.node)
        if not kept.partials:
            return parts
        runs = split_runs(kept.partials, owner, count, self._head)
        return [replace(part, partials=of_part) for part, of_part in zip(parts, runs, strict=True)]

    def merge(self, parts: list[KeptEvents]) -> KeptEvents:
        refuse_split([self.node], len(parts))
        if len(parts) == 1:
            return parts[0]
        merged, places = merge_events(parts, self.node)
        return replace(merged, partials=merge_runs([part.partials for part in parts], places, self._head))

    @property
    def _head(self) -> int:
        """How many numbers stand before the events of a kept run."""
        program = self.node.program
        return FLOW_HEAD if isinstance(program, SequenceProgram) and program.flow is not None else HEAD

    def replay_placed(self, kept: KeptEvents, times: Int64s, ordinals: Int64s) -> None:
        self.replay(kept, times, None)
        self._ordinals.append(ordinals)

    def adopt(self, kept: KeptEvents, times: Int64s) -> None:
        assert isinstance(self._matcher, CompiledRowPattern), "in sequences, time alone decides what hangs together"
        self.replay(kept, times, None)

    def replay(self, kept: KeptEvents, times: Int64s, order: Int64s | None) -> None:
        table, roles, numbers, taken = kept.table, kept.roles, kept.numbers, kept.taken
        if not len(table):
            return
        if order is not None:
            table, taken = table.take(pa.array(order)), taken[order]
            roles, numbers = roles[order], numbers[order]
        events = self._read_events(table, times)
        self._log.append(table)
        if isinstance(self._matcher, CompiledSequence):
            self._matcher.replay(events, taken, kept.partials, kept.horizon)
        else:
            assert isinstance(self._matcher, CompiledRowPattern), "the reference twin keeps no snapshots"
            self._matcher.replay(events, roles == PAST, taken, numbers)

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


def _waits_for_time(program: SequenceProgram) -> bool:
    return program.within is not None or (program.flow is not None and program.flow.waits)


def _load_reference_sequence() -> type[ReferenceSequence]:
    from cepheid.kernel.reference.operators import ReferenceSequence

    return ReferenceSequence


def _load_reference_rows() -> type[ReferenceRowPattern]:
    from cepheid.kernel.reference.operators import ReferenceRowPattern

    return ReferenceRowPattern
