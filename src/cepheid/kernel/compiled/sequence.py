"""SEQ, compiled: chains of candidates per key, and partial matches that wait for their next event.

`skip_till_any` waits for nothing: when an event can end a sequence, candidates for the steps before it are walked
backwards along chains, latest first, until WITHIN cuts them off.  Each event in a chain remembers where the
chain of the step before stood when it arrived, so a walk never meets events that came too late.  An event
that ends nothing costs one link, whatever the window holds.

The other strategies keep one partial match per first event and offer it each new event of its key: taken if it
fits, skipped (`skip_till_next`) or fatal (`strict`, `partition_contiguity`) if not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from cepheid.errors import InvalidQuery, PatternTooCostly
from cepheid.kernel.columns import Events, Int64s, Interner
from cepheid.kernel.compiled.cell_store import CellStore, GrowingRows, append_times
from cepheid.kernel.compiled.columnar import find_true
from cepheid.kernel.compiled.evaluate import Cells, Machine, build_machine, check_trouble, holds
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.expression import Expression, list_cells
from cepheid.kernel.matches import Matches, table_matches
from cepheid.kernel.pattern import SequenceProgram

NEVER = np.iinfo(np.int64).max
MOST_STEPS = 62
MOST_BOUND = 300_000_000  # events in all sequences of one batch: 2.4 GB
_ANY, _NEXT, _CONTIGUOUS = range(3)


class Plan(NamedTuple):
    """The program of a sequence as numbers.

    Joint conditions, which look at several events, are sorted by the step at which all of these are bound:
    joint[step]:joint[step + 1].
    """

    steps: int
    mode: int
    within: int
    streams: Int64s  # [steps]; -1: there is one stream
    joint: Any  # int32[steps + 1], numbers of conditions
    step_of: Int64s  # [positions] the step a position reads


class CompiledSequence:
    """The operator: feed it events in order, get the sequences they complete."""

    def __init__(self, program: SequenceProgram, interner: Interner) -> None:
        if len(program.steps) > MOST_STEPS:
            raise InvalidQuery(f"SEQ can have at most {MOST_STEPS} steps, this one has {len(program.steps)}")
        self._program = program
        self._variables = tuple(step.variable for step in program.steps)
        self._interner = interner
        writer = CodeWriter(interner)
        mode = {"skip_till_any": _ANY, "skip_till_next": _NEXT}.get(program.strategy, _CONTIGUOUS)
        self._alone, joint = _write_conditions(program, writer, backwards=mode == _ANY)
        self._code = writer.finish()
        self._cells = CellStore(writer)
        self._times = GrowingRows(1, np.int64)
        numbers = {step.variable: number for number, step in enumerate(program.steps)}
        steps = len(program.steps)
        self._plan = Plan(
            steps=steps,
            mode=mode,
            within=NEVER if program.within is None else program.within,
            streams=np.array([step.stream for step in program.steps], dtype=np.int64),
            joint=np.array(joint, dtype=np.int32),
            step_of=np.array([numbers[position.variables[0]] for position in writer.positions] or [0], dtype=np.int64),
        )
        chains = steps - 1 if mode == _ANY else 0
        self._links = GrowingRows(max(1, chains), np.int64)
        self._entries = GrowingRows(max(1, chains - 1), np.int64)
        self._heads = np.full((max(1, chains), 16), -1, dtype=np.int64)
        self._partials = _Partials(steps)

    @property
    def seen(self) -> int:
        """How many events have been taken in; the next one gets this index."""
        return self._times.used

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:  # noqa: ARG002
        """Take in events; give out the sequences that they complete, whatever is still to come."""
        base = self.seen
        cells = self._cells.append(events)
        times = append_times(self._times, events.times)
        if not len(events):
            return table_matches(self._variables, np.empty((0, self._plan.steps), dtype=np.int64))
        machine = build_machine(self._code, self._interner.ranks())
        self._grow_keys(int(events.keys.max()) + 1)
        plan = self._plan
        plays = self._find_plays(events)
        if plan.mode == _ANY:
            self._links.extend(len(events))
            if plan.steps > 2:
                self._entries.extend(len(events))
            found = _chain_events(
                events.keys, plays, base, plan, machine, cells, times,
                self._links.data, self._entries.data, self._heads,
            )  # fmt: skip
        else:
            found = self._partials.advance(events.keys, plays, base, plan, machine, cells, times)
        check_trouble(machine)
        if found.size >= MOST_BOUND:
            raise PatternTooCostly(
                f"SEQ found more than {len(found):,} sequences in one batch",
                hint="shorten WITHIN, add conditions between the events, or use STRATEGY skip_till_next",
            )
        return table_matches(self._variables, found)

    def replay(self, events: Events, taken: npt.NDArray[np.bool_], partials: bytes, horizon: int) -> None:  # noqa: ARG002
        """Take in the events a snapshot kept; what they complete was given out before."""
        self.step(events, 0)

    def live(self, horizon: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """bool[seen]: can the event still take part in a sequence; bool[seen]: did a match consume it."""
        taken = np.zeros(self.seen, dtype=np.bool_)
        if self._program.within is None:
            return np.ones(self.seen, dtype=np.bool_), taken
        return horizon - self._times.view[0] <= self._program.within, taken

    def keep_partials(self, kept: npt.NDArray[np.bool_]) -> bytes:  # noqa: ARG002
        """Partial matches that cannot be told by replaying the kept events."""
        return b""

    def take_dropped(self) -> int:
        """How many partial matches were dropped since this was last asked."""
        return 0

    def _find_plays(self, events: Events) -> Int64s:
        """int64[n]: bit s says that the event alone fits step s."""
        plays = np.zeros(len(events), dtype=np.int64)
        for step, (condition, stream) in enumerate(zip(self._alone, self._plan.streams, strict=True)):
            bit = np.int64(1) << step
            if condition is None and events.streams is None:
                plays |= bit
                continue
            fits = np.ones(len(events), dtype=np.bool_)
            if condition is not None:
                fits = find_true(condition, events, self._interner)
            if events.streams is not None:
                fits = fits & (events.streams == stream)
            plays[fits] |= bit
        return plays

    def _grow_keys(self, count: int) -> None:
        size = self._heads.shape[1]
        if count > size:
            more = np.full((self._heads.shape[0], max(count, 2 * size) - size), -1, dtype=np.int64)
            self._heads = np.concatenate([self._heads, more], axis=1)
        self._partials.grow_keys(count)


def _write_conditions(
    program: SequenceProgram, writer: CodeWriter, backwards: bool
) -> tuple[list[Expression | None], list[int]]:
    """Per step the condition on its event alone; and code for the joint ones, with their bounds per step.

    Forwards a joint condition can be tested at its latest step, backwards at its earliest.
    """
    numbers = {step.variable: number for number, step in enumerate(program.steps)}
    joint: list[list[Expression]] = [[] for _ in program.steps]
    alone = [step.condition for step in program.steps]
    for part in program.joint:
        reads = {numbers[cell.position.variables[0]] for cell in list_cells(part)}
        joint[min(reads) if backwards else max(reads)].append(part)
    bounds = [0]
    for parts in joint:
        for part in parts:
            writer.add_condition(part)
        bounds.append(bounds[-1] + len(parts))
    return alone, bounds


class _Partials:
    """A pool of partial matches, listed by key in the order of their first events."""

    def __init__(self, steps: int) -> None:
        self._bound = np.zeros((64, steps), dtype=np.int64)
        self._reached = np.zeros(64, dtype=np.int64)
        self._following = np.full(64, -1, dtype=np.int64)
        self._first = np.full(16, -1, dtype=np.int64)
        self._last = np.full(16, -1, dtype=np.int64)
        self._free = -1
        self._used = 0

    def grow_keys(self, count: int) -> None:
        size = len(self._first)
        if count > size:
            more = np.full(max(count, 2 * size) - size, -1, dtype=np.int64)
            self._first = np.concatenate([self._first, more])
            self._last = np.concatenate([self._last, more])

    def advance(
        self, keys: Int64s, plays: Int64s, base: int, plan: Plan, machine: Machine, cells: Cells, times: Int64s
    ) -> npt.NDArray[np.int64] | None:
        pool = (self._bound, self._reached, self._following, self._first, self._last)
        self._bound, self._reached, self._following, self._free, self._used, found = _advance_partials(
            keys, plays, base, plan, machine, cells, times, *pool, self._free, self._used
        )
        result: npt.NDArray[np.int64] = found
        return result


@njit(cache=True)
def _fits_jointly(
    step: int, bound: Int64s, joint: Any, step_of: Int64s, where: Int64s, machine: Machine, cells: Cells
) -> bool:
    """Do all conditions hold that can be tested once `step` is bound?"""
    rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank, facts_i, facts_f, facts_valid = machine
    cells_i, cells_i_valid, cells_f, cells_f_valid = cells
    for position in range(where.shape[0]):
        where[position] = bound[step_of[position]]
    for condition in range(joint[step], joint[step + 1]):
        if not holds(
            condition, where, rows, bounds, integers, floats, ranks, ri, rf, rv, trouble, by_rank,
            facts_i, facts_f, facts_valid, cells_i, cells_i_valid, cells_f, cells_f_valid,
        ):  # fmt: skip
            return False
    return True


@njit(cache=True)
def _chain_events(
    keys: Int64s, plays: Int64s, base: int, plan: Plan, machine: Machine, cells: Cells, times: Int64s,
    links: Any, entries: Any, heads: Any,
) -> Any:  # fmt: skip
    """skip_till_any: link each event into the chains of the steps it can play; walk back where it ends one.

    links[step, event]: the event before it in the chain of that step; entries[step, event]: where the chain
    of `step` stood when the event arrived, for events that can play step + 1.
    """
    steps, _, within, _, joint, step_of = plan
    last = steps - 1
    where = np.full(step_of.shape[0], -1, dtype=np.int64)
    bound = np.full(steps, -1, dtype=np.int64)
    cursor = np.full(steps, -1, dtype=np.int64)
    found = np.empty((256, steps), dtype=np.int64)
    count = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        played = plays[i]
        if key < 0 or played == 0:
            continue
        event = base + i
        if (played >> last) & 1:
            bound[last] = event
            earliest = times[event] - within if within != NEVER else -NEVER
            step = last - 1
            if last == 0:
                found, count = _store(found, count, bound)
            else:
                cursor[step] = heads[step, key]
            while step < last:
                candidate = cursor[step]
                if candidate < 0 or times[candidate] < earliest:
                    step += 1
                    continue
                cursor[step] = links[step, candidate]
                bound[step] = candidate
                if joint[step] < joint[step + 1] and not _fits_jointly(
                    step, bound, joint, step_of, where, machine, cells
                ):
                    continue
                if step == 0:
                    found, count = _store(found, count, bound)
                    if count * steps >= MOST_BOUND:
                        return found[:count]
                else:
                    step -= 1
                    cursor[step] = entries[step, candidate]
        for step in range(last - 1, -1, -1):
            if (played >> step) & 1:
                if step > 0:
                    entries[step - 1, event] = heads[step - 1, key]
                links[step, event] = heads[step, key]
                heads[step, key] = event
    return found[:count]


@njit(cache=True)
def _store(found: Any, count: int, bound: Int64s) -> Any:
    if count == found.shape[0]:
        wider = np.empty((2 * count, found.shape[1]), dtype=np.int64)
        wider[:count] = found
        found = wider
    found[count] = bound
    return found, count + 1


@njit(cache=True)
def _advance_partials(
    keys: Int64s, plays: Int64s, base: int, plan: Plan, machine: Machine, cells: Cells, times: Int64s,
    bound: Any, reached: Int64s, following: Int64s, first: Int64s, last: Int64s, free: int, used: int,
) -> Any:  # fmt: skip
    """Offer each event to the partial matches of its key, then let it begin one of its own."""
    steps, mode, within, _, joint, step_of = plan
    where = np.full(step_of.shape[0], -1, dtype=np.int64)
    found = np.empty((256, steps), dtype=np.int64)
    count = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        if key < 0:
            continue
        event = base + i
        played = plays[i]
        before, partial = -1, first[key]
        while partial >= 0:
            after = following[partial]
            step = reached[partial]
            stays = within == NEVER or times[event] - times[bound[partial, 0]] <= within
            if stays:
                bound[partial, step] = event
                taken = (played >> step) & 1 and (
                    joint[step] == joint[step + 1]
                    or _fits_jointly(step, bound[partial], joint, step_of, where, machine, cells)
                )
                if taken:
                    reached[partial] = step + 1
                    if step + 1 == steps:
                        found, count = _store(found, count, bound[partial])
                        stays = False
                elif mode == _CONTIGUOUS:
                    stays = False
            if stays:
                before = partial
            else:
                if before < 0:
                    first[key] = after
                else:
                    following[before] = after
                if after < 0:
                    last[key] = before
                following[partial] = free
                free = partial
            partial = after
        if not played & 1:
            continue
        if free >= 0:
            partial, free = free, following[free]
        else:
            if used == reached.shape[0]:
                wider = np.zeros((2 * used, steps), dtype=np.int64)
                wider[:used] = bound
                bound = wider
                reached = np.concatenate((reached, np.zeros(used, dtype=np.int64)))
                following = np.concatenate((following, np.full(used, -1, dtype=np.int64)))
            partial = used
            used += 1
        bound[partial, 0] = event
        if steps == 1:
            found, count = _store(found, count, bound[partial])
            following[partial] = free
            free = partial
            continue
        reached[partial] = 1
        following[partial] = -1
        if last[key] < 0:
            first[key] = partial
        else:
            following[last[key]] = partial
        last[key] = partial
    return bound, reached, following, free, used, found[:count]
