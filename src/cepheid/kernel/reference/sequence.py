"""Find the matches of SEQ among the events of one key, by following every partial match event by event.

    events  a0 b1 a2 b3            SEQ(a, b)
    skip_till_any                  (0,1) (0,3) (2,3)     every combination
    skip_till_next                 (0,1) (2,3)           from each a, the earliest b that fits
    strict, partition_contiguity   (0,1) (2,3)           neighbours

A partial match is a `Run`: the rows it took, and the variable each is bound to.  All else is found out from these two
whenever it is asked: what the run waits for, whether an absence failed, whether it is complete.  The strategies differ
only in what becomes of a run that an event fits, and of one that it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cepheid.errors import PatternTooCostly
from cepheid.kernel.expression import Expression, list_variables
from cepheid.kernel.pattern import Absent, AnyOrder, Choice, SequenceItem, SequenceProgram, Step
from cepheid.kernel.reference.evaluate import Bindings, Row, evaluate

RUN_BUDGET = 200_000
CONTIGUOUS = ("strict", "partition_contiguity")


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of the key by index, ascending, and the variable each is bound to."""

    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()

    def extend(self, row: int, step: Step) -> Run:
        return Run((*self.rows, row), (*self.labels, step.variable))


@dataclass(frozen=True, slots=True)
class SequenceMatch:
    """A match, or a partial match whose time ran out; `moment`: when it was complete (None: with its last row);
    `start`: the row it began with, if that is not its first."""

    rows: tuple[int, ...]
    labels: tuple[str, ...]
    timed_out: bool = False
    moment: int | None = None
    start: int = -1


@dataclass(frozen=True, slots=True)
class Gap:
    """An absence, and the number of positive items before it."""

    absent: Absent
    place: int


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one key, of all streams together, in order: three columns of one length."""

    rows: Sequence[Row]
    times: Sequence[int]
    streams: Sequence[int]


def find_sequences(
    program: SequenceProgram, rows: Sequence[Row], times: Sequence[int], streams: Sequence[int]
) -> tuple[list[SequenceMatch], int]:
    """Every match, ordered by last row, then lexicographically; and how many partial matches were dropped."""
    assert program.steps, "a sequence has at least one step"
    assert len(rows) == len(times) == len(streams), "rows, times and streams are of one length"
    follower = Follower(program, Events(rows, times, streams))
    for row in range(len(rows)):
        follower.take(row)
    follower.finish()
    return sorted(follower.matches, key=lambda match: (match.rows[-1], *follower.rank(match))), follower.dropped


class Follower:
    """Takes the events one by one; `runs` are the partial matches, `waiting` those that only an absence can end."""

    def __init__(self, program: SequenceProgram, events: Events) -> None:
        self.program, self.events = program, events
        self.items: list[SequenceItem] = [item for item in program.items if not isinstance(item, Absent)]
        self.item_of = {step.variable: number for number, item in enumerate(self.items) for step in list_steps(item)}
        self.gaps = [
            Gap(item, sum(not isinstance(other, Absent) for other in program.items[:number]))
            for number, item in enumerate(program.items)
            if isinstance(item, Absent)
        ]
        self.runs: list[Run] = []
        self.waiting: list[Run] = []
        self.matches: list[SequenceMatch] = []
        self.dropped = 0

    # --- the course of events -----------------------------------------------------------------------------
    def take(self, row: int) -> None:
        self.expire(row)
        fresh: list[Run] = []
        if not (self.program.consume and self.consume(row)):
            runs, self.runs = self.runs, []
            for run in [*runs, Run()]:
                fresh += self.advance(run, row)
        self.waiting = [run for run in self.waiting if not self.ends_absence(run, row)] + fresh
        self.limit()
        if len(self.runs) + len(self.waiting) + len(self.matches) > RUN_BUDGET:
            told = "SEQ has too many partial matches for the reference twin"
            raise PatternTooCostly(told, hint="shorten WITHIN, add conditions, or match fewer events")

    def advance(self, run: Run, row: int) -> list[Run]:
        """Offer the event to a run; gives what is complete and waits for the end of an absence."""
        waiting = []
        longer = self.extensions(run, row)
        for after in longer:
            if not self.passes_absences(run, after):
                continue
            if self.is_complete(after) and self.passes_start(after):
                if any(gap.place == len(self.items) for gap in self.gaps):
                    waiting.append(after)
                else:
                    self.matches.append(SequenceMatch(after.rows, after.labels))
            loop, following = self.waits_for(after)
            if loop is not None or following:
                self.runs.append(after)
        stays = {"skip_till_any": True, "skip_till_next": not longer}.get(self.program.strategy, False)
        if run.rows and stays and not self.is_lost(run, row):
            self.runs.append(run)
        return waiting

    def consume(self, row: int) -> bool:
        """Does the event complete a match?  Then its events are gone, for this event's other runs too."""
        found = [
            after
            for run in [*self.runs, Run()]
            for after in self.extensions(run, row)
            if self.is_complete(after) and self.passes_absences(run, after) and self.passes_start(after)
        ]
        if not found:
            return False
        winner = min(found, key=self.rank)
        self.matches.append(SequenceMatch(winner.rows, winner.labels))
        others = [run for run in self.runs if not set(run.rows) & set(winner.rows)]
        if self.program.strategy in CONTIGUOUS:
            others = []  # they did not take the event
        self.runs = [run for run in others if not self.is_lost(run, row)]
        return True

    def expire(self, row: int) -> None:
        """Runs that began too long before this event."""
        if self.program.within is None:
            return
        latest = self.events.times[row] - self.program.within
        self.settle(lambda run: self.events.times[run.rows[0]] < latest, row)

    def finish(self) -> None:
        self.settle(lambda _: self.program.within is not None, len(self.events.rows))

    def settle(self, is_over: Callable[[Run], bool], row: int) -> None:
        """End the runs whose time is over when event `row` comes."""
        self.matches += [SequenceMatch(run.rows, run.labels) for run in self.waiting if is_over(run)]
        self.waiting = [run for run in self.waiting if not is_over(run)]
        if self.program.timeouts:
            self.matches += [
                SequenceMatch(run.rows, run.labels, timed_out=True)
                for run in self.runs
                if is_over(run) and not self.is_complete(run) and not self.is_barred(run, row - 1)
            ]
        self.runs = [run for run in self.runs if not is_over(run)]

    def limit(self) -> None:
        if self.program.limit is None or len(self.runs) <= self.program.limit:
            return
        if self.program.overflow == "refuse":
            told = f"SEQ has more than {self.program.limit} partial matches of one key"
            hint = "raise the limit, write DROP OLDEST behind it, shorten WITHIN, or add conditions"
            raise PatternTooCostly(told, hint=hint)
        self.runs.sort(key=self.rank)
        surplus = len(self.runs) - self.program.limit
        self.dropped += surplus
        self.runs = self.runs[surplus:]

    def rank(self, run: Run | SequenceMatch) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which of two runs began first: the one with the earlier events."""
        order = [step.variable for step in self.program.steps]
        return run.rows, tuple(order.index(label) for label in run.labels)

    # --- what a run waits for -----------------------------------------------------------------------------
    def extensions(self, run: Run, row: int) -> list[Run]:
        """The run with the event bound, in each way that the strategy allows."""
        loop, following = self.waits_for(run)
        again = [loop] if loop is not None and self.fits(run, loop, row) else []
        further = [step for step in following if self.fits(run, step, row)]
        if self.program.strategy != "skip_till_any":
            further = further[:1]
        return [run.extend(row, step) for step in [*again, *further]]

    def waits_for(self, run: Run) -> tuple[Step | None, tuple[Step, ...]]:
        """The step that may be repeated, and the steps that may follow, as written."""
        if not run.labels:
            return None, list_steps(self.items[0])
        item = self.items[self.item_of[run.labels[-1]]]
        if isinstance(item, AnyOrder) and not self.has_finished(run):
            return None, tuple(step for step in item.steps if step.variable not in run.labels)
        last = next(step for step in list_steps(item) if step.variable == run.labels[-1])
        number = self.item_of[run.labels[-1]] + 1
        following = list_steps(self.items[number]) if number < len(self.items) else ()
        return (last if last.repeated else None), following

    def has_finished(self, run: Run) -> bool:
        """Is nothing missing of the item that the run reached?"""
        item = self.items[self.item_of[run.labels[-1]]]
        return not isinstance(item, AnyOrder) or {step.variable for step in item.steps} <= set(run.labels)

    def is_complete(self, run: Run) -> bool:
        return self.count_done(run) == len(self.items)

    def count_done(self, run: Run) -> int:
        """How many items are decided: begun, or complete if they are in any order."""
        return self.item_of[run.labels[-1]] + self.has_finished(run) if run.labels else 0

    def fits(self, run: Run, step: Step, row: int) -> bool:
        events, within = self.events, self.program.within
        if events.streams[row] != step.stream:
            return False
        if within is not None and run.rows and events.times[row] - events.times[run.rows[0]] > within:
            return False
        after = run.extend(row, step)
        due = [part for part in self.program.joint if step.variable in list_variables(part) <= set(after.labels)]
        return self.all_hold([step.condition, *due], after.rows, after.labels)

    def all_hold(self, conditions: list[Expression | None], rows: tuple[int, ...], labels: tuple[str, ...]) -> bool:
        read = Bindings(self.events.rows, rows, labels).read
        return all(condition is None or evaluate(condition, read) is True for condition in conditions)

    # --- absences -----------------------------------------------------------------------------------------
    def is_absent_event(self, absent: Absent, row: int, run: Run) -> bool:
        """Is the event one that must not be there?  Conditions with variables that are not bound say nothing."""
        if self.events.streams[row] != absent.stream:
            return False
        known = {*run.labels, absent.variable}
        parts = [part for part in self.program.joint if absent.variable in list_variables(part) <= known]
        return self.all_hold([absent.condition, *parts], (*run.rows, row), (*run.labels, absent.variable))

    def names_up_to(self, gap: Gap) -> int:
        """The last item that the conditions of the absence name; -1 if none."""
        parts = [part for part in self.program.joint if gap.absent.variable in list_variables(part)]
        named = [self.item_of[name] for part in parts for name in list_variables(part) if name in self.item_of]
        return max(named, default=-1)

    def between(self) -> Iterator[Gap]:
        return (gap for gap in self.gaps if 0 < gap.place < len(self.items))

    def passes_absences(self, before: Run, after: Run) -> bool:
        """The absences between items that are judged now: as soon as all events they are held against are bound."""
        for gap in self.between():
            named = self.names_up_to(gap)
            if named < gap.place:  # at the first event behind the gap
                begun = self.item_of[before.labels[-1]] if before.labels else -1
                due = begun == gap.place - 1 and self.item_of[after.labels[-1]] == gap.place
            else:
                due = self.count_done(before) <= named < self.count_done(after)
            if due and not self.passes_between(gap, after):
                return False
        return True

    def passes_between(self, gap: Gap, run: Run) -> bool:
        places = [self.item_of[label] for label in run.labels]
        low = max(row for row, place in zip(run.rows, places, strict=True) if place < gap.place)
        high = min(row for row, place in zip(run.rows, places, strict=True) if place >= gap.place)
        return not any(self.is_absent_event(gap.absent, row, run) for row in range(low + 1, high))

    def passes_start(self, run: Run) -> bool:
        """Nothing absent before the first event, from the last event's time - WITHIN on."""
        times, within = self.events.times, self.program.within
        return not any(
            within is not None
            and times[row] >= times[run.rows[-1]] - within
            and self.is_absent_event(gap.absent, row, run)
            for gap in self.gaps
            if gap.place == 0
            for row in range(run.rows[0])
        )

    def ends_absence(self, run: Run, row: int) -> bool:
        return any(self.is_absent_event(gap.absent, row, run) for gap in self.gaps if gap.place == len(self.items))

    def is_barred(self, run: Run, row: int) -> bool:
        """Has an absence failed since the last event, up to and including `row`, for certain?"""
        return any(
            self.names_up_to(gap) < gap.place
            and gap.place == self.count_done(run)
            and self.has_finished(run)
            and any(self.is_absent_event(gap.absent, at, run) for at in range(run.rows[-1] + 1, row + 1))
            for gap in self.between()
        )

    def is_lost(self, run: Run, row: int) -> bool:
        """Barred, and not to be saved by another element."""
        loop, _ = self.waits_for(run)
        return loop is None and self.is_barred(run, row)


def list_steps(item: SequenceItem) -> tuple[Step, ...]:
    match item:
        case Step():
            return (item,)
        case Choice(options=steps) | AnyOrder(steps=steps):
            return steps
    return ()
