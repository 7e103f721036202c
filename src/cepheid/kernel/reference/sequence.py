"""Find the matches of SEQ among the events of one key, by trying every event for every step.

    events  a0 b1 a2 b3            SEQ(a, b)
    skip_till_any                  (0,1) (0,3) (2,3)     every combination
    skip_till_next                 (0,1) (2,3)           from each a, the earliest b that fits
    strict, partition_contiguity   (0,1) (2,3)           neighbours

Matches grow one step at a time.  The strategies differ only in which events may extend a partial match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.kernel.expression import list_variables
from cepheid.kernel.pattern import SequenceProgram, Strategy
from cepheid.kernel.reference.evaluate import Bindings, Row, evaluate

Bound = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one key, of all streams together, in order: three columns of one length."""

    rows: Sequence[Row]
    times: Sequence[int]
    streams: Sequence[int]


def find_sequences(
    program: SequenceProgram, rows: Sequence[Row], times: Sequence[int], streams: Sequence[int]
) -> list[Bound]:
    """Every match as one row index per step, ordered by last row, then lexicographically."""
    assert program.steps, "a sequence has at least one step"
    assert len(rows) == len(times) == len(streams), "rows, times and streams are of one length"
    events = Events(rows, times, streams)
    matches: list[Bound] = [()]
    for _ in program.steps:
        matches = [longer for shorter in matches for longer in extend_match(program, events, shorter)]
    return sorted(matches, key=lambda match: (match[-1], match))


def extend_match(program: SequenceProgram, events: Events, bound: Bound) -> list[Bound]:
    """The partial match with its next step bound, in each way that the strategy allows."""
    candidates = list_candidates(program.strategy, bound, len(events.rows))
    longer = [(*bound, row) for row in candidates if last_row_fits(program, events, (*bound, row))]
    takes_earliest = program.strategy == "skip_till_next" and bound
    return longer[:1] if takes_earliest else longer


def list_candidates(strategy: Strategy, bound: Bound, count: int) -> range:
    """The rows that may come next, told by position alone."""
    if not bound:
        return range(count)
    after = bound[-1] + 1
    if strategy in ("strict", "partition_contiguity"):
        return range(after, min(after + 1, count))
    return range(after, count)


def last_row_fits(program: SequenceProgram, events: Events, bound: Bound) -> bool:
    """Whether the last bound row can play its step, given the rows bound before it."""
    step, row = program.steps[len(bound) - 1], bound[-1]
    if events.streams[row] != step.stream:
        return False
    if program.within is not None and events.times[row] - events.times[bound[0]] > program.within:
        return False
    labels = [step.variable for step in program.steps[: len(bound)]]
    due = [part for part in program.joint if step.variable in list_variables(part) <= set(labels)]
    conditions = due if step.condition is None else [step.condition, *due]
    return all(evaluate(part, Bindings(events.rows, bound, labels).read) is True for part in conditions)
