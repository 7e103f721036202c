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

    a NOT b c     0 consume a        PERMUTE(a, b)     0 split 1 4       state {}
                  1 split 4 2                          1 consume a
                  2 pass b                             2 consume b       state {a}
                  3 jump 1                             3 jump 6
                  4 consume c                          4 consume b
                                                       5 consume a       state {b}

`pass` takes an event that is no b into the gap, `until` (NOT at the end) looks ahead as long as WITHIN lasts, `span`
(NOT b FOR d) passes over events as long as d lasts; before the first event of a match that is at the start only.
A greedy `b*` of one variable is one instruction, `run b`: it takes all it can, and gives back one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from cepheid.errors import InvalidQuery
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
    Term,
    list_absences,
    list_terms,
    show_pattern,
)

INSTRUCTION_NAMES = (
    "split", "jump", "save", "check", "accept", "at_start", "at_end", "consume", "run", "pass", "until",
    "span",
)  # fmt: skip
SPLIT, JUMP, SAVE, CHECK, ACCEPT, AT_START, AT_END, CONSUME, RUN, PASS, UNTIL, SPAN = range(len(INSTRUCTION_NAMES))
FIRST_TEST = CONSUME  # from here on: instructions that look at an event
MOST_INSTRUCTIONS = 20_000
LONGEST_SHOWN = 200
FOR_EVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Automaton:
    """instructions: int64[n, 3] (operation, first, second operand); `slots`: how many loops need a guard.

    consume and run have the number of a variable, and 1 if the event is hidden ({- -}); pass, until and span have that
    of an absent variable, counted on behind the others, and span how long it lasts.
    """

    variables: tuple[str, ...]
    absent: tuple[str, ...]
    instructions: npt.NDArray[np.int64]
    slots: int


def _count_orders(items: tuple[RowPattern, ...]) -> int:
    """How much PERMUTE writes out to, at least: the sets of items, or all their orders."""
    return 2 ** len(items) if all(has_one_way(item) for item in items) else factorial(min(len(items), 20))


@dataclass
class _Writer:
    pattern: RowPattern
    numbers: dict[str, int]
    rows: list[list[int]] = field(default_factory=list)
    slots: int = 0
    hidden: int = 0  # how many {- -} are open
    first: RowPattern | None = None  # what stands at the start, if that is one part

    def emit(self, operation: int, first: int = 0, second: int = 0) -> int:
        if len(self.rows) >= MOST_INSTRUCTIONS:
            raise self.too_large("use * or + instead of a very large upper bound")
        self.rows.append([operation, first, second])
        return len(self.rows) - 1

    def too_large(self, hint: str) -> InvalidQuery:
        shown = show_pattern(self.pattern)
        shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 3]}..."
        return InvalidQuery(
            f"PATTERN ({shown}) is too large: it writes out to more than {MOST_INSTRUCTIONS} instructions", hint=hint
        )

    def write(self, pattern: RowPattern, is_last: bool = False) -> None:
        """`is_last`: nothing that takes an event comes behind it in the whole pattern."""
        match pattern:
            case Term(variable=variable):
                self.emit(CONSUME, self.numbers[variable], int(self.hidden > 0))
            case Concatenation(items=items):
                for at, item in enumerate(items):
                    self.write(item, is_last and not any(list_terms(later) for later in items[at + 1 :]))
            case Alternation(options=options):
                self.write_alternation(options, is_last)
            case Repetition():
                self.write_repetition(pattern, is_last and pattern.most == 1)
            case Permutation(items=items) if _count_orders(items) > MOST_INSTRUCTIONS:
                raise self.too_large("PERMUTE of fewer parts, or a pattern for each order that may come")
            case Permutation(items=items) if all(has_one_way(item) for item in items):
                self.write_orders(items)
            case Permutation(items=items):
                self.write_alternation(tuple(Concatenation(order) for order in permutations(items)), is_last=False)
            case Exclusion(item=item):
                self.hidden += 1
                self.write(item, is_last)
                self.hidden -= 1
            case EmptyPattern():
                pass
            case Anchor(at=place):
                self.emit(AT_START if place == "start" else AT_END)
            case Absence(variable=variable, lasting=None):
                self.write_absence(self.numbers[f"~{variable}"], is_last)
            case Absence(variable=variable, lasting=int(lasting)):
                if pattern is self.first:
                    self.emit(AT_START)
                self.emit(SPAN, self.numbers[f"~{variable}"], min(lasting, FOR_EVER))

    def write_absence(self, number: int, is_last: bool) -> None:
        if is_last:
            self.emit(UNTIL, number)
            return
        split = self.emit(SPLIT)
        self.emit(PASS, number)
        self.emit(JUMP, split)
        self.rows[split][1:] = [len(self.rows), split + 1]

    def write_orders(self, items: tuple[RowPattern, ...]) -> None:
        """Every order of items that match in one way each: what is left to do depends on the set that is done.

        The first item is preferred at each place, so that earlier orders are tried first.  (An item with several
        ways would exhaust them all for one order before the next order is tried: see the general case.)
        """
        everything = (1 << len(items)) - 1
        waiting: dict[int, list[int]] = {0: []}  # set done -> jumps that lead there
        for done in sorted(range(everything), key=lambda members: members.bit_count()):
            if done not in waiting:
                continue
            for jump in waiting[done]:
                self.rows[jump][1] = len(self.rows)
            left = [number for number in range(len(items)) if not done >> number & 1]
            for number in left:
                split = self.emit(SPLIT) if number != left[-1] else None
                if split is not None:
                    self.rows[split][1] = len(self.rows)
                self.write(items[number])
                waiting.setdefault(done | 1 << number, []).append(self.emit(JUMP))
                if split is not None:
                    self.rows[split][2] = len(self.rows)
        for jump in waiting[everything]:
            self.rows[jump][1] = len(self.rows)

    def write_alternation(self, options: tuple[RowPattern, ...], is_last: bool) -> None:
        exits = []
        for option in options[:-1]:
            split = self.emit(SPLIT)
            self.rows[split][1] = len(self.rows)
            self.write(option, is_last)
            exits.append(self.emit(JUMP))
            self.rows[split][2] = len(self.rows)
        self.write(options[-1], is_last)
        for jump in exits:
            self.rows[jump][1] = len(self.rows)

    def write_repetition(self, repetition: Repetition, is_last: bool) -> None:
        guard = None
        if is_nullable(repetition.item):
            guard, self.slots = self.slots, self.slots + 1
        leaving: list[tuple[int, int]] = []  # (instruction, operand) to point behind the repetition
        for count in range(1, repetition.least + 1):
            self.write_iteration(repetition, guard if count == repetition.least else None, leaving, is_last)
        if repetition.most is None and repetition.greedy and isinstance(repetition.item, Term):
            self.emit(RUN, self.numbers[repetition.item.variable], int(self.hidden > 0))
        elif repetition.most is None:
            loop = self.write_choice(repetition, leaving)
            self.write_iteration(repetition, guard, leaving, is_last)
            self.emit(JUMP, loop)
        else:
            for _ in range(repetition.least, repetition.most):
                self.write_choice(repetition, leaving)
                self.write_iteration(repetition, guard, leaving, is_last)
        for instruction, operand in leaving:
            self.rows[instruction][operand] = len(self.rows)

    def write_choice(self, repetition: Repetition, leaving: list[tuple[int, int]]) -> int:
        """Once more or leave: a greedy repetition prefers the former, a reluctant one the latter."""
        split = self.emit(SPLIT)
        more, leave = (1, 2) if repetition.greedy else (2, 1)
        self.rows[split][more] = len(self.rows)
        leaving.append((split, leave))
        return split

    def write_iteration(
        self, repetition: Repetition, guard: int | None, leaving: list[tuple[int, int]], is_last: bool
    ) -> None:
        if guard is None:
            self.write(repetition.item, is_last)
            return
        self.emit(SAVE, guard)
        self.write(repetition.item, is_last)
        leaving.append((self.emit(CHECK, guard), 2))


def build_automaton(pattern: RowPattern) -> Automaton:
    """Number the variables by first appearance and write the instructions."""
    variables = tuple(dict.fromkeys(term.variable for term in list_terms(pattern)))
    absent = tuple(dict.fromkeys(absence.variable for absence in list_absences(pattern)))
    names = [*variables, *(f"~{variable}" for variable in absent)]
    writer = _Writer(pattern, {name: number for number, name in enumerate(names)}, first=find_first(pattern))
    writer.write(pattern, is_last=True)
    writer.emit(ACCEPT)
    return Automaton(variables, absent, np.array(writer.rows, dtype=np.int64), writer.slots)


def find_first(pattern: RowPattern) -> RowPattern:
    """What every match begins with, as far as it is one part."""
    match pattern:
        case Concatenation(items=(first, *_)) | Exclusion(item=first):
            return find_first(first)
    return pattern


def has_one_way(pattern: RowPattern) -> bool:
    """Is there one way at most in which given events can match it?"""
    match pattern:
        case Term() | EmptyPattern() | Anchor():
            return True
        case Concatenation(items=parts):
            return all(map(has_one_way, parts))
        case Repetition(item=item, least=least, most=most):
            return least == most and has_one_way(item)
        case Exclusion(item=item):
            return has_one_way(item)
    return False


def find_beginnings(automaton: Automaton) -> set[int] | None:
    """The variables that the first event of a match can be bound to; None if a match may begin without one."""
    found: set[int] = set()
    waiting, seen = [0], {0}
    while waiting:
        at = waiting.pop()
        operation, first, second = automaton.instructions[at].tolist()
        following: tuple[int, ...] = ()
        match INSTRUCTION_NAMES[operation]:
            case "consume":
                found.add(first)
            case "split":
                following = (first, second)
            case "jump":
                following = (first,)
            case "save" | "at_start":
                following = (at + 1,)
            case "run":
                found.add(first)
                following = (at + 1,)
            case "check":
                following = (at + 1, second)
            case _:
                return None
        waiting += [place for place in following if place not in seen]
        seen.update(following)
    return found


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
    """The most events one match can take, without those of NOT b FOR d; None: there is no bound."""
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
        case Absence(lasting=None):
            return None
    return 0
