"""PATTERN SEQ to a Sequence vertex, fed by one projection per stream.

Equalities that tie all events of a sequence together (`a.id = b.id`) become its key, by which it can be split over
engines.  The other conditions go to the step at which all their events are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, NotSupportedYet
from cepheid.event_time import is_event_time
from cepheid.graph.operators import Project, Sequence
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Call, Expression, Position, list_cells
from cepheid.kernel.pattern import SequenceProgram, Step
from cepheid.language.bind_match_recognize import bind_order, read_within
from cepheid.language.navigation import Path
from cepheid.language.parser import span_of
from cepheid.language.scalar import ScalarBinder
from cepheid.language.scope import EventInput, InputColumn, Variables
from cepheid.language.syntax import OrderTerm, SequenceClause


@dataclass
class SequenceBinder:
    """Binds one clause; afterwards, `cell_for` serves the rest of the query."""

    clause: SequenceClause
    inputs: Mapping[str, EventInput]  # by stream name as written, lower case
    cells: dict[OutputCell, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.clause.terms:
            if term.negated:
                raise NotSupportedYet("negation (~) in SEQ", span=term.span)
            if term.repeated:
                raise NotSupportedYet("repetition (+) in SEQ", span=term.span)
        names = [term.variable.text for term in self.clause.terms]
        for term in self.clause.terms:
            if [name.lower() for name in names].count(term.variable.text.lower()) > 1:
                raise InvalidQuery(f'SEQ has two variables "{term.variable.text}"', span=term.variable.span)
        self.variables = Variables.of(names)
        self.streams = list(dict.fromkeys(term.stream.text.lower() for term in self.clause.terms))
        self.stream_of = {term.variable.text: term.stream.text.lower() for term in self.clause.terms}

    def bind(self) -> tuple[list[Project], Sequence]:
        """One projection per stream, and the sequence without cells: the query's columns add those."""
        order = self._bind_orders()
        parts = _split_and(self.clause.where)
        keys, rest = self._find_keys(parts)
        steps = self._bind_steps(rest)
        node = Sequence(
            program=SequenceProgram(steps, self.clause.strategy, read_within(self.clause.within)),
            cells=(),
            streams=tuple(self.streams),
            keys=keys,
            order=order,
        )
        return [Project(columns=self.inputs[stream].projection()) for stream in self.streams], node

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

    def _bind_orders(self) -> int:
        for stream in self.streams:
            source = self.inputs[stream]
            terms = self.clause.order_by or (_only_time(source, self.clause),)
            bind_order(terms, source, self.clause.span, self.clause.within)
        return max(1, len(self.clause.order_by))

    def _find_keys(self, parts: list[exp.Expression]) -> tuple[int, list[exp.Expression]]:
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

    def _equal_columns(self, parts: list[exp.Expression]) -> list[set[tuple[str, str]]]:
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

    def _equality(self, part: exp.Expression) -> tuple[tuple[str, str], tuple[str, str]] | None:
        if not (isinstance(part, exp.EQ) and all(isinstance(side, exp.Column) for side in (part.left, part.right))):
            return None
        sides = [self.resolve(side, Path()) for side in (part.left, part.right)]
        if sides[0][1].kind is None or sides[0][1].kind != sides[1][1].kind:
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

    def _is_implied(self, part: exp.Expression, implied: set[tuple[str, str]]) -> bool:
        sides = self._equality(part)
        return sides is not None and all(side in implied for side in sides)

    def _bind_steps(self, parts: list[exp.Expression]) -> tuple[Step, ...]:
        binder = ScalarBinder(self.resolve)
        order = {variable: number for number, variable in enumerate(self.stream_of)}
        conditions: list[list[Expression]] = [[] for _ in order]
        for part in parts:
            bound = binder.condition(part)
            latest = max([0, *(order[cell.position.variables[0]] for cell in list_cells(bound))])
            conditions[latest].append(bound)
        return tuple(
            Step(variable, self.streams.index(stream), _join_and(conditions[order[variable]]))
            for variable, stream in self.stream_of.items()
        )


def _only_time(source: EventInput, clause: SequenceClause) -> OrderTerm:
    times = [column.name for column in source.schema if is_event_time(column.type)]
    if len(times) != 1:
        found = f"it has {', '.join(times)}" if times else "it has none"
        raise InvalidOrder(
            f'ORDER BY is missing, and stream "{source.label}" does not have exactly one timestamp column: {found}',
            span=clause.span,
            hint="add ORDER BY <column> after SEQ(...)",
        )
    return OrderTerm(exp.column(times[0], quoted=True))


def _split_and(condition: exp.Expression | None) -> list[exp.Expression]:
    if condition is None:
        return []
    if isinstance(condition, exp.And):
        return _split_and(condition.left) + _split_and(condition.right)
    if isinstance(condition, exp.Paren):
        return _split_and(condition.this)
    return [condition]


def _join_and(parts: list[Expression]) -> Expression | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call("and", tuple(parts), "bool")


def replace_columns(relation: exp.Expression, binder: SequenceBinder) -> exp.Expression:
    """The rest of the query, reading cells of the placeholder instead of `a.x`."""
    placeholder = binder.clause.placeholder

    def read_cell(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            raise InvalidQuery(
                "SELECT * has no meaning over SEQ", span=span_of(node), hint="name the columns: a.x, b.y AS z"
            )
        if not isinstance(node, exp.Column) or not _is_event_column(node, binder):
            return node
        cell = exp.column(binder.cell_for(node), quoted=True)
        return exp.alias_(cell, node.name, quoted=True) if isinstance(node.parent, exp.Select) else cell

    found = next(table for table in relation.find_all(exp.Table) if table.name == placeholder)
    select = found.find_ancestor(exp.Select)
    assert select is not None, "SEQ stands in the FROM of a SELECT"
    if select is relation:
        return relation.transform(read_cell)
    select.replace(select.transform(read_cell))
    return relation


def _is_event_column(column: exp.Column, binder: SequenceBinder) -> bool:
    qualifier = column.args.get("table")
    if qualifier is not None:
        return qualifier.name.lower() in binder.variables.members
    holders = [name for name, source in binder.inputs.items() if source.find_name(column.name)]
    if holders:
        binder.resolve(column, Path())  # raises: of which event?
    return False
