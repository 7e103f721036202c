"""Find the matches of a SEQ whose steps follow one another in ways of their own, event by event.

A `Rest` is a partial match that rests in a place: the rows it took with their variables, since when it is there, and
which ways are still open.  `kernel/sequence_flow.py` says what places and ways are; here is what events and time do
with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.errors import PatternTooCostly
from cepheid.kernel.expression import Expression, list_variables
from cepheid.kernel.pattern import Absent, SequenceProgram, Step
from cepheid.kernel.reference.evaluate import Bindings, Row, evaluate
from cepheid.kernel.reference.sequence import RUN_BUDGET, Events, SequenceMatch
from cepheid.kernel.sequence_flow import AT_DEADLINE, Bar, Way

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Rest:
    """`anchor`: the row with which it was begun, or will be; `since`: the moment at which the place was reached;
    `fresh`: no event has come since."""

    place: int
    since: int
    open: frozenset[int]
    anchor: int
    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    fresh: bool = True


def find_in_flow(
    program: SequenceProgram, rows: Sequence[Row], times: Sequence[int], streams: Sequence[int]
) -> tuple[list[SequenceMatch], int]:
    """Every match, ordered by last row, then lexicographically; none is dropped."""
    follower = FlowFollower(program, Events(rows, times, streams))
    for row in range(len(rows)):
        follower.take(row)
    follower.finish()
    order = {step.variable: number for number, step in enumerate(program.steps)}

    def rank(match: SequenceMatch) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        last = match.rows[-1] if match.rows else match.start
        return last, match.rows, tuple(order[label] for label in match.labels)

    return sorted(follower.matches, key=rank), 0


class FlowFollower:
    def __init__(self, program: SequenceProgram, events: Events) -> None:
        assert program.flow is not None, "the program has a flow"
        self.program, self.events, self.flow = program, events, program.flow
        self.steps: dict[str | None, Step] = {step.variable: step for step in program.steps}
        self.absences: dict[str, Absent] = {absent.variable: absent for absent in program.absences}
        self.resting: list[Rest] = []
        self.matches: list[SequenceMatch] = []
        self.last_time: int | None = None  # of the events so far
        self.has_begun = False

    # --- the course of events -----------------------------------------------------------------------------
    def take(self, row: int) -> None:
        now = self.events.times[row]
        self.pass_time(now)
        self.last_time = now
        resting, self.resting = self.resting, []
        took_part = False
        for rest in resting:
            took = self.offer(rest, row)
            took_part = took_part or (took and self.is_inside(rest))
        if self.may_begin():
            rest = self.begin(row)
            if self.flow.begins == "always":
                self.offer(rest, row, stays=False)
            elif took_part:
                self.resting.append(rest)
            else:
                self.offer(rest, row)
        if len(self.resting) + len(self.matches) > RUN_BUDGET:
            told = "SEQ has too many partial matches for the reference twin"
            raise PatternTooCostly(told, hint="shorten WITHIN, add conditions, or match fewer events")

    def may_begin(self) -> bool:
        match self.flow.begins:
            case "always":
                return True
            case "again":
                return not any(self.is_inside(rest) for rest in self.resting)
            case "once":
                return not self.resting and all(match.timed_out for match in self.matches)
        return not self.has_begun

    def is_inside(self, rest: Rest) -> bool:
        return self.flow.begins == "once" or self.flow.places[rest.place].inside

    def begin(self, row: int) -> Rest:
        self.has_begun = True
        ways = self.flow.places[0].ways
        return Rest(0, self.events.times[row], frozenset(range(len(ways))), row)

    def offer(self, rest: Rest, row: int, stays: bool = True) -> bool:
        """Show the event to a partial match; did it take it?"""
        place = self.flow.places[rest.place]
        now = self.events.times[row]
        bars = [bar for bar in place.bars if rest.fresh or not bar.at_once]
        barred = {way for bar in bars if bar.before and self.is_barred(bar, rest, row) for way in bar.ways}
        asked = sorted(rest.open - barred)
        fitting = {number for number in asked if self.fits(rest, place.ways[number], row)}
        refused = {way for bar in bars if bar.refuses and self.is_barred(bar, rest, row) for way in bar.ways} & fitting
        asked = [number for number in asked if number not in refused or place.ways[number].contiguity == "any"]
        fitting -= refused
        taken = [number for number in sorted(fitting) if fitting.isdisjoint(place.ways[number].yields)]
        for number in taken:
            self.move(rest, place.ways[number], now, row)
        scopes = {place.ways[number].scope for number in fitting}
        left = {number for number in asked if self.stays_open(place.ways[number], fitting, scopes)}
        since = rest.since
        for bar in bars:
            if bar.before or bar.refuses or not self.is_barred(bar, rest, row):
                continue
            if bar.restarts:
                since = now
            else:
                left -= set(bar.ways)
        if stays and left:
            self.resting.append(replace(rest, open=frozenset(left), since=since, fresh=False))
        return bool(taken)

    def stays_open(self, way: Way, fitting: set[int], scopes: set[int]) -> bool:
        if not fitting.isdisjoint(way.yields):
            return False
        if way.variable is None or way.contiguity == "followed":
            return way.scope not in scopes
        return way.contiguity == "any"

    def move(self, rest: Rest, way: Way, moment: int, row: int | None) -> None:
        """Go along a way at a moment, with an event or without."""
        rows, labels = rest.rows, rest.labels
        if row is not None:
            assert way.variable is not None, "an event takes a way that asks for one"
            rows, labels = (*rows, row), (*labels, way.variable)
        place = self.flow.places[way.target]
        since = rest.since if way.keeps_moment else moment
        anchor = rest.anchor if rest.rows or row is None else row
        if place.accepts:
            self.matches.append(SequenceMatch(rows, labels, moment=moment, start=rows[0] if rows else anchor))
        if place.ways:
            self.resting.append(Rest(way.target, since, frozenset(range(len(place.ways))), anchor, rows, labels))
        if way.restart is not None:
            kept = [(at, label) for at, label in zip(rows, labels, strict=True) if label not in way.variables]
            ways = self.flow.places[way.restart].ways
            prefix = tuple(at for at, _ in kept), tuple(label for _, label in kept)
            self.resting.append(Rest(way.restart, moment, frozenset(range(len(ways))), anchor, *prefix))

    # --- the course of time -------------------------------------------------------------------------------
    def pass_time(self, now: float) -> None:
        """Let time take along what is due before `now`, and end what is too old."""
        while True:
            due = [(self.due(rest)[0], number) for number, rest in enumerate(self.resting)]
            moment, number = min(due, default=(NEVER, -1))
            if moment >= now or moment == NEVER:
                break
            rest = self.resting.pop(number)
            self.fire(rest, int(moment), self.due(rest)[1], is_end=now == NEVER)
            if len(self.resting) + len(self.matches) > RUN_BUDGET:
                told = "SEQ has too many partial matches for the reference twin"
                raise PatternTooCostly(told, hint="wait longer in EVERY ~c FOR ...")
        over = [rest for rest in self.resting if self.deadline(rest) < now]
        self.resting = [rest for rest in self.resting if self.deadline(rest) >= now]
        if self.program.timeouts:
            self.matches += [
                SequenceMatch(
                    rest.rows, rest.labels, timed_out=True, moment=int(self.deadline(rest)), start=rest.rows[0]
                )
                for rest in over
                if not self.flow.places[rest.place].accepts
            ]

    def fire(self, rest: Rest, moment: int, number: int, is_end: bool) -> None:
        place = self.flow.places[rest.place]
        way = place.ways[number]
        self.move(rest, way, moment, None)
        if way.repeats:
            goes_on = not is_end or (self.last_time is not None and moment <= self.last_time)
            left = rest.open if goes_on else rest.open - {number}
        else:
            left = frozenset(other for other in rest.open if place.ways[other].scope != way.scope)
        if left:
            since = moment if way.repeats else rest.since
            self.resting.append(replace(rest, open=left, since=since))

    def due(self, rest: Rest) -> tuple[float, int]:
        """The moment at which time takes it along, and the way; of several at one moment the first written."""
        found = [(NEVER, -1)]
        deadline = self.deadline(rest)
        for number in sorted(rest.open):
            after = self.flow.places[rest.place].ways[number].after
            if after is not None:
                moment = deadline if after == AT_DEADLINE else rest.since + after
                found.append((moment if moment <= deadline else NEVER, number))
        return min(found)

    def deadline(self, rest: Rest) -> float:
        if self.program.within is None or not rest.rows:
            return NEVER
        return self.events.times[rest.rows[0]] + self.program.within

    def finish(self) -> None:
        self.pass_time(NEVER)

    # --- conditions ---------------------------------------------------------------------------------------
    def fits(self, rest: Rest, way: Way, row: int) -> bool:
        if way.variable is None:
            return False
        step = self.steps[way.variable]
        if self.events.streams[row] != step.stream or self.events.times[row] > self.deadline(rest):
            return False
        labels = (*rest.labels, step.variable)
        due = [part for part in self.program.joint if self.is_due(part, step.variable, set(labels))]
        return self.all_hold([step.condition, *due], (*rest.rows, row), labels)

    def is_due(self, part: Expression, variable: str, bound: set[str]) -> bool:
        named = list_variables(part)
        return variable in named and named <= bound and self.flow.is_tested_at(variable, named)

    def is_barred(self, bar: Bar, rest: Rest, row: int) -> bool:
        absent = self.absences[bar.variable]
        if self.events.streams[row] != absent.stream:
            return False
        known = {*rest.labels, absent.variable}
        named = [part for part in self.program.joint if absent.variable in list_variables(part)]
        parts = [part for part in named if list_variables(part) <= known]
        if bar.refuses and len(parts) < len(named):
            return False
        return self.all_hold([absent.condition, *parts], (*rest.rows, row), (*rest.labels, absent.variable))

    def all_hold(self, conditions: list[Expression | None], rows: tuple[int, ...], labels: tuple[str, ...]) -> bool:
        read = Bindings(self.events.rows, rows, labels).read
        return all(condition is None or evaluate(condition, read) is True for condition in conditions)
