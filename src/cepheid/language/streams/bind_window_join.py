"""A SELECT over several windows to a WindowJoin vertex between projections.

    SELECT x.id, y.a1 FROM a [ROWS n] AS x, b [RANGE d] AS y WHERE x.id = y.id AND x.a1 < y.a1

    Project ("x.id" AS id, "y.a1" AS a1)         outputs, over cells
      WindowJoin (keys=1, "x.a1" < "y.a1")       equalities between all sides are keys, the rest is asked of each pair
        Project (_time, _key0 = id, "x.a1", ...) one for each stream
        Project (_time, _key0 = id, "y.a1", ...)

An interval join is one, too: its windows follow from what the condition says about the times of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import InvalidOrder, InvalidWindow, NotSupportedYet, Span
from cepheid.graph.operators import WindowJoin
from cepheid.graph.operators.window_join import JoinCell
from cepheid.kernel.columns import kind_of
from cepheid.kernel.join import JoinInput, JoinProgram
from cepheid.language.expressions.decimals import fits_whole, write_whole
from cepheid.language.parsing.dialect import CHANGES, OUTPUT
from cepheid.language.parsing.syntax import StreamWindowClause
from cepheid.language.relations.conditions import list_joins, split_conditions
from cepheid.language.relations.sql_values import read_value
from cepheid.language.streams.bind_stream_window import bind_stream_window
from cepheid.language.streams.interval_bounds import find_settled
from cepheid.language.streams.joined_columns import SUBQUERY_HINT, JoinedColumns, Output
from cepheid.language.streams.stream_layout import MOMENT, StreamLayout

SIDES: dict[str, tuple[bool, bool]] = {"LEFT": (True, False), "RIGHT": (False, True), "FULL": (True, True)}


@dataclass
class JoinSide:
    """One stream of FROM; interval: the reach of its window where no window is written."""

    layout: StreamLayout
    clause: StreamWindowClause | None
    interval: int | None = None

    def bind(self) -> JoinInput:
        if self.clause is None:
            assert self.interval is not None, "find_interval found one"
            return JoinInput(kind="time", size=self.interval, inclusive=True)
        window = bind_stream_window(self.clause, self.layout)
        for number in range(len(self.clause.partition_by)):
            self.layout.places[f"_part{number}"] = self.layout.places.pop(f"_key{number}")
        if window.kind not in ("time", "count") or window.slide is not None:
            raise NotSupportedYet(
                "a window in a join that does not slide",
                span=self.clause.span,
                hint="use [ROWS 500], [RANGE 1 HOUR] or [RANGE UNBOUNDED]",
            )
        partitioned = window.kind == "count" and window.size is not None and bool(self.clause.partition_by)
        return JoinInput(kind="time" if window.size is None else window.kind, size=window.size, partitioned=partitioned)


@dataclass
class WindowJoinSelect:
    """Binds one SELECT; afterwards `node()`, `outputs` and `post_filter` are what the graph needs."""

    query: exp.Select
    sides: list[JoinSide]
    outer: Literal["arrival", "leaving"]
    at: Span | None
    outputs: list[Output] = field(default_factory=list)
    post_filter: exp.Expr | None = None
    keys: int = 0
    engine_order: tuple[int, ...] = ()  # of the sides, if it is not that of FROM
    filters: dict[int, exp.Expr] = field(default_factory=dict)  # by side: what its events must fulfil

    def __post_init__(self) -> None:
        layouts = [side.layout for side in self.sides]

        def read(number: int, name: str) -> JoinCell:
            place, _ = layouts[number].read(exp.column(name, quoted=True))
            return JoinCell(name=place, column=place, input=number)

        def read_field(number: int, field: exp.Expr) -> JoinCell:
            place, _ = layouts[number].read(field)
            return JoinCell(name=place, column=place, input=number)

        self.columns = JoinedColumns(layouts, "a join of windows", self.at, read, read_field)
        self.columns.put_fields(self.query)

    def find_interval(self) -> None:
        """Without windows: what the condition says about both times bounds how long events must wait for one
        another."""
        _, conditions = self._read_joins()
        self.post_filter = None
        times = [side.layout.list_times(self.at, named=True) for side in self.sides]
        settled = find_settled(conditions, times, self.columns.owner)
        if max(map(len, times)) > 1:  # a = b may be about any of them; who orders events is said by event_time
            settled = {pair: bounds for pair, bounds in settled.items() if bounds != (0, 0)}
        left, right = times[0][0], times[1][0]
        if not settled:
            raise InvalidWindow(
                "a join of two streams without windows: no row would ever be settled",
                span=self.at,
                hint=f"give both a window, FROM a [ROWS 500] AS x, b [RANGE 1 HOUR] AS y, or bound their times: "
                f"y.{right} BETWEEN x.{left} - INTERVAL '5' SECOND AND x.{left} + INTERVAL '5' SECOND",
            )
        if len(settled) > 1:
            raise InvalidOrder(
                "a join that bounds several times of a stream: any of them may order its events",
                span=self.at,
                hint=f"leave all but one out: FROM (SELECT {left}, id FROM a) AS x, (SELECT {right}, id FROM b) AS y",
            )
        ((names, (low, high)),) = settled.items()
        for side, name in zip(self.sides, names, strict=True):
            side.layout.put("_time", exp.column(name, quoted=True))
        self.sides[0].interval = max(high, 0)
        self.sides[1].interval = max(-low, 0)

    def bind(self) -> None:
        self._refuse_parts()
        self.inputs = tuple(side.bind() for side in self.sides)
        self.preserved, conditions = self._read_joins()
        residual = self._take_keys(conditions)
        self.condition = self.columns.rewrite_all(residual)
        self.outputs = self.columns.bind_outputs(self.query)
        if self.post_filter is not None:
            self.post_filter = self.columns.rewrite(self.post_filter)

    def node(self, timed: bool) -> WindowJoin:
        if timed or not self.columns.cells:  # SELECT 1: a row without cells would be no row
            self.columns.cells[MOMENT] = JoinCell(name=MOMENT, column="_time", input=-1)
        return WindowJoin(
            program=JoinProgram(inputs=self.inputs, preserved=self.preserved, outer=self.outer, keyed=self.keys > 0),
            cells=tuple(self.columns.cells.values()),
            streams=tuple(side.layout.name for side in self.sides),
            keys=self.keys,
            parts=tuple(len(side.clause.partition_by) if side.clause else 0 for side in self.sides),
            condition=None if self.condition is None else read_value(self.condition),
        )

    def cell_schema(self) -> pa.Schema:
        return pa.schema([(cell.name, self._type_of(cell)) for cell in self.columns.cells.values()])

    def _type_of(self, cell: JoinCell) -> pa.DataType:
        return self.sides[max(cell.input, 0)].layout.types()[cell.column]

    # --- what stands in the SELECT -----------------------------------------------------------------------
    def _refuse_parts(self) -> None:
        self.columns.refuse_parts(self.query)
        if CHANGES in self.query.meta and self.query.meta[CHANGES].kind != "istream":
            raise NotSupportedYet(
                f"{self.query.meta[CHANGES].kind.upper()} of a join",
                span=self.query.meta[CHANGES].span,
                hint="leave it out: a join gives each pair once, when its second event arrives",
            )
        if OUTPUT in self.query.meta and self.query.meta[OUTPUT].when != "event":
            raise NotSupportedYet(
                "a join that is not looked at with every event", span=self.query.meta[OUTPUT].span, hint=SUBQUERY_HINT
            )

    def _read_joins(self) -> tuple[tuple[bool, ...], list[exp.Expr]]:
        """Which sides are preserved, and the conditions that pairs must fulfil."""
        joins = list_joins(self.query)
        preserved = tuple(False for _ in self.sides)
        conditions: list[exp.Expr] = []
        for join in joins:
            side = (join.args.get("side") or "").upper()
            method = (join.args.get("method") or "").upper()
            if method not in ("", "NATURAL"):
                hint = "bound their times: y.ts BETWEEN x.ts - INTERVAL '5' SECOND AND x.ts"
                raise NotSupportedYet(f"{method} JOIN of streams", span=self.at, hint=hint)
            if join.args.get("using") or method:
                raise NotSupportedYet(
                    "USING or NATURAL in a join of windows", span=self.at, hint="write ON x.id = y.id"
                )
            if (join.args.get("kind") or "").upper() not in ("", "INNER", "OUTER", "CROSS"):
                hint = "write JOIN, LEFT JOIN, RIGHT JOIN or FULL JOIN"
                raise NotSupportedYet(f"a {join.args['kind']} join of windows", span=self.at, hint=hint)
            if side:
                if len(self.sides) > 2:
                    raise NotSupportedYet("an outer join of more than two windows", span=self.at, hint=SUBQUERY_HINT)
                preserved = SIDES[side]
            on = join.args.get("on")
            conditions += split_conditions(on) if on is not None else []
        where = self.query.args.get("where")
        if where is not None and any(preserved):
            self.post_filter = where.this
        elif where is not None:
            conditions += split_conditions(where.this)
        return preserved, conditions

    def _take_keys(self, conditions: list[exp.Expr]) -> list[exp.Expr]:
        """Give equalities that tie all sides together their places; what is left must be asked of pairs."""
        if len(self.sides) > 2:
            return self._take_common_key(conditions)
        pairs = [self._read_equality(part) for part in conditions]
        self._put_keys([dict(pair) for pair in pairs if pair is not None])
        return [part for part, pair in zip(conditions, pairs, strict=True) if pair is None]

    def _put_keys(self, keys: list[dict[int, exp.Expr]]) -> None:
        """In an order of their own, not in that of the conditions: it must not matter which is written first."""
        for key in sorted(keys, key=lambda key: [key[number].sql() for number in sorted(key)]):
            for number, expression in key.items():
                self.sides[number].layout.put(f"_key{self.keys}", expression)
            self.keys += 1

    def _take_common_key(self, conditions: list[exp.Expr]) -> list[exp.Expr]:
        """With three streams or more, events of one key only meet if every side is tied."""
        classes: list[dict[int, exp.Expr]] = []
        used: list[list[exp.Expr]] = []
        for part in conditions:
            pair = self._read_equality(part)
            if pair is None:
                continue
            for group, parts in zip(classes, used, strict=True):
                known = [number for number, expression in pair if group.get(number) == expression]
                if known and all(group.get(number, expression) == expression for number, expression in pair):
                    group.update(dict(pair))
                    parts.append(part)
                    break
            else:
                classes.append(dict(pair))
                used.append([part])
        ties = [
            (group, parts)
            for group, parts in zip(classes, used, strict=True)
            if len(group) == len(self.sides) and len(parts) == len(self.sides) - 1
        ]
        self._put_keys([group for group, _ in ties])
        taken = [part for _, parts in ties for part in parts]
        return [part for part in conditions if not any(part is other for other in taken)]

    def _read_equality(self, part: exp.Expr) -> list[tuple[int, exp.Expr]] | None:
        """The two sides of an equality, each over one stream, whose values can be compared as keys."""
        if not isinstance(part, exp.EQ):
            return None
        found: list[tuple[int, exp.Expr]] = []
        for half in (part.left, part.right):
            owners = self.columns.owners(half)
            if len(owners) != 1:
                return None
            number = owners.pop()
            found.append((number, self.sides[number].layout.spell(half)))
        if found[0][0] == found[1][0]:
            return None
        types = [self._peek_type(number, expression) for number, expression in found]
        if all(map(fits_whole, types)) and types[0].scale == types[1].scale:
            return [(number, write_whole(side, given)) for (number, side), given in zip(found, types, strict=True)]
        kinds = {kind_of(given) for given in types}
        return found if len(kinds) == 1 and kinds != {None} else None

    def _peek_type(self, number: int, expression: exp.Expr) -> pa.DataType:
        layout = self.sides[number].layout
        arrow_type = layout.put("_peek", expression)
        del layout.places["_peek"]
        return arrow_type
