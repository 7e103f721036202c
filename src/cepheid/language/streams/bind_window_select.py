"""A SELECT over one window to a WindowAggregate vertex between two projections.

    SELECT id, avg(a1) / 2 FROM s [ROWS 500] WHERE a2 > 0 GROUP BY id HAVING count(*) > 1

    Project ("_g0" AS id, "_a0" / 2)      the host's arithmetic over cells
      Filter ("_a1" > 1)                  HAVING
        WindowAggregate                   cells: _g0, _a0 = avg, _a1 = count
          Project                         event layout: _time, _group0 = id, a1, _kept = a2 > 0
            input

WHERE filters what is in the window, not what enters it: the window is of the stream.
Without aggregates and GROUP BY the rows are the events themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from cepheid.errors import CepheidError, InvalidQuery, InvalidWindow, NotSupportedYet, TypeMismatch, UnknownColumn
from cepheid.graph.cell_types import type_of_window_cell
from cepheid.graph.operators import Project, WindowAggregate
from cepheid.graph.operators.window_aggregate import KEPT, Arrangement, SortTerm, WindowCell
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.kernel.window import Evaluation, WindowedAggregate, WindowProgram
from cepheid.language.expressions.decimals import put_scale_back, read_key, write_mean
from cepheid.language.expressions.struct_fields import put_fields
from cepheid.language.parsing.dialect import CHANGES, OUTPUT
from cepheid.language.parsing.places import span_near, span_of
from cepheid.language.parsing.syntax import ChangeStream, OutputClause, StreamWindowClause
from cepheid.language.streams.bind_stream_window import bind_output, bind_stream_window
from cepheid.language.streams.stream_layout import MOMENT, StreamLayout
from cepheid.language.streams.window_aggregates import (
    bind_windowed_aggregate,
    gather_texts,
    is_windowed_aggregate,
    split_mean,
)

BOUNDS = {"window_start": "start", "window_end": "end"}
RANKS = {exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.RowNumber: "row_number"}
SELECT_PARTS = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset", "with_", "kind"}
GROUP_HINT = "add it to GROUP BY, or say which one: first(...), last(...), max(...)"


@dataclass
class WindowSelect:
    """Binds one SELECT; afterwards `layout`, `node()`, `having` and `outputs` are what the graph needs."""

    query: exp.Select
    clause: StreamWindowClause
    layout: StreamLayout
    python: Mapping[str, PythonAggregate]
    cells: dict[str, WindowCell] = field(default_factory=dict)
    aggregates: dict[WindowedAggregate, pa.DataType] = field(default_factory=dict)
    groups: list[exp.Expr] = field(default_factory=list)
    outputs: list[tuple[str, exp.Expr]] = field(default_factory=list)
    having: exp.Expr | None = None
    decimals: dict[str, pa.DataType] = field(default_factory=dict)  # by cell: what a whole number has to be made again

    def bind(self) -> None:
        self._refuse_parts()
        put_fields(self.query, self.layout.schema_of, [self.layout.schema])
        self.window = bind_stream_window(self.clause, self.layout)
        output: OutputClause | None = self.query.meta.get(OUTPUT)
        self.evaluation = bind_output(output, self.window)
        if self.evaluation.when == "time" and isinstance(self.clause.size, int) and self.clause.kind != "rows":
            raise InvalidWindow(
                "OUTPUT EVERY needs time, and events are ordered by a number",
                span=output.span if output is not None else None,
                hint="leave it out, or write OUTPUT EVERY 100 EVENTS",
            )
        self.changes: ChangeStream | None = self.query.meta.get(CHANGES)
        self.groups = [self.layout.spell(group) for group in self._list_groups()]
        self.layout.put_keys(tuple(self.groups), "_group", "GROUP BY")  # type: ignore[arg-type]
        self.members = not self.groups and not self._has_aggregates()
        for number, item in enumerate(self.query.expressions):
            self.outputs += self._bind_item(item, number)
        having = self.query.args.get("having")
        self.having = None if having is None else self._rewrite(having.this)
        self.arrangement = self._bind_arrangement()
        self.filtered = self._bind_where()

    @property
    def kept_before(self) -> exp.Expr | None:
        """WHERE, if it may as well be asked before events enter the window."""
        where = self.query.args.get("where")
        return where.this if where is not None and not self.filtered else None

    def node(self, timed: bool) -> WindowAggregate:
        """`timed`: the rows tell their own time."""
        if self.changes is not None and self.changes.kind != "rstream":
            moving = next((cell for cell in self.cells.values() if cell.kind in ("start", "end", "rank")), None)
            if moving is not None:  # rows of groups that nothing happened to would change, too
                raise NotSupportedYet(
                    f"window_{moving.kind} in {self.changes.kind.upper()}",
                    span=self.changes.span,
                    hint=f"leave out window_{moving.kind}, or write RSTREAM",
                )
        self._add_hidden_cells(timed)
        shows = {None: "concerned", "rstream": "all"}.get(self.changes.kind if self.changes else None, "changes")
        return WindowAggregate(
            program=WindowProgram(
                window=self.window,
                evaluation=self.evaluation,
                aggregates=tuple(self.aggregates),
                members=self.members,
                shows=shows,  # type: ignore[arg-type]
            ),
            cells=tuple(self.cells.values()),
            keys=len(self.clause.partition_by),
            groups=len(self.groups),
            filtered=self.filtered,
            arrangement=self.arrangement,
        )

    def cell_schema(self) -> pa.Schema:
        types = self.layout.types()
        aggregates = list(self.aggregates.values())
        return pa.schema([(cell.name, type_of_window_cell(cell, types, aggregates)) for cell in self.cells.values()])

    @property
    def hidden(self) -> list[str]:
        """Cells that are for those who compare one evaluation with the next."""
        return [name for name, cell in self.cells.items() if cell.kind in ("sign", "evaluation", "key")]

    # --- what stands in the SELECT -----------------------------------------------------------------------
    def _refuse_parts(self) -> None:
        for part, value in self.query.args.items():
            if value and part not in SELECT_PARTS:
                place = value[0] if isinstance(value, list) else value
                span = (span_of(place) if isinstance(place, exp.Expr) else None) or self.clause.span
                hint = "GROUP BY gives each value once" if part == "distinct" else "put the window into a subquery"
                raise NotSupportedYet(f"{part.strip('_').upper()} over a window", span=span, hint=hint)

    def _list_groups(self) -> list[exp.Expr]:
        group = self.query.args.get("group")
        if group is None:
            return []
        for part, value in group.args.items():
            if value and part != "expressions":
                hint = "write a query for each grouping, with UNION ALL between them"
                name = part.upper().replace("_", " ")
                raise NotSupportedYet(f"{name} over a window", span=span_of(group), hint=hint)
        return [self._read_group(term) for term in group.expressions]

    def _read_group(self, term: exp.Expr) -> exp.Expr:
        """A column or an expression of the stream; its number or name among the outputs stands for it."""
        items = self.query.expressions
        if isinstance(term, exp.Literal) and not term.is_string:
            place = int(term.name) if term.name.isdigit() else 0
            if not 1 <= place <= len(items):
                hint = f"outputs are numbered from 1 to {len(items)}"
                raise InvalidQuery(f"there is no output number {term.name}", span=span_of(term), hint=hint)
            term = items[place - 1].unalias()
        elif isinstance(term, exp.Column) and not self.layout.owns(term):
            named = [item for item in items if item.alias.lower() == term.name.lower() and not term.table]
            term = named[0].unalias() if named else term
        if any(is_windowed_aggregate(node, self.python) for node in term.walk()):
            hint = "group by columns; a condition on an aggregate goes to HAVING"
            raise InvalidQuery("an aggregate cannot stand in GROUP BY", span=span_of(term), hint=hint)
        return term

    def _has_aggregates(self) -> bool:
        parts = [
            *self.query.expressions,
            *(self.query.args[part] for part in ("having", "order") if self.query.args.get(part)),
        ]
        return any(
            is_windowed_aggregate(node, self.python) and not isinstance(node.parent, exp.Window)
            for part in parts
            for node in part.walk()
        )

    def _bind_item(self, item: exp.Expr, number: int) -> list[tuple[str, exp.Expr]]:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            if any(star.args.values()) or not self.members:
                hint = "name the columns one by one, each in GROUP BY or in an aggregate"
                raise NotSupportedYet(f'"{item.sql()}" over a window with aggregates', span=span_of(item), hint=hint)
            columns = [exp.column(name, quoted=True) for name in self.layout.visible_names()]
            return [(column.name, self._rewrite(column)) for column in columns]
        is_named = isinstance(item, exp.Alias | exp.Column | exp.Dot)
        name = item.alias_or_name if is_named else f"_col{number}"
        return [(name, self._rewrite(item.unalias()))]

    # --- from columns and aggregates to cells ------------------------------------------------------------
    def _rewrite(self, expression: exp.Expr) -> exp.Expr:
        """The expression over cells."""
        mean = split_mean(expression, self.layout)
        if mean is not None:
            total, count, given = mean
            return write_mean(self._rewrite(total), self._rewrite(count), given)
        texts = gather_texts(expression)
        if texts is not None:
            return self._rewrite(texts)
        cell = self._find_cell(expression)
        if cell is not None:
            column = self._cell_column(cell, expression)
            if cell.kind == "group" and (stands_for := self.layout.decimal_keys.get(cell.column or "")) is not None:
                self.decimals[column.name] = stands_for
                return read_key(column, stands_for)
            decimal = self.decimals.get(column.name)
            return column if decimal is None else put_scale_back(column, decimal)
        if isinstance(expression, exp.Column):
            raise self._describe_column(expression)
        if isinstance(expression, exp.Query | exp.Exists):
            place = span_of(expression) or self.clause.span
            raise NotSupportedYet("a subquery over a window", span=place, hint="join the table in FROM")
        copied = expression.copy()
        for part, value in expression.args.items():
            if isinstance(value, exp.Expr):
                copied.set(part, self._rewrite(value) if _reads(value) or self._is_known(value) else value.copy())
            elif isinstance(value, list):
                copied.set(part, [self._rewrite(each) if isinstance(each, exp.Expr) else each for each in value])
        return copied

    def _is_known(self, value: exp.Expr) -> bool:
        return any(is_windowed_aggregate(node, self.python) for node in value.walk())

    def _find_cell(self, node: exp.Expr) -> WindowCell | None:
        if isinstance(node, exp.Window):
            return self._rank_cell(node)
        if is_windowed_aggregate(node, self.python):
            bound = bind_windowed_aggregate(node, self.layout, self.python)
            self.aggregates.setdefault(bound.aggregate, bound.type)
            number = list(self.aggregates).index(bound.aggregate)
            if bound.decimal is not None:
                self.decimals[f"_a{number}"] = bound.decimal
            return WindowCell(name=f"_a{number}", kind="aggregate", number=number)
        if (
            isinstance(node, exp.Column)
            and not node.table
            and node.name.lower() in BOUNDS
            and not self.layout.owns(node)
        ):
            kind = BOUNDS[node.name.lower()]
            return WindowCell(name=f"_{kind}", kind=kind)  # type: ignore[arg-type]
        if self.members:
            if not isinstance(node, exp.Column):
                return None
            place, _ = self.layout.read(node)
            return WindowCell(name=f"_r.{place}", kind="row", column=place)
        return self._group_cell(node)

    def _group_cell(self, node: exp.Expr) -> WindowCell | None:
        if not _reads(node) or any(not self.layout.owns(column) for column in node.find_all(exp.Column)):
            return None
        spelt = self.layout.spell(node)
        for number, group in enumerate(self.groups):
            if spelt.unnest() == group.unnest():
                return WindowCell(name=f"_g{number}", kind="group", column=f"_group{number}")
        return None

    def _rank_cell(self, node: exp.Window) -> WindowCell:
        function = RANKS.get(type(node.this))
        if function is None or node.args.get("partition_by") or node.args.get("spec"):
            raise NotSupportedYet(
                f'"{node.sql()}" over a window',
                span=span_of(node) or self.clause.span,
                hint="rank(), dense_rank() and row_number() OVER (ORDER BY ...) rank the rows of an evaluation",
            )
        order = node.args.get("order")
        terms = tuple(self._sort_term(term) for term in order.expressions) if order is not None else ()
        number = sum(cell.kind == "rank" for cell in self.cells.values())
        return WindowCell(name=f"_rank{number}", kind="rank", function=function, order=terms)

    def _cell_column(self, cell: WindowCell, written: exp.Expr) -> exp.Expr:
        known = next((each for each in self.cells.values() if replace(each, name="") == replace(cell, name="")), None)
        cell = known or cell
        self.cells[cell.name] = cell
        column = exp.column(cell.name, quoted=True)
        place = span_of(written)
        if place is not None:
            column.this.meta.update(start=place.start, end=place.end - 1)
        return column

    def _describe_column(self, column: exp.Column) -> CepheidError:
        if self.layout.owns(column):
            return InvalidQuery(
                f'"{column.sql()}" is neither grouped nor aggregated', span=span_of(column), hint=GROUP_HINT
            )
        self.layout.spell(column)  # says what is wrong with it
        return UnknownColumn(column.name, self.layout.label, self.layout.visible_names(), span=span_of(column))

    # --- ORDER BY, LIMIT, WHERE --------------------------------------------------------------------------
    def _bind_arrangement(self) -> Arrangement:
        order = self.query.args.get("order")
        terms = tuple(self._sort_term(term) for term in order.expressions) if order is not None else ()
        limit, offset = _read_count(self.query, "limit"), _read_count(self.query, "offset")
        if self.changes is not None and (terms or limit is not None or offset):
            hint = f"leave out {self.changes.kind.upper()}: what is ordered or limited is a whole answer, not a change"
            told = f"ORDER BY or LIMIT with {self.changes.kind.upper()}"
            raise NotSupportedYet(told, span=self.changes.span, hint=hint)
        return Arrangement(order=terms, limit=limit, offset=offset or 0)

    def _sort_term(self, term: exp.Expr) -> SortTerm:
        written = term.this if isinstance(term, exp.Ordered) else term
        found: exp.Expr | None = None
        if isinstance(written, exp.Literal) and written.name.isdigit() and 1 <= int(written.name) <= len(self.outputs):
            found = self.outputs[int(written.name) - 1][1]
        elif isinstance(written, exp.Column) and not written.table:
            found = next((sql for name, sql in self.outputs if name.lower() == written.name.lower()), None)
        found = found if found is not None else self._rewrite(written)
        inside = list(found.find_all(exp.Column))
        if len(inside) == 1 and (decimal := self.decimals.get(inside[0].name)) is not None:
            whole = inside[0].copy()
            found = whole if found == put_scale_back(whole.copy(), decimal) else found  # it sorts like its whole number
        if not isinstance(found, exp.Column) or found.name not in self.cells:
            raise NotSupportedYet(
                "ORDER BY an expression over a window", span=span_of(term), hint="order by a column or an aggregate"
            )
        descending = bool(isinstance(term, exp.Ordered) and term.args.get("desc"))
        nulls_first = bool(isinstance(term, exp.Ordered) and term.args.get("nulls_first"))
        return SortTerm(cell=found.name, descending=descending, nulls_first=nulls_first)

    def _bind_where(self) -> bool:
        """Must events that WHERE leaves out take part in the window?"""
        where = self.query.args.get("where")
        if where is None:
            return False
        for node in where.this.walk():
            if is_windowed_aggregate(node, self.python):
                raise InvalidQuery("an aggregate cannot stand in WHERE", span=span_of(node), hint="use HAVING")
        slides = self.window.is_sliding and self.evaluation == Evaluation(when="event")
        hops = self.window.slide is not None and self.evaluation == Evaluation(when="close")
        if self.window.kind == "time" and (slides or hops) and self.changes is None:  # others would not be missed
            self.layout.spell(where.this)
            return False
        condition = exp.Coalesce(this=where.this.copy(), expressions=[exp.false()])
        if self.layout.put(KEPT, condition) != pa.bool_():
            told = f'"{where.this.sql()}" is neither true nor false'
            raise TypeMismatch(told, span=span_near(where.this), hint="compare it with something: WHERE x > 0")
        return True

    def _add_hidden_cells(self, timed: bool) -> None:
        if timed:
            self.cells[MOMENT] = WindowCell(name=MOMENT, kind="moment", column="_time")
        if self.changes is not None and self.changes.kind != "rstream":
            self.cells["_sign"] = WindowCell(name="_sign", kind="sign")
            self.cells["_evaluation"] = WindowCell(name="_evaluation", kind="evaluation")
            for number in range(len(self.clause.partition_by)):
                self.cells[f"_k{number}"] = WindowCell(name=f"_k{number}", kind="key", column=f"_key{number}")
        if not self.cells:  # SELECT 1 FROM s [ROWS 5]: a row without cells would be no row
            self.cells["_end"] = WindowCell(name="_end", kind="end")

    def layout_project(self) -> Project:
        return self.layout.project()


def _reads(node: exp.Expr) -> bool:
    return node.find(exp.Column) is not None


def _read_count(query: exp.Select, part: str) -> int | None:
    written = query.args.get(part)
    if written is None:
        return None
    number = written.expression
    if not isinstance(number, exp.Literal) or not number.name.isdigit():
        hint = f"write the number itself, as in {part.upper()} 10"
        raise NotSupportedYet(f"{part.upper()} of something else than a number", span=span_of(written), hint=hint)
    return int(number.name)
