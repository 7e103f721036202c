"""Types of expressions in a query that is parsed and not yet bound: the host is asked, over the columns that they read.

Columns are followed through subqueries, WITH, and event constructs to the streams; what cannot be followed has no type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError
from cepheid.language.catalog import Catalog
from cepheid.language.expressions.navigation import PHYSICAL
from cepheid.language.parsing.dialect import TrinoText
from cepheid.language.parsing.syntax import (
    EventClause,
    MatchRecognizeClause,
    ParsedQuery,
    PatternWindowClause,
    SequenceClause,
    StreamWindowClause,
)
from cepheid.language.relations.simple_select import find_items

TypeOf = Callable[[exp.Expr], pa.DataType | None]
Columns = dict[str, pa.DataType | None]  # by name in lower case
Find = Callable[[exp.Column], pa.DataType | None]
MOMENT = pa.timestamp("us")
BOUNDS: Columns = {"window_start": MOMENT, "window_end": MOMENT, "window_time": MOMENT}
FACTS = {"MATCH_NUMBER": "bigint", "CLASSIFIER": "varchar"}
OF_ROWS = frozenset((*PHYSICAL, "RUNNING", "FINAL", "PREV", "NEXT"))  # what they are of says their type


class ColumnTypes:
    def __init__(self, parsed: ParsedQuery, catalog: Catalog) -> None:
        self.parsed, self.catalog = parsed, catalog
        self.clauses = {clause.placeholder: clause for clause in parsed.clauses}
        self.streams = {name.lower(): schema for name, schema in catalog.schemas.items()}

    def inner_queries(self) -> Iterator[exp.Expression]:
        """The trees in which queries stand: the rest of the query, and the inputs of clauses."""
        yield self.parsed.relation
        yield from (clause.source for clause in self.parsed.clauses if not isinstance(clause, SequenceClause))

    # --- who knows a column ------------------------------------------------------------------------------
    def in_query(self, at: exp.Expr) -> TypeOf:
        """The types of expressions at a place in a query."""
        select = at.find_ancestor(exp.Select)
        return lambda tree: None if select is None else self.ask(tree, lambda column: self.find_in(select, column))

    def in_clause(self, clause: EventClause) -> Callable[[exp.Expr], TypeOf]:
        if isinstance(clause, SequenceClause):
            return lambda _: lambda tree: self.ask(tree, lambda column: self.find_step(clause, column))
        columns = self.columns_of(clause.source)
        return lambda _: lambda tree: self.ask(tree, lambda column: columns.get(column.name.lower()))

    def find_step(self, clause: SequenceClause, column: exp.Column) -> pa.DataType | None:
        variable = column.table.partition("[")[0].lower()
        for term in clause.terms:
            if term.variable.text.lower() == variable:
                return self.columns_named(term.stream.text).get(column.name.lower())
        return None

    def find_in(self, select: exp.Select, column: exp.Column) -> pa.DataType | None:
        qualifier, name = column.table.lower(), column.name.lower()
        for item in find_items(select):
            clause = self.clauses.get(item.name)
            if isinstance(clause, SequenceClause):
                return self.find_step(clause, column)
            called = {item.alias_or_name.lower()} | ({clause.source.alias_or_name.lower()} if clause else set())
            if not qualifier or qualifier in called:
                columns = self.columns_of(item)
                if name in columns:
                    return columns[name]
        named = [each for each in select.expressions if each.alias.lower() == name and not qualifier]
        return self.in_query(named[0])(named[0].unalias()) if named and column not in named[0].walk() else None

    # --- what an item of FROM has ------------------------------------------------------------------------
    def columns_of(self, item: exp.Expr) -> Columns:
        if isinstance(item, exp.Subquery):
            return self.outputs_of(item.this)
        if not isinstance(item, exp.Table):
            return {}
        clause = self.clauses.get(item.name)
        return self.columns_named(item.name) if clause is None else self.columns_made(clause)

    def columns_named(self, name: str) -> Columns:
        for tree in self.inner_queries():
            for cte in tree.find_all(exp.CTE):
                if cte.alias.lower() == name.lower():
                    return self.outputs_of(cte.this)
        schema = self.streams.get(name.lower(), pa.schema([]))
        return {column.name.lower(): column.type for column in schema}

    def columns_made(self, clause: EventClause) -> Columns:
        match clause:
            case SequenceClause():
                return {}
            case StreamWindowClause():
                return {**BOUNDS, **self.columns_of(clause.source)}
        given = self.columns_of(clause.source)
        type_of = self.in_clause(clause)
        measures = {each.name.text.lower(): type_of(each.expression)(each.expression) for each in clause.measures}
        if isinstance(clause, PatternWindowClause):
            functions = {each.output.lower(): type_of(each.expression)(each.expression) for each in clause.functions}
            return {**given, **measures, **functions}
        assert isinstance(clause, MatchRecognizeClause), "the last kind of clause"
        keys = {key.name.lower(): given.get(key.name.lower()) for key in clause.partition_by}
        return {**(given if clause.rows_per_match == "all" else keys), **measures}

    def outputs_of(self, query: exp.Expr) -> Columns:
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return {}
        found: Columns = {}
        for output in query.expressions:
            if output.is_star:
                owner = output.table.lower() if isinstance(output, exp.Column) else ""
                for item in find_items(query):
                    if not owner or item.alias_or_name.lower() == owner:
                        found |= self.columns_of(item)
            else:
                found[output.alias_or_name.lower()] = self.in_query(output)(output.unalias())
        return found

    # --- what the host says ------------------------------------------------------------------------------
    def ask(self, tree: exp.Expr, find: Find) -> pa.DataType | None:
        """The type of an expression over columns; None if one of them, or the whole, is not known."""
        tree = _without_navigation(tree.copy())
        if tree.find(exp.Query) is not None:
            return None
        given: dict[str, pa.DataType] = {}
        for column in list(tree.find_all(exp.Column)):
            if isinstance(column.this, exp.Star):
                continue
            known = find(column)
            if known is None:
                return None
            plain = exp.column(f"_c{len(given)}", quoted=True)
            given[plain.name] = known
            if column is tree:
                return known
            column.replace(plain)
        schema = pa.schema([*given.items(), ("_row", pa.int64())])
        try:
            dialect = TrinoText if self.catalog.dialect == "trino" else self.catalog.dialect
            sql = f"SELECT {tree.sql(dialect=dialect)} AS x FROM _input"
            return self.catalog.describe(sql, {"_input": schema}).field(0).type
        except CepheidError:
            return None


def _without_navigation(tree: exp.Expr) -> exp.Expr:
    """PREV(x), FIRST(x) and the like have the type of x; what is said of the match has one of its own."""

    def inner(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.First | exp.Last):
            return _without_navigation(node.this)
        if isinstance(node, exp.Anonymous) and node.name.upper() in OF_ROWS and node.expressions:
            return _without_navigation(node.expressions[0])
        if isinstance(node, exp.Anonymous) and node.name.upper() in FACTS:
            return exp.cast(exp.null(), FACTS[node.name.upper()])
        return node

    return tree.transform(inner)
