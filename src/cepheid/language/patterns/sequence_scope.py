"""What the names of one SEQ mean: variables, the streams they come from, elements of repeated terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from cepheid.errors import InvalidQuery
from cepheid.kernel.expression import Position
from cepheid.language.expressions.navigation import Path
from cepheid.language.expressions.scope import EventInput, InputColumn, Variables
from cepheid.language.parsing.parser import span_of
from cepheid.language.parsing.syntax import SequenceClause, SequenceTerm, TermGroup
from cepheid.language.patterns.elements import Element, read_element


@dataclass(frozen=True, slots=True)
class Role:
    """What a variable stands for; `item`: the number of its item in SEQ."""

    variable: str
    stream: str  # lower case
    item: int
    repeated: bool
    negated: bool


@dataclass
class SequenceScope:
    """`inputs`: by stream name as written, lower case."""

    clause: SequenceClause
    inputs: Mapping[str, EventInput]
    roles: dict[str, Role] = field(default_factory=dict)  # by variable, as written in SEQ

    def __post_init__(self) -> None:
        names = [term.variable.text.lower() for term in self.clause.terms]
        for term, item, looped in _place_terms(self.clause):
            variable = term.variable.text
            if names.count(variable.lower()) > 1:
                hint = f"rename one of them, for instance {term.stream.text} {variable}2"
                raise InvalidQuery(f'SEQ has two variables "{variable}"', span=term.variable.span, hint=hint)
            repeated = not term.negated and (term.repeated or looped)
            self.roles[variable] = Role(variable, term.stream.text.lower(), item, repeated, term.negated)
        self.variables = Variables.of(list(self.roles))

    @property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(role.stream for role in self.roles.values()))

    def source_of(self, variable: str) -> EventInput:
        return self.inputs[self.roles[variable].stream]

    def find_element(self, column: exp.Column) -> Element:
        """Which element the qualifier of a column names; it must have one."""
        qualifier = column.args.get("table")
        if qualifier is None and not column.name.endswith("]"):
            variable = next(iter(self.roles))
            raise InvalidQuery(
                f'"{column.name}" does not say of which event it is',
                span=span_of(column),
                hint=f"write for instance {variable}.{column.name}",
            )
        return self.known_element(qualifier if qualifier is not None else column.this)

    def known_element(self, written: exp.Expr) -> Element:
        """The element, its variable spelt as in SEQ."""
        found = read_element(written)
        name = exp.to_identifier(found.variable)
        name.meta.update(written.meta)
        (variable,) = self.variables.resolve(name)
        role = self.roles[variable]
        if found.kind != "plain" and not role.repeated:
            stream = self.source_of(variable).label
            raise InvalidQuery(
                f'"{variable}" is one event and has no elements',
                span=span_of(written),
                hint="write no brackets" if role.negated else f"write {stream}+ {variable}[] in SEQ for several",
            )
        return Element(variable, found.kind, found.offset)

    def read_column(self, column: exp.Column, path: Path) -> tuple[EventInput, InputColumn, Position, Element]:
        """Where a column of one event comes from, and at which event it is read."""
        element = self.find_element(column)
        if element.kind in ("all", "earlier"):
            brackets = "[]" if element.kind == "all" else "[..i-1]"
            raise InvalidQuery(
                f'"{element.variable}{brackets}" means several events',
                span=span_of(column),
                hint=f"put it into an aggregate, as avg({element.variable}{brackets}.x), or name one element",
            )
        position = self.place_of(element, path, column)
        source = self.source_of(element.variable)
        return source, source.column(column), position, element

    def place_of(self, element: Element, path: Path, column: exp.Column) -> Position:
        variables = (element.variable,)
        if path == Path():
            return Position(variables, "first" if element.kind == "first" else "last", element.offset)
        if path.shift:
            hint = "in a repeated term, b[i-1] is the element before; another event is a term of its own"
            raise InvalidQuery("PREV and NEXT have no meaning in SEQ", span=span_of(column), hint=hint)
        if not self.roles[element.variable].repeated or element.kind not in ("plain", "last"):
            hint = f"{element.variable} is one event" if element.kind == "plain" else "leave out the brackets"
            message = "FIRST and LAST choose among the elements of a repeated term"
            raise InvalidQuery(message, span=span_of(column), hint=hint)
        return Position(variables, path.pick, path.offset)


def _place_terms(clause: SequenceClause) -> Iterator[tuple[SequenceTerm, int, bool]]:
    """Each term, the number of its item, and whether it stands in a group that is repeated; what is written in a row
    has a number each, what stands in a group with | or & one together."""
    numbers = count()

    def place(item: SequenceTerm | TermGroup, number: int, looped: bool) -> Iterator[tuple[SequenceTerm, int, bool]]:
        if isinstance(item, SequenceTerm):
            yield item, number, looped
        elif item.kind == "in_turn":
            for term in item.terms:
                yield from place(term, next(numbers), looped or item.repeats.most != 1)
        else:
            for term in item.terms:
                yield from place(term, number, looped or item.repeats.most != 1)
        if item.repeats.until is not None:
            yield item.repeats.until, number, False

    for item in clause.items:
        yield from place(item, next(numbers), False)
