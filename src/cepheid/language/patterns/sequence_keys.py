"""Which equalities of WHERE make a key of SEQ: they tie all events of a match together, whichever it takes.

    a.id = b.id AND b.id = c.id       id is a key
    x? b, a.id = b.id                 id is a key, also of an a alone
    (x b | y c), a.id = b.id          no key: a and c are not tied
    a.id = b.id, ~c                   no key: c is asked of the events of every id

Events of different keys never meet, so that keys can be spread over engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import pyarrow as pa
from sqlglot import exp

from cepheid.language.expressions.decimals import exact_key, key_type
from cepheid.language.expressions.navigation import Path
from cepheid.language.expressions.scope import InputColumn
from cepheid.language.parsing.syntax import SequenceClause, SequenceItems, SequenceTerm, TermGroup
from cepheid.language.patterns.sequence_scope import SequenceScope

Named = tuple[str, str]  # variable, column
MOST_CHOICES = 256  # ways to choose among alternatives that are tried


@dataclass(frozen=True)
class KeyFinder:
    scope: SequenceScope

    def find(self, parts: list[exp.Expr]) -> tuple[int, list[exp.Expr]]:
        """How many keys the equalities make, and the conditions that are left; gives key columns their places."""
        if not is_parted(self.scope.clause):
            return 0, parts
        equalities = [(part, sides) for part in parts if (sides := self.read_equality(part)) is not None]
        keys = 0
        implied: list[exp.Expr] = []
        for columns in sorted(group_equal([sides for _, sides in equalities]), key=sorted):  # whatever is written first
            chosen = self.choose_columns(columns)
            if chosen is None or any(self.is_placed(stream, name) for stream, name in chosen.items()):
                continue
            own = {(variable, chosen[role.stream]) for variable, role in self.scope.roles.items()}
            inside = [(part, sides) for part, sides in equalities if set(sides) <= own]
            if not self.tie_everything([(left[0], right[0]) for _, (left, right) in inside]):
                continue
            for stream, name in chosen.items():
                source = self.scope.inputs[stream]
                column = source.named(name)
                if pa.types.is_decimal(column.type):
                    source.computed[exact_key(column.value, column.type)] = (f"_key{keys}", key_type(column.type))
                else:
                    source.put_at(column, f"_key{keys}")
            keys += 1
            implied += [part for part, _ in inside]
        return keys, [part for part in parts if not any(part is other for other in implied)]

    def read_equality(self, part: exp.Expr) -> tuple[Named, Named] | None:
        """The two columns that a part ties together; of a repeated term all elements are tied."""
        if not isinstance(part, exp.EQ):
            return None
        sides = [side for side in (part.left, part.right) if isinstance(side, exp.Column)]
        found = [self.scope.read_column(side, Path()) for side in sides]
        if len(found) < 2 or not all(element.kind in ("plain", "test") for *_, element in found):
            return None
        if not can_meet(found[0][1], found[1][1]):
            return None
        left, right = ((element.variable, column.name) for _, column, _, element in found)
        return left, right

    def choose_columns(self, columns: set[Named]) -> dict[str, str] | None:
        """Per stream the one column that the class names for all its variables; None if it is no key."""
        chosen: dict[str, str] = {}
        for variable, role in self.scope.roles.items():
            names = sorted(name for other, name in columns if other == variable)
            if not names or chosen.setdefault(role.stream, names[0]) != names[0]:
                return None
        return chosen

    def is_placed(self, stream: str, name: str) -> bool:
        return self.scope.inputs[stream].layout_of(name).startswith(("_key", "_time", "_order"))

    def tie_everything(self, ties: list[tuple[str, str]]) -> bool:
        """Whatever alternatives a match takes: is every event of it, and every absent one, tied to the others?"""
        ways = [set(way) for way in islice(list_choices(self.scope.clause.items), MOST_CHOICES + 1)]
        tied = [way for way in ways if is_connected(way, ties)]
        alone = [way for way in ways if len(way) == 1 and any(way < other for other in tied)]
        return len(ways) <= MOST_CHOICES and all(way in tied or way in alone for way in ways)


def is_parted(clause: SequenceClause) -> bool:
    """May the events of each key be looked at by themselves?  Not where neighbours in the whole stream are meant, where
    an attempt keeps others from beginning, or where time goes on that only other keys know of."""
    first = clause.items[0]
    one_attempt = clause.once is not None or (isinstance(first, TermGroup) and first.every)
    return clause.strategy != "strict" and not has_timer(clause.items) and (not one_attempt or clause.per_key)


def has_timer(items: SequenceItems) -> bool:
    """Does EVERY stand before what time alone can complete?"""
    return any(
        (item.every and is_wait(item)) or (isinstance(item, TermGroup) and has_timer(item.terms)) for item in items
    )


def is_wait(item: SequenceTerm | TermGroup) -> bool:
    """Can time alone complete it?"""
    if isinstance(item, SequenceTerm):
        return item.lasting is not None
    complete = any if item.kind == "one_of" else all
    absences = [isinstance(term, SequenceTerm) and term.negated and term.lasting is None for term in item.terms]
    return complete(absent or is_wait(term) for term, absent in zip(item.terms, absences, strict=True))


def list_choices(items: SequenceItems) -> Iterator[tuple[str, ...]]:
    """The variables of each way to choose among what is alternative or optional."""
    for chosen in product(*(list(_list_choices_of(item)) for item in items)):
        yield tuple(variable for part in chosen for variable in part)


def _list_choices_of(item: SequenceTerm | TermGroup) -> Iterator[tuple[str, ...]]:
    until = () if item.repeats.until is None else (item.repeats.until.variable.text,)
    if item.repeats.least == 0:
        yield ()
    if isinstance(item, SequenceTerm):
        yield (item.variable.text, *until)
    elif item.kind == "one_of":
        for term in item.terms:
            for choice in _list_choices_of(term):
                yield (*choice, *until)
    else:
        for choice in list_choices(item.terms):
            yield (*choice, *until)


def group_equal(pairs: list[tuple[Named, Named]]) -> list[set[Named]]:
    """Classes of columns that equalities tie together."""
    classes: list[set[Named]] = []
    for sides in pairs:
        touching = [group for group in classes if group & set(sides)]
        classes = [group for group in classes if not group & set(sides)]
        classes.append(set(sides).union(*touching))
    return classes


def is_connected(variables: set[str], ties: list[tuple[str, str]]) -> bool:
    """Do the ties between these variables hold all of them together?"""
    groups = group_equal([((left, ""), (right, "")) for left, right in ties if {left, right} <= variables])
    return len(groups) == 1 and {variable for variable, _ in groups[0]} == variables


def can_meet(left: InputColumn, right: InputColumn) -> bool:
    """Can the two share one column of the layout, so that equal values look equal in it?"""
    if left.type == right.type:
        return left.kind is not None or bool(pa.types.is_decimal(left.type))
    integers = all(pa.types.is_integer(column.type) for column in (left, right))
    times = all(pa.types.is_timestamp(column.type) and column.type.tz is None for column in (left, right))
    return left.kind == right.kind and (integers or times)
