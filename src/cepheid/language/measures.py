"""MEASURES: take the cells out of each expression, leave the scalar part to the host.

LAST(b.delay) - FIRST(a.delay) AS rise     cells  _c0 = LAST(b.delay), _c1 = FIRST(a.delay)
                                           host   _c0 - _c1 AS rise
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Aggregate, AggregateFunction, Position
from cepheid.language.navigation import Path, enter_navigation, in_parentheses, position_of, rebuild
from cepheid.language.parser import span_of
from cepheid.language.scope import EventInput, Variables
from cepheid.language.syntax import Measure

AGGREGATES: dict[type[exp.Expr], AggregateFunction] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
}  # fmt: skip
SUMMABLE = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


@dataclass
class MeasureBinder:
    """Collects the cells that the measures of one clause read."""

    source: EventInput
    variables: Variables
    all_rows: bool
    cells: dict[OutputCell, str] = field(default_factory=dict)

    def bind(self, measure: Measure) -> str:
        """The measure as SQL over cells."""
        final = measure.semantics == "final" or not self.all_rows
        return self._take_cells(measure.expression, Path(), final).sql(dialect="trino")

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
        if isinstance(node, exp.Anonymous):
            taken = self._take_special(node, path, final)
            if taken is not None:
                return taken
        if isinstance(node, exp.AggFunc) and not isinstance(node, exp.First | exp.Last):
            return self._take_aggregate(node, path, final)
        if isinstance(node, exp.Column):
            column = self.source.column(node)
            position = position_of(node, path, self.variables)
            return self.cell(OutputCell(name="", column=column.layout, position=position, final=final))
        if isinstance(node, exp.Subquery | exp.Select | exp.Exists | exp.Window):
            raise NotSupportedYet(f"{node.key.upper()} in MEASURES", span=span_of(node))
        return rebuild(node, lambda child: self._take_cells(child, path, final))

    def _take_special(self, node: exp.Anonymous, path: Path, final: bool) -> exp.Expr | None:
        name = node.name.upper()
        if name in ("RUNNING", "FINAL"):
            return in_parentheses(self._take_cells(node.expressions[0], path, name == "FINAL" or not self.all_rows))
        if name == "MATCH_NUMBER":
            return self.cell(OutputCell(name="", kind="match_number"))
        if name == "CLASSIFIER":
            members = self.variables.resolve(node.expressions[0]) if node.expressions else ()
            position = Position(members, path.pick, path.offset, path.shift)
            if position.shift:
                raise NotSupportedYet("CLASSIFIER inside PREV or NEXT", span=span_of(node))
            return self.cell(OutputCell(name="", kind="classifier", position=position, final=final))
        return None

    def _take_aggregate(self, node: exp.AggFunc, path: Path, final: bool) -> exp.Expr:
        aggregate = AGGREGATES.get(type(node))
        if aggregate is None or isinstance(node.this, exp.Distinct):
            raise NotSupportedYet(f"the aggregate {node.sql()} in MEASURES", span=span_of(node))
        if path != Path():
            raise InvalidQuery("an aggregate cannot stand inside FIRST, LAST, PREV or NEXT", span=span_of(node))
        if not final:
            raise NotSupportedYet(
                f"a running {node.sql()} with ALL ROWS PER MATCH", span=span_of(node), hint="write FINAL in front of it"
            )
        layout, position = self._aggregated(node)
        wanted = Aggregate(aggregate, layout, variables=position.variables)
        return self.cell(OutputCell(name="", kind="aggregate", aggregate=wanted, final=True))

    def _aggregated(self, node: exp.AggFunc) -> tuple[str | None, Position]:
        """What is aggregated: a column (None: the events themselves) over some variables."""
        inner = node.this
        is_star = isinstance(inner.this if isinstance(inner, exp.Column) else inner, exp.Star)
        if inner is None or (is_star and not isinstance(node, exp.Count)):
            raise InvalidQuery(f"{node.sql_name()} needs a column", span=span_of(node))
        if isinstance(inner, exp.Star):
            return None, Position()
        if not isinstance(inner, exp.Column):
            raise NotSupportedYet(
                f'the aggregate of an expression "{inner.sql()}"', span=span_of(inner), hint="compute it in a subquery"
            )
        position = position_of(inner, Path(), self.variables)
        if is_star:
            return None, position
        column = self.source.column(inner)
        if isinstance(node, exp.Sum | exp.Avg) and not any(check(column.type) for check in SUMMABLE):
            raise TypeMismatch(f'column "{column.name}" of type {column.type} cannot be summed', span=span_of(inner))
        return column.layout, position
