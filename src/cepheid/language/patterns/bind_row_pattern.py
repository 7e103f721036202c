"""What MATCH_RECOGNIZE and a row pattern in WINDOW have in common: pattern, keys, order, conditions, skip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, UnknownVariable
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.kernel.automaton import build_automaton
from cepheid.kernel.expression import Expression
from cepheid.kernel.pattern import RowPatternProgram, Skip, list_timed
from cepheid.language.expressions.aggregates import compute_column
from cepheid.language.expressions.bind_order import bind_order, plain_column, read_within
from cepheid.language.expressions.condition import bind_condition
from cepheid.language.expressions.decimals import exact_key, key_type
from cepheid.language.expressions.scope import EventInput, InputColumn
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import PatternWindowClause, RowPatternClause, Within
from cepheid.language.patterns.check_absences import check_absences
from cepheid.language.patterns.facts import RowScope
from cepheid.language.patterns.pattern_variables import PatternVariables, collect_variables
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
    ordered = bind_order(clause.order_by, source, clause.head, clause.within, _read_lasting(clause))
    program = RowPatternProgram(
        pattern=clause.pattern,
        conditions=_bind_conditions(clause, source, variables),
        skip=_bind_skip(clause, variables),
        within=read_within(clause.within),
    )
    _check_size(clause, program)
    return BoundPattern(program, variables, keys, ordered)


def _read_lasting(clause: RowPatternClause) -> list[Within]:
    """How long absences last, where they say so."""
    found = []
    for absence in list_timed(clause.pattern):
        assert absence.lasting is not None, "an absence that lasts says how long"
        duration = absence.lasting if absence.counted else timedelta(microseconds=absence.lasting)
        found.append(Within(duration, absence.span))
        read_within(found[-1], "FOR")
    return found


def order_of_rows(bound: BoundPattern) -> int:
    """How many columns order the events: there is a time, be it the same for all."""
    return max(1, len(bound.ordered))


def _check_size(clause: RowPatternClause, program: RowPatternProgram) -> None:
    """What is too large to be written out is told with its place; hosts write it out again."""
    try:
        build_automaton(program.pattern)
    except InvalidQuery as problem:
        raise InvalidQuery(problem.message, span=clause.pattern_span, hint=problem.hint) from None


def look_ahead(cells: tuple[OutputCell, ...]) -> int:
    """How many events after a match its cells read (NEXT); a classifier reads none outside the match."""
    return max([0, *(cell.position.shift for cell in cells if cell.kind != "classifier")])


def _bind_keys(clause: RowPatternClause, source: EventInput) -> list[InputColumn]:
    keys: list[InputColumn] = []
    for number, written in enumerate(clause.partition_by):
        column = _read_key(written, source, computed=isinstance(clause, PatternWindowClause))
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


def _read_key(written: exp.Expr, source: EventInput, computed: bool) -> InputColumn:
    """A column, a field of a struct, which comes out under its own name, or an element of an array.

    computed: it may be any expression, since it does not come out.
    """
    inner = written.unnest()
    if computed and not isinstance(inner, exp.Column | exp.Literal):
        return compute_column(inner, source)
    if isinstance(inner, exp.Bracket | exp.Dot):
        dialect = source.describe.dialect
        return replace(compute_column(inner, source), name=inner.sql(dialect=dialect).replace('"', "").replace("`", ""))
    column = source.column(plain_column(written, "PARTITION BY"))
    return replace(column, name=column.name.rpartition(".")[2]) if column.name in source.fields else column


def _bind_conditions(
    clause: RowPatternClause, source: EventInput, variables: PatternVariables
) -> tuple[tuple[str, Expression], ...]:
    conditions: dict[str, Expression] = {}
    defined = variables.list_defined()
    for definition in clause.definitions:
        written = definition.variable
        variable = written.folded
        if variable not in defined:
            raise UnknownVariable(variable, defined, span=written.span)
        if variable in conditions:
            hint = "write one condition for it, with AND or OR"
            raise InvalidQuery(f'DEFINE names "{written.text}" twice', span=written.span, hint=hint)
        scope = RowScope(source, variables.seen_from(variable), in_window=isinstance(clause, PatternWindowClause))
        conditions[variable] = bind_condition(
            definition.condition,
            source.describe,
            scope.resolve,
            scope.bind_fact,
            source=source,
            read_fact=scope.read_fact,
            tested=variable,
        )
    return tuple(conditions.items())


def _bind_skip(clause: RowPatternClause, variables: PatternVariables) -> Skip:
    after = clause.after_match
    if after.variable is None:
        return Skip(after.kind)
    return Skip(after.kind, variables.resolve_name(after.variable))
