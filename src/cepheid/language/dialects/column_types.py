"""Types of expressions in a query that is parsed and not yet bound: the host is asked, over the columns that they read.

Columns are followed through subqueries, WITH, VALUES, new names and event constructs to the streams; what cannot be
followed has no type.  An expression is asked about as the dialect means it, be it changed already or not: so `x / 2`
finds a whole number in `SELECT v / 2 AS x`, whichever of them is settled first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

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
from cepheid.language.relations.conditions import list_items
from cepheid.language.relations.simple_select import find_items

TypeOf = Callable[[exp.Expr], pa.DataType | None]
Columns = dict[str, pa.DataType | None]  # by name in lower case
Find = Callable[[exp.Column], pa.DataType | None]
Settle = Callable[[exp.Expression, Callable[[exp.Expr], TypeOf]], exp.Expression]
MOMENT = pa.timestamp("us")
BOUNDS: Columns = {"window_start": MOMENT, "window_end": MOMENT, "window_time": MOMENT}
FACTS = {"MATCH_NUMBER": "bigint", "CLASSIFIER": "varchar"}
OF_ROWS = frozenset((*PHYSICAL, "RUNNING", "FINAL", "PREV", "NEXT"))  # what they are of says their type


class ColumnTypes:
    def __init__(self, parsed: ParsedQuery, catalog: Catalog) -> None:
        self.parsed, self.catalog = parsed, catalog
        self.clauses = {clause.placeholder: clause for clause in parsed.clauses}
        self.streams = {name.lower(): schema for name, schema in catalog.schemas.items()}
        self.settle: Settle = lambda tree, _: tree
        self.known: dict[int, tuple[exp.Expr, Columns | None]] = {}  # of items and queries; None: they are being asked
        self.told: dict[tuple[str, tuple[pa.DataType, ...]], pa.DataType | None] = {}

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
        return lambda _: lambda tree: self.ask(tree, lambda column: _find_part(columns, column))

    def find_step(self, clause: SequenceClause, column: exp.Column) -> pa.DataType | None:
        variable = column.table.partition("[")[0].lower()
        for term in clause.terms:
            if term.variable.text.lower() == variable:
                return self.columns_named(term.stream.text, self.place_of(clause)).get(column.name.lower())
        return None

    def find_in(self, select: exp.Select, column: exp.Column) -> pa.DataType | None:
        qualifier, name = column.table.lower(), column.name.lower()
        for item in find_items(select):
            clause = self.clauses.get(item.name)
            if isinstance(clause, SequenceClause):
                return self.find_step(clause, column)
            called = {item.alias_or_name.lower()} | ({clause.source.alias_or_name.lower()} if clause else set())
            found = _find_part(self.columns_of(item), column, called)
            if found is not None:
                return found
        named = [each for each in select.expressions if each.alias.lower() == name and not qualifier]
        return self.in_query(named[0])(named[0].unalias()) if named and column not in named[0].walk() else None

    # --- what an item of FROM has ------------------------------------------------------------------------
    def columns_of(self, item: exp.Expr) -> Columns:
        return self.once(item, self.find_columns)

    def find_columns(self, item: exp.Expr) -> Columns:
        match item:
            case exp.Values():
                return self.ask_values(item)
            case exp.Unnest():
                return self.elements_of(item)
            case exp.Subquery():
                found = self.outputs_of(item.this)
            case exp.Table():
                clause = self.clauses.get(item.name)
                found = self.columns_named(item.name, item) if clause is None else self.columns_made(clause)
            case _:
                return {}
        return _rename(found, item)

    def once(self, node: exp.Expr, find: Callable[[exp.Expr], Columns]) -> Columns:
        """What is found of a node, once; nothing while it is being found: it would be asked for ever."""
        _, columns = self.known.get(id(node), (node, None))
        if columns is not None or id(node) in self.known:
            return columns or {}
        self.known[id(node)] = node, None
        try:
            self.known[id(node)] = node, find(node)
        finally:
            if self.known[id(node)][1] is None:
                del self.known[id(node)]
        return self.known[id(node)][1] or {}

    def columns_named(self, name: str, at: exp.Expr | None) -> Columns:
        """at: where the name stands."""
        while at is not None:
            cte = _find_visible(name.lower(), at)
            if cte is not None:
                return _rename(self.outputs_of(cte.this), cte)
            at = next((self.place_of(each) for each in self.clauses.values() if _input_of(each) is at.root()), None)
        schema = self.streams.get(name.lower(), pa.schema([]))
        return {column.name.lower(): column.type for column in schema}

    def place_of(self, clause: EventClause) -> exp.Expr | None:
        """Where the clause stands."""
        tables = (table for tree in self.inner_queries() for table in tree.find_all(exp.Table))
        return next((table for table in tables if table.name == clause.placeholder), None)

    def columns_made(self, clause: EventClause) -> Columns:
        """In the order in which they come out."""
        match clause:
            case SequenceClause():
                return {}
            case StreamWindowClause():
                source = self.columns_of(clause.source)
                return {**source, **{name: kind for name, kind in BOUNDS.items() if name not in source}}
        given = self.columns_of(clause.source)
        type_of = self.in_clause(clause)
        measures = {each.name.text.lower(): type_of(each.expression)(each.expression) for each in clause.measures}
        if isinstance(clause, PatternWindowClause):
            functions = {
                each.output.lower(): measures[each.expression.name.lower()]
                if isinstance(each.expression, exp.Column) and each.expression.name.lower() in measures
                else type_of(each.expression)(each.expression)
                for each in clause.functions
            }
            return {**given, **functions}
        assert isinstance(clause, MatchRecognizeClause), "the last kind of clause"
        keys = {key.name.lower(): given.get(key.name.lower()) for key in clause.partition_by}
        if clause.rows_per_match != "all":
            return {**keys, **measures}
        names = [term.expression.name.lower() for term in clause.order_by if isinstance(term.expression, exp.Column)]
        order = {name: given.get(name) for name in names}
        return {**keys, **order, **measures, **given}

    def outputs_of(self, query: exp.Expr) -> Columns:
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        return self.once(query, self.find_outputs)

    def find_outputs(self, query: exp.Expr) -> Columns:
        if isinstance(query, exp.Values):
            return self.ask_values(query)
        if not isinstance(query, exp.Select):
            return {}
        found: Columns = {}
        for output in query.expressions:
            if output.is_star:
                owner = output.table.lower() if isinstance(output, exp.Column) else ""
                for item in _items_in_order(query):
                    if not owner or item.alias_or_name.lower() == owner:
                        found |= self.columns_of(item)
            else:
                found[output.alias_or_name.lower()] = self.in_query(output)(output.unalias())
        return found

    def elements_of(self, unnest: exp.Unnest) -> Columns:
        """The columns of UNNEST(list, ...), which have names only if they are given them."""
        kinds: list[pa.DataType | None] = []
        for written in unnest.expressions:
            given = self.in_query(unnest)(written)
            if given is not None and pa.types.is_map(given):
                kinds += [given.key_type, given.item_type]
            elif given is not None and pa.types.is_list(given):
                inner = given.value_type
                kinds += [field.type for field in inner] if pa.types.is_struct(inner) else [inner]
            else:
                return {}
        found = _rename({str(number): kind for number, kind in enumerate(kinds)}, unnest)
        place = unnest.args.get("offset")  # WITH ORDINALITY
        return {**found, place.name.lower(): pa.int64()} if isinstance(place, exp.Expr) else found

    def ask_values(self, values: exp.Values) -> Columns:
        settled = self.settle(values.copy(), lambda _: lambda tree: self.ask(tree, lambda _: None))
        try:
            schema = self.catalog.describe(f"SELECT * FROM {settled.sql(dialect=self.catalog.dialect)}", {})
        except CepheidError:
            return {}
        return {column.name.lower(): column.type for column in schema}

    # --- what the host says ------------------------------------------------------------------------------
    def ask(self, tree: exp.Expr, find: Find) -> pa.DataType | None:
        """The type of an expression over columns; None if one of them, or the whole, is not known."""
        if isinstance(tree, exp.Column):
            return find(tree)
        if isinstance(tree, exp.Cast):  # whatever it is of
            return self.describe(exp.cast(exp.null(), tree.to), {})
        try:
            settled = self.settle(exp.Paren(this=tree.copy()), lambda _: lambda inner: self.ask(inner, find))
        except CepheidError:
            return None
        asked = _without_navigation(settled)
        given: dict[str, pa.DataType] = {}

        def stand_for(node: exp.Expr, known: pa.DataType) -> None:
            plain = exp.column(f"_c{len(given)}", quoted=True)
            given[plain.name] = known
            node.replace(plain)

        for query in [each for each in asked.find_all(exp.Query) if each.find_ancestor(exp.Query) is None]:
            if isinstance(query.parent, exp.Exists | exp.In):
                query.parent.replace(exp.cast(exp.null(), "boolean"))
                continue
            first = next(iter(self.outputs_of(query).values()), None)
            if first is None or not isinstance(query, exp.Subquery):
                return None
            stand_for(query, first)
        for column in list(asked.find_all(exp.Column)):
            if isinstance(column.this, exp.Star) or column.name in given:
                continue
            known = find(column)
            if known is None:
                return None
            stand_for(column, known)
        return self.describe(asked, given)

    def describe(self, tree: exp.Expr, given: dict[str, pa.DataType]) -> pa.DataType | None:
        sql = tree.sql(dialect=TrinoText if self.catalog.dialect == "trino" else self.catalog.dialect)
        key = sql, tuple(given.values())
        if key not in self.told:
            schema = pa.schema([*given.items(), ("_row", pa.int64())])
            try:
                self.told[key] = (
                    self.catalog.describe(f"SELECT {sql} AS x FROM _input", {"_input": schema}).field(0).type
                )
            except CepheidError:
                self.told[key] = None
        return self.told[key]


def _find_part(columns: Columns, column: exp.Column, called: Set[str] | None = None) -> pa.DataType | None:
    """The type of x, m.x, s.field or m.s.field; called: what m may be, anything if it is not said."""
    first, *others = [part.name.lower() for part in column.parts]
    if others and (first in called if called is not None else _find_field(columns.get(first), others[0]) is None):
        first, *others = others
    kind = columns.get(first)
    for name in others:
        kind = _find_field(kind, name)
    return kind


def _find_field(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    if kind is None or not pa.types.is_struct(kind):
        return None
    return next((field.type for field in kind if field.name.lower() == name), None)


def _input_of(clause: EventClause) -> exp.Expr | None:
    return None if isinstance(clause, SequenceClause) else clause.source


def _find_visible(name: str, at: exp.Expr) -> exp.CTE | None:
    """The part of a WITH around a place that the name means: one before the part that the place is in, or, if WITH is
    recursive, that part."""
    node: exp.Expr | None = at
    while node is not None:
        inside = node if isinstance(node, exp.CTE) else None
        named = inside.parent if inside is not None else node.args.get("with_")
        if isinstance(named, exp.With):
            for cte in named.expressions:
                if cte is inside and not named.args.get("recursive"):
                    break
                if cte.alias.lower() == name:
                    return cte
        node = named.parent and named.parent.parent if inside is not None and named is not None else node.parent
    return None


def _items_in_order(select: exp.Select) -> list[exp.Expr]:
    """The items of FROM, as SELECT * shows their columns."""
    return list_items(select) if select.args.get("from_") else []


def _rename(columns: Columns, around: exp.Expr) -> Columns:
    """The columns under the names that an alias gives them: t AS k(a, b)."""
    alias = around.args.get("alias")
    names = [name.name.lower() for name in (alias.args.get("columns") or [])] if alias is not None else []
    kinds = [*columns.values()]
    if not names:
        return columns
    if len(names) > len(kinds):
        return {}
    return {**dict(zip(names, kinds, strict=False)), **dict([*columns.items()][len(names) :])}


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
