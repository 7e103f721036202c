"""The fields of structs that a pattern reads, made columns of its input, before anything else of the clause is read.

PARTITION BY device.id ... DEFINE b AS b.reading.value > PREV(b.reading.value)
PARTITION BY "device.id" ... DEFINE b AS b."reading.value" > PREV(b."reading.value")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import UnknownVariable
from cepheid.language.expressions.row_aggregates import with_python
from cepheid.language.expressions.scope import EventInput
from cepheid.language.expressions.struct_fields import find_fields, name_fields
from cepheid.language.parsing.places import span_near
from cepheid.language.parsing.syntax import (
    MatchRecognizeClause,
    OrderTerm,
    PatternWindowClause,
    SequenceClause,
)
from cepheid.language.patterns.elements import variable_of
from cepheid.language.patterns.pattern_variables import PatternVariables, collect_variables

C = TypeVar("C", MatchRecognizeClause, PatternWindowClause)
Read = Callable[[exp.Expression], exp.Expression]


def read_row_fields(clause: C, source: EventInput) -> C:
    variables: PatternVariables = collect_variables(clause)
    names = {name.lower() for name in (*variables.members, *variables.absent)}
    table = clause.source.alias_or_name.lower()

    def qualified(name: str) -> pa.Schema | None:
        return source.schema if name.lower() in names or name.lower() == table else None

    def read(tree: exp.Expression) -> exp.Expression:
        named = name_fields(find_fields(tree, qualified, [source.schema]), lambda _: source)
        return cast(exp.Expression, with_python(named, source.python))

    changed = replace(
        clause,
        partition_by=tuple(map(read, clause.partition_by)),
        order_by=_read_order(clause.order_by, read),
        measures=tuple(replace(measure, expression=read(measure.expression)) for measure in clause.measures),
        definitions=tuple(replace(given, condition=read(given.condition)) for given in clause.definitions),
    )
    if isinstance(changed, PatternWindowClause):
        functions = tuple(replace(each, expression=read(each.expression)) for each in changed.functions)
        frame_end = None if changed.frame_end is None else read(changed.frame_end)
        changed = replace(changed, functions=functions, frame_end=frame_end)
    return changed


class SequenceFields:
    """Of one SEQ; inputs: by stream name as written, lower case."""

    def __init__(self, clause: SequenceClause, inputs: Mapping[str, EventInput]) -> None:
        self._sources = {term.variable.text.lower(): inputs[term.stream.text.lower()] for term in clause.terms}
        self._inputs = inputs

    def read_clause(self, clause: SequenceClause) -> SequenceClause:
        where = None if clause.where is None else self.read(clause.where)
        return replace(clause, where=where, order_by=_read_order(clause.order_by, self._read_order_column))

    def read(self, tree: exp.Expression) -> exp.Expression:
        """What is written of events, with the variable in front."""
        fields = find_fields(tree, self._find_schema, [])
        return cast(exp.Expression, name_fields(fields, self._source_of))

    def _source_of(self, column: exp.Column) -> EventInput:
        source = self._sources.get(variable_of(column.table))
        if source is None:
            raise UnknownVariable(column.table or column.name, self._sources, span=span_near(column.this))
        return source

    def _find_schema(self, name: str) -> pa.Schema | None:
        source = self._sources.get(variable_of(name))
        return None if source is None else source.schema

    def _read_order_column(self, tree: exp.Expression) -> exp.Expression:
        """Of every stream."""
        found = tree
        for source in self._inputs.values():
            found = _read_unqualified(tree, source)
        return found


def _read_unqualified(tree: exp.Expression, source: EventInput) -> exp.Expression:
    return cast(exp.Expression, name_fields(find_fields(tree, lambda _: None, [source.schema]), lambda _: source))


def _read_order(terms: tuple[OrderTerm, ...], read: Read) -> tuple[OrderTerm, ...]:
    return tuple(replace(term, expression=read(term.expression)) for term in terms)
