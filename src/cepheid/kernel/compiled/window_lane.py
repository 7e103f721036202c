"""Windows for a few events at a time: take them in, let the policy write its steps, and, for sums, carry them out.

    take_in ─▶ slide_events (window_sliding.py) ─▶ add_up (float_sums.py) ─▶ rows

That is one call of compiled code for sliding windows with sums, averages and deviations of one column; other policies
and aggregates do in turn what they do for large batches.  The state is that of `CompiledWindows` either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Column, Int64s
from cepheid.kernel.compiled.array_table import flags, float_table, floats, int_table, ints, lay_out
from cepheid.kernel.compiled.njit_options import njit
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
from cepheid.kernel.compiled.take_in import NOTHING, REACHED, SOMETHING, STATE, TAKEN, take_in
from cepheid.kernel.compiled.tests_alone import Target
from cepheid.kernel.compiled.window_aggregates.float_sums import OF_VARIANCES, FloatSumBank, add_up
from cepheid.kernel.compiled.window_policy import rank_of, read_steps
from cepheid.kernel.compiled.window_rows import write_rest, write_rows
from cepheid.kernel.compiled.window_sliding import CURSOR, Sliding, slide_events
from cepheid.kernel.compiled.windows import CompiledWindows
from cepheid.kernel.window import AnswerColumn, WindowRows

(
    PLAN, NUMBERS, TIMES, GROUPS, NEXTS, KEY_TABLE, GROUP_TABLE, HEAP, ORDER, STEPS, SLOTS, ITEMS, ROWS, SIZES, KEYS,
    OPENS, NEW_KEYS, NEW_GROUPS, CELLS, VALID, RECORDS, RARE, COUNTERS, COUNTS, SUMS, MEANS, DEVIATIONS,
) = range(27)  # fmt: skip
"""Places of the table; from CELLS on only where sums are added up here."""

NEVER = np.iinfo(np.int64).max
MOST_ROWS = 4096  # answers that are given at once
STOPPED, SHORT = 3, 4
"""What came of a push, besides NOTHING and SOMETHING: the policy has not written all; a sum lacks room."""


@njit()
def sliding_at(tables: Int64s) -> Sliding:
    return Sliding(
        ints(tables, PLAN), ints(tables, NUMBERS), ints(tables, TIMES), ints(tables, GROUPS), ints(tables, NEXTS),
        int_table(tables, KEY_TABLE), int_table(tables, GROUP_TABLE), int_table(tables, HEAP), int_table(tables, ORDER),
    )  # fmt: skip


@njit()
def sum_steps(tables: Int64s, done: int, is_float: bool) -> int:
    """Carry out the steps from `done` on; gives how far it came."""
    sizes = ints(tables, SIZES)
    steps = sizes[STEP_COUNT]
    return add_up(
        flags(tables, STEPS)[:steps], ints(tables, SLOTS), ints(tables, ITEMS), done, ints(tables, CELLS), is_float,
        flags(tables, VALID), float_table(tables, RECORDS), float_table(tables, RARE), ints(tables, COUNTERS),
        ints(tables, COUNTS), floats(tables, SUMS), floats(tables, MEANS), floats(tables, DEVIATIONS),
    )  # fmt: skip


@njit()
def push_slides(intake: Int64s, tables: Int64s, begin: int, count: int, adds_up: bool, is_float: bool) -> Any:
    """What came of it; and why the policy stopped, how many steps have been carried out, or the smallest count of
    values behind an answer."""
    outcome = take_in(intake, begin, count)
    if outcome != TAKEN:
        return outcome, 0
    keys, groups = ints(tables, KEYS), ints(tables, GROUPS)
    new_keys, new_groups = ints(tables, NEW_KEYS), ints(tables, NEW_GROUPS)
    for i in range(count):
        keys[begin + i] = new_keys[i]
        groups[begin + i] = new_groups[i]
    sizes = ints(tables, SIZES)
    sizes[STEP_COUNT], sizes[ROW_COUNT], sizes[ANSWER_COUNT] = 0, 0, 0
    ints(tables, NUMBERS)[CURSOR] = begin
    buffer = StepBuffer(flags(tables, STEPS), ints(tables, SLOTS), ints(tables, ITEMS), int_table(tables, ROWS), sizes)
    now = 2 * ints(intake, STATE)[REACHED]
    stopped = slide_events(sliding_at(tables), keys, flags(tables, OPENS), begin, begin + count, now, buffer)
    if stopped != DONE or not adds_up or sizes[ANSWER_COUNT] > MOST_ROWS:
        return STOPPED, stopped
    done = sum_steps(tables, 0, is_float)
    if done < sizes[STEP_COUNT]:
        return SHORT, done
    counts, least = ints(tables, COUNTS), NEVER
    for answer in range(sizes[ANSWER_COUNT]):
        least = min(least, counts[answer])
    return SOMETHING if sizes[ROW_COUNT] else NOTHING, least


class WindowLane:
    """dtypes: of the columns that are aggregated; keys, groups: int64[room], where numbers of the events at hand are
    written."""

    def __init__(self, windows: CompiledWindows, dtypes: dict[str, Any], keys: Int64s, groups: Int64s) -> None:
        parts = windows.only
        assert parts is not None, "there is one program, and it keeps events"
        self._policy, self._maker, self._store = parts
        self._keys, self._groups = keys, groups
        self._dtypes = dtypes
        self._store.open_columns(dtypes)
        bank = self._maker.banks.only
        slides = isinstance(self._policy, SlidingPolicy) and self._policy.can_be_laid_out and self._maker.is_plain
        self._sliding = self._policy if slides and isinstance(self._policy, SlidingPolicy) else None
        self._bank = bank if self._sliding is not None and isinstance(bank, FloatSumBank) else None
        self._is_float = self._bank is not None and dtypes[self._bank.column] == np.float64
        wants = (False, False, False) if self._bank is None else self._bank.wants
        self._counts = np.zeros(MOST_ROWS, dtype=np.int64)
        self._answers = [np.zeros(MOST_ROWS if wanted else 0) for wanted in wants]
        self.state: Int64s = np.zeros(0, dtype=np.int64)  # of the intake
        self._least = 0  # count of values behind an answer of the last push
        self._averages = None if self._bank is None else self._bank.single
        self._spare = 16  # rare records that there is room for
        self._held: list[npt.NDArray[Any]] = []
        self._found: WindowRows | None = None
        self._tables: Int64s = np.zeros(0, dtype=np.int64)

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
        self._held = [*state, *buffer, store.keys, np.zeros(0, dtype=np.uint8), self._keys, self._groups]
        if self._bank is not None:
            column = store.column(self._bank.column)
            assert column.valid is not None, "the columns are open"
            arrays = self._bank.lay_arrays(self._sliding.slot_count, self._spare)
            self._held += [column.values.view(np.int64), column.valid, *arrays, self._counts, *self._answers]
        self._tables = lay_out(self._held)

    # --- events ------------------------------------------------------------------------------------------
    def push(self, intake: Int64s, begin: int, count: int) -> int:
        """Take in events: NOTHING or SOMETHING came of it, or (below 1) why they were not taken in."""
        self._found = None
        self._least = 0
        if self._sliding is None:
            return self._push_any(intake, begin, count)
        adds_up = self._bank is not None
        outcome, done = push_slides(intake, self._tables, begin, count, adds_up, self._is_float)
        if outcome <= 0:
            return int(outcome)
        self._store.count += count
        while outcome == SHORT:
            self._spare *= 2
            self.lay_out()
            done = sum_steps(self._tables, done, self._is_float)
            if done == self._maker.buffer.sizes[STEP_COUNT]:
                return SOMETHING if self._maker.buffer.sizes[ROW_COUNT] else NOTHING
        if outcome != STOPPED:
            self._least = done
            return int(outcome)
        if done == DONE:
            return self._run_banks()
        now = rank_of(int(self.state[REACHED]), final=False)
        write_rest(self._maker, self._policy, self._store, begin, now, int(done))
        return self._take(changed=True)

    def _run_banks(self) -> int:
        """The policy has written all: let the banks carry it out."""
        sizes, rows = self._maker.buffer.sizes, self._maker.buffer.rows
        count = int(sizes[ROW_COUNT])
        if not count and not sizes[STEP_COUNT]:
            return NOTHING
        values = self._maker.banks.run(read_steps(self._maker.buffer, self._policy.slot_count), self._store)
        self._found = _take_rows(rows, count, values)
        return SOMETHING if count else NOTHING

    def _push_any(self, intake: Int64s, begin: int, count: int) -> int:
        outcome = int(take_in(intake, begin, count))
        if outcome != TAKEN:
            return outcome
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

    def take_quick(self) -> tuple[Int64s, Int64s, list[tuple[Any, Any]]] | None:
        """Of the last push, if sums were added up here: groups, events, and for each aggregate its values and where
        they are null (None: nowhere).  Groups and events are views: they are good until the next push."""
        if self._found is not None or self._averages is None:
            return None
        buffer = self._maker.buffer
        count = int(buffer.sizes[ROW_COUNT])
        groups, events = buffer.rows[GROUP, :count], buffer.rows[EVENT, :count]
        if self._averages == OF_VARIANCES:
            assert self._bank is not None, "the answers are here"
            (found,) = self._bank.answer(self._counts[:count], *(array[:count] for array in self._answers))
            absent = None if self._least > 1 or found.valid is None else found.valid == 0
            return groups, events, [(found.values, absent)]
        absent = None if self._least > 0 else self._counts[:count] == 0
        return groups, events, [(self._answers[self._averages][:count].copy(), absent)]

    def take_found(self) -> WindowRows:
        """The rows of the last push."""
        if self._found is not None:
            return self._found
        assert self._bank is not None, "the answers are here"
        sizes, rows = self._maker.buffer.sizes, self._maker.buffer.rows
        count = int(sizes[ROW_COUNT])
        sums, means, deviations = (array[:count].copy() for array in self._answers)
        values: tuple[Column, ...] = self._bank.answer(self._counts[:count].copy(), sums, means, deviations)
        return _take_rows(rows, count, values)


def _take_rows(rows: npt.NDArray[np.int64], count: int, values: tuple[AnswerColumn, ...]) -> WindowRows:
    """The first rows of a buffer, which will be written over."""
    copies = rows[: EVALUATION + 1, :count].copy()
    return WindowRows(
        copies[GROUP], copies[EVENT], copies[MOMENT], copies[START], copies[END], copies[EVALUATION], None, values
    )
