"""The projection that puts a stream into the event layout for a window or a join, column by column.

_time, _key0, ..., _group0, ...    places with a meaning of their own
a1, _.secret                       columns that are read as they are (`_.` in front of a name that begins with _)
_e0, _e1, ...                      what the host computes before events reach the engine
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, NotSupportedYet, Span, UnknownColumn
from cepheid.event_time import can_order
from cepheid.graph.operators import Project, Source
from cepheid.graph.operators.project import event_layout
from cepheid.graph.query_graph import QueryGraph
from cepheid.kernel.columns import kind_of
from cepheid.language.expressions.bind_order import list_times, plain_column
from cepheid.language.expressions.decimals import exact_key, key_type
from cepheid.language.expressions.host_types import HostTypes
from cepheid.language.expressions.struct_fields import find_fields
from cepheid.language.parsing.places import span_near, span_of
from cepheid.language.parsing.syntax import StreamWindowClause
from cepheid.language.relations.sql_values import read_value
from cepheid.processing_time import STAMP
from cepheid.scalars.value import Column, Scalar

MOMENT = "_moment"  # the time of the rows of a window query, which no user sees


def name_inputs(graph: QueryGraph, vertices: list[str]) -> list[str]:
    """What stands in front of the columns of several inputs: the stream, whatever a query calls it."""
    names: list[str] = []
    for vertex in vertices:
        node = graph.vertices[vertex]
        name = node.name if isinstance(node, Source) else "input"
        taken = sum(known.partition("#")[0] == name for known in names)
        names.append(f"{name}#{taken + 1}" if taken else name)
    return names


@dataclass
class StreamLayout:
    """label: the stream; name: what the query calls it; prefix: in front of its columns, where there are several
    streams."""

    label: str
    name: str
    schema: pa.Schema
    describe: HostTypes
    prefix: str = ""
    places: dict[str, tuple[Scalar, pa.DataType]] = field(default_factory=dict)  # layout -> (value, type)
    decimal_keys: dict[str, pa.DataType] = field(default_factory=dict)  # place of a key -> what it stands for

    # --- names -------------------------------------------------------------------------------------------
    def owns(self, column: exp.Column) -> bool:
        """May the column be one of this stream?"""
        return self.find_name(column.name) is not None and column.table.lower() in ("", *self.names())

    def names(self) -> set[str]:
        return {self.name.lower()} if self.name else {self.label.lower()}

    def schema_of(self, qualifier: str) -> pa.Schema | None:
        return self.schema if qualifier.lower() in self.names() else None

    def find_name(self, written: str) -> str | None:
        if written in self.schema.names:
            return written
        return next((name for name in self.schema.names if name.lower() == written.lower()), None)

    def visible_names(self) -> list[str]:
        """What * means."""
        return [name for name in self.schema.names if name not in (MOMENT, STAMP)]

    def spell(self, expression: exp.Expr) -> exp.Expr:
        """The expression with columns as the stream spells them, without qualifiers."""
        expression = find_fields(expression, self.schema_of, [self.schema])
        for column in expression.find_all(exp.Column):
            if column.db:
                raise NotSupportedYet(
                    f'a field of a struct ("{column.sql()}")', span=span_of(column), hint="take it out in a subquery"
                )
            if column.table and column.table.lower() not in self.names():
                raise InvalidQuery(
                    f'there is no "{column.table}" in FROM',
                    span=span_of(column.args["table"]),
                    hint=f'"{self.name or self.label}" is',
                )
            if self.find_name(column.name) is None:
                raise UnknownColumn(column.name, self.label, self.visible_names(), span=span_near(column.this))
        return expression.transform(self._spell_one)

    def _spell_one(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        spelt = exp.column(self.find_name(node.name) or node.name, quoted=True)
        spelt.this.meta.update(node.this.meta)
        return spelt

    def value(self, expression: exp.Expr) -> Scalar:
        return read_value(self.spell(expression))

    # --- places ------------------------------------------------------------------------------------------
    def put(self, place: str, expression: exp.Expr) -> pa.DataType:
        """Give an expression a place of its own."""
        value = self.value(expression)
        arrow_type = self._type_of(value, expression)
        self.places[place] = (value, arrow_type)
        return arrow_type

    def read(self, expression: exp.Expr) -> tuple[str, pa.DataType]:
        """Where the expression is found in the layout, and its type; equal ones are shared."""
        inner = expression.unnest()
        value = self.value(inner)
        if isinstance(value, Column):
            plain = f"{self.prefix}{value.name}"
            place = f"_.{plain}" if plain.startswith("_") else plain
            self.places[place] = (value, self.schema.field(value.name).type)
            return place, self.places[place][1]
        stem = f"_{self.prefix}e"
        known = next((place for place, (other, _) in self.places.items() if other == value and stem in place), None)
        if known is None:
            known = f"{stem}{len(self.places)}"
            self.places[known] = (value, self._type_of(value, inner))
        return known, self.places[known][1]

    def read_double(self, expression: exp.Expr) -> tuple[str, pa.DataType]:
        """The same as a double."""
        return self.read(exp.cast(expression.copy(), "DOUBLE"))

    def _type_of(self, value: Scalar, expression: exp.Expr) -> pa.DataType:
        if isinstance(value, Column):
            return self.schema.field(value.name).type
        try:
            return self.describe.of_value(value, self.schema)
        except InvalidQuery as problem:
            raise InvalidQuery(problem.message, span=span_of(expression), hint=problem.hint) from None

    def put_time(self, clause: StreamWindowClause | None) -> pa.DataType:
        """The event time: what ORDER BY names, or the only timestamp there is."""
        if clause is not None and clause.order_by:
            if len(clause.order_by) > 1:
                hint = "order by the time alone; events of one time stay in the order they came in"
                raise NotSupportedYet("a window ordered by several columns", span=clause.order_by[1].span, hint=hint)
            (term,) = clause.order_by
            column = plain_column(term.expression, "ORDER BY")
            if term.descending:
                raise NotSupportedYet("ORDER BY ... DESC in a window", span=term.span, hint="time only goes forward")
            if term.nulls_first is not None:
                hint = "leave it out: events whose time is null take no part"
                raise NotSupportedYet("NULLS FIRST or LAST in the order of a window", span=term.span, hint=hint)
            time_type = self.put("_time", column)
            if not can_order(time_type):
                times = list_times(self.schema)
                hint = f"order by a timestamp or a number{f', for instance {times[0]}' if times else ''}"
                told = f'column "{column.name}" of type {time_type} does not order events'
                raise InvalidOrder(told, span=term.span, hint=hint)
            return time_type
        span = clause.span if clause is not None else None
        times = self.list_times(span)
        if len(times) == 1:
            return self.put("_time", exp.column(times[0], quoted=True))
        raise InvalidOrder(
            f'"{self.label}" has several timestamp columns: {", ".join(times)}',
            span=span,
            hint=f"say which one orders events: [ORDER BY {times[0]} ROWS 100], [ORDER BY {times[0]} RANGE 1 HOUR]",
        )

    def list_times(self, span: Span | None = None, named: bool = False) -> list[str]:
        """The columns that can order events without being named, or (named) that a condition can name."""
        times = [name for name in list_times(self.schema) if name != MOMENT]
        if MOMENT in self.schema.names and not named:
            return [MOMENT]
        if not times:
            hint = "a timestamp column orders events; a number can, if it is named: [ORDER BY id ROWS 100]"
            raise InvalidOrder(f'"{self.label}" has no timestamp column', span=span, hint=hint)
        return times

    def put_keys(self, expressions: tuple[exp.Expression, ...], stem: str, clause: str) -> None:
        """PARTITION BY or GROUP BY columns at `stem`0, `stem`1, ..."""
        for number, expression in enumerate(expressions):
            arrow_type = self.put(f"{stem}{number}", expression)
            if pa.types.is_decimal(arrow_type):
                self._hold_exactly(f"{stem}{number}")
                continue
            if kind_of(arrow_type) is None:
                raise NotSupportedYet(
                    f"{clause} a column of type {arrow_type}", span=span_of(expression), hint="cast it in a subquery"
                )

    def _hold_exactly(self, place: str) -> None:
        """Put what is equal exactly where decimals are in their place; `read_key` makes decimals of it."""
        value, arrow_type = self.places[place]
        self.places[place] = (exact_key(value, arrow_type), key_type(arrow_type))
        self.decimal_keys[place] = arrow_type

    def types(self) -> dict[str, pa.DataType]:
        return {place: arrow_type for place, (_, arrow_type) in self.places.items()}

    def project(self) -> Project:
        return event_layout([(place, value) for place, (value, _) in self.places.items()])
