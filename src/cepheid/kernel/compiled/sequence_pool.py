"""The memory of the runs of SEQ: arrays that grow when the kernel runs out of room, and snapshots of what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Events, Int64s
from cepheid.kernel.compiled.array_table import lay_out
from cepheid.kernel.compiled.cell_store import GrowingRows
from cepheid.kernel.compiled.evaluate import Cells, Machine
from cepheid.kernel.compiled.pattern_aggregates import Sums, count_rare, make_sums
from cepheid.kernel.compiled.sequence_advance import NO_ROOM, OVER_LIMIT, advance, chain_kept, room_needed, settle
from cepheid.kernel.compiled.sequence_automaton import (
    AT_START,
    CONTIGUOUS,
    KEEPS_FIRSTS,
    LIMIT,
    LISTS,
    MODE,
    NEVER,
    PENDING,
    TIMEOUTS,
    VARIABLES,
    Automaton,
)
from cepheid.kernel.compiled.sequence_chains import COSTLY_HINT, TooMany
from cepheid.kernel.compiled.sequence_records import (
    HEAD,
    compact_nodes,
    count_found,
    count_written,
    expand_found,
    mark_held,
    read_runs,
    write_runs,
)
from cepheid.kernel.compiled.sequence_runs import (
    COUNTS,
    DROPPED,
    EARLIEST,
    FOUND_ROWS,
    FREE,
    LASTS,
    LIVE,
    NODES_USED,
    RESERVED,
    USED,
)
from cepheid.kernel.matches import TIMED_OUT, WHOLE, Matches, no_matches
from cepheid.kernel.pattern import SequenceProgram

MOST_CELLS = 150_000_000  # numbers in all runs, in all elements and in all matches of a batch: 1.2 GB each
SPARE_NODES = 1 << 16  # elements that are not worth tidying up for
MOST_SPARE = 1 << 20  # room for so many matches is kept for the next batch
NO_TIMES = np.zeros(0, dtype=np.int64)
LIMIT_HINT = "raise the limit, write DROP OLDEST behind it, shorten WITHIN, or add conditions"


class RunPool:
    """The runs of all keys."""

    def __init__(self, program: SequenceProgram, automaton: Automaton, extra: int = 0) -> None:
        """extra: how many numbers a run has behind those of all."""
        self.alone, self.streams = automaton.alone, automaton.streams
        self._plan = plan = automaton.plan
        self._laid = lay_out(list(plan))  # the plan stays as it is
        numbers = plan.numbers
        self._lists, self._chains = int(numbers[LISTS]), automaton.chains
        self._variables = tuple(step.variable for step in program.steps)
        # What came of earlier events cannot be found out again from those that are kept; and without WITHIN the events
        # of runs are few beside all those that they passed over.
        waits_after_start = numbers[PENDING] >= 0 and bool((plan.judged[:, 0] == AT_START).any())
        decided_before = program.consume or program.limit is not None or waits_after_start
        self.keeps_runs = decided_before or program.within is None
        self.needs_only_runs = self.keeps_runs and (not self._chains or numbers[MODE] == CONTIGUOUS)
        self.settles = int(program.timeouts or numbers[PENDING] >= 0)  # may time decide something?
        width = int(LASTS + numbers[VARIABLES] + numbers[KEEPS_FIRSTS]) + extra
        self._aggregates = len(plan.aggregates)
        self._runs = np.zeros((64, width), dtype=np.int64)
        self._nodes = np.zeros((64 if numbers[KEEPS_FIRSTS] else 1, 3), dtype=np.int64)
        self._sums = make_sums(64 + 1, plan.aggregates)
        self._found = np.zeros((64, width), dtype=np.int64)
        self._links = GrowingRows(max(1, self._chains), np.int64)
        self._entries = GrowingRows(max(1, self._chains), np.int64)
        self._keys = self._empty_lists(16)
        self._counters = np.zeros(COUNTS, dtype=np.int64)
        self._counters[FREE], self._counters[USED], self._counters[EARLIEST] = -1, RESERVED, NEVER
        self.tidy_at = SPARE_NODES  # elements, before some are dropped
        self._lent: tuple[Int64s, tuple[Any, ...]] | None = None

    def advance(self, events: Events, plays: Int64s, base: int, times: Int64s, machine: Machine, cells: Cells) -> None:
        """Take in events, in order."""
        if not len(events):
            return
        self._make_room_for(events)
        self._expect_rare(cells, base, base + len(events))
        done, why = 0, NO_ROOM
        while done < len(events):
            arrays = self._arrays(times, machine, cells)
            tables = lay_out(arrays, self._laid)
            done, why = advance(events.keys, plays, base, done, tables)
            if why == OVER_LIMIT:
                limit = self._plan.numbers[LIMIT]
                raise TooMany(f"has more than {limit:,} partial matches of one key", LIMIT_HINT)
            if why == NO_ROOM:
                self._grow(room_needed(tables, int(events.keys[done])))

    # --- a few events at a time (sequence_lane.py) ---------------------------------------------------------
    def lay_tables(self, times: Int64s, machine: Machine, cells: Cells) -> tuple[Int64s, list[npt.NDArray[Any]]]:
        """The table of all arrays, and the arrays, which must be held while it is used."""
        arrays = self._arrays(times, machine, cells)
        tables = lay_out(arrays, self._laid)
        self._lent = (tables, self._movable())
        return tables, arrays

    def _movable(self) -> tuple[Any, ...]:
        return (self._runs, self._nodes, self._sums, self._keys, self._found)

    @property
    def has_moved(self) -> bool:
        """Are arrays no longer where the table says that was laid out last?"""
        if self._lent is None:
            return True
        return any(now is not then for now, then in zip(self._movable(), self._lent[1], strict=True))

    def _lay_runs(self) -> tuple[Int64s, list[npt.NDArray[Any]]]:
        """A table for all that looks at runs only."""
        if self._lent is not None and not self.has_moved:
            return self._lent[0], []
        arrays = self._arrays()
        return lay_out(arrays, self._laid), arrays

    @property
    def room(self) -> int:
        """For so many events in all."""
        return self._links.data.shape[1] if self._chains else NEVER

    def make_room(self, keys: int, count: int) -> bool:
        """For keys below a number, and `count` more events; True: arrays have changed."""
        before = (self._keys, self._links.data)
        if keys > len(self._keys):
            more = self._empty_lists(max(keys, 2 * len(self._keys)) - len(self._keys))
            self._keys = np.concatenate([self._keys, more])
        if self._chains:
            self._links.expect(count)
            self._entries.expect(count)
        return before[0] is not self._keys or before[1] is not self._links.data

    def count_up(self, count: int) -> None:
        """So many events have come past."""
        if self._chains:
            self._links.used += count
            self._entries.used += count

    def grow_for(self, tables: Int64s, key: int) -> None:
        """Room for what the next event of a key may add."""
        self._grow(room_needed(tables, key))

    def refuse_more(self) -> TooMany:
        return TooMany(f"has more than {self._plan.numbers[LIMIT]:,} partial matches of one key", LIMIT_HINT)

    def expect_rare(self, cells: Cells, begin: int, end: int) -> bool:
        """True: arrays have changed."""
        before = self._sums
        self._expect_rare(cells, begin, end)
        return before is not self._sums

    @property
    def may_drop(self) -> bool:
        return bool(self._plan.numbers[LIMIT])

    @property
    def has_aggregates(self) -> bool:
        return self._aggregates > 0

    def take_found(self, horizon: int) -> Matches:
        """The matches since this was last asked, and what ran out of time before the horizon."""
        self._settle(horizon)
        count = int(self._counters[FOUND_ROWS])
        if not count:
            self._tidy()
            return no_matches(self._variables)
        tables, held = self._lay_runs()
        ends = count_found(tables, count)
        if count and ends[-1] > 2 * MOST_CELLS:
            raise TooMany(f"found sequences of {ends[-1]:,} events in one batch", COSTLY_HINT)
        events, labels, starts, late = expand_found(tables, ends)
        del held
        self._counters[FOUND_ROWS] = 0
        if len(self._found) > MOST_SPARE:
            self._found = np.zeros((64, self._found.shape[1]), dtype=np.int64)
        self._tidy()
        fates = np.where(late, TIMED_OUT, WHOLE).astype(np.uint8) if self._plan.numbers[TIMEOUTS] else None
        return Matches(self._variables, events, labels, ends, starts, np.zeros(count, dtype=np.int64), fates)

    def _settle(self, horizon: int) -> None:
        if not self.settles or self._counters[EARLIEST] >= horizon:
            return
        self._found = _grow_rows(self._found, int(self._counters[FOUND_ROWS] + self._counters[LIVE]), "matches")
        tables, held = self._lay_runs()
        settle(tables, horizon)
        del held

    def take_dropped(self) -> int:
        dropped = int(self._counters[DROPPED])
        self._counters[DROPPED] = 0
        return dropped

    # --- snapshots ---------------------------------------------------------------------------------------
    def list_held(self, seen: int, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[seen]: is the event part of a run?"""
        marked = np.zeros(seen, dtype=np.uint8)
        arrays = self._arrays()
        mark_held(lay_out(arrays, self._laid), horizon, marked)
        return marked != 0

    def write(self, kept: npt.NDArray[np.bool_], horizon: int) -> bytes:
        """All runs, their events by places among the kept events."""
        places = np.cumsum(kept).astype(np.int64) - 1
        arrays = self._arrays()
        tables = lay_out(arrays, self._laid)
        written = np.zeros(write_runs(tables, horizon, places, np.zeros(0, dtype=np.int64)), dtype=np.int64)
        write_runs(tables, horizon, places, written)
        return written.tobytes()

    def restore(
        self, events: Events, plays: Int64s, kept_runs: bytes, times: Int64s, machine: Machine, cells: Cells
    ) -> None:
        """Go on from runs that `write` wrote, in a new operator; the events are those that were kept."""
        if not len(events):
            return
        self._make_room_for(events)
        self._expect_rare(cells, 0, len(events))
        written = np.frombuffer(kept_runs, dtype=np.int64).copy()
        runs, bound = count_written(written, HEAD)
        self._grow_runs(runs)
        self._nodes = _grow_rows(self._nodes, bound, "elements")
        arrays = self._arrays(times, machine, cells)
        tables = lay_out(arrays, self._laid)
        if self._chains:
            chain_kept(tables, events.keys, plays)
        read_runs(tables, written, events.keys)

    # --- room --------------------------------------------------------------------------------------------
    def _arrays(
        self, times: Int64s = NO_TIMES, machine: Machine | None = None, cells: Cells | None = None
    ) -> list[npt.NDArray[Any]]:
        """All tables behind the plan, in the order of the places in sequence_runs.py."""
        where = np.full(max(1, len(self._plan.position_table)), -1, dtype=np.int64)
        links, entries = self._links.data, self._entries.data
        store = [self._runs, self._nodes, *self._sums, self._keys, self._found, links, entries]
        asked = [*machine, *cells] if machine is not None and cells is not None else []
        return [*store, self._counters, where, times, *asked]

    def _empty_lists(self, keys: int) -> npt.NDArray[np.int64]:
        lists = np.full((keys, 2 * self._lists + 2 + self._chains), -1, dtype=np.int64)
        lists[:, 2 * self._lists : 2 * self._lists + 2] = 0
        return lists

    def _make_room_for(self, events: Events) -> None:
        count = int(events.keys.max()) + 1
        if count > len(self._keys):
            more = self._empty_lists(max(count, 2 * len(self._keys)) - len(self._keys))
            self._keys = np.concatenate([self._keys, more])
        if self._chains:
            self._links.extend(len(events))
            self._entries.extend(len(events))

    def _grow(self, needed: int) -> None:
        """Room for what one event can add."""
        counters = self._counters
        self._grow_runs(int(counters[LIVE]) + needed)
        if self._plan.numbers[KEEPS_FIRSTS]:
            self._nodes = _grow_rows(self._nodes, int(counters[NODES_USED]) + 2 * needed, "elements")
        self._found = _grow_rows(self._found, int(counters[FOUND_ROWS]) + needed, "matches")

    def _grow_runs(self, count: int) -> None:
        self._runs = _grow_rows(self._runs, RESERVED + count)
        if self._aggregates:
            integers, floats, rare = self._sums
            integers = _grow_rows(integers, (len(self._runs) + 1) * self._aggregates)  # one more, to try an event out
            floats = _grow_rows(floats, len(integers))
            self._sums = Sums(integers, floats, _grow_rows(rare, len(integers)) if len(rare) else rare)

    def _expect_rare(self, cells: Cells, begin: int, end: int) -> None:
        """Make room for rare records, one for each row, if the events from begin to end may need them."""
        if self._aggregates and not len(self._sums.rare) and count_rare(self._plan.aggregates, cells, begin, end):
            self._sums = self._sums._replace(rare=_grow_rows(self._sums.rare, len(self._sums.integers)))

    def _tidy(self) -> None:
        """Elements of runs that are gone are dropped once there are many."""
        if self._counters[NODES_USED] > self.tidy_at:
            tables, held = self._lay_runs()
            left = compact_nodes(tables, int(self._counters[NODES_USED]))
            del held
            self._counters[NODES_USED] = left
            self.tidy_at = 2 * left + SPARE_NODES


def _grow_rows(rows: npt.NDArray[Any], needed: int, what: str = "partial matches") -> npt.NDArray[Any]:
    """At least so many rows, twice as many as before if there must be more."""
    if needed <= len(rows):
        return rows
    width = max(1, int(np.prod(rows.shape[1:])))
    if needed * width > MOST_CELLS:
        raise TooMany(f"has more {what} than there is room for", COSTLY_HINT)
    count = min(max(needed, 2 * len(rows)), max(needed, MOST_CELLS // width))
    wider = _align_rows(count, rows)
    wider[: len(rows)] = rows
    return wider


def _align_rows(count: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Zeros from a cache line's beginning on: a row of eight numbers is then one line, not parts of two."""
    size = count * int(np.prod(like.shape[1:]))
    room = np.zeros(size + 8, dtype=like.dtype)
    begin = -(room.__array_interface__["data"][0] // 8) % 8
    return room[begin : begin + size].reshape(count, *like.shape[1:])
