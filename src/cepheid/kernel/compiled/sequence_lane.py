"""SEQ for a few events at a time: take them in, see what they could be, advance; one call of compiled code.

The state is that of `CompiledSequence`, which for large batches is advanced by its own `step`: any mixture of both
gives the same matches.  Arrays are laid out once and again when one of them was replaced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s, Interner
from cepheid.kernel.compiled.array_table import (
    flag_table,
    flags,
    float_table,
    floats,
    int_table,
    ints,
    lay_out,
    small_ints,
    small_table,
)
from cepheid.kernel.compiled.evaluate import Cells, Machine, check_trouble
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.sequence import CompiledSequence
from cepheid.kernel.compiled.sequence_advance import NO_ROOM, OVER_LIMIT, advance
from cepheid.kernel.compiled.sequence_chains import ChainPlan, Chains, TooMany, chain_events
from cepheid.kernel.compiled.sequence_pool import RunPool
from cepheid.kernel.compiled.sequence_runs import COUNTERS, EARLIEST, FOUND_ROWS, NODES_USED
from cepheid.kernel.compiled.sequence_runs import TROUBLE as TROUBLE_OF_RUNS
from cepheid.kernel.compiled.take_in import COUNT, NOTHING, REACHED, SOMETHING, STATE, TROUBLED, take_in
from cepheid.kernel.compiled.tests_alone import (
    KEYS,
    PLAYS,
    TROUBLE,
    AloneTests,
    Target,
    begin_plays,
    list_targets,
    local_cells,
    test_events,
)
from cepheid.kernel.matches import Matches

STUCK, REFUSED = 3, 4
"""What came of a push, besides what take_in.py has: no room for more runs; more than are allowed."""

NO_LINKS = np.zeros(0, dtype=np.int64)


@njit()
def push_runs(
    intake: Int64s, asked: Int64s, tables: Int64s, begin: int, count: int, done: int, all_bits: int, settles: int,
    tidy_at: int,
) -> Any:  # fmt: skip
    """done: events before this one have been shown to the runs; -1: they are to be taken in first."""
    if done < 0:
        count = take_in(intake, begin, count)
        if count < 0:
            return count, done
        begin_plays(asked, count, all_bits)
        test_events(asked, 0, count, NO_LINKS)
        done = 0
    done, why = advance(ints(asked, KEYS)[:count], ints(asked, PLAYS)[:count], begin, done, tables)
    if why == OVER_LIMIT:
        return REFUSED, done
    if why == NO_ROOM:
        return STUCK, done
    if ints(asked, TROUBLE)[0] or ints(tables, TROUBLE_OF_RUNS)[0]:
        return TROUBLED, done
    counters = ints(tables, COUNTERS)
    waiting = settles and counters[EARLIEST] < ints(intake, STATE)[REACHED]
    if counters[FOUND_ROWS] or waiting or counters[NODES_USED] > tidy_at:
        return SOMETHING, done
    return NOTHING, done


(
    JOINT, STEP_OF, CODE, CODE_BOUNDS, CODE_INTEGERS, CODE_FLOATS, RANKS, REGISTERS_I, REGISTERS_F, REGISTERS_VALID,
    TROUBLE_OF_CHAINS, BY_RANK, FACTS_I, FACTS_F, FACTS_VALID, CELLS_I, CELLS_I_VALID, CELLS_F, CELLS_F_VALID, TIMES,
    LINKS, ENTRIES, HEADS,
) = range(23)  # fmt: skip
"""Places of the table for chains."""


@njit()
def push_chains(
    intake: Int64s, asked: Int64s, tables: Int64s, begin: int, count: int, all_bits: int, steps: int, within: int
) -> Any:
    count = take_in(intake, begin, count)
    plan = ChainPlan(steps, within, small_ints(tables, JOINT), ints(tables, STEP_OF))
    if count < 0:
        return count, np.empty((0, steps), dtype=np.int64)
    keys, plays = ints(asked, KEYS)[:count], ints(asked, PLAYS)[:count]
    begin_plays(asked, count, all_bits)
    test_events(asked, 0, count, NO_LINKS)
    machine = Machine(
        small_table(tables, CODE), small_ints(tables, CODE_BOUNDS), ints(tables, CODE_INTEGERS),
        floats(tables, CODE_FLOATS), ints(tables, RANKS), ints(tables, REGISTERS_I), floats(tables, REGISTERS_F),
        flags(tables, REGISTERS_VALID), ints(tables, TROUBLE_OF_CHAINS), ints(tables, BY_RANK), ints(tables, FACTS_I),
        floats(tables, FACTS_F), flags(tables, FACTS_VALID),
    )  # fmt: skip
    cells = Cells(
        int_table(tables, CELLS_I), flag_table(tables, CELLS_I_VALID), float_table(tables, CELLS_F),
        flag_table(tables, CELLS_F_VALID),
    )  # fmt: skip
    found = chain_events(
        keys, plays, begin, plan, machine, cells, ints(tables, TIMES), int_table(tables, LINKS),
        int_table(tables, ENTRIES), int_table(tables, HEADS),
    )  # fmt: skip
    if ints(asked, TROUBLE)[0] or machine.trouble[0]:
        return TROUBLED, found
    return SOMETHING if found.shape[0] else NOTHING, found


class SequenceLane:
    """keys: int64[room], where the numbers of keys are written for the events at hand; many: of several streams."""

    def __init__(self, sequence: CompiledSequence, interner: Interner, keys: Int64s, many: bool) -> None:
        self._sequence = sequence
        self._matcher = sequence.matcher
        self._interner = interner
        self._keys = keys
        self._plays = np.zeros(len(keys), dtype=np.int64)
        self._writer = CodeWriter(interner)
        tested = [(bit, test) for bit, test in enumerate(self._matcher.alone) if test is not None]
        self._tests = AloneTests(tested, interner, self._writer)
        self._all_bits = (1 << len(self._matcher.alone)) - 1
        self._local = local_cells(self._writer, len(keys))
        streams = self._matcher.streams if many else ()
        bits = [sum(1 << bit for bit, each in enumerate(streams) if each == number) for number in sorted({*streams})]
        self._stream_bits = np.array(bits, dtype=np.int64)
        self._new_streams = np.zeros(len(keys), dtype=np.int64)
        self._stores = sequence.stores
        self._held: list[npt.NDArray[Any]] = []
        self.state: Int64s = NO_LINKS  # of the intake
        self.lay_out()

    # --- arrays ------------------------------------------------------------------------------------------
    def local_targets(self) -> list[Target]:
        """What is written about the events at hand only."""
        cells = list_targets(self._writer, self._local)
        return [*cells, Target("_stream", self._new_streams)] if len(self._stream_bits) else cells

    def stored_targets(self) -> list[Target]:
        return self._sequence.list_targets()

    def catch_up(self) -> None:
        """Events came another way: there is nothing here that would depend on it."""

    @property
    def is_stale(self) -> bool:
        """Must the tables be laid out anew, because there are new strings?"""
        if self._interner.count == self._texts:
            return False
        return self._tests.is_stale or (self._sequence.uses_ranks and len(self._machine.ranks) < self._interner.count)

    def make_room(self, keys: int, count: int) -> bool:
        """For keys below a number and `count` more events; True: arrays have changed."""
        before = [store.data for store in self._stores]
        for store in self._stores:
            store.expect(count)
        changed = self._matcher.make_room(keys, count)
        return changed or any(store.data is not old for store, old in zip(self._stores, before, strict=True))

    @property
    def room(self) -> int:
        """How many events there is room for in all."""
        return min([self._matcher.room, *(store.data.shape[1] for store in self._stores)])

    def lay_out(self) -> None:
        self._texts = self._interner.count
        self._machine = self._sequence.make_machine()
        times, cells = self._sequence.view
        here = [self._keys, self._plays, self._new_streams, self._stream_bits]
        self._asked = self._tests.lay_out(self._local, here)
        if isinstance(self._matcher, RunPool):
            self._tables, self._held = self._matcher.lay_tables(times, self._machine, cells)
        else:
            plan = self._matcher.plan
            self._held = [plan.joint, plan.step_of, *self._machine, *cells, times, *self._matcher.arrays()]
            self._tables = lay_out(self._held)

    # --- events ------------------------------------------------------------------------------------------
    def push(self, intake: Int64s, begin: int, count: int) -> int:
        """Take in events: NOTHING or SOMETHING came of it, or (below 1) why they were not taken in."""
        try:
            if isinstance(self._matcher, Chains):
                outcome = self._push_chains(self._matcher, intake, begin, count)
            else:
                outcome = self._push_runs(self._matcher, intake, begin, count)
        except TooMany as problem:
            raise self._sequence.explain_cost(problem) from None
        if outcome == TROUBLED:
            self._tests.check_trouble()
            check_trouble(self._machine)
        return outcome

    def take_found(self, horizon: int) -> Matches:
        try:
            return self._sequence.take_found(horizon)
        except TooMany as problem:
            raise self._sequence.explain_cost(problem) from None
        finally:
            if isinstance(self._matcher, RunPool) and self._matcher.has_moved:
                self.lay_out()

    def _push_chains(self, chains: Chains, intake: Int64s, begin: int, count: int) -> int:
        plan = chains.plan
        outcome, found = push_chains(
            intake, self._asked, self._tables, begin, count, self._all_bits, plan.steps, plan.within
        )
        if outcome > 0:
            self._count_up(int(self.state[COUNT]))
            if outcome == SOMETHING:
                chains.put_found(found)
        return int(outcome)

    def _push_runs(self, pool: RunPool, intake: Int64s, begin: int, count: int) -> int:
        settles, tidy_at = pool.settles, pool.tidy_at
        outcome, done = push_runs(intake, self._asked, self._tables, begin, count, -1, self._all_bits, settles, tidy_at)
        if outcome <= 0:
            return int(outcome)
        count = int(self.state[COUNT])
        self._count_up(count)
        while outcome == STUCK:
            pool.grow_for(self._tables, int(self._keys[done]))
            self.lay_out()
            outcome, done = push_runs(
                intake, self._asked, self._tables, begin, count, done, self._all_bits, settles, tidy_at
            )
        if outcome == REFUSED:
            raise pool.refuse_more()
        return int(outcome)

    def _count_up(self, count: int) -> None:
        for store in self._stores:
            store.used += count
        self._matcher.count_up(count)
