"""SEQ with plain steps and skip_till_any: chains of candidates per key, walked backwards.

Nothing waits: when an event can end a sequence, candidates for the steps before it are walked backwards along chains,
latest first, until WITHIN cuts them off.  Each event in a chain remembers where the chain of the step before stood when
it arrived, so a walk never meets events that came too late.  An event that ends nothing costs one link, whatever the
window holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Events, Int64s
from cepheid.kernel.compiled.cell_store import GrowingRows
from cepheid.kernel.compiled.evaluate import Cells, Machine, holds
from cepheid.kernel.compiled.njit_options import njit, njit_no_refcount
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.sequence_automaton import NEVER
from cepheid.kernel.expression import Expression, list_cells
from cepheid.kernel.matches import Matches, table_matches
from cepheid.kernel.pattern import SequenceProgram, Step

MOST_BOUND = 300_000_000  # events in all sequences of one batch: 2.4 GB


COSTLY_HINT = (
    "shorten WITHIN, add conditions between the events, use STRATEGY skip_till_next, or bound them by LIMIT PARTIALS"
)


class TooMany(Exception):
    """There is no room, or no permission, for so many matches or partial matches."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class ChainPlan(NamedTuple):
    """The program as numbers.

    Joint conditions, which look at several events, are sorted by the earliest step that they name:
    joint[step]:joint[step + 1].
    """

    steps: int
    within: int
    joint: Any  # int32[steps + 1], numbers of conditions
    step_of: Int64s  # [positions] the step a position reads


def suits_chains(program: SequenceProgram) -> bool:
    """Can the pattern be found by walking backwards: nothing repeated, absent or limited?"""
    plain = all(isinstance(item, Step) and not item.repeated for item in program.items)
    return plain and program.strategy == "skip_till_any" and not program.consume and program.limit is None


class Chains:
    """The chains of all keys."""

    def __init__(self, program: SequenceProgram, writer: CodeWriter) -> None:
        self.alone: tuple[Expression | None, ...] = tuple(step.condition for step in program.steps)
        self.streams = tuple(step.stream for step in program.steps)
        self._variables = tuple(step.variable for step in program.steps)
        numbers = {variable: number for number, variable in enumerate(self._variables)}
        joint = _write_conditions(program, numbers, writer)
        self._plan = ChainPlan(
            steps=len(program.steps),
            within=NEVER if program.within is None else program.within,
            joint=np.array(joint, dtype=np.int32),
            step_of=np.array([numbers[position.variables[0]] for position in writer.positions] or [0], dtype=np.int64),
        )
        chains = len(program.steps) - 1
        self._links = GrowingRows(max(1, chains), np.int64)
        self._entries = GrowingRows(max(1, chains - 1), np.int64)
        self._heads = np.full((max(1, chains), 16), -1, dtype=np.int64)
        self._found: npt.NDArray[np.int64] = np.empty((0, len(program.steps)), dtype=np.int64)

    def advance(self, events: Events, plays: Int64s, base: int, times: Int64s, machine: Machine, cells: Cells) -> None:
        """Take in events, in order."""
        if not len(events):
            return
        self._grow_keys(int(events.keys.max()) + 1)
        self._links.extend(len(events))
        if self._plan.steps > 2:
            self._entries.extend(len(events))
        self._found = chain_events(
            events.keys, plays, base, self._plan, machine, cells, times,
            self._links.data, self._entries.data, self._heads,
        )  # fmt: skip
        self.put_found(self._found)

    # --- a few events at a time (sequence_lane.py) ---------------------------------------------------------
    @property
    def plan(self) -> ChainPlan:
        return self._plan

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Links, entries, heads."""
        return [self._links.data, self._entries.data, self._heads]

    @property
    def room(self) -> int:
        return self._links.data.shape[1]

    def make_room(self, keys: int, count: int) -> bool:
        """For keys below a number, and `count` more events; True: arrays have changed."""
        before = (self._heads, self._links.data)
        self._grow_keys(keys)
        self._links.expect(count)
        if self._plan.steps > 2:
            self._entries.expect(count)
        return before[0] is not self._heads or before[1] is not self._links.data

    def count_up(self, count: int) -> None:
        """So many events have come past."""
        self._links.used += count
        if self._plan.steps > 2:
            self._entries.used += count

    def put_found(self, found: npt.NDArray[np.int64]) -> None:
        self._found = found
        if found.size >= MOST_BOUND:
            raise TooMany(f"found more than {len(found):,} sequences in one batch", COSTLY_HINT)

    def take_found(self, horizon: int) -> Matches:  # noqa: ARG002
        """The sequences that the last events completed: time decides nothing more about them."""
        found, self._found = self._found, self._found[:0]
        return table_matches(self._variables, found)

    def _grow_keys(self, count: int) -> None:
        size = self._heads.shape[1]
        if count > size:
            more = np.full((self._heads.shape[0], max(count, 2 * size) - size), -1, dtype=np.int64)
            self._heads = np.concatenate([self._heads, more], axis=1)


def _write_conditions(program: SequenceProgram, numbers: dict[str, int], writer: CodeWriter) -> list[int]:
    """Code for the joint conditions, each tested at the earliest step it names; gives their bounds per step."""
    joint: list[list[Expression]] = [[] for _ in program.steps]
    for part in program.joint:
        joint[min(numbers[cell.position.variables[0]] for cell in list_cells(part))].append(part)
    bounds = [0]
    for parts in joint:
        for part in parts:
            writer.add_condition(part)
        bounds.append(bounds[-1] + len(parts))
    return bounds


@njit_no_refcount
def _fits_jointly(
    step: int, bound: Int64s, joint: Any, step_of: Int64s, where: Int64s, machine: Machine, cells: Cells
) -> bool:
    """Do all conditions hold that can be tested once `step` is bound?"""
    for position in range(where.shape[0]):
        where[position] = bound[step_of[position]]
    for condition in range(joint[step], joint[step + 1]):  # noqa: SIM110 - Numba has no generators here
        if not holds(condition, where, machine, cells):
            return False
    return True


@njit()
def chain_events(
    keys: Int64s, plays: Int64s, base: int, plan: ChainPlan, machine: Machine, cells: Cells, times: Int64s,
    links: Any, entries: Any, heads: Any,
) -> Any:  # fmt: skip
    """skip_till_any: link each event into the chains of the steps it can play; walk back where it ends one.

    links[step, event]: the event before it in the chain of that step; entries[step, event]: where the chain
    of `step` stood when the event arrived, for events that can play step + 1.
    """
    steps, within, joint, step_of = plan
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


@njit()
def _store(found: Any, count: int, bound: Int64s) -> Any:
    if count == found.shape[0]:
        wider = np.empty((2 * count, found.shape[1]), dtype=np.int64)
        wider[:count] = found
        found = wider
    found[count] = bound
    return found, count + 1
