"""The rows that a vertex has given out and that may still change: what is compared when an engine has computed them
anew.

    rows given out        rows computed anew      given out now
    id 1  a               id 1  a
    id 2  b               id 2  c                 retract id 2 b, insert id 2 c
    id 3  d                                       retract id 3 d
                          id 4  e                 insert id 4 e

A version is odd for inserts and even for retracts, and grows with each correction of the vertex: so it grows for each
row, and nobody has to remember rows that are gone.

Where another engine reads the rows in order, each has a *place*: a number between those of its neighbours, with room
for rows that come between them later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.changing.change_rows import PLACE, ROW, VERSION, Flags, Int64s, carry, with_carried
from cepheid.execution.changing.row_identity import RowIdentity

GAP = 1 << 24  # between the places of two rows that follow one another
VALUES = "_change.values"
_OWN = pa.schema([(ROW, pa.string()), (VALUES, pa.int64()), (VERSION, pa.int64()), (PLACE, pa.int64())])
_NOWHERE = np.iinfo(np.int64).min

OrderRows = Callable[[pa.Table], list[Int64s]]


class GivenRows:
    """in_order: is it read in order?  order: what orders the rows, the first thing first; None: as they come out."""

    def __init__(
        self, identity: RowIdentity, cells: pa.Schema, in_order: bool, order: OrderRows | None, forgets: bool
    ) -> None:
        """cells: of the rows, without those of their identity; forgets: rows never change once they are given out."""
        self._identity = identity
        self._cells = cells
        self._in_order, self._order, self._forgets = in_order, order if in_order else None, forgets
        self.schema = with_carried(pa.schema([cells.field(name) for name in identity.cells]))
        self.turn = 0  # corrections so far
        self.last_place = 0
        self._tables = [pa.schema([*cells, *_OWN]).empty_table()]
        self.past = self._tables[0]  # rows that no longer change, where others may still come before them

    @property
    def rows(self) -> pa.Table:
        """All that may still change."""
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0]

    @rows.setter
    def rows(self, table: pa.Table) -> None:
        self._tables = [table]

    def add(self, rows: pa.Table) -> pa.Table:
        """Rows that come out after those that were given out."""
        if not len(rows):
            return self.schema.empty_table()
        fresh = self._describe(rows)
        if self._order is not None:
            return self._correct(pa.concat_tables([self.rows, fresh]))
        if self._in_order:
            places = self.last_place + GAP * np.arange(1, len(fresh) + 1)
            self.last_place = int(places[-1])
            fresh = _set_column(fresh, PLACE, places)
        if not self._forgets:
            self._tables.append(fresh)
        return self._write(fresh, gone=False)

    def replace(self, rows: pa.Table) -> pa.Table:
        """Instead of those that may still change, these are the rows: what is no longer so, and what is new."""
        return self._correct(self._describe(rows))

    def keeps(self, rows: pa.Table) -> bool:
        """Are all rows that were given out among these, as they are?"""
        _, ids, values = self._identity.tell(rows)
        found = pc.index_in(self.rows.column(ROW), value_set=ids)
        if found.null_count:
            return False
        return bool((values[found.to_numpy()] == self.rows.column(VALUES).to_numpy()).all())

    def settle(self, rows: pa.Table, floor: int) -> None:
        """These are among the rows and no longer change; rows to come are about nothing older than `floor`."""
        if len(rows):
            _, ids, _ = self._identity.tell(rows)
            is_settled = pc.is_in(self.rows.column(ROW), value_set=ids)
            self._leave(self.rows.filter(is_settled), floor)
            self.rows = self.rows.filter(pc.invert(is_settled))

    def settle_all(self, floor: int) -> None:
        if self._order is not None:
            self._leave(self.rows, floor)
        self.rows = self.rows.slice(0, 0)

    def show(self) -> pa.Table:
        """The rows that may still change, as they were given out."""
        return self._write(self.rows, gone=False)

    # --- inside ------------------------------------------------------------------------------------------
    def _describe(self, rows: pa.Table) -> pa.Table:
        shown, ids, values = self._identity.tell(rows)
        count = len(rows)
        own = [ids, pa.array(values), pa.array(np.full(count, 2 * self.turn + 1)), pa.array(np.full(count, _NOWHERE))]
        columns = [shown.column(name) for name in self._cells.names]
        return pa.Table.from_arrays([*columns, *own], schema=self._tables[0].schema)

    def _correct(self, fresh: pa.Table) -> pa.Table:
        """fresh: all rows that may change, in order, some of them without a place."""
        given = self.rows
        found = pc.index_in(fresh.column(ROW), value_set=given.column(ROW))
        before = pc.fill_null(found, -1).to_numpy().astype(np.int64)  # where each was among those given out
        same = before >= 0
        same[same] = fresh.column(VALUES).to_numpy()[same] == given.column(VALUES).to_numpy()[before[same]]
        places = np.full(len(fresh), _NOWHERE)
        if self._in_order:
            places[same] = given.column(PLACE).to_numpy()[before[same]]
            fresh, places, same, before = self._place(fresh, places, same, before)
        stays = np.zeros(len(given), dtype=np.bool_)
        stays[before[same]] = True
        if not stays.all():
            self.turn += 1
        versions = np.full(len(fresh), 2 * self.turn + 1)
        versions[same] = given.column(VERSION).to_numpy()[before[same]]
        fresh = _set_column(_set_column(fresh, VERSION, versions), PLACE, places)
        self.rows = fresh
        retracted = self._write(given.filter(pa.array(~stays)), gone=True)
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
            past = self.past.column(PLACE).to_numpy()
            keys = self._order(pa.concat_tables([self.past, fresh]))
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
            past = pa.concat_tables([self.past, rows])
            self.past = past.filter(pa.array(self._order(past)[0] >= floor))

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
