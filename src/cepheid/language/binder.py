"""Syntax tree to query graph: names get meanings, types are checked, every event construct gets its vertices.

Sink
  Project, Filter or Relation     what is left of the query, for the host
    Project ... RowPattern ...    one group per event construct
      Source
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidQuery, InvalidWindow, NotSupportedYet, Span, UnknownStream
from cepheid.graph.cell_types import type_of_cell
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation, RowPattern, Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.catalog import Catalog
from cepheid.language.expressions.aggregates import CHOICE_HINT
from cepheid.language.expressions.bind_order import carry_time
from cepheid.language.expressions.host_aggregates import cast_aggregates
from cepheid.language.expressions.host_types import AGGREGATE_HERE, HostTypes
from cepheid.language.expressions.scope import EventInput
from cepheid.language.parsing.dialect import CHANGES, OUTPUT
from cepheid.language.parsing.nesting import too_deep
from cepheid.language.parsing.places import span_near, span_of
from cepheid.language.parsing.syntax import (
    EventClause,
    MatchRecognizeClause,
    Name,
    ParsedQuery,
    PatternWindowClause,
    RowPatternClause,
    SequenceClause,
    StreamWindowClause,
)
from cepheid.language.patterns.bind_match_recognize import bind_match_recognize
from cepheid.language.patterns.bind_pattern_window import bind_pattern_window, places_of_functions
from cepheid.language.patterns.bind_sequence import SequenceBinder
from cepheid.language.patterns.elements import variable_of
from cepheid.language.relations.conditions import list_items, list_joins, suffix_name, without_joins
from cepheid.language.relations.host_refusal import place_refusal
from cepheid.language.relations.output_names import name_outputs, refuse_double_names
from cepheid.language.relations.rank_filter import filter_ranks
from cepheid.language.relations.recursive_queries import settle_recursion
from cepheid.language.relations.simple_select import (
    SimpleSelect,
    find_items,
    is_plain_item,
    new_names,
    only_item,
    renamed_item,
    split_select,
)
from cepheid.language.relations.sql_values import read_value, write_text
from cepheid.language.relations.user_aggregates import gather_values, refuse_in_conditions
from cepheid.language.streams.as_of_condition import is_as_of, refuse_version
from cepheid.language.streams.as_of_joins import add_as_of_join
from cepheid.language.streams.looked_up_joins import add_looked_up
from cepheid.language.streams.pattern_input import prepare_input
from cepheid.language.streams.query_binder import BoundTable
from cepheid.language.streams.stream_joins import add_interval_join, count_streams, find_lookup
from cepheid.language.streams.stream_queries import add_overs, add_sorted, add_union
from cepheid.language.streams.window_queries import add_window_query
from cepheid.language.views.lift_values import lift_values
from cepheid.processing_time import base_name
from cepheid.scalars.value import FALSE, Column, Scalar, operation

UNSETTLED = (InvalidWindow, InvalidOrder, NotSupportedYet)  # why rows of a stream are never settled


DEEPEST_NAMES = 100


def bind_query(parsed: ParsedQuery, known: Catalog, graph: QueryGraph, name: str = "query") -> QueryGraph:
    """The graph with one query more, which is called `name`."""
    types = HostTypes(known.describe, known.remembered, known.keeps_type, known.spark)
    return _Binder(known, types, graph).bind(parsed, name)


@dataclass
class _Binder:
    known: Catalog
    describe: HostTypes
    graph: QueryGraph
    tables: dict[str, BoundTable] = field(default_factory=dict)  # by placeholder
    carriers: dict[str, exp.Table] = field(default_factory=dict)  # by placeholder: where the clause stands
    windows: dict[str, StreamWindowClause] = field(default_factory=dict)  # by placeholder
    variables: dict[str, set[str]] = field(default_factory=dict)  # by placeholder of a SEQ: lower case
    added_columns: set[str] = field(default_factory=set)  # those that windows add to their input
    inside: int = 0  # how many CTEs around, each of which reads the next
    roots: list[tuple[exp.Expr, exp.Expr | None]] = field(default_factory=list)  # trees apart, and where they belong

    def bind(self, parsed: ParsedQuery, name: str) -> QueryGraph:
        relation = parsed.relation.copy()
        name_outputs(relation)
        clauses = [_copy_clause(clause) for clause in parsed.clauses]
        for tree in (relation, *(clause.source for clause in clauses if not isinstance(clause, SequenceClause))):
            settle_recursion(tree)
        self.find_carriers(relation, clauses)
        for clause in clauses:
            if isinstance(clause, StreamWindowClause):
                self.windows[clause.placeholder] = clause  # it means something together with its SELECT only
            else:
                self.tables[clause.placeholder] = self.add_clause(clause)
        self.add(Sink(query=name), self.add_query(relation).vertex)
        return self.graph

    def find_carriers(self, relation: exp.Expression, clauses: Iterable[EventClause]) -> None:
        inputs = {clause.placeholder: clause.source for clause in clauses if not isinstance(clause, SequenceClause)}
        placeholders = {clause.placeholder for clause in clauses}
        for tree in (relation, *inputs.values()):
            self.carriers |= {table.name: table for table in tree.find_all(exp.Table) if table.name in placeholders}
        for clause in clauses:
            if clause.placeholder not in self.carriers:
                raise NotSupportedYet(
                    "a pattern or a window inside a condition or a measure",
                    span=clause.span,
                    hint="put it into WITH and join its rows",
                )
        self.roots = [(source, self.carriers[placeholder]) for placeholder, source in inputs.items()]
        for clause in clauses:
            if isinstance(clause, SequenceClause):
                self.variables[clause.placeholder] = {term.variable.text.lower() for term in clause.terms}

    def add(self, node: PlanNode, *inputs: str) -> str:
        self.graph, vertex = self.graph.add(node, inputs)
        return vertex

    # --- event constructs --------------------------------------------------------------------------------
    def add_clause(self, clause: RowPatternClause | SequenceClause) -> BoundTable:
        match clause:
            case MatchRecognizeClause():
                return self.add_match_recognize(clause)
            case PatternWindowClause():
                return self.add_window(clause)
        return self.add_sequence(clause)

    def add_match_recognize(self, clause: MatchRecognizeClause) -> BoundTable:
        clause, table, source = prepare_input(self, clause)
        bound = bind_match_recognize(clause, source)
        written = {measure.name.text: measure.expression for measure in clause.measures}
        return self.add_pattern(table, source, bound, written, clause.head, "MATCH_RECOGNIZE")

    def add_window(self, clause: PatternWindowClause) -> BoundTable:
        clause, table, source = prepare_input(self, clause)
        bound = bind_pattern_window(clause, source)
        written = places_of_functions(clause)
        self.added_columns |= set(written)
        self.expand_stars(clause, [name for name in source.shown_names if name not in self.added_columns])
        return self.add_pattern(table, source, bound, written, clause.head, table.label)

    def add_pattern(
        self,
        table: BoundTable,
        source: EventInput,
        bound: tuple[Project, RowPattern, Project],
        written: Mapping[str, exp.Expr],
        head: Span,
        label: str,
    ) -> BoundTable:
        layout, pattern, measures = bound
        schema = self.describe_measures(source, pattern, measures, written, head)
        vertex = self.add(measures, self.add(pattern, self.add(layout, table.vertex)))
        return BoundTable(vertex, schema, label)

    def describe_measures(
        self,
        source: EventInput,
        pattern: RowPattern,
        measures: Project,
        written: Mapping[str, exp.Expr],
        head: Span,
    ) -> pa.Schema:
        """The schema of the measures; `written`: where each of them stands, by name."""
        layout = source.layout_types()
        given = pa.schema([(cell.name, type_of_cell(cell, layout)) for cell in pattern.cells])
        for measure in measures.columns:
            span = span_of(written[measure[0]]) if measure[0] in written else head
            try:
                self.describe.of_columns((measure,), given)
            except InvalidQuery as problem:
                if problem.message == AGGREGATE_HERE:
                    told = "this aggregate over the rows of a match"
                    raise NotSupportedYet(told, span=span, hint=CHOICE_HINT) from None
                raise InvalidQuery(problem.message, span=span, hint=problem.hint) from None
        return self.describe.of_columns(measures.columns, given)

    def expand_stars(self, clause: PatternWindowClause, names: list[str]) -> None:
        """SELECT * means the columns of the input, not those that windows add for what is read with OVER."""
        carrier = self.carriers[clause.placeholder]
        select = carrier.find_ancestor(exp.Select)
        if select is None:  # another window is fed by this one
            return
        for item in list(select.expressions):
            star = item.this if isinstance(item, exp.Column) else item
            if not isinstance(star, exp.Star) or (item is not star and item.table.lower() != carrier.alias.lower()):
                continue
            if any(star.args.values()):
                hint = "name the columns one by one"
                raise NotSupportedYet(f'"{item.sql()}" beside a row pattern in WINDOW', span=span_of(item), hint=hint)
            columns = [exp.column(name, quoted=True) for name in names]
            for column in columns:
                column.this.meta.update(star.meta)
            place = select.expressions.index(item)
            select.set("expressions", [*select.expressions[:place], *columns, *select.expressions[place + 1 :]])

    def add_sequence(self, clause: SequenceClause) -> BoundTable:
        carrier = self.carriers[clause.placeholder]
        refuse_in_conditions(clause.where, self.known.python)
        inputs: dict[str, EventInput] = {}
        vertices: dict[str, str] = {}
        for term in clause.terms:
            stream = term.stream.text.lower()
            table = self.find_name(term.stream, carrier)
            vertices[stream] = table.vertex
            inputs.setdefault(stream, EventInput(table.label, table.schema, self.describe, prefix=f"{table.label}."))
        binder = SequenceBinder(clause, inputs)
        binder.bind()
        self.read_cells(binder, carrier)
        feeds = [self.add(layout, vertices[stream]) for stream, layout in binder.layouts().items()]
        node = binder.node()
        layout_types = {name: kind for source in inputs.values() for name, kind in source.layout_types().items()}
        schema = pa.schema([(cell.name, type_of_cell(cell, layout_types)) for cell in node.cells])
        return BoundTable(self.add(node, *feeds), schema, "SEQ")

    def read_cells(self, binder: SequenceBinder, carrier: exp.Table) -> None:
        """Let the SELECT around a SEQ read cells instead of `a.x`."""
        select = carrier.find_ancestor(exp.Select)
        if select is None:
            raise InvalidQuery(
                "SEQ has rows only in a SELECT of its own",
                span=span_near(carrier),
                hint="put it into a subquery: FROM (SELECT a.x AS x FROM PATTERN SEQ(...)) [ROWS 10]",
            )
        for item in select.expressions:
            if isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star):
                raise InvalidQuery(
                    "SELECT * has no meaning over SEQ", span=span_of(item), hint="name the columns: a.x, b.y AS z"
                )
        gather_values(select, self.known.python)
        self.read_fields(binder, select, carrier.name)
        for node in [*select.find_all(exp.AggFunc, exp.Anonymous), *select.find_all(exp.Column)]:
            if node.find_ancestor(exp.Select) is None or not self.is_cell(node, select, carrier.name):
                continue  # a part of another cell, or not ours
            name = binder.take_cell(node)
            if name is None:
                continue
            cell = exp.column(name, quoted=True)
            place = span_of(node)
            if place is not None:
                cell.this.meta.update(start=place.start, end=place.end - 1)
            is_output = isinstance(node, exp.Column) and node.parent is select and node.arg_key == "expressions"
            node.replace(exp.alias_(cell, node.name, quoted=True) if is_output else cell)

    def read_fields(self, binder: SequenceBinder, select: exp.Select, placeholder: str) -> None:
        """Fields of structs of events, `b.reading.value`, become columns; as outputs they bear the field's name."""
        for column in list(select.find_all(exp.Column)):
            if not column.db or not self.belongs_to(column, select, placeholder):
                continue
            field, name = binder.fields.read(column), column.name
            is_output = column.parent is select and column.arg_key == "expressions"
            column.replace(exp.alias_(field, name, quoted=True) if is_output else field)

    def is_cell(self, node: exp.Expr, select: exp.Select, placeholder: str) -> bool:
        """May the node stand for a cell of this SEQ: is all that it reads a column of it?"""
        columns = list(node.find_all(exp.Column))
        if not columns:
            of_match = isinstance(node, exp.Anonymous) and node.name.upper() in ("TIMED_OUT", "MATCH_TIME")
            return of_match and node.find_ancestor(exp.Select) is select
        return all(self.belongs_to(column, select, placeholder) for column in columns)

    def belongs_to(self, column: exp.Column, select: exp.Select, placeholder: str) -> bool:
        """Is this a column of the SEQ?  A nearer FROM may give its qualifier another meaning."""
        whole = not column.table and column.name.endswith("]")  # b[] stands alone
        qualifier = variable_of(column.name if whole else column.table and column.parts[0].name)
        scope = column.find_ancestor(exp.Select)
        if not qualifier:  # the name of an output, or of a column of another table; else it says too little
            outputs = [item for item in select.expressions if item.alias.lower() == column.name.lower()]
            is_output = any(column.find_ancestor(exp.Alias) is not item for item in outputs)
            return scope is select and len(list(find_items(select))) == 1 and not is_output
        while scope is not None and scope is not select:
            if qualifier in self.names_in(scope):
                return False
            scope = scope.find_ancestor(exp.Select)
        others = self.names_in(select) - self.variables[placeholder]
        return qualifier in self.variables[placeholder] or (scope is select and not others - {placeholder})

    def names_in(self, select: exp.Select) -> set[str]:
        """What can qualify columns: tables of FROM, and variables of its SEQ."""
        names = {item.alias_or_name.lower() for item in find_items(select)}
        return names.union(*(self.variables.get(name, ()) for name in names))

    # --- windows -----------------------------------------------------------------------------------------
    def refuse_window_words(self, query: exp.Select) -> None:
        for word in (OUTPUT, CHANGES):
            if word in query.meta:
                raise InvalidQuery(
                    "this needs a window in FROM",
                    span=query.meta[word].span,
                    hint="for instance FROM s [ROWS 500] or FROM s [RANGE 1 HOUR]",
                )

    def find_timed(self, item: exp.Expr) -> BoundTable:
        """What a window is of: a stream, or a query; the rows of another window tell their time."""
        assert isinstance(item, exp.Table | exp.Subquery), "_copy_clause made it one"
        refuse_version(item)
        if isinstance(item, exp.Table):
            cte = self.visible_ctes(item).get(item.name.lower())
            if cte is None or cte.args["alias"].args.get("columns"):
                return self.find_item(item)
            return replace(self.add_query(cte.this, True), label=cte.alias)
        return replace(self.add_query(item.this, True), label=item.alias or "the subquery")

    # --- the relational part -----------------------------------------------------------------------------
    def find_item(self, item: exp.Table | exp.Subquery) -> BoundTable:
        """What stands in FROM: a stream, a CTE, an event construct or a subquery."""
        refuse_version(item)
        if isinstance(item, exp.Table):
            return self.find_name(name_of(item), item)
        return replace(self.add_query(item.this), label=item.alias or "the subquery")

    def find_name(self, name: Name, at: exp.Expr) -> BoundTable:
        """What a name means at a place in the query."""
        cte = self.visible_ctes(at).get(name.text.lower())
        if cte is not None:
            return replace(self.add_cte(cte), label=cte.alias)
        if name.text in self.tables:
            return self.tables[name.text]
        if name.text in self.windows:
            raise NotSupportedYet(
                "a window here", span=self.windows[name.text].span, hint="windows stand in the FROM of a SELECT"
            )
        schemas = self.known.schemas
        stream = next((stream for stream in schemas if stream.lower() == name.text.lower()), None)
        if base_name(name.text) in schemas:
            return BoundTable(self.add(Source(name=name.text)), self.known.find_schema(name.text), name.text)
        if stream is None and name.text in self.carriers:
            raise NotSupportedYet(
                "a pattern or a window inside of what it reads", span=name.span, hint="leave out RECURSIVE"
            )
        if stream is None:
            raise UnknownStream(name.text, schemas, span=name.span)
        if stream in self.known.lookups:
            raise NotSupportedYet(
                f'"{stream}" here: it is looked up by the events of a stream',
                span=name.span,
                hint=f"join it: FROM s JOIN {stream} ON s.id = {stream}.id",
            )
        schema = schemas[stream]
        return BoundTable(self.add(Source(name=stream)), schema, stream)

    def add_cte(self, cte: exp.CTE) -> BoundTable:
        self.inside += 1
        if self.inside > DEEPEST_NAMES:
            raise too_deep(span_near(cte))
        try:
            return self.add_named(cte)
        finally:
            self.inside -= 1

    def add_named(self, cte: exp.CTE) -> BoundTable:
        with_clause = cte.parent
        assert with_clause is not None, "a CTE stands in WITH"
        if not with_clause.args.get("recursive"):
            names, graph = new_names(cte), self.graph
            table = self.add_query(cte.this)
            renamed = self.rename(table, names) if names else table
            if renamed is not None:
                return renamed
            self.graph = graph
        query = exp.select("*").from_(exp.to_identifier(cte.alias, quoted=True))
        query.set("with_", with_clause.copy())
        self.roots.append((query, self.around(with_clause.parent)))
        return self.add_relation(query)

    def visible_ctes(self, at: exp.Expr) -> dict[str, exp.CTE]:
        """The CTEs that can be named here, by name in lower case: the nearest one of each name."""
        found: dict[str, exp.CTE] = {}
        node: exp.Expr | None = at
        while node is not None:
            is_cte = isinstance(node, exp.CTE)
            with_clause = node.parent if is_cte else node.args.get("with_")
            if with_clause is not None:
                for cte in with_clause.expressions:
                    if cte is node and not with_clause.args.get("recursive"):
                        break  # a CTE sees those before it
                    found.setdefault(cte.alias.lower(), cte)
                node = with_clause.parent
            node = self.around(node)
        return found

    def around(self, node: exp.Expr | None) -> exp.Expr | None:
        """The node above; above the input of a clause, the table that carries the clause."""
        if node is None or node.parent is not None:
            return node and node.parent
        return next((owner for root, owner in self.roots if root is node), None)

    def add_query(self, query: exp.Expr, timed: bool = False) -> BoundTable:
        """The rows of a query: simple ones as Filter and Project, others left whole to the host.

        timed: rows of a window query are to tell their own time.
        """
        graph = self.graph
        if self.known.streams:
            streaming = self.add_streaming(query, timed)
            if streaming is not None:
                return streaming
        if isinstance(query, exp.Select):
            items = list(find_items(query))
            if any(item.name in self.windows for item in items):
                return add_window_query(self, query, items, timed)
            self.refuse_window_words(query)
            joined = add_as_of_join(self, query, timed)
            if joined is not None:
                return joined
            looked_up = add_looked_up(self, query, timed) if self.known.lookups else None
            if looked_up is not None:
                return looked_up
            if len(items) > 1 and self.known.streams and count_streams(self, query) > 1:
                try:
                    return add_interval_join(self, query, timed)
                except UNSETTLED:
                    if not self.known.updating:
                        raise
                    self.graph = graph  # nothing bounds it: all rows are kept
        item = only_item(query)
        if item is not None and isinstance(query, exp.Select):
            table = self.find_item(item)
            simple = split_select(query, item, table.schema)
            if simple is not None and self.is_row_wise(simple, query, table):
                return self.add_simple(simple, query, self.limit_ranks(query, item, table, graph))
        item = renamed_item(query)
        if item is not None and isinstance(query, exp.Select):
            renamed = self.rename(self.find_item(item), new_names(item))
            simple = split_select(query, item, renamed.schema) if renamed is not None else None
            if renamed is not None and simple is not None and self.is_row_wise(simple, query, renamed):
                return self.add_simple(simple, query, renamed)
        self.graph = graph
        if isinstance(query, exp.Select):
            self.spell_out_star(query)
        return self.add_relation(query)

    def rename(self, table: BoundTable, names: list[str]) -> BoundTable | None:
        """The table, whose first columns bear new names; None if that cannot be."""
        schema = table.schema
        told = [*names, *schema.names[len(names) :]]
        if len(names) > len(schema.names) or len({name.lower() for name in told}) < len(told):
            return None  # the host says what is wrong
        columns = tuple((name, Column(old)) for name, old in zip(told, schema.names, strict=True))
        kinds = pa.schema(list(zip(told, schema.types, strict=True)))
        return replace(table, vertex=self.add(Project(columns=columns), table.vertex), schema=kinds)

    def limit_ranks(
        self, query: exp.Select, item: exp.Table | exp.Subquery, table: BoundTable, graph: QueryGraph
    ) -> BoundTable:
        """The item that the query reads; where ranks of it are kept up to date, without the rows that conditions on
        ranks leave out.  table: all its rows; graph: as it was before."""
        if not self.known.updating or not isinstance(self.graph.vertices[table.vertex], Relation):
            return table
        cte = self.visible_ctes(item).get(item.name.lower()) if isinstance(item, exp.Table) else None
        ranked = cte.this if cte is not None else item.this
        name = item.alias_or_name or "_rows"
        filtered = filter_ranks(query, ranked, name)
        if filtered is None:
            return table
        self.graph = graph
        self.roots.append((filtered, self.around(ranked if cte is not None else query)))
        return self.add_relation(filtered)

    def add_streaming(self, query: exp.Expr, timed: bool) -> BoundTable | None:
        """What a stream can settle as it goes: UNION ALL, OVER and ORDER BY its time; None: it is none of these, or
        it has to be kept up to date."""
        graph = self.graph
        try:
            return add_sorted(self, query, timed) or add_union(self, query, timed) or add_overs(self, query)
        except UNSETTLED:
            if not self.known.updating:
                raise
            self.graph = graph
            return None

    def spell_out_star(self, query: exp.Select) -> None:
        """SELECT * or m.* over several tables: columns that share a name are told apart as id, id_1, on every host."""
        items = list_items(query) if query.args.get("from_") else []
        stars = [item for item in query.expressions if _is_bare_star(item)]
        if (
            len(items) < 2
            or not stars
            or not all(is_plain_item(without_joins(item)) for item in items if _is_item(item))
        ):
            return
        if not all(map(_is_item, items)) or any(
            join.args.get("using") or join.args.get("method") for join in list_joins(query)
        ):
            return
        graph = self.graph
        schemas = [(item.alias_or_name, self.find_item(without_joins(item)).schema) for item in items]
        self.graph = graph
        columns = [(owner, name) for owner, schema in schemas for name in schema.names]
        if len({name.lower() for _, name in columns}) == len(columns):
            return
        query.set("expressions", list(_tell_apart(query.expressions, columns)))

    def is_row_wise(self, simple: SimpleSelect, query: exp.Select, table: BoundTable) -> bool:
        """A function that sqlglot does not know may be an aggregate: then the host refuses a column beside it."""
        if not query.find(exp.Anonymous) or not simple.columns:
            return True
        row: tuple[str, Scalar] = ("_row", Column(table.schema.names[0]))
        try:
            self.describe(
                f"SELECT {self.describe.select_sql((row, *simple.columns))} FROM _input", {"_input": table.schema}
            )
        except InvalidQuery:
            return False
        return True

    def add_simple(self, simple: SimpleSelect, query: exp.Select, table: BoundTable) -> BoundTable:
        columns = simple.columns or tuple((name, Column(name)) for name in table.schema.names)
        schema = carry_time(columns, table.schema, self.describe_simple(simple, query, table))
        vertex = table.vertex
        if simple.predicate is not None:
            vertex = self.add(Filter(predicate=simple.predicate), vertex)
        if simple.columns:
            vertex = self.add(Project(columns=simple.columns), vertex)
        return BoundTable(vertex, schema, table.label)

    def describe_simple(self, simple: SimpleSelect, query: exp.Select, table: BoundTable) -> pa.Schema:
        """The schema of its rows; what the host refuses is told with its place."""
        columns = simple.columns or tuple((name, Column(name)) for name in table.schema.names)
        try:
            if simple.predicate is not None:
                condition = operation("coalesce", this=simple.predicate, expressions=(FALSE,))
                self.describe.of_value(condition, table.schema)
            schema = self.describe.of_columns(columns, table.schema)
        except InvalidQuery:
            where = f" WHERE {self.describe.write(simple.predicate)}" if simple.predicate is not None else ""
            sql = f"SELECT {self.describe.select_sql(columns)} FROM _input{where}"
            return self.ask_host(sql, {"_input": table}, query)
        refuse_double_names(schema.names, span_of(query.expressions[-1]) if query.expressions else None)
        return schema

    def add_relation(self, query: exp.Expr) -> BoundTable:
        """Leave a whole query to the host; its own CTEs stay in it, those around it become inputs."""
        gather_values(query, self.known.python)
        query = self.take_out_streams(query)
        if self.known.updating and (self.known.spark is not None or self.known.portable):
            query = self.take_out_values(query)
        inputs: dict[str, BoundTable] = {}
        copy = query.copy()
        for original, table in zip(query.find_all(exp.Table), copy.find_all(exp.Table), strict=True):
            if not isinstance(table.this, exp.Identifier) or self.reads_own_cte(original, query):
                continue
            refuse_version(original)
            name = name_of(original)
            found = self.find_name(name, original)
            label = name.text if name.text in self.tables else found.label
            inputs[label] = found
            if table.name != label:
                table.set("alias", table.args.get("alias") or exp.TableAlias(this=table.this.copy()))
                table.set("this", exp.to_identifier(label, quoted=True))
        if self.describe.dialect == "trino":
            given = {name: table.schema for name, table in inputs.items()}
            cast_aggregates(copy, lambda text: self.describe(text, given))
        sql = write_text(copy, self.describe.dialect)
        schema = self.ask_host(sql, inputs, query)
        node = Relation(query=read_value(copy), inputs=tuple(inputs), text=" ".join(sql.split()))
        return BoundTable(self.add(node, *(table.vertex for table in inputs.values())), schema, "the query")

    def take_out_streams(self, query: exp.Expr) -> exp.Expr:
        """The query, in which a table is read where a SELECT stands that the host cannot run: over windows, or looked
        up."""
        if not any(map(self.reads_streams, query.find_all(exp.Select))):
            return query
        changed = query.copy()
        self.roots.append((changed, self.around(query)))
        for select in list(changed.find_all(exp.Select)):
            if select is not changed and select.root() is changed and self.reads_streams(select):
                placeholder = self.name_part()
                self.tables[placeholder] = self.add_query(select)
                standing = exp.Table(this=exp.to_identifier(placeholder, quoted=True))
                select.replace(exp.select("*").from_(standing))
        return changed

    def take_out_values(self, query: exp.Expr) -> exp.Expr:
        """The query, in which columns are read where values stand that only Spark can compute."""
        changed = query.copy()
        self.roots.append((changed, self.around(query)))

        def add_below(select: exp.Select) -> str:
            self.roots.append((select, self.around(query)))
            item = only_item(select)
            assert isinstance(item, exp.Table), "values are those of one table"
            columns = [exp.column(name, quoted=True) for name in self.find_item(item).schema.names]
            select.set("expressions", [*columns, *select.expressions])
            placeholder = self.name_part()
            self.tables[placeholder] = self.add_query(select)
            return placeholder

        own = {cte.alias.lower() for cte in changed.find_all(exp.CTE)}
        known = {name.lower() for name in (*self.tables, *self.known.schemas, *self.visible_ctes(query))} - own
        lift_values(changed, known, add_below)
        return changed

    def name_part(self) -> str:
        """A name for a table that nothing else has."""
        taken = {name.lower() for name in (*self.tables, *self.known.schemas)}
        return next(name for number in count(1) if (name := f"_part_{number}") not in taken)

    def reads_streams(self, select: exp.Select) -> bool:
        if any(item.name in self.windows or find_lookup(self, item) for item in find_items(select)):
            return True
        return bool(select.args.get("from_")) and any(map(is_as_of, list_joins(select)))

    def reads_own_cte(self, table: exp.Table, query: exp.Expr) -> bool:
        node: exp.Expr | None = self.visible_ctes(table).get(table.name.lower())
        while node is not None and node is not query:
            node = node.parent
        return node is query

    def own_columns(self, table: BoundTable) -> pa.Schema:
        """Without those that windows add."""
        return pa.schema([column for column in table.schema if column.name not in self.added_columns])

    def ask_host(self, sql: str, inputs: Mapping[str, BoundTable], query: exp.Expr) -> pa.Schema:
        try:
            schema = self.describe(sql, {name: table.schema for name, table in inputs.items()})
        except InvalidQuery as problem:
            raise place_refusal(
                problem, query, {table.label: self.own_columns(table) for table in inputs.values()}
            ) from None
        refuse_double_names(schema.names, span_of(query.expressions[-1]) if query.expressions else None)
        return schema


def _copy_clause(clause: EventClause) -> EventClause:
    """A copy that may be changed; an input that does more than name something becomes a subquery."""
    if isinstance(clause, SequenceClause):
        return clause
    source = clause.source.copy()
    if not is_plain_item(source):
        source = exp.select("*").from_(source, copy=False).subquery(source.alias_or_name or None, copy=False)
    return replace(clause, source=source)


def _is_item(item: exp.Expr) -> bool:
    return isinstance(item, exp.Table | exp.Subquery)


def _is_bare_star(output: exp.Expr) -> bool:
    """* or m.*, without EXCEPT and the like."""
    star = output.this if isinstance(output, exp.Column) else output
    return isinstance(star, exp.Star) and not any(star.args.values())


def _tell_apart(outputs: list[exp.Expr], columns: list[tuple[str, str]]) -> Iterator[exp.Expr]:
    """The outputs, with columns in place of stars, and no name twice; columns: (item of FROM, name)."""
    taken = {output.alias.lower() for output in outputs if isinstance(output, exp.Alias)}
    for output in outputs:
        owner = output.table if isinstance(output, exp.Column) else ""
        if _is_bare_star(output):
            chosen = [each for each in columns if owner.lower() in ("", each[0].lower())]
        else:
            chosen = [(owner, output.name)] if owner else []
        if not chosen:
            yield output
        for item, name in chosen:
            free = next(free for free in suffix_name(name) if free.lower() not in taken)
            taken.add(free.lower())
            if free == name and not output.is_star:
                yield output
                continue
            column = exp.column(name, table=exp.to_identifier(item, quoted=True), quoted=True)
            yield exp.alias_(column if output.is_star else output, free, quoted=True)


def name_of(table: exp.Table) -> Name:
    return Name(".".join(part.name for part in table.parts), span_of(table.this))
