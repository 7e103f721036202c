"""Two items of FROM that are joined apart from the rest of their SELECT, which then reads columns of the join.

SELECT *, a.x FROM a ASOF JOIN b ON ... WHERE y > 1
=>  SELECT j."a.x" AS x, j."b.y" AS y, j."a.x" AS x_1 FROM j WHERE j."b.y" > 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet
from cepheid.graph.operators.window_join import JoinCell
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import (
    list_items,
    list_joins,
    refuse_double_items,
    suffix_name,
    without_joins,
)
from cepheid.language.relations.simple_select import find_items, only_item
from cepheid.language.streams.joined_columns import JoinedColumns
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_joins import find_lookup
from cepheid.language.streams.stream_layout import MOMENT, StreamLayout


def take_apart(query: exp.Select) -> list[exp.Expr]:
    """The first item of FROM and the joins, in order; none hangs on another item."""
    items, joins = list_items(query), list_joins(query)
    nested = next((join for join in joins if join.this.args.get("joins")), None)
    if nested is not None:
        raise NotSupportedYet("joins in parentheses beside this join", span=span_of(nested), hint="use a subquery")
    for item in items:
        if not isinstance(item, exp.Table | exp.Subquery):
            raise NotSupportedYet("a join with this", span=span_of(item), hint="put it into a subquery")
    return [without_joins(items[0]), *joins]


class JoinedItems:
    def __init__(self, binder: QueryBinder, query: exp.Select, pair: tuple[exp.Expr, exp.Expr]) -> None:
        """pair: the first item of the query's FROM, and the first join."""
        self._query = query
        self._roots = binder.roots
        self._items = [_alone(binder, pair[0]), _alone(binder, pair[1].this)]
        self.layouts = [self._describe(binder, item) for item in self._items]
        refuse_double_items([layout.name for layout in self.layouts], span_of(pair[1]))
        self._using: set[str] = set()
        self._columns = JoinedColumns(self.layouts, "a join", span_of(pair[1]), _no_cell)
        self._columns.put_fields(query)

    def item(self, number: int) -> exp.Table | exp.Subquery:
        """Without joins, and without FOR SYSTEM_TIME."""
        return self._items[number]

    def _describe(self, binder: QueryBinder, item: exp.Table | exp.Subquery) -> StreamLayout:
        lookup = find_lookup(binder, item)
        if lookup is not None:
            return StreamLayout(lookup, item.alias or lookup, binder.known.schemas[lookup], binder.describe)
        graph = binder.graph
        table = binder.find_item(item)
        binder.graph = graph
        return StreamLayout(table.label, item.alias_or_name or table.label, table.schema, binder.describe)

    # --- the join by itself --------------------------------------------------------------------------------
    def write_out_using(self, join: exp.Expr) -> None:
        """USING (id, ts): ON a.id = b.id AND a.ts >= b.ts for ASOF; all of them equal, where the time is said
        elsewhere or not at all."""
        names = [name.name for name in join.args.get("using") or []]
        if not names:
            return
        untimed = (join.args.get("method") or "").upper() != "ASOF" or join.args.get("match_condition") is not None
        left, right = ([exp.column(name, table=layout.name, quoted=True) for name in names] for layout in self.layouts)
        compare = [exp.EQ] * len(names) if untimed else [*[exp.EQ] * (len(names) - 1), exp.GTE]
        parts = [kind(this=mine, expression=other) for kind, mine, other in zip(compare, left, right, strict=True)]
        for layout, name in ((layout, name) for layout in self.layouts for name in names):
            if layout.find_name(name) is None:
                raise InvalidQuery(
                    f'USING names "{name}", which "{layout.name}" does not have', span=span_of(join), hint="use ON"
                )
        self._using = {name.lower() for name in names}
        join.set("using", None)
        join.set("on", exp.and_(*parts, copy=False))

    def owners(self, expression: exp.Expr) -> set[int]:
        return self._columns.owners(expression)

    def is_of_both(self, condition: exp.Expr) -> bool:
        """Does it read both items, and nothing else?"""
        if condition.find(exp.Query, exp.AggFunc, exp.Window) is not None:
            return False
        owners = [
            [number for number, layout in enumerate(self.layouts) if layout.owns(column)]
            for column in condition.find_all(exp.Column)
        ]
        return all(len(own) == 1 for own in owners) and {own[0] for own in owners} == {0, 1}

    def select_pair(self, join: exp.Expr) -> exp.Select:
        """The join of both as a query of its own."""
        join = join.copy()
        name = exp.TableAlias(this=exp.to_identifier(self.layouts[1].name, quoted=True))
        join.this.set("alias", join.this.args.get("alias") or name)
        select = self.select_columns().from_(self._items[0].copy(), copy=False)
        select.append("joins", join)
        return self.adopt(select)

    def select_columns(self) -> exp.Select:
        """All columns of both, each under the name that the rest of the query reads."""
        return exp.select(
            *(
                exp.alias_(exp.column(name, table=layout.name, quoted=True), _name_of(layout, name), quoted=True)
                for layout in self.layouts
                for name in layout.visible_names()
            ),
            copy=False,
        )

    def select_all(self, join: exp.Expr) -> exp.Select:
        """The same as a query of its own, with an ordinary join."""
        join = join.copy()
        if join.args.get("using"):
            self._using = {name.name.lower() for name in join.args["using"]}
        joined = self._items[1].copy() if join.this.args.get("version") is not None else join.this
        joined.set("alias", joined.args.get("alias") or exp.TableAlias(this=exp.to_identifier(self.layouts[1].name)))
        join.set("this", joined)
        select = self.select_columns().from_(self._items[0].copy(), copy=False)
        select.append("joins", join)
        return self.adopt(select)

    def adopt(self, select: exp.Select) -> exp.Select:
        """A query of our own, which sees what the query sees."""
        self._roots.append((select, self._query))
        return select

    # --- the rest of the query -----------------------------------------------------------------------------
    def add_rest(self, binder: QueryBinder, joined: BoundTable, others: list[exp.Expr], timed: bool) -> BoundTable:
        """The rows of the query, which reads the join; others: the joins behind it."""
        placeholder = binder.name_part()
        binder.tables[placeholder] = replace(joined, label="the join")
        self.read_from(placeholder, others)
        if timed and MOMENT in joined.schema.names and only_item(self._query) is not None:
            self._query.append("expressions", exp.column(MOMENT, quoted=True))
        return binder.add_query(self._query, timed)

    def read_from(self, placeholder: str, others: list[exp.Expr]) -> None:
        """Let the query read the join instead of its two items."""
        query = self._query
        joined = exp.to_identifier(placeholder, quoted=True)
        query.set("from_", exp.From(this=exp.Table(this=joined, alias=exp.TableAlias(this=joined.copy()))))
        query.set("joins", others or None)
        self._write_stars([join.this.alias_or_name for join in others])
        outputs = {item.alias.lower() for item in query.expressions}
        for column in list(query.find_all(exp.Column)):
            known = column.name.lower() in (outputs if column.table else outputs | self._using)
            if not others and not known and column.find_ancestor(exp.Select) is query:
                self._columns.owner(column)  # what is nobody's is told here, where people's names are known
            self._read_column(column, placeholder)
        self._order_by_outputs()

    def _order_by_outputs(self) -> None:
        """ORDER BY a.x is ORDER BY x, where that is what the SELECT calls it."""
        order = self._query.args.get("order")
        named = {item.unalias(): item.alias for item in self._query.expressions if item.alias}
        for term in order.expressions if order is not None else ():
            column = term.this if isinstance(term, exp.Ordered) else term
            if isinstance(column, exp.Column) and column in named:
                column.replace(exp.column(named[column], quoted=True))

    def _read_column(self, column: exp.Column, joined: str) -> None:
        number = self._find_owner(column)
        if number is None:
            return
        layout = self.layouts[number]
        name = layout.find_name(column.name) or column.name
        read = exp.column(_name_of(layout, name), table=joined, quoted=True)
        read.this.meta.update(column.this.meta)
        is_output = column.parent is self._query and column.arg_key == "expressions"
        column.replace(exp.alias_(read, column.name, quoted=True) if is_output else read)

    def _find_owner(self, column: exp.Column) -> int | None:
        """Whose column it is; None: of something else."""
        scope = column.find_ancestor(exp.Select)
        own = [number for number, layout in enumerate(self.layouts) if layout.owns(column)]
        if not own:
            return None
        if scope is not self._query:
            return own[0] if column.table and not _is_shadowed(column, self._query) else None
        if not column.table and column.name.lower() in self._using:
            return 0
        return self._columns.owner(column)

    def _write_stars(self, others: list[str]) -> None:
        """SELECT *: the columns of both, those of USING once; equal names are told apart as id, id_1."""
        outputs: list[exp.Expr] = []
        taken = {item.alias_or_name.lower() for item in self._query.expressions if not item.is_star}
        for item in self._query.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if not isinstance(star, exp.Star) or (
                isinstance(item, exp.Column) and item.table.lower() not in self._names()
            ):
                outputs.append(item)
                continue
            if any(star.args.values()):
                raise InvalidQuery(
                    f'"{item.sql()}" has no meaning here', span=span_of(item), hint="name the columns one by one"
                )
            chosen = item.table.lower() if isinstance(item, exp.Column) else ""
            for number, name in self._list_columns(chosen):
                free = next(free for free in suffix_name(name) if free.lower() not in taken)
                taken.add(free.lower())
                column = exp.column(name, table=self.layouts[number].name, quoted=True)
                outputs.append(exp.alias_(column, free, quoted=True))
            if not chosen:
                outputs += [exp.Column(this=exp.Star(), table=exp.to_identifier(other)) for other in others]
        self._query.set("expressions", outputs)

    def _list_columns(self, chosen: str) -> list[tuple[int, str]]:
        return [
            (number, name)
            for number, layout in enumerate(self.layouts)
            if not chosen or chosen in layout.names()
            for name in layout.visible_names()
            if chosen or not number or name.lower() not in self._using
        ]

    def _names(self) -> set[str]:
        return self.layouts[0].names() | self.layouts[1].names()


def _alone(binder: QueryBinder, item: exp.Expr) -> exp.Table | exp.Subquery:
    alone = cast(exp.Table | exp.Subquery, item.copy())
    for part in ("joins", "version"):
        alone.set(part, None)
    binder.roots.append((alone, item))
    return alone


def _name_of(layout: StreamLayout, name: str) -> str:
    return f"{layout.name}.{name}"


def _is_shadowed(column: exp.Column, query: exp.Select) -> bool:
    """Does a FROM between the column and the query give its qualifier another meaning?"""
    scope = column.find_ancestor(exp.Select)
    while scope is not None and scope is not query:
        if column.table.lower() in {item.alias_or_name.lower() for item in find_items(scope)}:
            return True
        scope = scope.find_ancestor(exp.Select)
    return False


def _no_cell(number: int, name: str) -> JoinCell:
    raise AssertionError(f"nobody reads cells of item {number}, not {name}")
