"""What MATCH_RECOGNIZE and a row pattern in WINDOW have in common: pattern, keys, order, conditions, skip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, UnknownVariable
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.expression import Expression
from cepheid.kernel.pattern import RowPatternProgram, Skip
from cepheid.language.expressions.aggregates import compute_column
from cepheid.language.expressions.bind_order import bind_order, plain_column, read_within
from cepheid.language.expressions.condition import bind_condition
from cepheid.language.expressions.decimals import exact_key, key_type
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import PatternWindowClause, RowPatternClause
from cepheid.language.patterns.check_absences import check_absences
from cepheid.language.patterns.facts import RowScope
from cepheid.language.patterns.pattern_variables import PatternVariables, collect_variables, spell_once
from cepheid.scalars.value import Column


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A clause whose names have meanings: `program` lacks only what its cells and its way of telling rows add."""

    program: RowPatternProgram
    variables: PatternVariables
    keys: list[InputColumn]
    ordered: list[InputColumn]


def bind_row_pattern(clause: RowPatternClause, source: EventInput) -> BoundPattern:
    """Keys and order get their places in the layout first, so that conditions read them there."""
    variables = collect_variables(clause)
    check_absences(clause)
    keys = _bind_keys(clause, source)
    ordered = bind_order(clause.order_by, source, clause.head, clause.within)
    program = RowPatternProgram(
        pattern=spell_once(clause.pattern),
        conditions=_bind_conditions(clause, source, variables),
        skip=_bind_skip(clause, variables),
        within=read_within(clause.within),
    )
    return BoundPattern(program, variables, keys, ordered)


def look_ahead(cells: tuple[OutputCell, ...]) -> int:
    """How many events after a match its cells read (NEXT); a classifier reads none outside the match."""
    return max([0, *(cell.position.shift for cell in cells if cell.kind != "classifier")])


def _bind_keys(clause: RowPatternClause, source: EventInput) -> list[InputColumn]:
    keys: list[InputColumn] = []
    for number, written in enumerate(clause.partition_by):
        column = _read_key(written, source)
        if column.layout.startswith("_key"):
            hint = "name it once"
            raise InvalidQuery(f'PARTITION BY names "{column.name}" twice', span=span_of(written), hint=hint)
        place = f"_key{number}"
        if pa.types.is_decimal(column.type):
            source.computed[exact_key(column.value, column.type)] = (place, key_type(column.type))
            keys.append(column)
            continue
        if column.kind is None:
            hint = "partition by a number, a text or a time; a subquery can compute one"
            raise NotSupportedYet(f"PARTITION BY a column of type {column.type}", span=span_of(written), hint=hint)
        if isinstance(column.value, Column):
            source.put_at(column, place)
        else:
            source.computed[column.value] = (place, column.type)
        keys.append(replace(column, layout=place))
    return keys


def _read_key(written: exp.Expr, source: EventInput) -> InputColumn:
    """A column, a field of a struct, which comes out under its own name, or an element of an array."""
    inner = written.unnest()
    if isinstance(inner, exp.Bracket | exp.Dot):
        dialect = source.describe.dialect
        return replace(compute_column(inner, source), name=inner.sql(dialect=dialect).replace('"', "").replace("`", ""))
    column = source.column(plain_column(written, "PARTITION BY"))
    return replace(column, name=column.name.rpartition(".")[2]) if column.name in source.fields else column


def _bind_conditions(
    clause: RowPatternClause, source: EventInput, variables: PatternVariables
) -> tuple[tuple[str, Expression], ...]:
    conditions: dict[str, Expression] = {}
    spellings = variables.spellings()
    for definition in clause.definitions:
        written = definition.variable
        variable = spellings.get(written.text.lower())
        if variable is None:
            raise UnknownVariable(written.text, spellings.values(), span=written.span)
        if variable in conditions:
            hint = "write one condition for it, with AND or OR"
            raise InvalidQuery(f'DEFINE names "{written.text}" twice', span=written.span, hint=hint)
        scope = RowScope(source, variables.seen_from(variable), in_window=isinstance(clause, PatternWindowClause))
        conditions[variable] = bind_condition(
            definition.condition, source.describe, scope.resolve, scope.bind_fact, asks_host=True, tested=variable
        )
    return tuple(conditions.items())


def _bind_skip(clause: RowPatternClause, variables: PatternVariables) -> Skip:
    after = clause.after_match
    if after.variable is None:
        return Skip(after.kind)
    return Skip(after.kind, variables.resolve_name(after.variable))
