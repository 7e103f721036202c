"""Joins of streams for a few events at a time: take them in, find partners, settle; one call of compiled code.

For one program without a condition besides its keys.  The state is that of `CompiledJoin`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.array_table import flag_table, flags, int_table, ints, lay_out
from cepheid.kernel.compiled.join import CompiledJoin
from cepheid.kernel.compiled.join_advance import (
    DONE,
    EVENT,
    NEVER,
    Arrivals,
    Ends,
    Found,
    JoinScratch,
    Log,
    Plan,
    advance,
    settle,
)
from cepheid.kernel.compiled.join_advance import (
    NOTHING as NO_EVENT,
)
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.row_records import NO_CELLS, write_records
from cepheid.kernel.compiled.take_in import COUNT, NOTHING, OUTCOME, REACHED, SHIFT, SOMETHING, STATE, encode, take_in
from cepheid.kernel.compiled.tests_alone import Target
from cepheid.kernel.join import JoinRows

(
    TIMES, LINKS, FOLLOWS, PARTS, ORDINALS, HEADS, OLDEST, NEWEST, COUNTS, TALLIES, KINDS, REACHES, PRESERVED, LEAVERS,
    WIDEST, GONE, GONE_COUNTS, REPORTED, TRIGGERS, GATHERED, GATHERED_COUNTS, CHOSEN, CHOSEN_COUNTS, PICKS, CURSOR,
    FOUND_ROWS, USED, MATCHED, LAST, NEW_STREAMS, NEW_KEYS, NEW_PARTS, ROWS, MOMENTS, NO_ANSWERS, CELLS,
) = range(36)  # fmt: skip

STOPPED = 3
"""What came of a push, besides NOTHING and SOMETHING: there was no room for what was found."""
MOST_ROWS = 8192


@njit()
def push_pairs(intake: Int64s, tables: Int64s, begin: int, count: int, emits_arrivals: int) -> int:
    """An outcome: of STOPPED why, else the number of rows."""
    count = take_in(intake, begin, count)
    if count < 0:
        return count
    log = Log(
        ints(tables, TIMES), ints(tables, LINKS), ints(tables, FOLLOWS), ints(tables, PARTS), ints(tables, ORDINALS)
    )
    ends = Ends(
        int_table(tables, HEADS), ints(tables, OLDEST), ints(tables, NEWEST), ints(tables, COUNTS),
        int_table(tables, TALLIES),
    )  # fmt: skip
    plan = Plan(
        int_table(tables, KINDS), int_table(tables, REACHES), int_table(tables, PRESERVED), ints(tables, LEAVERS),
        ints(tables, WIDEST), emits_arrivals,
    )  # fmt: skip
    scratch = JoinScratch(
        int_table(tables, GONE), int_table(tables, GONE_COUNTS), int_table(tables, REPORTED), ints(tables, TRIGGERS),
        int_table(tables, GATHERED), ints(tables, GATHERED_COUNTS), int_table(tables, CHOSEN),
        ints(tables, CHOSEN_COUNTS), ints(tables, PICKS), ints(tables, CURSOR),
    )  # fmt: skip
    listed = int_table(tables, FOUND_ROWS)
    found = Found(
        listed.reshape((1, listed.shape[0], listed.shape[1])), ints(tables, USED), flag_table(tables, MATCHED)
    )
    arrivals = Arrivals(
        ints(tables, NEW_STREAMS)[:count], ints(tables, NEW_KEYS)[:count], ints(tables, NEW_PARTS)[:count]
    )
    last = ints(tables, LAST)
    if count:
        last[0] = log.times[begin + count - 1]
    scratch.cursor[EVENT] = begin
    outcome = advance(log, ends, arrivals, plan, scratch, found, begin, begin + count, False)
    if outcome != DONE:
        return encode(STOPPED, outcome)
    most = found.used[0]
    if plan.leavers[0] != NO_EVENT:
        first = begin + count - 1
        for j in range(plan.preserved.shape[1]):
            if plan.preserved[0, j]:
                first = min(first, scratch.reported[0, j])
        most += begin + count - 1 - first
    rows = int_table(tables, ROWS)
    if most > rows.shape[0]:
        return encode(STOPPED, DONE)
    until = min(ints(intake, STATE)[REACHED], NEVER - 1)
    made = settle(
        log, ends, plan, scratch, found, 0, flags(tables, NO_ANSWERS), False, until, last[0], rows,
        ints(tables, MOMENTS),
    )  # fmt: skip
    return encode(SOMETHING, made, write_records(int_table(tables, CELLS), made)) if made else NOTHING


class JoinLane:
    """keys, partitions: int64[room], where numbers of the events at hand are written; `list_cells`: what rows are made
    of (row_records.py), if they are written here."""

    def __init__(self, join: CompiledJoin, keys: Int64s, partitions: Int64s) -> None:
        self._join = join
        self._keys, self._partitions = keys, partitions
        self._new_streams = np.zeros(len(keys), dtype=np.int64)
        self._stores = join.stores
        inputs = len(join.programs[0].inputs)
        self._rows = np.empty((MOST_ROWS, inputs), dtype=np.int64)
        self._moments = np.empty(MOST_ROWS, dtype=np.int64)
        self._no_answers = np.zeros(1, dtype=np.uint8)
        self.state: Int64s = np.zeros(0, dtype=np.int64)  # of the intake
        self._held: list[npt.NDArray[Any]] = []
        self._found: JoinRows | None = None
        self._made = 0
        self.list_cells: Callable[[], npt.NDArray[np.int64]] = lambda: NO_CELLS
        self._emits_arrivals = 0
        self._tables: Int64s = np.zeros(0, dtype=np.int64)

    # --- arrays ------------------------------------------------------------------------------------------
    def stored_targets(self) -> list[Target]:
        return [Target("_time", self._stores[0].data[0]), Target("_stream", self._stores[1].data[0])]

    def local_targets(self) -> list[Target]:
        return [Target("_stream", self._new_streams)]

    @property
    def is_stale(self) -> bool:
        return False

    def catch_up(self) -> None:
        """Events came another way: there is nothing here that would depend on it."""

    def make_room(self, keys: int, count: int) -> bool:
        for store in self._stores:
            store.expect(count)
        self._join.make_room(keys)
        return True

    @property
    def room(self) -> int:
        return min(store.data.shape[1] for store in self._stores)

    def lay_out(self) -> None:
        log, ends, plan, scratch, found, last = self._join.lay_tables()
        self._emits_arrivals = int(plan.emits_arrivals)
        here: list[npt.NDArray[Any]] = [
            self._new_streams,
            self._keys,
            self._partitions,
            self._rows,
            self._moments,
            self._no_answers,
            self.list_cells(),
        ]
        self._held = [*log, *ends, *list(plan)[:-1], *scratch, found.rows[0], found.used, found.matched, last, *here]
        self._tables = lay_out(self._held)

    # --- events ------------------------------------------------------------------------------------------
    def push(self, intake: Int64s, begin: int, count: int) -> int:
        """Take in events: what came of it (take_in.py)."""
        self._found = None
        outcome: int = push_pairs(intake, self._tables, begin, count, self._emits_arrivals)
        if outcome <= 0:
            return outcome
        count = int(self.state[COUNT])
        for store in self._stores:
            store.used += count
        if outcome & OUTCOME != STOPPED:
            self._made = outcome >> SHIFT
            return outcome
        arrivals = Arrivals(self._new_streams[:count], self._keys[:count], self._partitions[:count])
        until = min(int(self.state[REACHED]), NEVER - 1)
        self._found = self._join.go_on(arrivals, begin, outcome >> SHIFT, until)
        self.lay_out()
        return SOMETHING if len(self._found) else NOTHING

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """int64[rows, inputs]: the events that rows are made of."""
        return self._rows

    @property
    def moments(self) -> Int64s:
        return self._moments

    def take_found(self) -> JoinRows:
        """The rows of the last push."""
        if self._found is not None:
            return self._found
        return JoinRows(self._rows[: self._made].copy(), self._moments[: self._made].copy())
