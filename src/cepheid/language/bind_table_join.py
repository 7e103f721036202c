"""A SELECT over a stream and tables that are looked up: one TableJoin behind another.

    SELECT s.*, t.name FROM s JOIN t ON s.id = t.id AND t.since < s.ts

    Project (outputs)
      TableJoin (t, keys=[id], "t.since" < "s.ts")
        Project ("s.id", "s.ts", _key0 = id)
          s

The first item of FROM is the stream; each event meets the tables as they are when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidQuery, NotSupportedYet, UnknownColumn
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Project, TableJoin
from cepheid.graph.operators.project import quote_name
from cepheid.graph.operators.window_join import JoinCell
from cepheid.language.conditions import list_joins, split_conditions, suffix_name
from cepheid.language.places import span_of
from cepheid.language.stream_layout import StreamLayout

SELECT_PARTS = {"expressions", "from_", "joins", "where", "with_", "kind"}
_Plan = tuple[Literal["inner", "left"], list[str], list[exp.Expr], list[exp.Expr]]  # key columns, values, rest
SUBQUERY_HINT = "put the join into a subquery, and a window on it: FROM (SELECT ...) [ROWS 100]"


@dataclass
class TableJoinSelect:
    """sides: the stream first, then the tables, in the order of FROM."""

    query: exp.Select
    sides: list[StreamLayout]
    read: dict[str, tuple[int, str, pa.DataType]] = field(default_factory=dict)  # cell -> (side, column, type)
    outputs: list[tuple[str, exp.Expr]] = field(default_factory=list)
    post_filter: exp.Expr | None = None

    def bind(self) -> list[PlanNode]:
        """The vertices above the stream, lowest first, without the filter and the projection at the top."""
        self._refuse_parts()
        joins = [_read_join(join) for join in list_joins(self.query)]
        where = self.query.args.get("where")
        waiting = split_conditions(where.this) if where is not None else []
        is_inner = all(kind == "inner" for kind, _ in joins)
        for number, item in enumerate(self.query.expressions):
            self.outputs += self._bind_item(item, number)
        planned: list[_Plan] = []
        for side, (kind, conditions) in enumerate(joins, start=1):
            usable = conditions
            if is_inner:
                usable = conditions + [part for part in waiting if self._sides_of(part) <= set(range(side + 1))]
                waiting = [part for part in waiting if not any(part is other for other in usable)]
            planned.append((kind, *self._split_keys(usable, side)))
        self.post_filter = self._rewrite(exp.and_(*waiting, copy=True)) if waiting else None
        conditions_of = [self._rewrite(exp.and_(*rest, copy=True)) if rest else None for _, _, _, rest in planned]
        keys_of = [[self._rewrite(key) for key in keys] for _, _, keys, _ in planned]
        return list(self._make_nodes(planned, keys_of, conditions_of))

    def _make_nodes(
        self, planned: list[_Plan], keys_of: list[list[exp.Expr]], conditions_of: list[exp.Expr | None]
    ) -> Iterator[PlanNode]:
        known = [name for name, (side, _, _) in self.read.items() if side == 0]
        first = [(name, quote_name(self.read[name][1])) for name in known]
        for number, (kind, columns, _, _) in enumerate(planned):
            before = first if number == 0 else [(name, quote_name(name)) for name in known]
            meanings = dict(first) if number == 0 else {}
            condition = conditions_of[number]
            keys = [(f"_key{place}", _substitute(key, meanings)) for place, key in enumerate(keys_of[number])]
            yield Project(columns=(*before, *keys))
            added = [name for name, (side, _, _) in self.read.items() if side == number + 1]
            yield TableJoin(
                table=self.sides[number + 1].label,
                kind=kind,
                keys=tuple(columns),
                cells=(
                    *(JoinCell(name=name, column=name, input=0) for name in known),
                    *(JoinCell(name=name, column=self.read[name][1], input=1) for name in added),
                ),
                condition=None if condition is None else condition.sql(dialect="trino", comments=False),
            )
            known = [*known, *added]

    def cell_schema(self) -> pa.Schema:
        return pa.schema([(name, arrow_type) for name, (_, _, arrow_type) in self.read.items()])

    # --- what stands in the SELECT -----------------------------------------------------------------------
    def _refuse_parts(self) -> None:
        for part, value in self.query.args.items():
            if value and part not in SELECT_PARTS:
                place = value[0] if isinstance(value, list) else value
                span = span_of(place) if isinstance(place, exp.Expr) else None
                raise NotSupportedYet(
                    f"{part.strip('_').upper()} over a stream joined with a table", span=span, hint=SUBQUERY_HINT
                )

    def _split_keys(self, conditions: list[exp.Expr], side: int) -> tuple[list[str], list[exp.Expr], list[exp.Expr]]:
        """Key columns of the table, what they must equal, and what else is asked."""
        columns: list[str] = []
        values: list[exp.Expr] = []
        rest: list[exp.Expr] = []
        for part in conditions:
            pair = self._read_key(part, side)
            if pair is None:
                rest.append(part)
            else:
                columns.append(pair[0])
                values.append(pair[1])
        if not columns:
            raise InvalidQuery(
                f'the join with table "{self.sides[side].name}" has no equality to look it up by',
                span=span_of(self.query.args["from_"]),
                hint=f"for instance ON s.id = {self.sides[side].name}.id",
            )
        return columns, values, rest

    def _read_key(self, part: exp.Expr, side: int) -> tuple[str, exp.Expr] | None:
        if not isinstance(part, exp.EQ):
            return None
        for own, other in ((part.left, part.right), (part.right, part.left)):
            column = own.unnest()
            if not isinstance(column, exp.Column) or self._owner(column) != side:
                continue
            if self._sides_of(other) and side not in self._sides_of(other):
                return self.sides[side].find_name(column.name) or column.name, other
        return None

    def _bind_item(self, item: exp.Expr, number: int) -> list[tuple[str, exp.Expr]]:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            table = item.table.lower() if isinstance(item, exp.Column) else ""
            chosen = [side for side, layout in enumerate(self.sides) if not table or table in layout.names()]
            if not chosen or any(star.args.values()):
                raise InvalidQuery(f'"{item.sql()}" has no meaning here', span=span_of(item))
            found: list[tuple[str, exp.Expr]] = []
            for side in chosen:
                for name in self.sides[side].visible_names():
                    taken = {known.lower() for known, _ in (*self.outputs, *found)}
                    free = next(free for free in suffix_name(name) if free.lower() not in taken)
                    found.append((free, self._cell(side, name)))
            return found
        is_named = isinstance(item, exp.Alias | exp.Column | exp.Dot)
        return [(item.alias_or_name if is_named else f"_col{number}", self._rewrite(item.unalias()))]

    # --- columns -----------------------------------------------------------------------------------------
    def _rewrite(self, expression: exp.Expr) -> exp.Expr:
        def replace_column(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Query | exp.Window | exp.AggFunc):
                raise NotSupportedYet(
                    f'"{node.sql()}" over a stream joined with a table', span=span_of(node), hint=SUBQUERY_HINT
                )
            if not isinstance(node, exp.Column):
                return node
            side = self._owner(node)
            cell = self._cell(side, self.sides[side].find_name(node.name) or node.name)
            cell.this.meta.update(node.this.meta)
            return cell

        return expression.transform(replace_column)

    def _cell(self, side: int, name: str) -> exp.Column:
        cell = f"{self.sides[side].name}.{name}"
        self.read[cell] = (side, name, self.sides[side].schema.field(name).type)
        return exp.column(cell, quoted=True)

    def _sides_of(self, expression: exp.Expr) -> set[int]:
        return {self._owner(column) for column in expression.find_all(exp.Column)}

    def _owner(self, column: exp.Column) -> int:
        owners = [side for side, layout in enumerate(self.sides) if layout.owns(column)]
        if len(owners) == 1:
            return owners[0]
        if owners:
            hint = f"say which: {self.sides[owners[0]].name}.{column.name}"
            raise InvalidQuery(f'"{column.name}" may be of several inputs', span=span_of(column), hint=hint)
        names = [name for layout in self.sides for name in layout.visible_names()]
        raise UnknownColumn(column.name, " or ".join(each.label for each in self.sides), names, span=span_of(column))


def _read_join(join: exp.Expr) -> tuple[Literal["inner", "left"], list[exp.Expr]]:
    side = (join.args.get("side") or "").upper()
    if side in ("RIGHT", "FULL"):
        raise NotSupportedYet(
            f"a {side} JOIN of a stream with a table",
            span=span_of(join),
            hint="that a row of the table finds no event is never certain: use LEFT JOIN",
        )
    if join.args.get("using") or join.args.get("method"):
        raise NotSupportedYet(
            "USING or NATURAL in a join with a table", span=span_of(join), hint="write ON s.id = t.id"
        )
    on = join.args.get("on")
    return "left" if side else "inner", split_conditions(on) if on is not None else []


def _substitute(expression: exp.Expr, meanings: dict[str, str]) -> str:
    def spell(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in meanings:
            return exp.column(meanings[node.name][1:-1].replace('""', '"'), quoted=True)
        return node

    return expression.transform(spell).sql(dialect="trino", comments=False)
