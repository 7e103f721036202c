"""From a row pattern to the instructions a matcher runs, most preferred path first.

    (a | b)+ c        0 split 1 3      prefer a
                      1 consume a
                      2 jump 4
                      3 consume b
                      4 split 0' 5     greedy: once more before going on   (copies: see below)
                      ...

`split x y` tries x, and y only if everything after x failed; so the order of trying is SQL:2016's order of
preferment.  Bounded quantifiers are written out as copies, which leaves no counters to remember.  A part
that can match nothing is guarded inside a loop: `save` remembers where an iteration began, and `check` leaves
the repetition if the iteration that just ended took no event; without that, `(a?)*` would never end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import numpy.typing as npt

from cepheid.errors import InvalidQuery
from cepheid.kernel.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    EmptyPattern,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Term,
    list_terms,
    show_pattern,
)

CONSUME, SPLIT, JUMP, SAVE, CHECK, ACCEPT = range(6)
INSTRUCTION_NAMES = ("consume", "split", "jump", "save", "check", "accept")
MOST_INSTRUCTIONS = 20_000


@dataclass(frozen=True, slots=True)
class Automaton:
    """instructions: int32[n, 3] (operation, first, second operand); `slots`: how many loops need a guard."""

    variables: tuple[str, ...]
    instructions: npt.NDArray[np.int32]
    slots: int


@dataclass
class _Writer:
    pattern: RowPattern
    numbers: dict[str, int]
    rows: list[list[int]] = field(default_factory=list)
    slots: int = 0

    def emit(self, operation: int, first: int = 0, second: int = 0) -> int:
        if len(self.rows) >= MOST_INSTRUCTIONS:
            raise InvalidQuery(
                f"PATTERN ({show_pattern(self.pattern)}) is too large: it writes out to more than "
                f"{MOST_INSTRUCTIONS} instructions",
                hint="use * or + instead of a very large upper bound",
            )
        self.rows.append([operation, first, second])
        return len(self.rows) - 1

    def write(self, pattern: RowPattern) -> None:
        match pattern:
            case Term(variable=variable):
                self.emit(CONSUME, self.numbers[variable])
            case Concatenation(items=items):
                for item in items:
                    self.write(item)
            case Alternation(options=options):
                self.write_alternation(options)
            case Repetition():
                self.write_repetition(pattern)
            case Permutation(items=items):
                self.write_alternation(tuple(Concatenation(order) for order in permutations(items)))
            case Exclusion(item=item):
                self.write(item)
            case EmptyPattern():
                pass
            case Anchor():
                raise AssertionError("the binder refuses anchors")

    def write_alternation(self, options: tuple[RowPattern, ...]) -> None:
        exits = []
        for option in options[:-1]:
            split = self.emit(SPLIT)
            self.rows[split][1] = len(self.rows)
            self.write(option)
            exits.append(self.emit(JUMP))
            self.rows[split][2] = len(self.rows)
        self.write(options[-1])
        for jump in exits:
            self.rows[jump][1] = len(self.rows)

    def write_repetition(self, repetition: Repetition) -> None:
        guard = None
        if is_nullable(repetition.item):
            guard, self.slots = self.slots, self.slots + 1
        leaving: list[tuple[int, int]] = []  # (instruction, operand) to point behind the repetition
        for count in range(1, repetition.least + 1):
            self.write_iteration(repetition, guard if count == repetition.least else None, leaving)
        if repetition.most is None:
            loop = self.write_choice(repetition, leaving)
            self.write_iteration(repetition, guard, leaving)
            self.emit(JUMP, loop)
        else:
            for _ in range(repetition.least, repetition.most):
                self.write_choice(repetition, leaving)
                self.write_iteration(repetition, guard, leaving)
        for instruction, operand in leaving:
            self.rows[instruction][operand] = len(self.rows)

    def write_choice(self, repetition: Repetition, leaving: list[tuple[int, int]]) -> int:
        """Once more or leave: a greedy repetition prefers the former, a reluctant one the latter."""
        split = self.emit(SPLIT)
        more, leave = (1, 2) if repetition.greedy else (2, 1)
        self.rows[split][more] = len(self.rows)
        leaving.append((split, leave))
        return split

    def write_iteration(self, repetition: Repetition, guard: int | None, leaving: list[tuple[int, int]]) -> None:
        if guard is None:
            self.write(repetition.item)
            return
        self.emit(SAVE, guard)
        self.write(repetition.item)
        leaving.append((self.emit(CHECK, guard), 2))


def build_automaton(pattern: RowPattern) -> Automaton:
    """Number the variables by first appearance and write the instructions."""
    variables = tuple(dict.fromkeys(term.variable for term in list_terms(pattern)))
    writer = _Writer(pattern, {variable: number for number, variable in enumerate(variables)})
    writer.write(pattern)
    writer.emit(ACCEPT)
    return Automaton(variables, np.array(writer.rows, dtype=np.int32), writer.slots)


def is_nullable(pattern: RowPattern) -> bool:
    """Can it match no event at all?"""
    match pattern:
        case Term():
            return False
        case Concatenation(items=parts) | Permutation(items=parts):
            return all(is_nullable(part) for part in parts)
        case Alternation(options=options):
            return any(is_nullable(option) for option in options)
        case Repetition(item=item, least=least):
            return least == 0 or is_nullable(item)
        case Exclusion(item=item):
            return is_nullable(item)
    return True


def longest_match(pattern: RowPattern) -> int | None:
    """The most events one match can take; None: there is no bound."""
    match pattern:
        case Term():
            return 1
        case Concatenation(items=parts) | Permutation(items=parts):
            lengths = [longest_match(part) for part in parts]
            return None if None in lengths else sum(length or 0 for length in lengths)
        case Alternation(options=options):
            lengths = [longest_match(option) for option in options]
            return None if None in lengths else max(length or 0 for length in lengths)
        case Repetition(item=item, most=most):
            length = longest_match(item)
            if length == 0:
                return 0
            return None if most is None or length is None else most * length
        case Exclusion(item=item):
            return longest_match(item)
    return 0
