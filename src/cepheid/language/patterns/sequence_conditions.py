"""WHERE of SEQ: split at AND, each part given to the term it is about, or to several.

    b.x > 5                      the step b
    b[i].x > b[i-1].x            the step b, for elements that have one before them
    a.x < b.x                    a joint condition
    c.x > a.x, c being ~c        belongs to the absence

A part that reads elements before the one under test says nothing about elements that have none: it becomes
`count of elements before < k OR part`.  One that asks whether there is one (`b[i-1].x IS NULL`, coalesce) is taken as
it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span
from cepheid.kernel.expression import (
    Aggregate,
    Call,
    Cell,
    Constant,
    Expression,
    Kind,
    Position,
    join_conjunction,
    list_variables,
)
from cepheid.language.expressions.condition import bind_condition
from cepheid.language.expressions.navigation import Path
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.parser import span_of
from cepheid.language.patterns.elements import Element
from cepheid.language.patterns.sequence_aggregates import bind_aggregate, find_aggregated, is_aggregate
from cepheid.language.patterns.sequence_scope import SequenceScope
from cepheid.scalars.value import Column, Scalar

TYPES: dict[Kind, pa.DataType] = {
    "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "time": pa.timestamp("us"),
    "duration": pa.duration("us"),
}  # fmt: skip


@dataclass
class AggregateValues(EventInput):
    """Where the value of an aggregate comes from while a condition is bound: no host can compute with it."""

    computes: ClassVar[bool] = False

    place: Span | None = None

    def compute(self, value: Scalar) -> InputColumn:  # noqa: ARG002
        raise NotSupportedYet(
            "this function of an aggregate in a condition", span=self.place, hint="compare the aggregate itself"
        )


@dataclass
class BoundConditions:
    """own: the conditions of each term; joint: those over several variables."""

    own: dict[str, list[Expression]]
    joint: list[Expression] = field(default_factory=list)

    def condition_of(self, variable: str) -> Expression | None:
        return join_conjunction(self.own[variable])


@dataclass
class ConditionBinder:
    scope: SequenceScope
    aggregates: dict[str, Aggregate] = field(default_factory=dict)  # by the name of the column that stands for it
    elements: list[tuple[Element, exp.Expr]] = field(default_factory=list)  # read by the part at hand

    def bind(self, parts: list[exp.Expr]) -> BoundConditions:
        bound = BoundConditions({variable: [] for variable in self.scope.roles})
        for part in parts:
            condition = self.bind_part(part)
            variables = list_variables(condition)
            self.check_absent(variables, part)
            if not variables:  # says the same about all matches: ask it of the first event
                for variable in self.first_variables():
                    bound.own[variable].append(condition)
            elif len(variables) == 1:
                bound.own[variables.pop()].append(condition)
            else:
                bound.joint.append(condition)
        return bound

    def bind_part(self, part: exp.Expr) -> Expression:
        self.elements = []
        types = next(iter(self.scope.inputs.values())).describe
        bound = bind_condition(self.replace_aggregates(part), types, self.resolve)
        condition = self.restore_aggregates(bound)
        self.check_elements(list_variables(condition))
        return self.guard(condition, self.list_asked(part))

    def resolve(self, column: exp.Column, path: Path) -> tuple[EventInput, InputColumn, Position]:
        """The meaning of a column, for the binder of scalars."""
        aggregate = self.aggregates.get(column.name) if column.args.get("table") is None else None
        if aggregate is not None:
            describe = self.scope.source_of(aggregate.variables[0]).describe
            values = AggregateValues("the aggregate", pa.schema([]), describe, place=span_of(column))
            made = InputColumn(column.name, column.name, self.type_of(aggregate), Column(column.name))
            return values, made, Position((column.name,))
        source, found, position, element = self.scope.read_column(column, path)
        self.elements.append((element, column))
        return source, found, position

    def type_of(self, aggregate: Aggregate) -> pa.DataType:
        if aggregate.column is not None and aggregate.function in ("min", "max", "min_by", "max_by"):
            return self.scope.source_of(aggregate.variables[0]).layout_types()[aggregate.column]
        return TYPES[aggregate.kind]

    def replace_aggregates(self, part: exp.Expr) -> exp.Expr:
        """The part, with a made-up column for each aggregate."""
        copy = part.copy()
        for node in [node for node in copy.walk() if is_aggregate(node)]:
            over = find_aggregated(node, self.scope)
            if over is None:
                raise InvalidQuery(
                    f"{node.sql_name()} in WHERE of SEQ is over the elements of a repeated term",
                    span=span_of(node),
                    hint="write for instance avg(b[].x) or avg(b[..i-1].x), b being a repeated term: bids+ b[]",
                )
            aggregate = bind_aggregate(node, over, self.scope)
            self.check_computable(aggregate, node)
            self.elements.append((Element(over.variable, "earlier" if aggregate.before else "all"), node))
            name = f"_aggregate{len(self.aggregates)}"
            self.aggregates[name] = aggregate
            column = exp.column(name, quoted=True)
            place = span_of(node)
            if place is not None:
                column.this.meta.update(start=place.start, end=place.end - 1)
            if node is copy:
                return column
            node.replace(column)
        return copy

    def check_computable(self, aggregate: Aggregate, node: exp.Expr) -> None:
        if aggregate.function == "array_agg":
            hint = "compare one value: count, min, max, min_by or max_by"
            raise InvalidQuery("array_agg gives a list, not a value to compare", span=span_of(node), hint=hint)
        for column, kind in ((aggregate.column, aggregate.column_kind), (aggregate.by, aggregate.by_kind)):
            if column is not None and kind is None:
                raise NotSupportedYet(
                    "an aggregate of a column of this type in a condition",
                    span=span_of(node),
                    hint="cast the column to DOUBLE",
                )

    def restore_aggregates(self, expression: Expression) -> Expression:
        match expression:
            case Cell(column=column) if column in self.aggregates:
                return self.aggregates[column]
            case Call(function=function, arguments=arguments, kind=kind):
                return Call(function, tuple(self.restore_aggregates(argument) for argument in arguments), kind)
        return expression

    def check_absent(self, variables: set[str], part: exp.Expr) -> None:
        absent = sorted(variable for variable in variables if self.scope.roles[variable].negated)
        if len(absent) > 1:
            raise InvalidQuery(
                f'"{absent[0]}" and "{absent[1]}" are both absent: no event can be held against the other',
                span=span_of(part),
                hint="hold each of them against an event that is there",
            )
        if absent and self.scope.clause.has_ways:
            self.check_known(absent[0], variables, part)

    def check_known(self, absent: str, variables: set[str], part: exp.Expr) -> None:
        """In a SEQ with ways of their own, an event that must not come is judged when it comes."""
        roles = self.scope.roles
        stops = {each.repeats.until.variable.text for each in self.scope.clause.terms if each.repeats.until is not None}
        beside = 0 if absent in stops else 1
        later = sorted(name for name in variables if name != absent and roles[name].item + beside > roles[absent].item)
        if later:
            raise NotSupportedYet(
                f'a condition that holds "{absent}" against "{later[0]}", which comes later, beside words that say how '
                "steps follow one another",
                span=span_of(part),
                hint=f"hold {absent} against an event before it",
            )

    def check_elements(self, variables: set[str]) -> None:
        """The element under test exists while its term is matched, not once a later one is."""
        for element, written in self.elements:
            if element.kind not in ("test", "back", "earlier"):
                continue
            item = self.scope.roles[element.variable].item
            later = [name for name in variables if self.scope.roles[name].item > item or self.scope.roles[name].negated]
            if later:
                raise InvalidQuery(
                    f'no element of "{element.variable}" is under test when "{later[0]}" is',
                    span=span_of(written),
                    hint=f"write {element.variable}[last], {element.variable}[1] or an aggregate of "
                    f"{element.variable}[] here, or split the condition at AND",
                )

    def list_asked(self, part: exp.Expr) -> set[str]:
        """The variables of which the part asks whether an element is there."""
        tested = [node.this.unnest() for node in part.find_all(exp.Is) if isinstance(node.expression, exp.Null)]
        tested += [each for node in part.find_all(exp.Coalesce) for each in (node.this, *node.expressions)]
        spark = [node for node in part.find_all(exp.Anonymous) if node.name.upper() in ("COALESCE", "NVL", "IFNULL")]
        tested += [each for node in spark for each in node.expressions]  # where functions are kept as they are written
        elements = [self.scope.find_element(column) for column in tested if isinstance(column, exp.Column)]
        return {element.variable for element in elements if element.kind == "back" or element.offset}

    def guard(self, condition: Expression, asked: set[str]) -> Expression:
        """Say nothing about elements that do not have what the condition reads."""
        variables = dict.fromkeys(element.variable for element, _ in self.elements)
        for variable in [name for name in variables if name not in asked]:
            kinds = [element for element, _ in self.elements if element.variable == variable]
            back = max([0, *(element.offset for element in kinds if element.kind == "back")])
            if any(element.kind == "earlier" for element in kinds):
                back = max(back, 1)
            nth = max([0, *(element.offset for element in kinds if element.kind in ("first", "last"))])
            for least, before in ((back, True), (nth + 1 if nth else 0, False)):
                if least:
                    count = Aggregate("count", None, variables=(variable,), before=before)
                    fewer = Call("lt", (count, Constant(least, "int")), "bool")
                    condition = Call("or", (fewer, condition), "bool")
        return condition

    def first_variables(self) -> list[str]:
        positive = [role for role in self.scope.roles.values() if not role.negated]
        if self.scope.clause.has_ways:  # which of them is the first is known to a match only
            return [role.variable for role in positive]
        return [role.variable for role in positive if role.item == positive[0].item]
