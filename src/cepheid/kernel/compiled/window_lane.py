"""Windows for a few events at a time: take them in, let the policy write its steps, and carry them out.

    take_in ─▶ slide_events (window_sliding.py) ─▶ banks (laid_banks.py) ─▶ records of rows (row_records.py)

That is one call of compiled code for sliding windows whose aggregates can be laid out; other policies and aggregates do
in turn what they do for large batches.  The state is that of `CompiledWindows` either way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Flags, Int64s
from cepheid.kernel.compiled.array_table import flags, int_table, ints, lay_out
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.row_records import NO_CELLS, write_records
from cepheid.kernel.compiled.sliding_policy import SlidingPolicy
from cepheid.kernel.compiled.step_buffer import (
    ANSWER_COUNT,
    DONE,
    END,
    EVALUATION,
    EVENT,
    GROUP,
    MOMENT,
    ROW_COUNT,
    START,
    STEP_COUNT,
    StepBuffer,
)
from cepheid.kernel.compiled.take_in import COUNT, NOTHING, OUTCOME, REACHED, SHIFT, SOMETHING, STATE, encode, take_in
from cepheid.kernel.compiled.tests_alone import Target
from cepheid.kernel.compiled.window_aggregates.laid_banks import (
    ALL_DONE,
    PROGRESS,
    LaidBanks,
    lay_banks,
    run_laid_banks,
)
from cepheid.kernel.compiled.window_policy import rank_of, read_steps
from cepheid.kernel.compiled.window_rows import write_rest, write_rows
from cepheid.kernel.compiled.window_sliding import CURSOR, Sliding, slide_events
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import AnswerColumn, WindowRows

(
    PLAN, NUMBERS, TIMES, GROUPS, NEXTS, KEY_TABLE, GROUP_TABLE, HEAP, ORDER, STEPS, SLOTS, ITEMS, ROWS, SIZES, KEYS,
    OPENS, NEW_KEYS, NEW_GROUPS, BANKS, CELLS,
) = range(20)  # fmt: skip
"""Places of the table."""

MOST_ROWS = 4096  # answers that are given at once
STOPPED, SHORT = 3, 4
"""What came of a push, besides NOTHING and SOMETHING: the policy has not written all, or there are no banks here; a
bank stopped."""


_NO_BANKS: Int64s = np.zeros((0, PROGRESS + 1), dtype=np.int64)
_NO_FLAGS: Flags = np.zeros(0, dtype=np.uint8)


@njit()
def sliding_at(tables: Int64s) -> Sliding:
    return Sliding(
        ints(tables, PLAN), ints(tables, NUMBERS), ints(tables, TIMES), ints(tables, GROUPS), ints(tables, NEXTS),
        int_table(tables, KEY_TABLE), int_table(tables, GROUP_TABLE), int_table(tables, HEAP), int_table(tables, ORDER),
    )  # fmt: skip


@njit()
def answer_steps(tables: Int64s) -> int:
    """Let the banks carry out the steps, and write the rows; gives an outcome (take_in.py), or which bank stopped."""
    sizes = ints(tables, SIZES)
    steps, rows = sizes[STEP_COUNT], sizes[ROW_COUNT]
    if steps:
        number = run_laid_banks(
            int_table(tables, BANKS), flags(tables, STEPS)[:steps], ints(tables, SLOTS), ints(tables, ITEMS), rows
        )
        if number != ALL_DONE:
            return encode(SHORT, number)
    return encode(SOMETHING, rows, write_records(int_table(tables, CELLS), rows)) if rows else NOTHING


@njit()
def push_slides(intake: Int64s, tables: Int64s, begin: int, count: int) -> int:
    """An outcome: of STOPPED why, of SHORT the number of the bank, else the number of rows."""
    count = take_in(intake, begin, count)
    if count < 0:
        return count
    keys, groups = ints(tables, KEYS), ints(tables, GROUPS)
    new_keys, new_groups = ints(tables, NEW_KEYS), ints(tables, NEW_GROUPS)
    for i in range(count):
        keys[begin + i] = new_keys[i]
        groups[begin + i] = new_groups[i]
    sizes, banks = ints(tables, SIZES), int_table(tables, BANKS)
    sizes[STEP_COUNT], sizes[ROW_COUNT], sizes[ANSWER_COUNT] = 0, 0, 0
    ints(tables, NUMBERS)[CURSOR] = begin
    buffer = StepBuffer(flags(tables, STEPS), ints(tables, SLOTS), ints(tables, ITEMS), int_table(tables, ROWS), sizes)
    now = 2 * ints(intake, STATE)[REACHED]
    stopped = slide_events(sliding_at(tables), keys, flags(tables, OPENS), begin, begin + count, now, buffer)
    if stopped != DONE or not banks.shape[0] or sizes[ANSWER_COUNT] > MOST_ROWS:
        return encode(STOPPED, stopped)
    for number in range(banks.shape[0]):
        banks[number, PROGRESS] = 0
    return answer_steps(tables)


class WindowLane:
    """dtypes: of the columns that are aggregated; keys, groups: int64[room], where numbers of the events at hand are
    written; `list_cells`: what rows are made of (row_records.py), if they are written here."""

    def __init__(self, windows: CompiledWindows, dtypes: dict[str, Any], keys: Int64s, groups: Int64s) -> None:
        parts = windows.only
        assert parts is not None, "there is one program, and it keeps events"
        self._policy, self._maker, self._store = parts
        self._keys, self._groups = keys, groups
        self._dtypes = dtypes
        self._store.open_columns(dtypes)
        policy = self._policy
        slides = isinstance(policy, SlidingPolicy) and policy.can_be_laid_out and self._maker.is_plain
        self._sliding = policy if slides and isinstance(policy, SlidingPolicy) else None
        self._banks: LaidBanks | None = None
        if self._sliding is not None:
            self._banks = lay_banks(self._maker.banks, self._store, self._sliding.slot_count, MOST_ROWS)
        self.list_cells: Callable[[], npt.NDArray[np.int64]] = lambda: NO_CELLS
        self.state: Int64s = np.zeros(0, dtype=np.int64)  # of the intake
        self._held: list[npt.NDArray[Any]] = []
        self._found: WindowRows | None = None
        self._tables: Int64s = np.zeros(0, dtype=np.int64)

    @property
    def answers(self) -> list[tuple[Int64s, Flags]]:
        """Of each aggregate: its values as 64-bit words, and validity; empty if they are not written here."""
        return [] if self._banks is None else self._banks.answers

    @property
    def indices(self) -> tuple[Int64s, Int64s]:
        """The groups of rows, and their events."""
        return self._maker.buffer.rows[GROUP], self._maker.buffer.rows[EVENT]

    # --- arrays ------------------------------------------------------------------------------------------
    def stored_targets(self) -> list[Target]:
        columns = [(name, self._store.column(name)) for name in self._dtypes]
        return [Target("_time", self._store.times), *(Target(name, each.values, each.valid) for name, each in columns)]

    def local_targets(self) -> list[Target]:
        return []

    @property
    def is_stale(self) -> bool:
        return False

    def catch_up(self) -> None:
        """Events came another way: there is nothing here that would depend on it."""

    def make_room(self, keys: int, count: int) -> bool:
        self._store.make_room(count)
        self._policy.make_room(keys, keys)
        if self._sliding is not None:
            self._sliding.lay_tables(self._store, count)
        return True

    @property
    def room(self) -> int:
        return self._store.room if self._sliding is None else min(self._store.room, self._sliding.room)

    def lay_out(self) -> None:
        if self._sliding is None:
            return
        store, buffer = self._store, self._maker.buffer
        state = self._sliding.lay_tables(store, 0)
        if self._banks is not None:
            laid = self._banks.lay_out(self._sliding.slot_count, store)
            assert laid, "a bank that was laid out can be again"
        banks = _NO_BANKS if self._banks is None else self._banks.table
        self._held = [*state, *buffer, store.keys, _NO_FLAGS, self._keys, self._groups, banks, self.list_cells()]
        self._tables = lay_out(self._held)

    # --- events ------------------------------------------------------------------------------------------
    def push(self, intake: Int64s, begin: int, count: int) -> int:
        """Take in events: what came of it (take_in.py)."""
        self._found = None
        if self._sliding is None:
            return self._push_any(intake, begin, count)
        outcome: int = push_slides(intake, self._tables, begin, count)
        if outcome <= 0:
            return outcome
        self._store.count = begin + int(self.state[COUNT])
        return outcome if outcome & OUTCOME <= SOMETHING else self._go_on(outcome, begin)

    def _go_on(self, outcome: int, begin: int) -> int:
        """The kernel stopped."""
        while outcome & OUTCOME == SHORT:
            assert self._banks is not None, "one of them stopped"
            self._banks.grow(outcome >> SHIFT)
            self.lay_out()
            outcome = answer_steps(self._tables)
        if outcome & OUTCOME != STOPPED:
            return outcome
        if outcome >> SHIFT == DONE:
            return self._run_banks()
        now = rank_of(int(self.state[REACHED]), final=False)
        write_rest(self._maker, self._policy, self._store, begin, now, outcome >> SHIFT)
        return self._take(changed=True)

    def _run_banks(self) -> int:
        """The policy has written all: let the banks carry it out."""
        sizes, rows = self._maker.buffer.sizes, self._maker.buffer.rows
        count = int(sizes[ROW_COUNT])
        if not count and not sizes[STEP_COUNT]:
            return NOTHING
        values = self._maker.banks.run(read_steps(self._maker.buffer, self._policy.slot_count), self._store)
        if self._banks is not None:  # they may have grown
            self.lay_out()
        self._found = _take_rows(rows, count, values)
        return SOMETHING if count else NOTHING

    def _push_any(self, intake: Int64s, begin: int, count: int) -> int:
        count = take_in(intake, begin, count)
        if count < 0:
            return count
        store, end = self._store, begin + count
        store.keys[begin:end] = self._keys[:count]
        store.groups(0)[begin:end] = self._groups[:count]
        store.count += count
        write_rows(self._maker, self._policy, store, begin, rank_of(int(self.state[REACHED]), final=False), final=False)
        return self._take(changed=False)

    def _take(self, changed: bool) -> int:
        self._found = self._maker.take(self._store)
        if changed:  # buffers and banks may have grown
            self.lay_out()
        return SOMETHING if len(self._found) else NOTHING

    def take_found(self) -> WindowRows:
        """The rows of the last push."""
        if self._found is not None:
            return self._found
        assert self._banks is not None, "the answers are here"
        count = int(self._maker.buffer.sizes[ROW_COUNT])
        return _take_rows(self._maker.buffer.rows, count, self._banks.take(count))


def _take_rows(rows: npt.NDArray[np.int64], count: int, values: tuple[AnswerColumn, ...]) -> WindowRows:
    """The first rows of a buffer, which will be written over."""
    copies = rows[: EVALUATION + 1, :count].copy()
    return WindowRows(
        copies[GROUP], copies[EVENT], copies[MOMENT], copies[START], copies[END], copies[EVALUATION], None, values
    )
