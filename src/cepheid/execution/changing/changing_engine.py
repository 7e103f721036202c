"""An engine whose events come and go: a gate, an operator behind it, and a way back.

    changes ─▶ late ones set apart ─▶ held back ─▶ [ log ] ─▶ operator ─▶ rows ─▶ what is new, what is no longer so
                                                     ▲                               │
                       base: the operator as it was at the settled horizon ◀─────────┘ rows that no longer change

Two horizons: up to the *present* one the operator has computed; behind the *settled* one nothing changes any more, and
what is older is late.  Between them lies what can be corrected: the log of events, and the rows that were given out.  A
retraction, or an event older than the present horizon, takes the engine back: the operator begins again from the base,
with the corrected log, and what comes out is compared with what was given out.  All corrections of a push are one such
run.  A retraction of an event that is still held back only cancels it.

A late event seldom touches more than a few rows.  Where it can be told which (reach.py), only these are computed again
(local_correction.py), at a cost that does not depend on how much is kept; to go back is what is left where it cannot
be told, or where most is touched anyway.  There, nothing needs a base either: the log goes back as far as the rows that
may still change reach, and an operator that has seen that much says the same of them.

How far the two horizons are apart is a matter of patience (`Patience`): without a bound the base is the beginning,
and all events are kept; if what is waited for and what is corrected are the same, nothing is ever computed twice, and
the base is the operator itself.  (To go back less far, keep more than one base: each is an operator and the place in
the log where it stood.)

Events of one time leave the gate together, once their time has passed: rows that come and go may come between any two
of them.  Where arrival decides their order (one stream that only grows), they leave as they come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.disorder.gate import Gate, sort_events
from cepheid.disorder.lateness_watch import LatenessWatch
from cepheid.errors import SnapshotMismatch
from cepheid.event_time import BEGINNING, END, order_values
from cepheid.execution.changing.base_scopes import BaseScopes
from cepheid.execution.changing.chained_correction import ChainedCorrection
from cepheid.execution.changing.change_log import ChangeLog
from cepheid.execution.changing.change_rows import (
    GONE,
    HIDDEN,
    NUMBER,
    PLACE,
    ROW,
    Flags,
    Int64s,
    drop_hidden,
    read_flags,
)
from cepheid.execution.changing.given_rows import GivenRows, Reading
from cepheid.execution.changing.harmless_events import choose_harmless
from cepheid.execution.changing.held_events import HeldEvents, leave_out
from cepheid.execution.changing.kept_changes import KeptChanges
from cepheid.execution.changing.local_correction import LocalCorrection, Touched
from cepheid.execution.changing.neighbour_correction import NeighbourCorrection
from cepheid.execution.changing.patience import Patience
from cepheid.execution.changing.row_hash import hash_text
from cepheid.execution.changing.row_identity import (
    EVENT,
    LATENESS,
    RowIdentity,
    find_needs,
    mark_finish,
    name_events,
    tell_events,
    with_identity,
)
from cepheid.execution.changing.scopes import Scopes
from cepheid.execution.engine import MOST_AT_ONCE, make_operator, unite_schemas, unite_tables
from cepheid.execution.engine_identity import RESTART_HINT
from cepheid.execution.operator import Adopts, KeptEvents, Operator
from cepheid.graph.node import EngineNode
from cepheid.graph.reach import Reach, find_reach
from cepheid.measurement import Counts

SPARE_EVENTS = 8192  # forgotten events that are not worth starting afresh for


class ChangingEngine:
    """Vertices that share an engine; `inputs`: schemas of rows that travel (change_rows.py)."""

    def __init__(
        self,
        nodes: list[EngineNode],
        inputs: list[pa.Schema],
        digests: list[str],
        patience: Patience,
        streams: list[int],
        reading: Reading,
        origins: list[str],
        ties_by_arrival: bool = False,
    ) -> None:
        """origins: by input, what tells rows that have a number only from those of others.  ties_by_arrival: is the
        order of events of one time settled when they come?"""
        self._salts = [np.uint64(hash_text(origin)).astype(np.int64) for origin in origins]
        self._lateness: list[Int64s] = []  # of the events that come next, by input
        self._learns = patience.waiting is not None and patience.waiting.rule == "recall"
        self._order = nodes[0].order
        self._many = len(inputs) > 1
        self._patience = patience
        self.layout = unite_schemas([_event_schema(schema, self._learns) for schema in inputs], self._many)
        count = len(inputs)
        self.gate = Gate([patience.wait_us] * count, ties_by_arrival, streams)
        self.bound = self.gate  # what is older is late
        if patience.waiting is None or patience.bound_us is not None:
            self.bound = Gate([patience.bound_us or 0] * count, False, streams)  # moves if there is a bound
        self.watch: LatenessWatch | None = None
        if patience.waiting is not None or patience.corrects:
            self.watch = LatenessWatch(patience.waiting, patience.wait_us, patience.bound_us, len(inputs))
        self.counts = Counts()
        self.late: list[pa.Table] = []
        keys = [name for name in self.layout.names if name.startswith(("_key", "_group"))]
        self._float_keys = [name for name in keys if pa.types.is_floating(self.layout.field(name).type)]
        self._no_events = self.layout.empty_table()
        self._held = HeldEvents(self._no_events)
        self._log = ChangeLog(self.layout, self._sort)
        self._told = BEGINNING  # the horizon that the operator knows
        self._computed = BEGINNING  # the one that it knew before this push
        self._base_horizon = BEGINNING
        self._settled = BEGINNING  # rows at older moments no longer change, where late events have a reach
        self._newest = BEGINNING  # time of the last event that is not in the log any more
        self._needed = 0  # events that were needed when we last looked
        self._kept_base: KeptEvents | None = None
        self._base_scopes: BaseScopes | None = None  # of what is kept of the base
        self._described = (nodes, digests, reading)
        self._is_read = reading.in_order or reading.nets  # may rows that only come take others back above?
        is_alone = not reading.in_order and not (reading.nets and patience.stays)
        self._confine(find_reach(nodes) if patience.corrects and is_alone else None)

    def _confine(self, reach: Reach | None) -> None:
        """Begin with nothing, and late events that reach so far (None: all of what is kept)."""
        self._reach = reach
        self._span_us = 0 if reach is None else reach.span_us
        self._scopes = None if reach is None else Scopes(reach, self.layout)
        nodes, digests, reading = self._described
        self._nodes = [with_identity(node, self._learns) for node in nodes]
        if self._scopes is not None:
            self._nodes = [self._scopes.place_node(node) for node in self._nodes]
        self._live = self._make_operator()
        self._base: Operator | None = self._make_operator() if self._moves_base else None
        stretch = 0 if reach is None else reach.stretch_us
        told = (reading.in_order, reading.order, not self._patience.corrects, self._scopes, stretch)
        self.given = [
            GivenRows(RowIdentity(node, digest), self._cells(schema), *told)
            for node, digest, schema in zip(nodes, digests, self._live.schemas, strict=True)
        ]
        self._local: LocalCorrection | None = None
        if reach is not None and self._scopes is not None:
            kind = LocalCorrection
            if reach.neighbours is not None:
                kind = NeighbourCorrection
            elif reach.chain_us is not None:
                kind = ChainedCorrection
            self._local = kind(
                *(reach, self._scopes, self._log, self.given, self._find_order, self._take_from_base),
                began=lambda: self._base_horizon,
            )

    @property
    def schemas(self) -> list[pa.Schema]:
        """Of the rows of each vertex."""
        return [given.schema for given in self.given]

    # --- time --------------------------------------------------------------------------------------------
    def measure(self, tables: list[pa.Table]) -> None:
        """How late the events are that come next decides how long others wait."""
        if self.watch is None:
            return
        self._lateness = []
        for number, table in enumerate(tables):
            times, placed = order_values(table.column("_time"))
            lateness = self.watch.see(number, times if placed is None else times[placed])
            if self._learns:
                self._lateness.append(_spread(lateness, placed))
        self.hold()

    def hold(self) -> None:
        """Events wait as long as is known now."""
        if self.watch is not None:
            for number in range(len(self.gate.newest)):
                self.gate.hold_for(number, self.watch.held_us(number))

    def see(self, number: int, newest: list[int]) -> None:
        """The newest times that the streams of an input have told."""
        self.gate.see(number, newest)
        if self.bound is not self.gate:
            self.bound.see(number, newest)

    def hear(self, number: int, times: list[int]) -> None:
        """No event of a stream of an input will be older than this."""
        self.gate.hear(number, times)
        if self.bound is not self.gate:
            self.bound.hear(number, times)

    def follow(self, number: int, floor: int, settled: int) -> None:
        """No row of an input is about something older: as it looks now, and for good."""
        self.gate.follow(number, floor)
        self.bound.follow(number, settled)

    def is_waiting(self) -> bool:
        """May rows come out when only the horizon moves on?"""
        return len(self._held) > 0 or self._live.is_waiting()

    def floor(self) -> int:
        """No row that is still to come is about an event older than this, unless something is corrected."""
        return self._live.floor(self._told)

    def settled_floor(self) -> int:
        """The same, whatever is corrected."""
        if not self._patience.corrects:
            return self.floor()
        return BEGINNING if self._base is None else self._base.floor(self._base_horizon)

    # --- work --------------------------------------------------------------------------------------------
    def push(self, tables: list[pa.Table], final: bool = False) -> list[pa.Table]:
        """Take in the changes of each input; give the changes of each vertex.  final: no more will come."""
        fresh, times, gone = self._accept(tables)
        removed = None
        if gone is not None and gone.any():
            removed = self._cancel(fresh.filter(pa.array(gone)))
            fresh, times = fresh.filter(pa.array(~gone)), times[~gone]
        self._held.add(fresh, times)
        self.gate.advance()
        if self._patience.is_bounded:
            self.bound.advance()
        rows = self._advance(removed, END if final else self.gate.horizon, final)
        if not final:
            self._settle()
            self._forget()
        self.counts.rows += sum(map(len, rows))
        if self.watch is not None:
            taken_back = sum(int(read_flags(table.column(GONE)).sum()) for table in rows if len(table))
            self.watch.tally.count_rows(sum(map(len, rows)) - taken_back, taken_back)
        self._count_state()
        return rows

    def keep(self) -> KeptChanges:
        """A snapshot."""
        given = [each.keep() for each in self.given]
        return KeptChanges(
            self._keep_base(),
            self._log.events,
            self._held.events,
            [rows for rows, _ in given],
            [past for _, past in given],
            [each.turn for each in self.given],
            [each.last_place for each in self.given],
            self._told,
            self.bound.horizon,
            self._newest,
            not self._needs_base,
        )

    def _keep_base(self) -> KeptEvents | None:
        """Of the operator itself, where it is the base."""
        if not self._patience.corrects:
            return self._keep_operator(self._live, self._told)
        if self._base is not None and self._kept_base is None:
            self._kept_base, self._base_scopes = self._keep_operator(self._base, self._base_horizon), None
        return self._kept_base

    def _keep_operator(self, operator: Operator, horizon: int) -> KeptEvents:
        kept = replace(operator.keep(horizon), horizon=horizon)
        return kept if self._scopes is None else replace(kept, table=kept.table.select(self.layout.names))

    def _take_from_base(self, scopes: Int64s, epochs: Int64s) -> int:
        """The live operator knows of these scopes, in these epochs, what the base knows: how many events."""
        kept = self._keep_base()
        if kept is None or self._scopes is None:
            return 0
        if self._base_scopes is None:
            self._base_scopes = BaseScopes(kept, self._scopes)
        found = self._base_scopes.take(scopes, epochs)
        if found is None:
            return 0
        assert isinstance(self._live, Adopts), "where an event may touch anything of its scope, its operator adopts"
        self._live.adopt(*found)
        return len(found[1])

    def restore(self, kept: KeptChanges) -> None:
        """Go on from a snapshot."""
        if kept.base is not None and not self._needs_base and self._patience.corrects:
            self._confine(None)  # taken when late events had none
        corrects = self._patience.corrects
        if kept.confined and self._needs_base and corrects:
            raise SnapshotMismatch("the snapshot is of rows that nothing else read", hint=RESTART_HINT)
        self._held.hold(kept.held)
        self._told, self._newest = kept.present, kept.newest
        self._log.events = kept.log
        self.gate.horizon, self.bound.horizon = kept.present, kept.settled
        if kept.base is not None:
            self._base_horizon = kept.base.horizon
            self._live = self._rebuild(kept.base)
            if corrects:
                self._base, self._kept_base = self._live, None
        if corrects:
            self._live = self._begin_again()
        computed = self._step_through(self._live, kept.log, self._told, again=True)  # these rows were given out
        if not corrects:
            self._log.events = self._no_events
        for number, given in enumerate(self.given):
            given.restore(kept.rows[number], kept.past[number], computed[number])
            given.turn, given.last_place = kept.turns[number], kept.places[number]
        if not self._needs_base and self._patience.bound_us is not None:
            self._settled = self._find_settled()
            for given in self.given:
                given.let_go(self._settled)
        self._count_state()

    def pick(self, kept: KeptEvents, members: list[int]) -> KeptEvents:
        """A snapshot of an engine with more vertices, for these of them only."""
        return replace(kept, partials=self._live.pick(kept.partials, members))

    # --- events in ---------------------------------------------------------------------------------------
    def _accept(self, tables: list[pa.Table]) -> tuple[pa.Table, Int64s, Flags | None]:
        """The changes that have a place in the order and are not late, as events, and their times; bool[n]: is the
        event taken back?  None: none is."""
        events = [_as_events(table, salt) for table, salt in zip(tables, self._salts, strict=True)]
        if self._learns:
            known, self._lateness = self._lateness or [np.zeros(len(table), np.int64) for table in tables], []
            events = [table.append_column(LATENESS, pa.array(late)) for table, late in zip(events, known, strict=True)]
        fresh = unite_tables(events, self.layout, True) if self._many else events[0].select(self.layout.names)
        for name in self._float_keys:
            fresh = fresh.set_column(fresh.schema.get_field_index(name), name, _unite_equals(fresh.column(name)))
        gone = None
        if any(GONE in table.column_names for table in tables):
            gone = np.concatenate([_read_gone(table) for table in tables])
        self.counts.events += len(fresh)
        times, placed = order_values(fresh.column("_time"))
        for number in range(1, self._order):
            _, also = order_values(fresh.column(f"_order{number}"))
            placed = also if placed is None else placed if also is None else placed & also
        if placed is not None:
            self.counts.rejected += int((~placed if gone is None else ~placed & ~gone).sum())
            fresh, times, gone = fresh.filter(pa.array(placed)), times[placed], None if gone is None else gone[placed]
        late = self.bound.find_late(times)
        if late is not None and gone is not None:  # an update is one thing: what it replaces no longer changes
            refused = tell_events(fresh.filter(pa.array(late & gone)))
            late |= np.isin(tell_events(fresh), refused) if len(refused) else False
        if late is not None:
            self.counts.late += int(late.sum())
            self.late.append(fresh.filter(pa.array(late)))
            fresh, times, gone = fresh.filter(pa.array(~late)), times[~late], None if gone is None else gone[~late]
        return fresh, times, gone

    def _cancel(self, retracted: pa.Table) -> Touched | None:
        """Take events out; where were those that had been released?  Those that a new engine never saw are not there;
        None: no one was."""
        self._held.cancel(retracted)
        times, _ = order_values(retracted.column("_time"))
        behind = retracted.filter(pa.array(times < self._told))
        if not len(behind):
            return None
        if self._local is not None:
            removed = self._local.remove(behind)
        else:
            events, before = self._log.events, len(self._log)
            self._log.events = leave_out(events, behind)
            times = np.zeros(before - len(self._log), dtype=np.int64)
            removed = Touched(times, times)
        return removed if len(removed.times) else None

    # --- the operator ------------------------------------------------------------------------------------
    def _advance(self, removed: Touched | None, horizon: int, final: bool) -> list[pa.Table]:
        """Release what is due, and compute: onwards, or again what something behind has changed."""
        released, times = self._held.release(horizon, self.gate.ties_by_arrival)
        is_behind = times < self._told
        self._computed = self._told
        self._told = self._told if final else max(self._told, horizon)
        if removed is None and not is_behind.any():
            return self._go_on(released, times, final)
        behind, refused = released.filter(pa.array(is_behind)), self.counts.late
        is_chained = self._reach is not None and self._reach.is_endless
        if self._local is not None and not final:
            ahead = released.filter(pa.array(~is_behind)), times[~is_behind]
            if is_chained:  # what is decided by now may hang on late events: they come last
                self._go_on(*ahead, final, holds=True)
                self._computed, released = self._told, behind
            rows = self._correct(self._local, behind, removed)
            if rows is not None:
                self._learn_from(behind, rows, self.counts.late - refused)
                more = [given.release() for given in self.given] if is_chained else self._go_on(*ahead, final)
                return [pa.concat_tables(parts) for parts in zip(rows, more, strict=True)]
        rows = self._compute_again(released, final)
        if self._patience.stays and (self._is_read or not self._keeps_given(rows)):
            rows = self._compute_again(self._find_harmless(released, final), final)
        changes = [given.replace(table) for given, table in zip(self.given, rows, strict=True)]
        self._learn_from(behind, changes, self.counts.late - refused)
        more = [given.release() for given in self.given]
        return [pa.concat_tables(parts) for parts in zip(changes, more, strict=True)]

    def _go_on(self, released: pa.Table, times: Int64s, final: bool, holds: bool = False) -> list[pa.Table]:
        """The rows of events that come behind all others.  holds: they are not given out yet."""
        if not len(released) and self._told == self._computed and not final:
            return [given.schema.empty_table() for given in self.given]
        order = self._find_order(released, times)
        if order is not None:
            released, times = released.take(pa.array(order)), times[order]
        rows = self._finish(released) if final else self._step_through(self._live, released, self._told)
        if len(released):
            if self._patience.corrects:
                self._log.append(released, times)
            else:
                self._newest = max(self._newest, int(times.max()))
        fresh = [self._leave_out_former(table) for table in rows]
        if holds:
            for given, table in zip(self.given, fresh, strict=True):
                given.hold(table)
            return []
        return [given.add(table) for given, table in zip(self.given, fresh, strict=True)]

    def _leave_out_former(self, rows: pa.Table) -> pa.Table:
        """Rows about what is no longer so are not given out."""
        is_present = None if self._scopes is None else self._scopes.find_present(rows)
        return rows if is_present is None or is_present.all() else rows.filter(pa.array(is_present))

    # --- late events ---------------------------------------------------------------------------------------
    def _correct(self, local: LocalCorrection, late: pa.Table, removed: Touched | None) -> list[pa.Table] | None:
        """The changes by events that are older than what was computed; None: the engine must go back."""
        found = local.find(late, removed, self._computed, self._step_again)
        self.counts.again += local.take_count()
        if found is None:
            return None
        if self._patience.stays and found.takes_back:
            late = self._find_harmless_here(local, late)
            if not len(late):
                return [given.schema.empty_table() for given in self.given]
            found = local.find(late, removed, self._computed, self._step_again)
            assert found is not None, "fewer events touch less"
            self.counts.again += local.take_count()
        changes = local.take(found)
        if local.fed_again > len(self._log) + SPARE_EVENTS:
            self._start_afresh(self._computed)
        return changes

    def _step_again(self, events: pa.Table) -> list[pa.Table]:
        """Events under new epochs."""
        times, _ = order_values(events.column("_time"))
        return self._step_marked(self._live, events, times, self._computed, final=False)

    def _find_harmless_here(self, local: LocalCorrection, late: pa.Table) -> pa.Table:
        """As `_find_harmless`, without going back."""

        def does_no_harm(part: pa.Table) -> bool:
            found = local.find(part, None, self._computed, self._step_again)
            return found is not None and not found.takes_back

        return self._choose(late, late.slice(0, 0), does_no_harm)

    def _start_afresh(self, horizon: int) -> None:
        """The operator forgets what it knew of events in other epochs, and what no row to come is about."""
        self._live = self._begin_again()
        events = self._log.events if self._needs_base else self._log.list_since(horizon - self._span_us)
        self._step_through(self._live, events, horizon, again=True)  # its rows were given out

    def _compute_again(self, released: pa.Table, final: bool) -> list[pa.Table]:
        """All rows since the base, with these events besides those of the log."""
        self._log.events = self._sort(pa.concat_tables([self._log.events, released])).combine_chunks()
        self._live = self._begin_again()
        self.counts.again += len(self._log)
        if final:
            rows = self._finish(self._log.events, again=True)
        else:
            rows = self._step_through(self._live, self._log.events, self._told, again=True)
        if self._scopes is None or self._settled <= BEGINNING:
            return rows
        return [table.filter(pa.array(self._scopes.of_rows(table)[1] >= self._settled)) for table in rows]

    def _keeps_given(self, rows: list[pa.Table]) -> bool:
        return all(given.keeps(table) for given, table in zip(self.given, rows, strict=True))

    def _gives_no_others(self, rows: list[pa.Table], expected: list[pa.Array]) -> bool:
        return all(
            pc.all(pc.is_in(given.name(table), value_set=names), min_count=0).as_py()
            for given, table, names in zip(self.given, rows, expected, strict=True)
        )

    def _find_harmless(self, released: pa.Table, final: bool) -> pa.Table:
        """Of events, some of which have come behind what was computed, those that change nothing that was given out;
        the others are late."""
        log = leave_out(self._log.events, released)
        times, _ = order_values(released.column("_time"))
        is_behind = times < self._computed
        ahead = released.filter(pa.array(~is_behind))
        expected: list[pa.Array] | None = None
        if self._is_read:  # a row that comes because of a late event may be late for those who read it
            self._log.events = log
            rows = self._compute_again(ahead, final)
            expected = [given.name(table) for given, table in zip(self.given, rows, strict=True)]

        def does_no_harm(part: pa.Table) -> bool:
            self._log.events = log
            rows = self._compute_again(part, final)
            return self._keeps_given(rows) and (expected is None or self._gives_no_others(rows, expected))

        taken = self._choose(released.filter(pa.array(is_behind)), ahead, does_no_harm)
        self._log.events = log
        return taken

    def _choose(self, late: pa.Table, taken: pa.Table, does_no_harm: Callable[[pa.Table], bool]) -> pa.Table:
        """What was taken so far, and those of the late ones that do no harm; the others are late."""
        taken, refused = choose_harmless(late, taken, does_no_harm)
        self.counts.late += sum(map(len, refused))
        self.late += refused
        return taken

    def _step_through(
        self, operator: Operator, events: pa.Table, horizon: int, final: bool = False, again: bool = False
    ) -> list[pa.Table]:
        """again: the events were counted before."""
        times, _ = order_values(events.column("_time"))
        marked = events
        if self._scopes is not None:
            epochs = None if operator is not self._live else self._scopes.present_of(events)
            marked = self._scopes.mark(events, epochs)
        rows = self._step_marked(operator, marked, times, horizon, final)
        dropped = operator.take_dropped()
        if operator is self._live and not again:
            self.counts.dropped += dropped
            self._learn(rows)
        return rows

    def _step_marked(
        self, operator: Operator, events: pa.Table, times: Int64s, horizon: int, final: bool
    ) -> list[pa.Table]:
        if len(events) <= MOST_AT_ONCE:
            return operator.step(events, times, horizon, final)
        found = []
        operator.expect(len(events))
        for begin in range(0, len(events), MOST_AT_ONCE):
            piece, moments = events.slice(begin, MOST_AT_ONCE), times[begin : begin + MOST_AT_ONCE]
            is_last = begin + MOST_AT_ONCE >= len(events)
            found.append(operator.step(piece, moments, horizon if is_last else int(moments[-1]), final and is_last))
        return [pa.concat_tables(tables) for tables in zip(*found, strict=True)]

    def _learn(self, rows: list[pa.Table]) -> None:
        """What rows needed that come out for the first time."""
        if self.watch is None or not self._learns or self.watch.moment <= BEGINNING:
            return
        for table in rows:
            needs = find_needs(table) if len(table) else None
            if needs is not None:
                self.watch.learn(needs)

    def _learn_from(self, behind: pa.Table, changes: list[pa.Table], refused: int) -> None:
        """Rows that were corrected, and those that could not be, needed the events that came too late for them."""
        if self.watch is None or not self._learns or not len(behind):
            return
        gone = sum(int(read_flags(table.column(GONE)).sum()) for table in changes)
        wrong = refused + max(gone, min(sum(map(len, changes)) - gone, len(behind)))
        self.watch.learn(np.resize(behind.column(LATENESS).to_numpy(), wrong))

    def _finish(self, events: pa.Table, again: bool = False) -> list[pa.Table]:
        """What is left: all that events settle, then what the end of the input settles."""
        times, _ = order_values(events.column("_time"))
        newest = max([self._newest, self._log.newest, *times[-1:].tolist()])
        rows = self._step_through(self._live, events, max(self._told, newest + 1), again=again)
        rest = self._step_through(self._live, self._no_events, END, final=True)
        return [mark_finish(*parts, newest) for parts in zip(rows, rest, strict=True)]

    def _settle(self) -> None:
        """Move the base on to where nothing changes any more, once half of the log lies behind that."""
        floor = self.settled_floor()
        if not self._patience.corrects:
            for given in self.given:
                given.settle_all(floor)
            return
        if self._reach is not None and not self._needs_base and self._patience.bound_us is not None:
            self._let_go(self._reach)
        if self._base is None:
            return
        horizon = min(self.bound.horizon, self._told)
        if horizon <= self._base_horizon or not self._log.has_half_before(horizon):
            return
        events = self._take_from_log(horizon)
        rows = self._step_through(self._base, events, horizon, again=True)
        self._base_horizon, self._kept_base = horizon, None
        for given, table in zip(self.given, rows, strict=True):
            given.settle(table, self.settled_floor())

    def _let_go(self, reach: Reach) -> None:
        """As a base does it, without one: what rows that may change are about is still in the log."""
        settled = self._find_settled()
        if not self._log.has_half_before(settled - reach.back_us):
            return
        self._take_from_log(settled - reach.back_us)
        self._settled = settled
        for given in self.given:
            given.let_go(settled)

    def _take_from_log(self, horizon: int) -> pa.Table:
        """The events that are older, which the log forgets."""
        events = self._log.take_before(horizon)
        times, _ = order_values(events.column("_time"))
        self._newest = max([self._newest, *times[-1:].tolist()])
        return events

    def _find_settled(self) -> int:
        """Rows at older moments no longer change."""
        return min(self.bound.horizon, self._told) - (0 if self._reach is None else self._reach.fore_us)

    def _begin_again(self) -> Operator:
        """The operator as it was at the base."""
        if self._scopes is not None and self._local is not None:
            self._scopes.forget()
            self._local.begin_again()
        kept = self._keep_base() if self._base is not None else None
        return self._make_operator() if kept is None else self._rebuild(kept)

    def _rebuild(self, kept: KeptEvents) -> Operator:
        times, _ = order_values(kept.table.column("_time"))
        order = sort_events(times, self._ties(kept.table))
        operator = self._make_operator()
        if self._scopes is not None:
            kept = replace(kept, table=self._scopes.mark(kept.table))
        operator.replay(kept, times if order is None else times[order], order)
        return operator

    def _forget(self) -> None:
        """Start afresh once most events are no longer needed: the base, and the operator itself where it is the
        base."""
        has_base = self._patience.corrects and self._needs_base
        operator, horizon = (self._base, self._base_horizon) if has_base else (self._live, self._told)
        if operator is None or operator.count_kept() <= 2 * self._needed + SPARE_EVENTS:
            return
        self._needed = operator.count_needed(horizon)
        if operator.count_kept() <= 2 * self._needed + SPARE_EVENTS:
            return
        if not self._needs_base:
            self._start_afresh(self._told)
        else:
            rebuilt = self._rebuild(self._keep_operator(operator, horizon))
            if self._patience.corrects:
                self._base, self._kept_base = rebuilt, None
                self._live = self._begin_again()
                self._step_through(self._live, self._log.events, self._told, again=True)  # its rows were given out
            else:
                self._live = rebuilt

    def _sort(self, events: pa.Table) -> pa.Table:
        order = self._find_order(events)
        return events if order is None else events.take(pa.array(order))

    def _find_order(self, events: pa.Table, times: Int64s | None = None) -> Int64s | None:
        if len(events) < 2:
            return None
        if times is None:
            times, _ = order_values(events.column("_time"))
        return None if (times[1:] > times[:-1]).all() else sort_events(times, self._ties(events))

    def _ties(self, events: pa.Table) -> list[Int64s]:
        """What decides between events of one time; in the end, their places."""
        ties = [order_values(events.column(f"_order{number}"))[0] for number in range(1, self._order)]
        if self._many:
            ties = [events.column("_stream").to_numpy(), *ties]
        return [*ties, events.column("_arrival").to_numpy()]

    @property
    def _needs_base(self) -> bool:
        """May an event touch any row, at least of its scope?"""
        return self._reach is None or self._reach.is_endless

    @property
    def _moves_base(self) -> bool:
        return self._patience.corrects and self._patience.bound_us is not None and self._needs_base

    def _make_operator(self) -> Operator:
        layout = self.layout if self._scopes is None else self._scopes.layout
        return make_operator(self._nodes, layout, self._many, "compiled")

    @staticmethod
    def _cells(schema: pa.Schema) -> pa.Schema:
        return pa.schema([field for field in schema if not field.name.startswith("_id.")])

    def _count_state(self) -> None:
        self.counts.held = len(self._held)
        self.counts.kept = len(self._log) if self._patience.corrects else self._live.count_kept()


def _event_schema(schema: pa.Schema, learns: bool) -> pa.Schema:
    lateness = [(LATENESS, pa.int64())] if learns else []
    return pa.schema([*drop_hidden(schema), (EVENT, pa.int64()), *lateness])


def _unite_equals(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of two zeros, and many NaN, a group would show the one that came first, and another once that is forgotten."""
    return pc.if_else(pc.is_nan(keys), pa.scalar(np.nan, keys.type), pc.add(keys, pa.scalar(0.0, keys.type)))


def _spread(values: Int64s, placed: Flags | None) -> Int64s:
    """int64[n]: the values of those that have a place, 0 of the others."""
    if placed is None:
        return values
    spread = np.zeros(len(placed), dtype=np.int64)
    spread[placed] = values
    return spread


def _as_events(table: pa.Table, salt: np.int64) -> pa.Table:
    """Rows that travel as events of the layout; what decides ties is their place."""
    events = table.select([name for name in table.column_names if name not in HIDDEN])
    if NUMBER not in table.column_names:
        named = events.append_column(EVENT, name_events(table.column(ROW)))
        return named.append_column("_arrival", table.column(PLACE))
    numbers = table.column(NUMBER)
    return events.append_column(EVENT, pa.array(numbers.to_numpy() ^ salt)).append_column("_arrival", numbers)


def _read_gone(table: pa.Table) -> Flags:
    return read_flags(table.column(GONE)) if GONE in table.column_names else np.zeros(len(table), dtype=np.bool_)
