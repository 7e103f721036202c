"""What a condition may read about the match so far besides columns: its aggregates, variables and number.

    DEFINE b AS b.x > avg(a.x) AND PREV(CLASSIFIER()) = 'A' AND MATCH_NUMBER() < 10

All of it is running: it sees the match up to the row under test, which counts as bound to its variable.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.kernel.columns import kind_of
from cepheid.kernel.expression import Classifier, Constant, Fact, HostAggregate, HostCall, MatchNumber, Position
from cepheid.language.expressions.aggregates import bind_aggregate, is_aggregate
from cepheid.language.expressions.navigation import Path, check_about_match, position_of, position_of_classifier
from cepheid.language.expressions.row_aggregates import bind_row_aggregate, needs_rows
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.expressions.uncompilable import Uncompilable
from cepheid.language.parsing.places import span_of
from cepheid.language.patterns.pattern_variables import PatternVariables
from cepheid.scalars.value import Column as ColumnValue


@dataclass(frozen=True, slots=True)
class RowScope:
    """What columns and facts mean in the condition of one variable; `variables` are seen from there."""

    source: EventInput
    variables: PatternVariables
    in_window: bool = False

    def resolve(self, column: exp.Column, path: Path) -> tuple[EventInput, InputColumn, Position]:
        found = self.source.column(column)
        position = position_of(column, path, self.variables)
        self._check_offset(position, column)
        return self.source, found, position

    def bind_fact(self, node: exp.Expr, path: Path) -> Fact | Constant | None:
        """The fact that is written; None if it is none."""
        if is_aggregate(node):
            if path != Path():
                raise InvalidQuery(
                    "an aggregate cannot stand inside FIRST, LAST, PREV or NEXT",
                    span=span_of(node),
                    hint="write the aggregate alone: it has one value, not one for each row",
                )
            if needs_rows(node, self.source, in_condition=True):
                return self._ask_for_rows(node)
            try:
                return self._bind_aggregate(node)
            except Uncompilable as problem:
                if self.source.describe.dialect == "spark":
                    raise NotSupportedYet(problem.what, span=span_of(problem.node), hint=problem.hint) from None
                return self._ask_for_rows(node)
        match node.name.upper() if isinstance(node, exp.Anonymous) else "":
            case "CLASSIFIER":
                assert isinstance(node, exp.Anonymous), "it has a name"
                position = position_of_classifier(node, path, self.variables)
                self._check_offset(position, node)
                return self._classifier(position)
            case "MATCH_NUMBER":
                assert isinstance(node, exp.Anonymous), "it has a name"
                check_about_match(node, path)
                if self.in_window:
                    raise refuse_match_number(node)
                return MatchNumber()
            case "TIMED_OUT":
                raise InvalidQuery(
                    "TIMED_OUT() has no meaning in DEFINE", span=span_of(node), hint="it is known when a match is told"
                )
        return None

    def read_fact(
        self, node: exp.Expr, path: Path
    ) -> tuple[Classifier | MatchNumber | HostAggregate, pa.DataType] | None:
        """The same for the general evaluator, which takes any type."""
        if is_aggregate(node):
            found = self._bind_rows(node)
            return found, found.type
        if not isinstance(node, exp.Anonymous) or node.name.upper() not in ("CLASSIFIER", "MATCH_NUMBER", "TIMED_OUT"):
            return None
        fact = self.bind_fact(node, path)
        if not isinstance(fact, Classifier | MatchNumber):
            raise NotSupportedYet(
                "a function of several events in the condition of NOT",
                span=span_of(node),
                hint="apply the function to one event at a time",
            )
        return fact, pa.string() if isinstance(fact, Classifier) else pa.int64()

    def _ask_for_rows(self, node: exp.Expr) -> HostCall:
        """An aggregate that is computed beside the search."""
        found = self._bind_rows(node)
        kind = kind_of(found.type)
        if kind is None:
            raise Uncompilable(node, f"a value of type {found.type}")
        return HostCall(ColumnValue("_f0"), (), kind, (found,))

    def _bind_rows(self, node: exp.Expr) -> HostAggregate:
        if self.variables.tests_absence:
            raise NotSupportedYet(
                "such an aggregate in the condition of NOT", span=span_of(node), hint="write sum, count, min or max"
            )
        return bind_row_aggregate(node, self.source, self.variables)

    def _bind_aggregate(self, node: exp.Expr) -> Fact:
        bound = bind_aggregate(node, self.source, self.variables, in_condition=True)
        if self.variables.tests_absence and (not bound.variables or self.variables.tested in bound.variables):
            raise NotSupportedYet(
                "an aggregate over all rows, or over those of NOT, in the condition of NOT",
                span=span_of(node),
                hint="aggregate the rows of a variable that has some: sum(a.x)",
            )
        return bound

    def _classifier(self, position: Position) -> Classifier | Constant:
        """The row under test of NOT b is a b, though it never becomes part of a match."""
        is_tested = position in (Position(), Position((self.variables.tested or "",)))
        if self.variables.tests_absence and is_tested:
            return Constant(self.variables.tested, "string")
        return Classifier(position)

    def _check_offset(self, position: Position, node: exp.Expr) -> None:
        """Rows that NOT passes over are not of the match: how many there were must not count."""
        looks_back = position.pick == "first" or position.offset > 0
        if self.variables.tests_absence and not position.variables and looks_back:
            raise NotSupportedYet(
                "FIRST, or LAST with an offset, over all rows in the condition of NOT",
                span=span_of(node),
                hint="look at the rows of one variable: FIRST(a.x)",
            )


def refuse_match_number(node: exp.Expr) -> InvalidQuery:
    return InvalidQuery(
        "MATCH_NUMBER() has no meaning in WINDOW",
        span=span_of(node),
        hint="each row seeks a match of its own; matches are numbered in MATCH_RECOGNIZE",
    )
