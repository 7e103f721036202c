"""Syntax tree to query graph: names get meanings, types are checked, every event construct gets its vertices.

Sink
  Project, Filter or Relation     what is left of the query, for the host
    Project ... RowPattern ...    one group per event construct
      Source
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import UnknownStream
from cepheid.graph.cell_types import type_of_cell
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation, Sink, Source
from cepheid.graph.operators.project import quote_name
from cepheid.graph.operators.row_pattern import OutputCell
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.bind_match_recognize import bind_match_recognize, refuse_double_names
from cepheid.language.bind_sequence import SequenceBinder, replace_columns
from cepheid.language.parser import span_of
from cepheid.language.scope import Describe, EventInput
from cepheid.language.syntax import MatchRecognizeClause, Name, ParsedQuery, SequenceClause


@dataclass
class _Table:
    """Something that can stand in FROM: a vertex, and the schema of its rows."""

    vertex: str
    schema: pa.Schema
    label: str


@dataclass
class _Binder:
    schemas: Mapping[str, pa.Schema]
    describe: Describe
    graph: QueryGraph = field(default_factory=QueryGraph)
    tables: dict[str, _Table] = field(default_factory=dict)

    def bind(self, parsed: ParsedQuery) -> QueryGraph:
        relation = parsed.relation
        for clause in parsed.clauses:
            if isinstance(clause, MatchRecognizeClause):
                self.add_match_recognize(clause, relation)
            else:
                relation = self.add_sequence(clause, relation)
        vertex = self.add_remainder(relation)
        self.add(Sink(), vertex)
        return self.graph

    def add(self, node: PlanNode, *inputs: str) -> str:
        self.graph, vertex = self.graph.add(node, inputs)
        return vertex

    def add_match_recognize(self, clause: MatchRecognizeClause, relation: exp.Expression) -> None:
        table = self.find_source(clause.source, relation)
        source = EventInput(table.label, table.schema, self.describe)
        layout, pattern, measures = bind_match_recognize(clause, source)
        cells = self.add(pattern, self.add(layout, table.vertex))
        vertex = self.add(measures, cells)
        schema = self._describe_measures(source, pattern.cells, measures)
        self.tables[clause.placeholder] = _Table(vertex, schema, clause.placeholder)

    def _describe_measures(self, source: EventInput, cells: tuple[OutputCell, ...], measures: Project) -> pa.Schema:
        layout = {source.layout_of(name): source.schema.field(name).type for name in source.schema.names}
        layout |= {name: kind for name, kind in source.computed.values()}
        given = pa.schema([(cell.name, type_of_cell(cell, layout)) for cell in cells])
        columns = ", ".join(f"{sql} AS {quote_name(name)}" for name, sql in measures.columns)
        if not measures.columns:
            return pa.schema([])
        return self.describe(f"SELECT {columns} FROM _input", {"_input": given})

    def add_sequence(self, clause: SequenceClause, relation: exp.Expression) -> exp.Expression:
        inputs: dict[str, EventInput] = {}
        vertices: dict[str, str] = {}
        for term in clause.terms:
            table = self.find_name(term.stream)
            key = term.stream.text.lower()
            vertices[key] = table.vertex
            inputs.setdefault(key, EventInput(table.label, table.schema, self.describe, prefix=f"{table.label}."))
        binder = SequenceBinder(clause, inputs)
        layouts, node = binder.bind()
        relation = replace_columns(relation, binder)
        # columns found by the rest of the query are part of the layouts already: projections give everything
        feeds = [self.add(layout, vertices[stream]) for layout, stream in zip(layouts, binder.streams, strict=True)]
        cells = tuple(binder.cells)
        vertex = self.add(type(node)(**{**node.__dict__, "cells": cells}), *feeds)
        types = {cell.name: self._cell_source_type(binder, cell.name) for cell in cells}
        self.tables[clause.placeholder] = _Table(vertex, pa.schema(list(types.items())), clause.placeholder)
        return relation

    def _cell_source_type(self, binder: SequenceBinder, name: str) -> pa.DataType:
        variable, _, column = name.partition(".")
        return binder.inputs[binder.stream_of[variable]].schema.field(column).type

    def find_source(self, written: exp.Expression, relation: exp.Expression) -> _Table:
        """The input of a clause: a stream, a subquery or a CTE."""
        ctes = _ctes_of(relation)
        if isinstance(written, exp.Table) and written.name.lower() not in ctes and not written.args.get("joins"):
            alias = written.args.get("alias")
            if alias is None or not alias.args.get("columns"):
                return self.find_name(Name(written.name, span_of(written)))
        select = exp.select("*").from_(written.copy())
        for name in _needed_ctes(select, ctes):
            select = select.with_(name, as_=ctes[name].this.copy())
        vertex, schema = self.add_relation(select)
        label = written.alias_or_name or "the subquery"
        return _Table(vertex, schema, label)

    def find_name(self, name: Name) -> _Table:
        known = {**{stream.lower(): stream for stream in self.schemas}, **{table: table for table in self.tables}}
        stream = known.get(name.text.lower())
        if stream is None:
            raise UnknownStream(name.text, self.schemas, span=name.span)
        if stream not in self.tables:
            schema = self.schemas[stream]
            vertex = self.add(Source(name=stream, columns=tuple(schema.names)))
            self.tables[stream] = _Table(vertex, schema, stream)
        return self.tables[stream]

    def add_relation(self, query: exp.Expression) -> tuple[str, pa.Schema]:
        """Leave a whole query to the host."""
        names: dict[str, _Table] = {}
        ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
        query = query.copy()
        for table in query.find_all(exp.Table):
            if table.name.lower() in ctes or not table.name:
                continue
            found = self.find_name(Name(table.name, span_of(table)))
            names[found.label] = found
            if table.name != found.label:
                table.set("this", exp.to_identifier(found.label, quoted=True))
        sql = query.sql(dialect="trino")
        schema = self.describe(sql, {name: table.schema for name, table in names.items()})
        refuse_double_names(schema.names, None)
        node = Relation(sql=sql, inputs=tuple(names))
        return self.add(node, *(table.vertex for table in names.values())), schema

    def add_remainder(self, relation: exp.Expression) -> str:
        simple = _split_simple(relation, self.tables)
        if simple is None:
            return self.add_relation(relation)[0]
        table, predicate, columns = simple
        self.add_relation_check(relation)
        vertex = table.vertex
        if predicate is not None:
            vertex = self.add(Filter(predicate=predicate), vertex)
        return self.add(Project(columns=columns), vertex) if columns else vertex

    def add_relation_check(self, relation: exp.Expression) -> None:
        """Let the host describe it, for its errors, without keeping the vertex."""
        graph = self.graph
        self.add_relation(relation)
        self.graph = graph


def bind_query(parsed: ParsedQuery, schemas: Mapping[str, pa.Schema], describe: Describe) -> QueryGraph:
    """The graph of a query over streams with these schemas; `describe` asks the host for types of SQL."""
    return _Binder(schemas, describe).bind(parsed)


def _ctes_of(relation: exp.Expression) -> dict[str, exp.CTE]:
    return {cte.alias.lower(): cte for cte in relation.find_all(exp.CTE)}


def _needed_ctes(query: exp.Expression, ctes: Mapping[str, exp.CTE]) -> list[str]:
    """CTEs that a query reads, directly or through others, in the order in which they are written."""
    needed: set[str] = set()
    waiting = [query]
    while waiting:
        for table in waiting.pop().find_all(exp.Table):
            name = table.name.lower()
            if name in ctes and name not in needed:
                needed.add(name)
                waiting.append(ctes[name].this)
    return [name for name in ctes if name in needed]


_SIMPLE_PARTS = {"expressions", "from_", "from", "where", "kind"}
_NOT_SIMPLE = (exp.AggFunc, exp.Window, exp.Subquery, exp.Select, exp.Unnest, exp.Exists, exp.Star)


def _split_simple(
    relation: exp.Expression, tables: Mapping[str, _Table]
) -> tuple[_Table, str | None, tuple[tuple[str, str], ...]] | None:
    """SELECT <columns> FROM <one event construct> [WHERE p], or None if it is more than that."""
    if not isinstance(relation, exp.Select):
        return None
    if any(value for part, value in relation.args.items() if part not in _SIMPLE_PARTS):
        return None
    source = relation.find(exp.Table)
    if (
        source is None
        or source.name not in tables
        or source.args.get("joins")
        or len(list(relation.find_all(exp.Table))) != 1
    ):
        return None
    alias = source.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    table = tables[source.name]
    star = len(relation.expressions) == 1 and isinstance(relation.expressions[0], exp.Star)
    parts = [
        *([] if star else relation.expressions),
        *([relation.args["where"].this] if relation.args.get("where") else []),
    ]
    if any(part.find(*_NOT_SIMPLE) for part in parts):
        return None
    where = relation.args.get("where")
    predicate = _plain_sql(where.this, table.schema) if where is not None else None
    columns = (
        ()
        if star
        else tuple((item.alias_or_name, _plain_sql(item.unalias(), table.schema)) for item in relation.expressions)
    )
    if any(not name for name, _ in columns):
        return None
    return table, predicate, columns


def _plain_sql(expression: exp.Expression, schema: pa.Schema) -> str:
    """SQL whose columns are unqualified and spelt as the input spells them."""
    names = {name.lower(): name for name in schema.names}

    def spell(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column):
            return exp.column(names.get(node.name.lower(), node.name), quoted=True)
        return node

    return expression.transform(spell).sql(dialect="trino")
