"""The rows that a vertex has given out and that may still change: what is compared when an engine has computed them
anew.

    rows given out        rows computed anew      given out now
    id 1  a               id 1  a
    id 2  b               id 2  c                 retract id 2 b, insert id 2 c
    id 3  d                                       retract id 3 d
                          id 4  e                 insert id 4 e

A version is odd for inserts and even for retracts, and grows with each correction of the vertex, though it take nothing
back here: who reads the rows may.  So it grows for each row, and nobody has to remember rows that are gone.

Where another engine reads the rows in order, each has a *place*: a number between those of its neighbours, with room
for rows that come between them later.

Where late events have a reach, only the rows that they touch are compared: those of their scopes, in some spans of time
(shelf.py).  What their values are as one number is found out when they are compared, which most never are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.changing.change_rows import PLACE, ROW, VERSION, Flags, Int64s, carry, with_carried
from cepheid.execution.changing.row_identity import RowIdentity
from cepheid.execution.changing.scopes import Scopes
from cepheid.execution.changing.shelf import Shelf
from cepheid.execution.changing.spans import Spans

GAP = 1 << 24  # between the places of two rows that follow one another
MANY_TABLES = 256  # of rows, which are put together before some are let go
VALUES = "_change.values"
_SCOPE, _AT = "_change.scope", "_change.at"
_KEPT = pa.schema([(ROW, pa.string()), (VALUES, pa.int64()), (VERSION, pa.int64()), (PLACE, pa.int64())])
_OWN = pa.schema(
    [(ROW, pa.string()), (VERSION, pa.int64()), (PLACE, pa.int64()), (_SCOPE, pa.int64()), (_AT, pa.int64())]
)
_FIRST, _LAST = "_change.first", "_change.last"  # events of the row's match
_OF_MATCH = pa.schema([(_FIRST, pa.int64()), (_LAST, pa.int64())])
_NOWHERE = np.iinfo(np.int64).min

OrderRows = Callable[[pa.Table], list[Int64s]]
Places = tuple[Int64s, Int64s]
"""Of rows: whose they are, and when."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of a vertex are read: in order, and by what (None: as they come out); or those of an evaluation
    together, beside those of the one before (ISTREAM, DSTREAM)."""

    in_order: bool = False
    order: OrderRows | None = None
    nets: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """gone: int64[n], numbers of rows on the shelf that are no longer so, or no longer there; lost: those that are no
    longer so and were given out; unsaid: the ids of such that were not; moved: rows that are as they were, elsewhere;
    fresh: rows that are new."""

    gone: Int64s
    lost: pa.Table
    unsaid: pa.ChunkedArray
    moved: pa.Table
    fresh: pa.Table


class GivenRows:
    """in_order: is it read in order?  order: what orders the rows, the first thing first; None: as they come out."""

    def __init__(
        self,
        identity: RowIdentity,
        cells: pa.Schema,
        in_order: bool,
        order: OrderRows | None,
        forgets: bool,
        scopes: Scopes | None = None,
        stretch_us: int = 0,
    ) -> None:
        """cells: of the rows, without those of their identity; forgets: rows never change once they are given out;
        scopes, stretch_us: by which the rows that a late event touches are found, if they can be."""
        self._identity = identity
        self._in_order, self._order, self._forgets = in_order, order if in_order else None, forgets
        self._scopes, self._stretch_us = scopes, stretch_us
        self.schema = with_carried(pa.schema([cells.field(name) for name in identity.cells]))
        self.kept_schema = pa.schema([*cells, *_KEPT])
        self._cells = cells.names
        self.turn = 0  # corrections so far
        self.last_place = 0
        self._tells_matches = scopes is not None and scopes.tells_matches
        self._no_rows = pa.schema([*cells, *_OWN, *(_OF_MATCH if self._tells_matches else ())]).empty_table()
        self._nothing = self.schema.empty_table()
        self._tables = [self._no_rows]
        self._shelf: Shelf | None = None
        self._whole: pa.Table | None = None  # all rows, if they have been put together
        self._past = self._no_rows  # rows that no longer change, where others may still come before them
        self._kept: pa.Table | None = None
        self._waiting: pa.Table | None = None  # rows to be given out with this push, unless they are taken back before
        self._first_waiting, self._many_waiting = 0, 0  # their first number, and how many there were

    @property
    def rows(self) -> pa.Table:
        """All that may still change."""
        if self._whole is None:
            parts = self._tables if self._shelf is None else [self._shelf.take_all(), *self._tables]
            self._whole = pa.concat_tables(parts).combine_chunks()
            if self._shelf is None:
                self._tables = [self._whole]
        return self._whole

    @rows.setter
    def rows(self, table: pa.Table) -> None:
        self._tables, self._shelf, self._whole, self._kept = [table], None, table, None

    def add(self, rows: pa.Table) -> pa.Table:
        """Rows that come out after those that were given out."""
        if not len(rows):
            return self._nothing
        fresh = self._describe(rows)
        if self._order is not None:
            return self._correct(pa.concat_tables([self.rows, fresh]), turns=False)
        if self._in_order:
            places = self.last_place + GAP * np.arange(1, len(fresh) + 1)
            self.last_place = int(places[-1])
            fresh = _set_column(fresh, PLACE, places)
        if not self._forgets:
            self._append(fresh)
        return self._write(fresh, gone=False)

    def hold(self, rows: pa.Table) -> None:
        """As `add`, but they are given out by `release`: those that are not taken back until then."""
        shelved = 0 if self._shelf is None else self._shelf.count_numbers()
        self._first_waiting, self._many_waiting = shelved + sum(map(len, self._tables)), len(rows)
        self.turn += 1  # of what is corrected with this push, too
        self._waiting = self.add(rows)

    def release(self) -> pa.Table:
        waiting, self._waiting = self._waiting, None
        return self._nothing if waiting is None else waiting

    def replace(self, rows: pa.Table) -> pa.Table:
        """Instead of those that may still change, these are the rows: what is no longer so, and what is new."""
        return self._correct(self._describe(rows), turns=True)

    def name(self, rows: pa.Table) -> pa.Array:
        """The ids of rows."""
        return self._identity.tell(rows)[1]

    def keeps(self, rows: pa.Table) -> bool:
        """Are all rows that were given out among these, as they are?"""
        shown, ids = self._identity.tell(rows)
        given = self.rows.filter(pa.array(~self._are_waiting(np.arange(len(self.rows)))))
        found = pc.index_in(given.column(ROW), value_set=ids)
        if found.null_count:
            return False
        return bool((self._hash_values(shown)[found.to_numpy()] == self._hash_values(given)).all())

    def settle(self, rows: pa.Table, floor: int) -> None:
        """These are among the rows and no longer change; rows to come are about nothing older than `floor`."""
        if len(rows):
            _, ids = self._identity.tell(rows)
            is_settled = pc.is_in(self.rows.column(ROW), value_set=ids)
            self._leave(self.rows.filter(is_settled), floor)
            self.rows = self.rows.filter(pc.invert(is_settled))

    def let_go(self, settled: int) -> None:
        """Rows at older moments no longer change."""
        if self._shelf is not None or len(self._tables) > MANY_TABLES:
            self.rows = self.rows
        marks = [table.column(_AT).to_numpy() >= settled for table in self._tables]
        if all(stays.all() for stays in marks):
            return
        left = [
            table if stays.all() else table.filter(pa.array(stays))
            for table, stays in zip(self._tables, marks, strict=True)
            if stays.any()
        ]
        self._tables, self._whole, self._kept = left or [self._no_rows], None, None

    def settle_all(self, floor: int) -> None:
        if self._order is not None:
            self._leave(self.rows, floor)
        if self._tables != [self._no_rows]:
            self.rows = self._no_rows

    def show(self) -> pa.Table:
        """The rows that may still change, as they were given out."""
        return self._write(self.rows, gone=False)

    # --- a few rows, found by where they are ---------------------------------------------------------------
    def find(self, spans: Spans) -> Int64s:
        """int64[n]: numbers of the rows in these spans, as they came."""
        return np.sort(self._shelve().find(spans))

    def where(self, numbers: Int64s) -> tuple[Int64s, ...]:
        """int64[n] each, of some rows: whose they are, and when; and, if that is known, the first and the last event of
        their matches."""
        shelf = self._shelve()
        names = (_FIRST, _LAST) if self._tells_matches else ()
        return (*shelf.where(numbers), *(shelf.read(name, numbers).to_numpy() for name in names))

    def compare(self, rows: pa.Table, places: Places, numbers: Int64s) -> Difference:
        """rows: as they were computed anew, instead of those with these numbers; places: theirs."""
        shelf = self._shelve()
        if not len(numbers) and not len(rows):
            return Difference(numbers, self._no_rows, self._no_rows.column(ROW), self._no_rows, self._no_rows)
        given, fresh = shelf.take(numbers), self._describe(rows, places)
        same, before = self._find_same(fresh, given)
        stays = np.zeros(len(given), dtype=np.bool_)
        stays[before[same]] = True
        lost, unsaid = self._part(given, ~stays, numbers >= self._first_waiting)
        moves = same.copy()
        moves[same] = self._have_moved(fresh, same, given, before[same])
        moved, stays[before[moves]] = self._no_rows, False
        if moves.any():
            moved = _set_column(fresh.filter(pa.array(moves)), VERSION, given.column(VERSION).to_numpy()[before[moves]])
        return Difference(numbers[~stays], lost, unsaid, moved, fresh.filter(pa.array(~same)))

    def _have_moved(self, fresh: pa.Table, same: Flags, given: pa.Table, before: Int64s) -> Flags:
        """bool[n], of rows that are as those that were given out: are they elsewhere?"""
        names = (_SCOPE, _AT, _FIRST, _LAST) if self._tells_matches else (_SCOPE, _AT)
        told = np.zeros(len(before), dtype=np.bool_)
        for name in names:
            told |= fresh.column(name).to_numpy()[same] != given.column(name).to_numpy()[before]
        return told

    def take(self, difference: Difference) -> pa.Table:
        """So it is from now on: what is no longer so, and what is new."""
        lost, fresh = difference.lost, difference.fresh
        self.turn += self._waiting is None
        if not len(difference.gone) and not len(fresh):
            return self._nothing
        if len(difference.gone):
            self._shelve().remove(difference.gone)
            self._leave_unsaid(difference.unsaid)
            self._whole = self._kept = None
        fresh = _set_column(fresh, VERSION, np.full(len(fresh), 2 * self.turn + 1))
        self._append(difference.moved)
        self._append(fresh)
        return pa.concat_tables([self._write(lost, gone=True), self._write(fresh, gone=False)])

    # --- snapshots ---------------------------------------------------------------------------------------
    def keep(self) -> tuple[pa.Table, pa.Table]:
        """The rows that may still change, and those that others may come before."""
        if self._kept is None:
            self._kept = self._keep(self.rows)
        return self._kept, self._keep(self._past)

    def restore(self, rows: pa.Table, past: pa.Table, computed: pa.Table) -> None:
        """Go on from there.  computed: these rows, as they were computed anew."""
        self._past = self._read(past)
        found = self._read(rows)
        if self._scopes is not None and len(found):
            _, ids = self._identity.tell(computed)
            places = pc.index_in(found.column(ROW), value_set=ids).to_numpy()
            where = self._scopes.of_rows(computed)
            told = (*where, *self._scopes.matches_of(computed)) if self._tells_matches else where
            for name, values in zip((_SCOPE, _AT, _FIRST, _LAST), told, strict=False):
                found = _set_column(found, name, values[places])
        self.rows = found

    def _keep(self, rows: pa.Table) -> pa.Table:
        values = rows.append_column(VALUES, pa.array(self._hash_values(rows)))
        return values.select(self.kept_schema.names)

    def _read(self, kept: pa.Table) -> pa.Table:
        unknown = pa.array(np.zeros(len(kept), dtype=np.int64))
        columns = [kept.column(name) if name in kept.column_names else unknown for name in self._no_rows.column_names]
        return pa.Table.from_arrays(columns, schema=self._no_rows.schema)

    # --- inside ------------------------------------------------------------------------------------------
    def _append(self, fresh: pa.Table) -> None:
        if len(fresh):
            self._tables.append(fresh)
            self._whole = self._kept = None

    def _shelve(self) -> Shelf:
        """The shelf, with all rows on it."""
        if self._shelf is None:
            self._shelf = Shelf(self._no_rows.schema, self._stretch_us)
        fresh = [table for table in self._tables if len(table)]
        if fresh:
            rows = pa.concat_tables(fresh).combine_chunks()
            self._shelf.append(rows, rows.column(_SCOPE).to_numpy(), rows.column(_AT).to_numpy())
        self._tables = []
        return self._shelf

    def _are_waiting(self, places: Int64s) -> Flags:
        """bool[n], of rows by where they are among all that may change, of which those that wait are the last."""
        told = len(self.rows) - (self._many_waiting if self._waiting is not None else 0)
        return places >= told

    def _part(self, given: pa.Table, gone: Flags, waiting: Flags) -> tuple[pa.Table, pa.ChunkedArray]:
        """Of rows that are no longer so, those that were given out, and the ids of the others.  gone, waiting: bool[n],
        which they are, and which were not given out if any rows wait."""
        if self._waiting is None:
            return given.filter(pa.array(gone)), self._no_rows.column(ROW)
        return given.filter(pa.array(gone & ~waiting)), given.filter(pa.array(gone & waiting)).column(ROW)

    def _leave_unsaid(self, ids: pa.ChunkedArray) -> None:
        if self._waiting is not None and len(ids):
            self._waiting = self._waiting.filter(pc.invert(pc.is_in(self._waiting.column(ROW), value_set=ids)))

    def _describe(self, rows: pa.Table, places: Places | None = None) -> pa.Table:
        shown, ids = self._identity.tell(rows)
        count = len(rows)
        if places is None and self._scopes is not None:
            places = self._scopes.of_rows(rows)
        unknown = np.zeros(count, dtype=np.int64)
        numbers = [np.full(count, 2 * self.turn + 1), np.full(count, _NOWHERE), *(places or (unknown, unknown))]
        if self._scopes is not None and self._tells_matches:
            numbers += self._scopes.matches_of(rows)
        columns = [shown.column(name) for name in self._cells]
        return pa.Table.from_arrays([*columns, ids, *map(pa.array, numbers)], schema=self._no_rows.schema)

    def _hash_values(self, rows: pa.Table) -> Int64s:
        return self._identity.hash_values(rows)

    def _find_same(self, fresh: pa.Table, given: pa.Table) -> tuple[Flags, Int64s]:
        """bool[fresh]: was the row given out as it is; int64[fresh]: where it was among those given out, -1 if not."""
        found = pc.index_in(fresh.column(ROW), value_set=given.column(ROW))
        before = pc.fill_null(found, -1).to_numpy().astype(np.int64)
        same = before >= 0
        if same.any():
            same[same] = self._hash_values(fresh)[same] == self._hash_values(given)[before[same]]
        return same, before

    def _correct(self, fresh: pa.Table, turns: bool) -> pa.Table:
        """fresh: all rows that may change, in order, some of them without a place.  turns: because of late events."""
        given = self.rows
        same, before = self._find_same(fresh, given)
        places = np.full(len(fresh), _NOWHERE)
        if self._in_order:
            places[same] = given.column(PLACE).to_numpy()[before[same]]
            fresh, places, same, before = self._place(fresh, places, same, before)
        stays = np.zeros(len(given), dtype=np.bool_)
        stays[before[same]] = True
        lost, unsaid = self._part(given, ~stays, self._are_waiting(np.arange(len(given))))
        self._leave_unsaid(unsaid)
        self.turn += (turns or len(lost) > 0) and self._waiting is None
        versions = np.full(len(fresh), 2 * self.turn + 1)
        versions[same] = given.column(VERSION).to_numpy()[before[same]]
        fresh = _set_column(_set_column(fresh, VERSION, versions), PLACE, places)
        self.rows = fresh
        retracted = self._write(lost, gone=True)
        return pa.concat_tables([retracted, self._write(fresh.filter(pa.array(~same)), gone=False)])

    def _place(
        self, fresh: pa.Table, places: Int64s, same: Flags, before: Int64s
    ) -> tuple[pa.Table, Int64s, Flags, Int64s]:
        """The rows in order, each with a place; who had to change it is no longer the same."""
        known = places
        past = np.zeros(0, dtype=np.int64)
        order = np.arange(len(fresh))
        everyone = order
        if self._order is not None:
            past = self._past.column(PLACE).to_numpy()
            keys = self._order(pa.concat_tables([self._past, fresh]))
            everyone = np.lexsort(keys[::-1])
            known = np.concatenate([past, places])
            order = everyone[everyone >= len(past)] - len(past)
        placed = np.empty(len(known), dtype=np.int64)
        placed[everyone] = find_places(known[everyone], self.last_place)
        if len(placed):
            self.last_place = max(self.last_place, int(placed.max()))
        moved = placed[len(past) :]
        same = same & (moved == places)
        return fresh.take(pa.array(order)), moved[order], same[order], before[order]

    def _leave(self, rows: pa.Table, floor: int) -> None:
        if self._order is not None:
            past = pa.concat_tables([self._past, rows])
            self._past = past.filter(pa.array(self._order(past)[0] >= floor))

    def _write(self, rows: pa.Table, gone: bool) -> pa.Table:
        versions = rows.column(VERSION).to_numpy()
        return carry(
            rows.select(self._identity.cells),
            np.full(len(rows), gone),
            rows.column(ROW),
            np.full(len(rows), 2 * self.turn) if gone else versions,
            rows.column(PLACE).to_numpy(),
        )


def find_places(known: Int64s, last: int) -> Int64s:
    """int64[n], ascending: the places of rows in order; known: those they have, as far as they have one.  last: the
    highest that was ever used.

    Who has a place keeps it, unless it is not above all before it.  If there is no room left somewhere, all places are
    new.
    """
    highest = np.maximum.accumulate(known) if len(known) else known
    keeps = (known > _NOWHERE) & (known == highest)
    keeps[1:] &= known[1:] > highest[:-1]
    kept = np.flatnonzero(keeps)
    missing = np.flatnonzero(~keeps)
    if not len(missing):
        return known
    after = np.searchsorted(kept, missing)  # the kept one that follows
    begins = np.concatenate([[-1], kept])[after]
    ends = np.concatenate([kept, [len(known)]])[after]
    turns, lengths = missing - begins, ends - begins
    bounds = np.concatenate([[0], known[kept], [0]])
    low, high = bounds[after], bounds[after + 1]
    is_first, is_last = after == 0, after == len(kept)
    low = np.where(is_first, np.where(is_last, last, high - GAP * lengths), low)
    high = np.where(is_last, np.maximum(low, last) + GAP * lengths, high)
    low = np.where(is_last, high - GAP * lengths, low)
    step = (high - low) // lengths
    if (step < 1).any():
        return last + GAP * np.arange(1, len(known) + 1)
    places = known.copy()
    places[missing] = low + step * turns
    return places


def _set_column(table: pa.Table, name: str, values: Int64s) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values))
