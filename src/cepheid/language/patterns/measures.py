"""MEASURES: take the cells out of each expression, leave the scalar part to the host.

LAST(b.delay) - FIRST(a.delay) AS rise     cells  _c0 = LAST(b.delay), _c1 = FIRST(a.delay)
                                           host   _c0 - _c1 AS rise
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.language.expressions.aggregates import bind_aggregate, is_aggregate, only_where
from cepheid.language.expressions.decimals import has_exact_mean, write_mean
from cepheid.language.expressions.navigation import (
    Path,
    check_about_match,
    enter_navigation,
    in_parentheses,
    position_of,
    position_of_classifier,
    rebuild,
)
from cepheid.language.expressions.row_aggregates import bind_row_aggregate, needs_rows
from cepheid.language.expressions.scope import CONSTANT, EventInput, Variables
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import Measure
from cepheid.language.patterns.facts import refuse_match_number
from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Scalar

MATCH_NUMBER = OutputCell(name="", kind="match_number")


@dataclass
class MeasureBinder:
    """Collects the cells that the measures of one clause read.

    `all_rows`: measures are running unless they say FINAL; `timeouts`: there are partial matches to tell apart.
    """

    source: EventInput
    variables: Variables
    all_rows: bool
    timeouts: bool = False
    in_window: bool = False
    cells: dict[OutputCell, str] = field(default_factory=dict)

    def bind(self, measure: Measure) -> Scalar:
        """The measure over cells."""
        final = measure.semantics == "final" or not self.all_rows
        return read_value(self.take_cells(measure.expression, final))

    def bind_where_matched(self, measure: Measure) -> Scalar:
        """The measure where there is a match, and null where there is none; else constants would be told there."""
        is_matched = exp.Not(this=exp.Is(this=self.cell(MATCH_NUMBER), expression=exp.Null()))
        return read_value(only_where(is_matched, write_tree(self.bind(measure))))

    def take_cells(self, expression: exp.Expr, final: bool = True) -> exp.Expr:
        return self._take_cells(expression, Path(), final)

    def cell(self, cell: OutputCell) -> exp.Column:
        """A column that stands for the cell; equal cells are one."""
        unnamed = replace(cell, name="")
        name = self.cells.setdefault(unnamed, f"_c{len(self.cells)}")
        return exp.column(name, quoted=True)

    def named_cells(self) -> tuple[OutputCell, ...]:
        return tuple(replace(cell, name=name) for cell, name in self.cells.items())

    def _take_cells(self, node: exp.Expr, path: Path, final: bool) -> exp.Expr:
        inside = enter_navigation(node, path)
        if inside is not None:
            return in_parentheses(self._take_cells(*inside, final))
        if is_aggregate(node):
            return self._take_aggregate(node, path, final)
        if isinstance(node, exp.Anonymous):
            taken = self._take_special(node, path, final)
            if taken is not None:
                return taken
        if isinstance(node, exp.Column):
            column = self.source.column(node)
            if column.name.startswith(CONSTANT):  # there is a row even where the match is empty
                return self.cell(OutputCell(name="", kind="row", column=column.layout))
            position = position_of(node, path, self.variables)
            return self.cell(OutputCell(name="", column=column.layout, position=position, final=final))
        if isinstance(node, exp.Subquery | exp.Select | exp.Exists | exp.Window):
            hint = "write it in the query around MATCH_RECOGNIZE"
            raise NotSupportedYet(f"{node.key.upper()} in MEASURES", span=span_of(node), hint=hint)
        return rebuild(node, lambda child: self._take_cells(child, path, final))

    def _take_special(self, node: exp.Anonymous, path: Path, final: bool) -> exp.Expr | None:
        match node.name.upper():
            case "RUNNING" | "FINAL" as name:
                inner_final = name == "FINAL" or not self.all_rows
                return in_parentheses(self._take_cells(node.expressions[0], path, inner_final))
            case "MATCH_NUMBER":
                check_about_match(node, path)
                if self.in_window:
                    raise refuse_match_number(node)
                return self.cell(MATCH_NUMBER)
            case "TIMED_OUT":
                check_about_match(node, path)
                return self._take_timed_out(node)
            case "CLASSIFIER":
                position = position_of_classifier(node, path, self.variables)
                return self.cell(OutputCell(name="", kind="classifier", position=position, final=final))
        return None

    def _take_timed_out(self, node: exp.Anonymous) -> exp.Expr:
        if self.in_window:
            hint = "only MATCH_RECOGNIZE and SEQ have TIMEOUT ROWS"
            raise InvalidQuery("TIMED_OUT() has no meaning in WINDOW", span=span_of(node), hint=hint)
        if not self.timeouts:
            raise InvalidQuery(
                "TIMED_OUT() needs TIMEOUT ROWS: without it only whole matches are told",
                span=span_of(node),
                hint="write WITHIN INTERVAL '10' MINUTE TIMEOUT ROWS",
            )
        return self.cell(OutputCell(name="", kind="timed_out"))

    def _take_aggregate(self, node: exp.Expr, path: Path, final: bool) -> exp.Expr:
        if path != Path():
            raise InvalidQuery(
                "an aggregate cannot stand inside FIRST, LAST, PREV or NEXT",
                span=span_of(node),
                hint="write the aggregate alone: it has one value, not one for each row",
            )
        if needs_rows(node, self.source, in_condition=False):
            if self.in_window and any(call.name.upper() == "MATCH_NUMBER" for call in node.find_all(exp.Anonymous)):
                raise refuse_match_number(node)
            found = bind_row_aggregate(node, self.source, self.variables)
            return self.cell(OutputCell(name="", kind="row_aggregate", of_rows=found, final=final))
        wanted = bind_aggregate(node, self.source, self.variables)
        given = None if wanted.column is None else self.source.layout_types().get(wanted.column)
        is_spark = self.source.describe.dialect == "spark"
        if (
            is_spark
            and wanted.function == "avg"
            and not wanted.distinct
            and given is not None
            and has_exact_mean(given)
        ):
            parts = [replace(wanted, function=function) for function in ("sum", "count")]
            cells = [OutputCell(name="", kind="aggregate", aggregate=part, final=final) for part in parts]
            return in_parentheses(write_mean(self.cell(cells[0]), self.cell(cells[1]), given))
        return self.cell(OutputCell(name="", kind="aggregate", aggregate=wanted, final=final))


def uses_timed_out(measure: Measure) -> bool:
    calls = measure.expression.find_all(exp.Anonymous)
    return any(call.name.upper() == "TIMED_OUT" for call in calls)
