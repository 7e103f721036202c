"""Find the matches of a row pattern in one partition: SQL:2016, by depth-first search.

    pattern (a | b)* c, rows 0 1 2                         Todo: what is left to match, front first
      -> choices in order of preference, the first on top of a stack
      -> take the top one; a term that fits takes its row, one that does not is dropped
      -> the first choice with nothing left to match is the preferred match

The standard orders the matches that begin at one row by the pattern as written: the left option of an
alternation before the right one, more iterations before fewer (reluctant: fewer before more), decided from
the first row on.  That is the order in which this search meets them.  The rows of a match are neighbours, so
a match is its first row and one label per row (rows that NOT passes over have a label that names no variable).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.expression import Cell, list_leaves
from cepheid.kernel.matches import TIMED_OUT, UNMATCHED, WHOLE
from cepheid.kernel.pattern import (
    Absence,
    Alternation,
    Anchor,
    Concatenation,
    EmptyPattern,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    RowPatternProgram,
    Skip,
    Term,
    list_terms,
    show_pattern,
)
from cepheid.kernel.reference.evaluate import Ask, Bindings, Row, evaluate

STEP_BUDGET = 5_000_000


@dataclass(frozen=True, slots=True)
class RowMatch:
    """Rows of the partition by index, and the variable each is bound to; all are empty in an empty match.

    `start` is the row its search started at; `hidden` says which rows are left out of the output.  A row that is in
    no match has the fate UNMATCHED, a partial match whose time ran out TIMED_OUT; neither has a number.
    """

    start: int
    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    hidden: tuple[bool, ...] = ()
    number: int = 0
    fate: int = WHOLE


@dataclass(frozen=True, slots=True)
class Label:
    """What a row is taken as: None for a row that is passed over on the way to the next term (`NOT b`)."""

    variable: str | None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class HiddenTerm:
    """A term inside {- -}."""

    variable: str


@dataclass(frozen=True, slots=True)
class Gap:
    """`NOT b` before another term: rows may be passed over, none of them a b."""

    variable: str


@dataclass(frozen=True, slots=True)
class Pass:
    """One row that is passed over."""

    variable: str


@dataclass(frozen=True, slots=True)
class Until:
    """`NOT b` at the end: no row that follows is a b, as long as WITHIN lasts."""

    variable: str


@dataclass(frozen=True, slots=True)
class Wait:
    """`NOT b FOR d`: the rows of that time are passed over, none of them a b."""

    variable: str
    lasting: int


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition under way: what is known when it comes to the front again, after `done` iterations.

    Without an upper bound, `done` stops at the lower one: beyond it the count no longer matters.
    """

    repetition: Repetition
    done: int
    last_took_row: bool


@dataclass(frozen=True, slots=True)
class Todo:
    """What is left to match: `item` now, then `rest`.  No longer than the pattern is deep."""

    item: RowPattern | Loop | HiddenTerm | Gap | Pass | Until | Wait
    rest: Todo | None


Choice = tuple[Todo | None, int]
"""What is left to match, and how many rows were taken before it."""


def find_matches(
    program: RowPatternProgram,
    rows: Sequence[Row],
    times: Sequence[int],
    *,
    budget: int | None = None,
    ask: Ask | None = None,
) -> list[RowMatch]:
    """The matches in one partition already in order, in the order in which they start.

    Raises PatternTooCostly after `budget` (STEP_BUDGET) steps of the search, unless failures can be remembered: then
    the search from one row takes at most rows x places in the pattern.
    """
    assert len(rows) == len(times), "rows and times are of one length"
    budget = STEP_BUDGET if budget is None else budget
    search = Search(program, place_absences(program.pattern), rows, times, budget, sees_only_tested_row(program), ask)
    return find_in_frames(search) if program.frame is not None else find_in_partition(search)


def find_in_partition(search: Search) -> list[RowMatch]:
    """One search after another; where the next one starts, the skip clause says."""
    program = search.program
    found: list[RowMatch] = []
    start, search.number = 0, 1
    while start < len(search.rows):
        match = search.find_preferred(start)
        if match is not None:
            found.append(match)
            search.number += 1
            start = find_next_start(program.skip, match)
            continue
        if program.timeouts and search.timed_out is not None:
            found.append(search.timed_out)
        start += 1
    if program.unmatched:
        matched = {row for match in found for row in (match.rows or (match.start,))}
        found += [RowMatch(row, fate=UNMATCHED) for row in range(len(search.rows)) if row not in matched]
    return found


def find_in_frames(search: Search) -> list[RowMatch]:
    """WINDOW: for each row its match, if it was not skipped by the match of an earlier one and has one."""
    frame, count = search.program.frame, len(search.rows)
    assert frame is not None, "a row pattern of a WINDOW clause"
    found: list[RowMatch] = []
    next_row = 0
    for row in range(count):
        search.first = row
        told = frame.following if frame.column is None else search.rows[row][frame.column]
        search.end = count if told is None else min(count, row + int(told) + 1)
        search.failed.clear()
        match = None
        for start in range(row, search.end if frame.seek else row + 1) if row >= next_row else ():
            match = search.find_preferred(start)
            if match is not None:
                break
        if match is None:
            found.append(RowMatch(row, fate=UNMATCHED))
            continue
        to_next = not match.rows or search.program.skip.kind == "to_next"
        next_row = row + 1 if to_next else find_next_start(search.program.skip, match)
        found.append(replace(match, start=row))
    return found


@dataclass(slots=True)
class Search:
    """One partition being searched; no match can be completed from the places in `failed`.

    `first` and `end`: the rows that may be seen, those of the frame in a WINDOW clause.
    """

    program: RowPatternProgram
    pattern: RowPattern | Gap | Until | Wait
    rows: Sequence[Row]
    times: Sequence[int]
    budget: int
    remembers_failures: bool
    ask: Ask | None = None
    steps: int = 0
    number: int = 0
    first: int = 0
    end: int = field(init=False)
    timed_out: RowMatch | None = None
    failed: set[tuple[Todo, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.end = len(self.rows)

    def find_preferred(self, start: int) -> RowMatch | None:
        """The preferred match that begins at row `start`."""
        visited: set[tuple[Todo, int]] = set()
        self.timed_out = None
        # The search leaves a choice only when all that follows from it has failed, so whatever choice is on
        # top, as many labels as it had taken are still its own.
        choices: list[Choice] = [(Todo(self.pattern, None), 0)]
        labels: list[Label] = []
        while choices:
            todo, taken = choices.pop()
            del labels[taken:]
            if todo is None:
                return self.describe_match(start, labels)
            if self.is_worth_trying(todo, start + taken, visited):
                choices.extend(reversed(self.go_on(todo, start, labels)))
        # After a success, part of `visited` led to it: only what a failed start has visited has failed.
        # With WITHIN it failed for the time of this first row and may yet lead to a match for a later one.
        if self.program.within is None:
            self.failed |= visited
        return None

    def describe_match(self, start: int, labels: Sequence[Label], fate: int = WHOLE) -> RowMatch:
        """Without the rows that were passed over; it starts at its first row, if it has one."""
        bound = [(start + at, label) for at, label in enumerate(labels) if label.variable is not None]
        return RowMatch(
            bound[0][0] if bound else start,
            tuple(row for row, _ in bound),
            tuple(label.variable or "" for _, label in bound),
            tuple(label.hidden for _, label in bound),
            self.number if fate == WHOLE else 0,
            fate,
        )

    def is_worth_trying(self, todo: Todo, row: int, visited: set[tuple[Todo, int]]) -> bool:
        """False where the same was tried in vain before; counts the step where that cannot be remembered."""
        if not self.remembers_failures:
            self.count_step()
            return True
        place = (todo, row)
        is_new = place not in visited and place not in self.failed
        visited.add(place)
        return is_new

    def go_on(self, todo: Todo, start: int, labels: list[Label]) -> list[Choice]:
        """The choices that follow, the preferred one first; a term tentatively adds its label."""
        taken = len(labels)
        match todo.item:
            case Term(variable=variable) | HiddenTerm(variable=variable):
                if not self.is_in_time(start, labels) or not self.fits(start, labels, variable):
                    return []
                labels.append(Label(variable, isinstance(todo.item, HiddenTerm)))
                return [(note_row_taken(todo.rest), taken + 1)]
            case Pass(variable=variable):
                if not self.is_in_time(start, labels) or self.fits(start, labels, variable):
                    return []
                labels.append(Label(None))
                return [(todo.rest, taken + 1)]
            case Gap(variable=variable):
                return [(todo.rest, taken), (Todo(Pass(variable), todo), taken)]
            case Until(variable=variable):
                return [(todo.rest, taken)] if self.stays_away(start, labels, variable) else []
            case Wait(variable=variable, lasting=lasting):
                passed = self.count_waiting(start, labels, lasting)
                if passed is None or any(self.fits(start, labels, variable, ahead) for ahead in range(passed)):
                    return []
                labels += [Label(None)] * passed
                return [(todo.rest, taken + passed)]
        return [(option, taken) for option in list_options(todo, start + taken, len(self.rows))]

    def is_in_time(self, start: int, labels: Sequence[Label]) -> bool:
        """Is there a next row, and is it within WITHIN?  If not, the first way that is cut off here is noted."""
        row = start + len(labels)
        within = self.program.within
        if row < self.end and (within is None or self.times[row] - self.first_time(start, labels) <= within):
            return True
        partial = self.describe_match(start, labels, TIMED_OUT)
        if self.timed_out is None and partial.rows:
            self.timed_out = partial
        return False

    def first_time(self, start: int, labels: Sequence[Label]) -> int:
        """The time of the first row of the match; of the next row, if there is none yet."""
        ahead = next((at for at, label in enumerate(labels) if label.variable is not None), len(labels))
        return self.times[start + ahead]

    def count_waiting(self, start: int, labels: Sequence[Label], lasting: int) -> int | None:
        """How many rows are in the time that an absence lasts.

        It begins with the last row of the match so far, or with the first of the partition if there is none yet; then a
        search that starts elsewhere finds nothing.
        """
        taken = [start + at for at, label in enumerate(labels) if label.variable is not None]
        if not taken and start > 0:
            return None
        latest = self.times[taken[-1] if taken else 0] + lasting
        return sum(self.times[row] <= latest for row in range(start + len(labels), self.end))

    def fits(self, start: int, labels: Sequence[Label], variable: str, ahead: int = 0) -> bool:
        """Is the condition of the variable true of the next row (or one further ahead), if it is bound to it?"""
        condition = dict(self.program.conditions).get(variable)
        if condition is None:
            return True
        row = start + len(labels) + ahead
        bound = [start + at - self.first for at, label in enumerate(labels) if label.variable is not None]
        names = [label.variable for label in labels if label.variable is not None]
        seen = self.rows[self.first : self.end]
        bindings = Bindings(seen, [*bound, row - self.first], [*names, variable], self.number, self.ask)
        return evaluate(condition, bindings.read) is True

    def stays_away(self, start: int, labels: Sequence[Label], variable: str) -> bool:
        """Is no row after the match a b, up to the first row's time + WITHIN?"""
        assert self.program.within is not None, "an absence at the end needs WITHIN"
        latest = self.first_time(start, labels) + self.program.within
        following = range(start + len(labels), self.end)
        return not any(
            self.fits(start, labels, variable, ahead)
            for ahead, row in enumerate(following)
            if self.times[row] <= latest
        )

    def count_step(self) -> None:
        self.steps += 1
        if self.steps > self.budget:
            raise PatternTooCostly(
                f'pattern "{show_pattern(self.program.pattern)}" was undecided after {self.budget} steps',
                hint="bound the repetitions, as in {1,20}, or add WITHIN so that a match spans fewer rows",
            )


def place_absences(pattern: Any, is_last: bool = True) -> Any:
    """The pattern with each NOT written as what it means where it stands, and hidden terms as such."""
    match pattern:
        case Absence(variable=variable, lasting=int(lasting)):
            return Wait(variable, lasting)
        case Absence(variable=variable):
            return Until(variable) if is_last else Gap(variable)
        case Concatenation(items=items):
            ends = [is_last and all(is_empty(item) for item in items[at + 1 :]) for at in range(len(items))]
            return Concatenation(tuple(map(place_absences, items, ends)))
        case Alternation(options=options):
            return Alternation(tuple(place_absences(option, is_last) for option in options))
        case Exclusion(item=item):
            return hide_terms(place_absences(item, is_last))
        case Repetition(item=item, most=most):
            return replace(pattern, item=place_absences(item, is_last and most == 1))
    return pattern


def is_empty(pattern: RowPattern) -> bool:
    """Does it never take a row?"""
    return not list_terms(pattern)


def hide_terms(pattern: Any) -> Any:
    match pattern:
        case Term(variable=variable):
            return HiddenTerm(variable)
        case Concatenation(items=items):
            return Concatenation(tuple(map(hide_terms, items)))
        case Alternation(options=options):
            return Alternation(tuple(map(hide_terms, options)))
        case Permutation(items=items):
            return Permutation(tuple(map(hide_terms, items)))
        case Repetition(item=item):
            return replace(pattern, item=hide_terms(item))
        case Exclusion(item=item):
            return hide_terms(item)
    return pattern


def sees_only_tested_row(program: RowPatternProgram) -> bool:
    """Whether each condition reads nothing but the tested row and its neighbours in the partition.

    Then what can follow a place (what is left to match, the next row) does not depend on which labels led to
    it: the conditions to come read only rows, anchors look only at the row's index, and what a repetition has
    done so far is part of what is left.  A place that failed once fails always, and reaching it a second time
    can be cut short.  It also cannot be reached again from within itself, since a loop ends after an empty
    iteration.
    """
    return all(
        isinstance(leaf, Cell)
        and leaf.position.pick == "last"
        and leaf.position.offset == 0
        and leaf.position.variables in ((), (variable,))
        for variable, condition in program.conditions
        for leaf in list_leaves(condition)
    )


def list_options(todo: Todo, row: int, row_count: int) -> list[Todo | None]:
    """The ways to go on without taking a row, the preferred one first."""
    rest = todo.rest
    match todo.item:
        case EmptyPattern() | Concatenation(items=()):
            return [rest]
        case Anchor(at=at):
            return [rest] if row == (0 if at == "start" else row_count) else []
        case Exclusion(item=item):
            return [Todo(hide_terms(item), rest)]
        case Concatenation(items=(first, *others)):
            return [Todo(first, Todo(Concatenation(tuple(others)), rest))]
        case Alternation(options=options):
            return [Todo(option, rest) for option in options]
        case Permutation(items=items):
            return [Todo(Concatenation(order), rest) for order in permutations(items)]
        case Repetition() as repetition:
            return [Todo(Loop(repetition, done=0, last_took_row=True), rest)]
        case Loop() as loop:
            return list_loop_options(loop, rest)
    raise AssertionError(f"not a row pattern: {todo.item!r}")


def list_loop_options(loop: Loop, rest: Todo | None) -> list[Todo | None]:
    """Once more or on to the rest, in order of preference.

    An iteration that took no row ends the repetition as soon as the lower bound is reached.
    """
    repetition = loop.repetition
    done = loop.done + 1 if repetition.most is not None else min(loop.done + 1, repetition.least)
    once_more = Todo(repetition.item, Todo(Loop(repetition, done, last_took_row=False), rest))
    if loop.done < repetition.least:
        return [once_more]
    if loop.done == repetition.most or not loop.last_took_row:
        return [rest]
    return [once_more, rest] if repetition.greedy else [rest, once_more]


def note_row_taken(todo: Todo | None) -> Todo | None:
    """The same, after a row was taken: the iterations under way, at every depth, are not empty."""
    if todo is None:
        return None
    item = replace(todo.item, last_took_row=True) if isinstance(todo.item, Loop) else todo.item
    return Todo(item, note_row_taken(todo.rest))


def find_next_start(skip: Skip, match: RowMatch) -> int:
    """The row at which the search goes on after a match; after an empty one always the next row.

    (In a WINDOW clause: the first row that is not skipped.)
    """
    if not match.rows or skip.kind == "to_next":
        return match.start + 1
    if skip.kind == "past_last":
        return match.rows[-1] + 1
    return find_skip_target(skip, match)


def find_skip_target(skip: Skip, match: RowMatch) -> int:
    """The first or last row of the match that is bound to one of the variables of the skip clause."""
    clause = f"AFTER MATCH SKIP {skip.kind.replace('_', ' ').upper()} {' | '.join(skip.variables)}"
    place = f"the match that starts at row {match.start + 1} of its partition"
    targets = [row for row, label in zip(match.rows, match.labels, strict=True) if label in skip.variables]
    if not targets:
        raise MatchFailure(
            f"{clause}: {place} has no row to skip to",
            hint="make the variable mandatory in PATTERN, or use AFTER MATCH SKIP TO NEXT ROW",
        )
    target = targets[0] if skip.kind == "to_first" else targets[-1]
    if target == match.rows[0]:
        raise MatchFailure(
            f"{clause}: {place} would be found again, since that is the row to skip to",
            hint="skip to a variable that comes later in PATTERN, or use AFTER MATCH SKIP TO NEXT ROW",
        )
    return target
