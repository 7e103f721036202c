"""SEQ, compiled: the operator.  How matches are found depends on what is asked.

    plain steps, skip_till_any      chains of candidates, walked backwards (sequence_chains.py)
    steps that follow one another
    in ways of their own            runs that rest in places (flow_plan.py, flow_advance.py)
    everything else                 runs of an automaton (sequence_automaton.py, sequence_runs.py)

Conditions on single events are tested on whole columns before either sees the events.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.errors import PatternTooCostly
from cepheid.event_time import BEGINNING
from cepheid.kernel.columns import Events, Int64s, Interner
from cepheid.kernel.compiled.cell_store import CellStore, GrowingRows, append_times
from cepheid.kernel.compiled.columnar import find_true
from cepheid.kernel.compiled.evaluate import Cells, Machine, build_machine, check_trouble
from cepheid.kernel.compiled.flow_plan import build_flow
from cepheid.kernel.compiled.flow_pool import FlowPool
from cepheid.kernel.compiled.register_code import CodeWriter
from cepheid.kernel.compiled.sequence_automaton import build_automaton, name_sequence
from cepheid.kernel.compiled.sequence_chains import Chains, TooMany, suits_chains
from cepheid.kernel.compiled.sequence_pool import RunPool
from cepheid.kernel.compiled.tests_alone import Target, list_targets
from cepheid.kernel.matches import Matches
from cepheid.kernel.pattern import SequenceProgram


class CompiledSequence:
    """The operator: feed it events in order, get the sequences they complete."""

    def __init__(self, program: SequenceProgram, interner: Interner) -> None:
        self._program = program
        self._interner = interner
        writer = CodeWriter(interner)
        self._matcher = _choose_matcher(program, writer)
        self._code = writer.finish()
        self._writer = writer
        self._facts = len(writer.facts)
        self._cells = CellStore(writer)
        self._times = GrowingRows(1, np.int64)
        self._horizon = BEGINNING

    @property
    def seen(self) -> int:
        """How many events have been taken in; the next one gets this index."""
        return self._times.used

    def step(self, events: Events, horizon: int, final: bool = False) -> Matches:  # noqa: ARG002
        """Take in events; give out the sequences that are settled once `horizon` is known."""
        self._horizon = horizon
        return self._advance(events, horizon)

    def replay(self, events: Events, taken: npt.NDArray[np.bool_], partials: bytes, horizon: int) -> None:  # noqa: ARG002
        """Take in the events a snapshot kept; what they complete was given out before."""
        self._horizon = horizon
        if isinstance(self._matcher, RunPool) and self._matcher.keeps_runs:
            cells, times = self._cells.append(events), append_times(self._times, events.times)
            machine = build_machine(self._code, self._interner.ranks(), self._facts)
            self._matcher.restore(events, self._find_plays(events), partials, times, machine, cells)
            return
        self._advance(events, BEGINNING)

    def live(self, horizon: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """bool[seen]: can the event still take part in a sequence; bool[seen]: did a match consume it.

        What a match took away needs no mark: the runs that are left are written by `keep_partials`.
        """
        taken = np.zeros(self.seen, dtype=np.bool_)
        if isinstance(self._matcher, FlowPool):
            return self._matcher.list_needed(self.seen, horizon), taken
        if self._program.within is not None:
            return horizon - self._times.view[0] <= self._program.within, taken
        if isinstance(self._matcher, RunPool) and self._matcher.needs_only_runs:
            return self._matcher.list_held(self.seen, horizon), taken
        return np.full(self.seen, len(self._program.terms) > 1), taken

    def find_told(self, horizon: int) -> npt.NDArray[np.bool_]:
        """bool[seen]: may the event still be told, as part of a sequence?"""
        if isinstance(self._matcher, FlowPool):
            return self._matcher.list_held(self.seen, horizon)
        return self.live(horizon)[0]

    def keep_partials(self, kept: npt.NDArray[np.bool_]) -> bytes:
        """Partial matches that cannot be had by replaying the kept events."""
        if isinstance(self._matcher, RunPool) and self._matcher.keeps_runs:
            return self._matcher.write(kept, self._horizon)
        return b""

    def take_dropped(self) -> int:
        """How many partial matches were dropped since this was last asked."""
        return self._matcher.take_dropped() if isinstance(self._matcher, RunPool) else 0

    # --- a few events at a time (sequence_lane.py) ---------------------------------------------------------
    @property
    def matcher(self) -> Chains | RunPool:
        return self._matcher

    @property
    def has_lane(self) -> bool:
        return isinstance(self._matcher, Chains) or not (
            isinstance(self._matcher, FlowPool) or self._matcher.has_aggregates
        )

    @property
    def stores(self) -> list[GrowingRows]:
        """All that grows with every event, but for those of the matcher."""
        return [self._times, *self._cells.stores]

    def make_machine(self) -> Machine:
        return build_machine(self._code, self._interner.ranks(), self._facts)

    @property
    def uses_ranks(self) -> bool:
        return self._code.uses_ranks

    def list_targets(self) -> list[Target]:
        return [Target("_time", self._times.data[0]), *list_targets(self._writer, self._cells.view)]

    @property
    def view(self) -> tuple[Int64s, Cells]:
        """Times and cells of all events, with room behind them."""
        times: Int64s = self._times.data[0]
        return times, self._cells.view

    def take_found(self, horizon: int) -> Matches:
        self._horizon = horizon
        return self._matcher.take_found(horizon)

    def explain_cost(self, problem: TooMany) -> PatternTooCostly:
        return PatternTooCostly(f"{name_sequence(self._program)} {problem}", hint=problem.hint)

    def pass_horizon(self, horizon: int) -> None:
        self._horizon = horizon

    def _advance(self, events: Events, horizon: int) -> Matches:
        base = self.seen
        cells, times = self._cells.append(events), append_times(self._times, events.times)
        machine = build_machine(self._code, self._interner.ranks(), self._facts)
        try:
            self._matcher.advance(events, self._find_plays(events), base, times, machine, cells)
            check_trouble(machine)
            return self._matcher.take_found(horizon)
        except TooMany as problem:
            raise self.explain_cost(problem) from None

    def _find_plays(self, events: Events) -> Int64s:
        """int64[n]: bit v says that the event alone fits variable v (absent ones come behind the others)."""
        plays = np.zeros(len(events), dtype=np.int64)
        for number, (condition, stream) in enumerate(zip(self._matcher.alone, self._matcher.streams, strict=True)):
            bit = np.int64(1) << number
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


def _choose_matcher(program: SequenceProgram, writer: CodeWriter) -> Chains | RunPool:
    if program.flow is not None:
        return FlowPool(program, build_flow(program, writer))
    if suits_chains(program):
        return Chains(program, writer)
    return RunPool(program, build_automaton(program, writer))
