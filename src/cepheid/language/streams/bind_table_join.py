"""A SELECT over a stream and tables that are looked up: one TableJoin behind another.

    SELECT s.*, t.name FROM s JOIN t ON s.id = t.id AND t.since < s.ts

    Project (outputs)
      TableJoin (t, keys=[id], "t.since" < "s.ts")
        Project ("s.id", "s.ts", _key0 = id)
          s

The first item of FROM is the stream; each event meets the tables as they are when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidInput, InvalidQuery, NotSupportedYet, TypeMismatch
from cepheid.event_time import same_order
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Project, TableJoin
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.columns import kind_of
from cepheid.language.catalog import Validity
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import list_joins, split_conditions
from cepheid.language.relations.sql_values import read_value
from cepheid.language.streams.as_of_condition import is_valid, read_as_of, read_version, reads_present
from cepheid.language.streams.joined_columns import JoinedColumns, Output
from cepheid.language.streams.stream_layout import StreamLayout
from cepheid.scalars.value import Column, Scalar, substitute_columns

_Plan = tuple[Literal["inner", "left"], list[str], list[exp.Expr], list[exp.Expr]]  # key columns, values, rest


@dataclass
class TableJoinSelect:
    """sides: the stream first, then the tables, in the order of FROM."""

    query: exp.Select
    sides: list[StreamLayout]
    validity: Mapping[str, Validity] = field(default_factory=dict)  # by table
    outputs: list[Output] = field(default_factory=list)
    pre_filter: Scalar | None = None  # over the stream: what needs no table is asked before
    post_filter: exp.Expr | None = None

    def __post_init__(self) -> None:
        at = span_of(self.query.args["from_"])

        def read(number: int, name: str) -> JoinCell:
            cell = f"{self.sides[number].name}.{name}"
            return JoinCell(name=cell, column=cell if number == 0 else name, input=number)

        self.columns = JoinedColumns(self.sides, "a stream joined with a table", at, read)
        self.columns.put_fields(self.query)
        self.moments: dict[int, tuple[exp.Expr, str]] = {}  # by side: when, and by which time the latest row is found

    def bind(self) -> list[PlanNode]:
        """The vertices above the stream, lowest first, without the filters and the projection at the top."""
        self.columns.refuse_parts(self.query)
        joins = [self._read_join(join, side) for side, join in enumerate(list_joins(self.query), start=1)]
        where = self.query.args.get("where")
        waiting = split_conditions(where.this) if where is not None else []
        is_inner = all(kind == "inner" for kind, _ in joins)
        early = [part for part in waiting if self.columns.owners(part) == {0}]
        waiting = [part for part in waiting if not any(part is other for other in early)]
        self.pre_filter = self.sides[0].value(exp.and_(*early, copy=True)) if early else None
        self.outputs = self.columns.bind_outputs(self.query)
        planned: list[_Plan] = []
        for side, (kind, conditions) in enumerate(joins, start=1):
            usable = conditions
            if is_inner:
                usable = conditions + [part for part in waiting if self.columns.owners(part) <= set(range(side + 1))]
                waiting = [part for part in waiting if not any(part is other for other in usable)]
            planned.append((kind, *self._split_keys(usable, side)))
        self.post_filter = self.columns.rewrite_all(waiting)
        self.moments = {side: (self.columns.rewrite(moment), name) for side, (moment, name) in self.moments.items()}
        conditions_of = [self.columns.rewrite_all(rest) for _, _, _, rest in planned]
        keys_of = [[self.columns.rewrite(key) for key in keys] for _, _, keys, _ in planned]
        return list(self._make_nodes(planned, keys_of, conditions_of))

    def _make_nodes(
        self, planned: list[_Plan], keys_of: list[list[exp.Expr]], conditions_of: list[exp.Expr | None]
    ) -> Iterator[PlanNode]:
        cells = list(self.columns.cells.values())
        known = [cell.name for cell in cells if cell.input == 0]
        first: list[tuple[str, Scalar]] = [
            (name, Column(name.removeprefix(f"{self.sides[0].name}."))) for name in known
        ]
        for number, (kind, columns, _, _) in enumerate(planned):
            before = first if number == 0 else [(name, Column(name)) for name in known]
            meanings = dict(first) if number == 0 else {}
            condition = conditions_of[number]
            keys = [
                (f"_key{place}", substitute_columns(read_value(key), meanings))
                for place, key in enumerate(keys_of[number])
            ]
            moment, latest = self.moments.get(number + 1, (None, None))
            if moment is not None:
                keys.append(("_as_of", substitute_columns(read_value(moment), meanings)))
            yield Project(columns=(*before, *keys))
            added = [cell for cell in cells if cell.input == number + 1]
            yield TableJoin(
                table=self.sides[number + 1].label,
                kind=kind,
                keys=tuple(columns),
                cells=(
                    *(JoinCell(name=name, column=name, input=0) for name in known),
                    *(replace(cell, input=1) for cell in added),
                ),
                condition=None if condition is None else read_value(condition),
                latest=latest,
            )
            known = [*known, *(cell.name for cell in added)]

    def _read_join(self, join: exp.Expr, side: int) -> tuple[Literal["inner", "left"], list[exp.Expr]]:
        kind = _read_kind(join)
        if (join.args.get("method") or "").upper() == "ASOF":
            return kind, self._read_asof(join, side)
        on = join.args.get("on")
        conditions = split_conditions(on) if on is not None else []
        return kind, [*conditions, *self._read_version(join.this, side)]

    def _read_version(self, item: exp.Expr, side: int) -> list[exp.Expr]:
        """FOR SYSTEM_TIME AS OF: conditions on the times at which rows are valid."""
        if item.args.get("version") is None or reads_present(item, self.sides[0]):
            return []
        moment, table = read_version(item), self.sides[side]
        assert moment is not None, "it is not the present"
        if table.label not in self.validity:
            raise InvalidInput(
                f'"{table.label}" does not say when its rows are valid',
                hint=f'cep.Table(data, valid_from="since", valid_to="until"); or FOR SYSTEM_TIME AS OF PROCTIME(): '
                f'"{table.label}" as it is now',
            )
        since, until = (name and exp.column(name, table=table.name, quoted=True) for name in self.validity[table.label])
        assert isinstance(since, exp.Column), "valid_from is given"
        assert isinstance(moment, exp.Column), "read_version says so"
        self._check_times(moment, since, side)
        if isinstance(until, exp.Column):
            return is_valid(moment, since, until)
        self.moments[side] = moment, since.name
        return []

    def _read_asof(self, join: exp.Expr, side: int) -> list[exp.Expr]:
        """ASOF JOIN: the latest row of the table up to a time of the stream; what is left of the conditions."""

        def owners(expression: exp.Expr) -> set[int]:
            return {int(owner == side) for owner in self.columns.owners(expression)}

        asked = read_as_of(join, owners)
        chosen = [part for part in asked.rest if owners(part) == {1}]
        if asked.comparison is not exp.GTE or not isinstance(asked.right, exp.Column) or chosen:
            raise NotSupportedYet(
                f'"{(chosen or [join.args["on"]])[0].sql()}" in an ASOF JOIN with a table that is looked up',
                span=span_of(join),
                hint="a.ts >= t.since is there; say the rest in WHERE",
            )
        self._check_times(asked.left, asked.right, side)
        name = self.sides[side].find_name(asked.right.name) or asked.right.name
        self.moments[side] = asked.left, name
        return [*asked.equalities, *asked.rest]

    def _check_times(self, moment: exp.Expr, since: exp.Column, side: int) -> None:
        if not isinstance(moment, exp.Column) or self.columns.owner(moment) == side:
            raise NotSupportedYet(
                f'"{moment.sql()}" as the time of a join', span=span_of(moment), hint="name a time of the stream"
            )
        types = [self._column_type(each) for each in (moment, since)]
        if not same_order(types[0], types[1]):
            raise TypeMismatch(
                f'"{moment.sql()}" of type {types[0]} is compared with a {types[1]}',
                span=span_of(moment),
                hint="name a time of the stream, of the type that the table has",
            )

    def cell_schema(self) -> pa.Schema:
        cells = self.columns.cells.values()
        return pa.schema([(cell.name, self._type_of(cell)) for cell in cells])

    def _type_of(self, cell: JoinCell) -> pa.DataType:
        side = self.sides[cell.input]
        return side.schema.field(cell.name.removeprefix(f"{side.name}.")).type

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
            if not isinstance(column, exp.Column) or self.columns.owner(column) != side:
                continue
            if self.columns.owners(other) and side not in self.columns.owners(other):
                self._check_kinds(part, column, other.unnest())
                return self.sides[side].find_name(column.name) or column.name, other
        return None

    def _check_kinds(self, part: exp.Expr, column: exp.Column, other: exp.Expr) -> None:
        """A key can equal a value of its own kind only; what is computed is compared when it is there."""
        if not isinstance(other, exp.Column):
            return
        kinds = {kind_of(self._column_type(each)) for each in (column, other)}
        if None not in kinds and len(kinds) > 1 and kinds != {"int", "float"}:
            types = " and ".join(str(self._column_type(each)) for each in (column, other))
            raise TypeMismatch(
                f'"{part.sql()}" compares {types}', span=span_of(part), hint="cast one side in a subquery"
            )

    def _column_type(self, column: exp.Column) -> pa.DataType:
        side = self.sides[self.columns.owner(column)]
        return side.schema.field(side.find_name(column.name) or column.name).type


def _read_kind(join: exp.Expr) -> Literal["inner", "left"]:
    side = (join.args.get("side") or "").upper()
    if side in ("RIGHT", "FULL"):
        raise NotSupportedYet(
            f"a {side} JOIN of a stream with a table",
            span=span_of(join),
            hint="that a row of the table finds no event is never certain: use LEFT JOIN",
        )
    if join.args.get("using") or (join.args.get("method") or "ASOF").upper() != "ASOF":
        raise NotSupportedYet(
            "USING or NATURAL in a join with a table", span=span_of(join), hint="write ON s.id = t.id"
        )
    return "left" if side else "inner"
