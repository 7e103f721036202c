"""Find the matches of a row pattern in one partition: SQL:2016, by depth-first search.

    pattern (a | b)* c, rows 0 1 2                         Todo: what is left to match, front first
      -> choices in order of preference, the first on top of a stack
      -> take the top one; a term that fits takes its row, one that does not is dropped
      -> the first choice with nothing left to match is the preferred match

The standard orders the matches that begin at one row by the pattern as written: the left option of an
alternation before the right one, more iterations before fewer (reluctant: fewer before more), decided from
the first row on.  That is the order in which this search meets them.  The rows of a match are neighbours, so
a match is its first row and one label per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from cepheid.errors import MatchFailure, PatternTooCostly
from cepheid.kernel.expression import list_cells
from cepheid.kernel.pattern import (
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
    show_pattern,
)
from cepheid.kernel.reference.evaluate import Bindings, Row, evaluate

STEP_BUDGET = 5_000_000


@dataclass(frozen=True, slots=True)
class RowMatch:
    """Rows of the partition by index, and the variable each is bound to; both are empty in an empty match."""

    start: int
    rows: tuple[int, ...]
    labels: tuple[str, ...]


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

    item: RowPattern | Loop
    rest: Todo | None


Choice = tuple[Todo | None, int]
"""What is left to match, and how many rows were taken before it."""


def find_matches(
    program: RowPatternProgram, rows: Sequence[Row], times: Sequence[int], *, budget: int | None = None
) -> list[RowMatch]:
    """The matches in one partition already in order, in the order in which they start.

    Raises PatternTooCostly after `budget` (STEP_BUDGET) steps of the search, unless failures can be remembered: then
    the search from one row takes at most rows x places in the pattern.
    """
    assert len(rows) == len(times), "rows and times are of one length"
    budget = STEP_BUDGET if budget is None else budget
    search = Search(program, rows, times, budget, remembers_failures=sees_only_tested_row(program))
    matches: list[RowMatch] = []
    start = 0
    while start < len(rows):
        labels = search.find_preferred(start)
        if labels is None:
            start += 1
            continue
        matches.append(RowMatch(start, tuple(range(start, start + len(labels))), labels))
        start = find_next_start(program.skip, matches[-1])
    return matches


@dataclass(slots=True)
class Search:
    """One partition being searched; no match can be completed from the places in `failed`."""

    program: RowPatternProgram
    rows: Sequence[Row]
    times: Sequence[int]
    budget: int
    remembers_failures: bool
    steps: int = 0
    failed: set[tuple[Todo, int]] = field(default_factory=set)

    def find_preferred(self, start: int) -> tuple[str, ...] | None:
        """The labels of the preferred match that begins at row `start`."""
        visited: set[tuple[Todo, int]] = set()
        # The search leaves a choice only when all that follows from it has failed, so whatever choice is on
        # top, as many labels as it had taken are still its own.
        choices: list[Choice] = [(Todo(self.program.pattern, None), 0)]
        labels: list[str] = []
        while choices:
            todo, taken = choices.pop()
            del labels[taken:]
            if todo is None:
                return tuple(labels)
            if self.is_worth_trying(todo, start + taken, visited):
                choices.extend(reversed(self.go_on(todo, start, labels)))
        # After a success, part of `visited` led to it: only what a failed start has visited has failed.
        # With WITHIN it failed for the time of this first row and may yet lead to a match for a later one.
        if self.program.within is None:
            self.failed |= visited
        return None

    def is_worth_trying(self, todo: Todo, row: int, visited: set[tuple[Todo, int]]) -> bool:
        """False where the same was tried in vain before; counts the step where that cannot be remembered."""
        if not self.remembers_failures:
            self.count_step()
            return True
        place = (todo, row)
        is_new = place not in visited and place not in self.failed
        visited.add(place)
        return is_new

    def go_on(self, todo: Todo, start: int, labels: list[str]) -> list[Choice]:
        """The choices that follow, the preferred one first; a term tentatively adds its label."""
        taken = len(labels)
        if isinstance(todo.item, Term):
            labels.append(todo.item.variable)
            fits = self.last_row_fits(start, labels)
            return [(note_row_taken(todo.rest), taken + 1)] if fits else []
        return [(option, taken) for option in list_options(todo, start + taken, len(self.rows))]

    def last_row_fits(self, start: int, labels: Sequence[str]) -> bool:
        """Whether the last label can be given to its row, the row being bound to it while it is tested."""
        row = start + len(labels) - 1
        if row >= len(self.rows):
            return False
        if self.program.within is not None and self.times[row] - self.times[start] > self.program.within:
            return False
        condition = dict(self.program.conditions).get(labels[-1])
        if condition is None:
            return True
        bound = range(start, row + 1)
        return evaluate(condition, Bindings(self.rows, bound, labels).read) is True

    def count_step(self) -> None:
        self.steps += 1
        if self.steps > self.budget:
            raise PatternTooCostly(
                f'pattern "{show_pattern(self.program.pattern)}" was undecided after {self.budget} steps',
                hint="bound the repetitions, as in {1,20}, or add WITHIN so that a match spans fewer rows",
            )


def sees_only_tested_row(program: RowPatternProgram) -> bool:
    """Whether each condition reads nothing but the tested row and its neighbours in the partition.

    Then what can follow a place (what is left to match, the next row) does not depend on which labels led to
    it: the conditions to come read only rows, anchors look only at the row's index, and what a repetition has
    done so far is part of what is left.  A place that failed once fails always, and reaching it a second time
    can be cut short.  It also cannot be reached again from within itself, since a loop ends after an empty
    iteration.
    """
    return all(
        cell.position.pick == "last" and cell.position.offset == 0 and cell.position.variables in ((), (variable,))
        for variable, condition in program.conditions
        for cell in list_cells(condition)
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
            return [Todo(item, rest)]
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
    """The row at which the search goes on after a match; after an empty one always the next row."""
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
    if target == match.start:
        raise MatchFailure(
            f"{clause}: {place} would be found again, since that is the row to skip to",
            hint="skip to a variable that comes later in PATTERN, or use AFTER MATCH SKIP TO NEXT ROW",
        )
    return target
