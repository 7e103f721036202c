"""PATTERN SEQ to a Sequence vertex, fed by one projection per stream.

Equalities that tie all events of a sequence together (`a.id = b.id`) become its key, by which it can be split over
engines.  The other conditions go to the step at which all their events are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.graph.operators import Project, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Expression, Position, join_conjunction, list_variables
from cepheid.kernel.pattern import SequenceProgram, Step
from cepheid.language.bind_order import bind_order, list_times, read_within
from cepheid.language.navigation import Path
from cepheid.language.parser import span_of
from cepheid.language.scalar import ScalarBinder
from cepheid.language.scope import EventInput, InputColumn, Variables
from cepheid.language.syntax import OrderTerm, SequenceClause, TermGroup


@dataclass
class SequenceBinder:
    """Binds one clause: `bind`, then `cell_for` each column that the rest of the query reads, then `node`."""

    clause: SequenceClause
    inputs: Mapping[str, EventInput]  # by stream name as written, lower case
    cells: dict[OutputCell, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.clause.terms:
            if term.negated:
                raise NotSupportedYet("negation (~) in SEQ", span=term.span)
            if term.repeated:
                raise NotSupportedYet("repetition (+) in SEQ", span=term.span)
        for item in self.clause.items:
            if isinstance(item, TermGroup):
                raise NotSupportedYet("alternatives and any order in SEQ", span=item.span)
        names = [term.variable.text for term in self.clause.terms]
        for term in self.clause.terms:
            if [name.lower() for name in names].count(term.variable.text.lower()) > 1:
                raise InvalidQuery(f'SEQ has two variables "{term.variable.text}"', span=term.variable.span)
        self.variables = Variables.of(names)
        self.streams = list(dict.fromkeys(term.stream.text.lower() for term in self.clause.terms))
        self.stream_of = {term.variable.text: term.stream.text.lower() for term in self.clause.terms}

    def bind(self) -> None:
        """Order, keys and conditions; only then columns have their places in the layout."""
        self._bind_orders()
        self.keys, rest = self._find_keys(_split_and(self.clause.where))
        self.steps, self.joint = self._bind_steps(rest)

    def layouts(self) -> dict[str, Project]:
        """The projection of each stream into the event layout."""
        return {stream: Project(columns=self.inputs[stream].projection()) for stream in self.streams}

    def node(self) -> Sequence:
        if not self.cells:  # a row without cells would be no row
            self.cells[OutputCell(name="_time", column="_time", position=Position((self.steps[0].variable,)))] = None
        return Sequence(
            program=SequenceProgram(self.steps, self.joint, self.clause.strategy, read_within(self.clause.within)),
            cells=tuple(self.cells),
            streams=tuple(self.streams),
            keys=self.keys,
            order=self.order,
        )

    def cell_for(self, column: exp.Column) -> str:
        """The output column that stands for `a.x` in the rest of the query."""
        _, found, position = self.resolve(column, Path())
        name = f"{position.variables[0]}.{found.name}"
        self.cells.setdefault(OutputCell(name=name, column=found.layout, position=position))
        return name

    def resolve(self, column: exp.Column, path: Path) -> tuple[EventInput, InputColumn, Position]:
        qualifier = column.args.get("table")
        if qualifier is None:
            variable = next(iter(self.stream_of))
            raise InvalidQuery(
                f'"{column.name}" does not say of which event it is',
                span=span_of(column),
                hint=f"write for instance {variable}.{column.name}",
            )
        if path != Path():
            raise InvalidQuery("FIRST, LAST, PREV and NEXT have no meaning in SEQ", span=span_of(column))
        (variable,) = self.variables.resolve(qualifier)
        source = self.inputs[self.stream_of[variable]]
        return source, source.column(column), Position((variable,))

    def _bind_orders(self) -> None:
        ordered: list[list[InputColumn]] = []
        for stream in self.streams:
            source = self.inputs[stream]
            terms = self.clause.order_by or (_only_time(source, self.clause),)
            ordered.append(bind_order(terms, source, self.clause.head, self.clause.within))
            if not all(map(_can_meet, ordered[0], ordered[-1])):
                kinds = " and ".join(", ".join(str(column.type) for column in columns) for columns in ordered)
                raise TypeMismatch(
                    f"the streams are ordered by different types: {kinds}",
                    span=terms[0].span or self.clause.head,
                    hint="cast one of them in a subquery",
                )
        self.order = len(ordered[0])

    def _find_keys(self, parts: list[exp.Expr]) -> tuple[int, list[exp.Expr]]:
        """How many keys the equalities make, and the conditions that are left."""
        if self.clause.strategy == "strict":
            return 0, parts  # neighbours in the whole stream: keys must not part it
        classes = self._equal_columns(parts)
        keys = 0
        implied: set[tuple[str, str]] = set()
        for columns in classes:
            chosen = self._key_columns(columns)
            if chosen is None:
                continue
            for stream, name in chosen.items():
                source = self.inputs[stream]
                if source.layout_of(name).startswith(("_key", "_time", "_order")):
                    break
            else:
                for stream, name in chosen.items():
                    self.inputs[stream].layouts[name] = f"_key{keys}"
                keys += 1
                implied |= {(variable, chosen[self.stream_of[variable]]) for variable in self.stream_of}
        return keys, [part for part in parts if not self._is_implied(part, implied)]

    def _equal_columns(self, parts: list[exp.Expr]) -> list[set[tuple[str, str]]]:
        """Classes of (variable, column) that equalities tie together."""
        classes: list[set[tuple[str, str]]] = []
        for part in parts:
            sides = self._equality(part)
            if sides is None:
                continue
            touching = [group for group in classes if group & set(sides)]
            classes = [group for group in classes if not group & set(sides)]
            classes.append(set(sides).union(*touching))
        return classes

    def _equality(self, part: exp.Expr) -> tuple[tuple[str, str], tuple[str, str]] | None:
        if not isinstance(part, exp.EQ):
            return None
        sides = [self.resolve(side, Path()) for side in (part.left, part.right) if isinstance(side, exp.Column)]
        if len(sides) < 2:
            return None
        if not _can_meet(sides[0][1], sides[1][1]):
            return None
        left, right = ((position.variables[0], column.name) for _, column, position in sides)
        return left, right

    def _key_columns(self, columns: set[tuple[str, str]]) -> dict[str, str] | None:
        """Per stream the one column that the class names for all its variables; None if it is no key."""
        chosen: dict[str, str] = {}
        for variable, stream in self.stream_of.items():
            names = sorted(name for other, name in columns if other == variable)
            if not names or chosen.setdefault(stream, names[0]) != names[0]:
                return None
        return chosen

    def _is_implied(self, part: exp.Expr, implied: set[tuple[str, str]]) -> bool:
        sides = self._equality(part)
        return sides is not None and all(side in implied for side in sides)

    def _bind_steps(self, parts: list[exp.Expr]) -> tuple[tuple[Step, ...], tuple[Expression, ...]]:
        """The steps with the conditions on their own event, and the joint conditions."""
        binder = ScalarBinder(self.resolve)
        own: dict[str, list[Expression]] = {variable: [] for variable in self.stream_of}
        joint: list[Expression] = []
        for part in parts:
            bound = binder.condition(part)
            variables = list_variables(bound) or {next(iter(own))}
            if len(variables) == 1:
                own[variables.pop()].append(bound)
            else:
                joint.append(bound)
        steps = tuple(
            Step(variable, self.streams.index(stream), join_conjunction(own[variable]))
            for variable, stream in self.stream_of.items()
        )
        return steps, tuple(joint)


def _only_time(source: EventInput, clause: SequenceClause) -> OrderTerm:
    times = list_times(source.schema)
    if len(times) != 1:
        found = f"it has {', '.join(times)}" if times else "it has none"
        raise InvalidOrder(
            f'ORDER BY is missing, and stream "{source.label}" does not have exactly one timestamp column: {found}',
            span=clause.head,
            hint=f"add ORDER BY {times[0] if times else '<column>'} behind SEQ(...)",
        )
    return OrderTerm(exp.column(times[0], quoted=True))


def _can_meet(left: InputColumn, right: InputColumn) -> bool:
    """Can the two share one column of the layout, so that equal values look equal in it?"""
    if left.type == right.type:
        return left.kind is not None
    integers = all(pa.types.is_integer(column.type) for column in (left, right))
    times = all(pa.types.is_timestamp(column.type) and column.type.tz is None for column in (left, right))
    return left.kind == right.kind and (integers or times)


def _split_and(condition: exp.Expr | None) -> list[exp.Expr]:
    if condition is None:
        return []
    if isinstance(condition, exp.And):
        return _split_and(condition.left) + _split_and(condition.right)
    if isinstance(condition, exp.Paren):
        return _split_and(condition.this)
    return [condition]
