"""ASOF JOIN with <= or <: each row of the left side with the next one of the right side.

    a ASOF JOIN b ON a.id = b.id AND a.ts <= b.ts

    Filter (_found)                               not for a LEFT JOIN
      OverRows (lead 1 of rows with _right, about _left)
        Project (_time, _key0 = id, _left, ...)   a
        Project (_time, _key0 = id, _right, ...)  b

The rows of both sides are one sequence, and those of a look for the next one of b.  Of equal times a comes first, so
that b is behind it; for `<` b comes first.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.graph.operators import Filter, OverRows, Project
from cepheid.graph.operators.over_rows import OverCell
from cepheid.kernel.over import OverFunction, OverProgram
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.sql_values import read_value
from cepheid.language.streams.as_of_condition import AsOf, is_null
from cepheid.language.streams.bind_as_of_join import AsOfSelect
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_layout import MOMENT
from cepheid.language.streams.window_queries import describe_parts
from cepheid.scalars.value import Column, Scalar

LEFT, RIGHT, FOUND = "_left", "_right", "_found"


def add_next_join(binder: QueryBinder, bound: AsOfSelect, vertices: list[str]) -> BoundTable:
    asked = bound.bind_sides()
    order = (0, 1) if asked.comparison is exp.LTE else (1, 0)
    for side, mark in zip(bound.sides, (LEFT, RIGHT), strict=True):
        side.layout.places[mark] = (read_value(exp.true()), pa.bool_())
    outputs = [*bound.columns.bind_outputs(bound.query), (MOMENT, exp.column(MOMENT, quoted=True))]
    cells = [
        OverCell(name=cell.name, kind="picked" if cell.input else "row", column=cell.column, input=order.index(0))
        for cell in bound.columns.cells.values()
    ]
    cells.append(OverCell(name=MOMENT, kind="row", column="_time", input=order.index(0)))
    cells.append(OverCell(name=FOUND, kind="found"))
    given = bound.cell_schema().append(pa.field(MOMENT, bound.sides[0].layout.types()["_time"]))
    program = OverProgram(functions=(OverFunction(function="lead", column=RIGHT),), about=LEFT)
    feeds = [_add_side(binder, bound, vertices[side], asked, side) for side in order]
    vertex = binder.add(OverRows(program=program, cells=tuple(cells), keys=bound.keys), *feeds)
    if not asked.outer:
        vertex = binder.add(Filter(predicate=Column(FOUND)), vertex)
    schema = describe_parts(binder, outputs, given, bound.at)
    columns = tuple((name, read_value(tree)) for name, tree in outputs)
    return BoundTable(binder.add(Project(columns=columns), vertex), schema, "the query")


def _add_side(binder: QueryBinder, bound: AsOfSelect, vertex: str, asked: AsOf, side: int) -> str:
    """One side in the layout, without what cannot be a partner: null equals nothing."""
    layout = bound.sides[side].layout
    conditions = [part for part in asked.rest if bound.columns.owners(part) == {side}]
    if conditions and not side and asked.outer:
        raise NotSupportedYet(
            f'"{conditions[0].sql()}" in an ASOF LEFT JOIN with <= or <',
            span=span_of(conditions[0]),
            hint="say it in WHERE, or of the right side in a CASE",
        )
    if conditions:
        predicate: Scalar = layout.value(exp.and_(*conditions, copy=True))
        vertex = binder.add(Filter(predicate=predicate), vertex)
    if side and bound.keys:
        vertex = binder.add(Filter(predicate=layout.value(exp.and_(*map(_has_value, _list_keys(bound))))), vertex)
    return binder.add(layout.project(), vertex)


def _list_keys(bound: AsOfSelect) -> list[exp.Expr]:
    assert bound.asked is not None, "it is given"
    halves = [half for part in bound.asked.equalities for half in (part.this, part.expression)]
    return [half for half in halves if bound.columns.owners(half) == {1}]


def _has_value(key: exp.Expr) -> exp.Expr:
    return exp.Not(this=is_null(key))
