"""The columns of a SELECT over several inputs: whose each one is, what * means, and expressions over cells.

SELECT x.id, y.a1 - x.a1 FROM a AS x, b AS y        "x.id", "y.a1" - "x.a1"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, Span, UnknownColumn, suggest_name
from cepheid.graph.operators.window_join import JoinCell
from cepheid.language.expressions.struct_fields import is_field, put_fields
from cepheid.language.parsing.places import span_near, span_of
from cepheid.language.relations.conditions import suffix_name
from cepheid.language.streams.stream_layout import StreamLayout

SELECT_PARTS = {"expressions", "from_", "joins", "where", "with_", "kind"}
SUBQUERY_HINT = "put the join into a subquery, and a window on it: FROM (SELECT ...) [ROWS 100]"
Output = tuple[str, exp.Expr]


@dataclass
class JoinedColumns:
    """layouts: the inputs in the order of FROM; what: the join, for messages; read: the cell of a column of an
    input; read_field: that of a field of one, if it need not be taken out of the whole column afterwards."""

    layouts: list[StreamLayout]
    what: str
    at: Span | None
    read: Callable[[int, str], JoinCell]
    read_field: Callable[[int, exp.Expr], JoinCell] | None = None
    cells: dict[str, JoinCell] = field(default_factory=dict)

    def put_fields(self, query: exp.Select) -> None:
        """Tell fields of structs from columns of inputs, in the query itself."""

        def schema_of(qualifier: str) -> pa.Schema | None:
            return next((found for layout in self.layouts if (found := layout.schema_of(qualifier)) is not None), None)

        put_fields(query, schema_of, [layout.schema for layout in self.layouts])

    def refuse_parts(self, query: exp.Select) -> None:
        """What a SELECT over the join cannot have."""
        for part, value in query.args.items():
            if value and part not in SELECT_PARTS:
                place = value[0] if isinstance(value, list) else value
                span = (span_of(place) if isinstance(place, exp.Expr) else None) or self.at
                raise NotSupportedYet(f"{part.strip('_').upper()} over {self.what}", span=span, hint=SUBQUERY_HINT)

    def bind_outputs(self, query: exp.Select) -> list[Output]:
        outputs: list[Output] = []
        written = {item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias)}
        for number, item in enumerate(query.expressions):
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                self._add_star(item, star, outputs, written)
                continue
            is_named = isinstance(item, exp.Alias | exp.Column | exp.Dot)
            name = item.alias_or_name if is_named else f"_col{number}"
            if isinstance(item, exp.Column) and item.table:
                name = _find_free(name, outputs, written)
            outputs.append((name, self.rewrite(item.unalias())))
        return outputs

    def _add_star(self, item: exp.Expr, star: exp.Star, outputs: list[Output], written: set[str]) -> None:
        table = item.table.lower() if isinstance(item, exp.Column) else ""
        chosen = [number for number, layout in enumerate(self.layouts) if not table or table in layout.names()]
        if not chosen or any(star.args.values()):
            hint = f"write *, or {' or '.join(f'{layout.name}.*' for layout in self.layouts)}"
            raise InvalidQuery(f'"{item.sql()}" has no meaning here', span=span_of(item), hint=hint)
        for number in chosen:
            for name in self.layouts[number].visible_names():
                outputs.append((_find_free(name, outputs, written), self._cell(number, name)))

    def rewrite(self, expression: exp.Expr) -> exp.Expr:
        """The expression over cells."""

        def replace_column(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Query | exp.Window | exp.AggFunc):
                raise NotSupportedYet(
                    f'"{node.sql()}" over {self.what}', span=span_of(node) or self.at, hint=SUBQUERY_HINT
                )
            if isinstance(node, exp.Dot) and self.read_field is not None and is_field(node):
                return self._field_cell(node, self.read_field)
            if not isinstance(node, exp.Column):
                return node
            number = self.owner(node)
            cell = self._cell(number, self.layouts[number].find_name(node.name) or node.name)
            cell.this.meta.update(node.this.meta)
            return cell

        return expression.transform(replace_column)

    def rewrite_all(self, conditions: list[exp.Expr]) -> exp.Expr | None:
        """Conditions that must all hold, as one; None if there are none."""
        return self.rewrite(exp.and_(*conditions, copy=True)) if conditions else None

    def owner(self, column: exp.Column) -> int:
        """The number of the input whose column it is."""
        owners = [number for number, layout in enumerate(self.layouts) if layout.owns(column)]
        if len(owners) == 1:
            return owners[0]
        if owners:
            raise InvalidQuery(
                f'"{column.name}" may be of several inputs',
                span=span_of(column),
                hint=f"say which: {self.layouts[owners[0]].name}.{column.name}",
            )
        named = [layout for layout in self.layouts if column.table.lower() in layout.names()]
        if column.table and not named:
            hint = suggest_name(column.table, [layout.name for layout in self.layouts])
            raise InvalidQuery(f'there is no "{column.table}" in FROM', span=span_of(column), hint=hint)
        known = named or self.layouts
        names = [name for layout in known for name in layout.visible_names()]
        raise UnknownColumn(
            column.name, " or ".join(layout.label for layout in known), names, span=span_near(column.this)
        )

    def owners(self, expression: exp.Expr) -> set[int]:
        return {self.owner(column) for column in expression.find_all(exp.Column)}

    def _field_cell(self, field: exp.Dot, read: Callable[[int, exp.Expr], JoinCell]) -> exp.Column:
        (number,) = self.owners(field)
        cell = read(number, field)
        self.cells[cell.name] = cell
        column = exp.column(cell.name, quoted=True)
        column.this.meta.update(field.expression.meta)
        return column

    def _cell(self, number: int, name: str) -> exp.Column:
        cell = self.read(number, name)
        self.cells[cell.name] = cell
        return exp.column(cell.name, quoted=True)


def _find_free(name: str, outputs: list[Output], written: set[str]) -> str:
    """The name, or name_1, name_2, ...: none of the outputs before it has it, and no alias."""
    taken = {known.lower() for known, _ in outputs} | written
    return next(free for free in suffix_name(name) if free.lower() not in taken)
