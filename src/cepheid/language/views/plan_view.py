"""From a relational query to the steps that keep it up to date (view_plan.py).

    query ─qualify─▶ every column says whose it is ─▶ FROM ─▶ WHERE ─▶ GROUP BY ─▶ HAVING ─▶ OVER ─▶ DISTINCT ─▶ LIMIT

Each SELECT becomes a few steps over the steps of its items.  What the planner does not know is left whole to SQL: the
SELECT is computed anew whenever one of its tables changes, which is right whatever it says, and slow if the tables are
large.  So a plan is never refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from cepheid.language.views.plan_groups import Grouped, group_rows
from cepheid.language.views.plan_joins import join_items
from cepheid.language.views.plan_ranks import limit_ranks
from cepheid.language.views.plan_subqueries import filter_by_subqueries
from cepheid.language.views.steps import Rows, Steps, Unplanned, column, flatten, only, sql_of
from cepheid.language.views.view_plan import Columns, GroupStep, KeyedStep, MapStep, UnionStep, ViewPlan

_PLAIN_SELECT = {
    "expressions", "from_", "joins", "where", "group", "having", "windows", "qualify", "distinct", "order", "limit",
    "offset", "with_", "kind", "hint", "operation_modifiers",
}  # fmt: skip


def plan_view(
    sql: str,
    inputs: Mapping[str, Sequence[str]],
    appending: Sequence[bool],
    aggregates: Collection[str],
    outputs: Sequence[str],
) -> ViewPlan:
    """sql: DuckDB's, over the inputs; inputs: the columns of each; appending: do its rows never go?  aggregates: the
    names of all that DuckDB has; outputs: the columns of its rows."""
    lower = [tuple(name.lower() for name in columns) for columns in inputs.values()]
    steps = Steps()
    names = {
        name.lower(): steps.add_input(number, lower[number], appending[number]) for number, name in enumerate(inputs)
    }
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    try:
        known = zip(names, lower, strict=True)
        schema: dict[str, object] = {name: dict.fromkeys(columns, "VARCHAR") for name, columns in known}
        tree = qualify(tree, schema=schema, dialect="duckdb")
        planner = _Planner(steps, names, aggregates)
        rows = planner.add_query(tree)
    except (SqlglotError, Unplanned):
        steps = Steps(steps.steps[: len(inputs)], steps.appends[: len(inputs)])
        rows = add_whole(steps, sqlglot.parse_one(sql, dialect="duckdb"), names, tuple(map(str.lower, outputs)))
    visible = tuple(name for name in rows.columns if name not in rows.identity)
    if rows.step != len(steps.steps) - 1:  # a CTE as it is
        rows = steps.add(
            MapStep(rows.step, tuple((name, column(name)) for name in rows.columns)), rows.columns, rows.identity
        )
    return ViewPlan(tuple(steps.steps), visible, rows.identity, tuple(steps.appends))


def add_whole(steps: Steps, query: exp.Expr, names: Mapping[str, Rows], outputs: Columns = ()) -> Rows:
    """The query as it is, computed anew whenever one of its tables changes; outputs: its columns, if they are known."""
    query = query.copy()
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    sources: list[Rows] = []
    for table in query.find_all(exp.Table):
        known = names.get(table.name.lower())
        if known is None or (table.name.lower() in own and not isinstance(table.this, exp.Identifier)):
            continue
        if known not in sources:
            sources.append(known)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(f"_{sources.index(known)}", quoted=True))
    if not sources or not isinstance(query, exp.Query):
        raise Unplanned  # nothing would compute it: whoever is around it does
    outputs = outputs or tuple(each.lower() for each in query.named_selects)
    if "*" in outputs:
        raise Unplanned  # only of the outermost query the columns are known
    step = KeyedStep(tuple(each.step for each in sources), ((),) * len(sources), sql_of(query))
    return steps.add(step, outputs)


@dataclass
class _Planner:
    steps: Steps
    names: Mapping[str, Rows]  # of tables, and of CTEs that can be seen
    aggregates: Collection[str]

    def add_query(self, query: exp.Expr) -> Rows:
        """The rows of a query; what the planner does not know is computed as a whole."""
        with_clause = query.args.get("with_")
        if with_clause is not None:
            if with_clause.args.get("recursive"):
                raise Unplanned
            known = dict(self.names)
            for cte in with_clause.expressions:
                known[cte.alias.lower()] = _Planner(self.steps, known, self.aggregates).add_query(cte.this)
            query = query.copy()
            query.set("with_", None)
            return _Planner(self.steps, known, self.aggregates).add_query(query)
        before = len(self.steps.steps)
        try:
            return self.add_plain(query)
        except Unplanned:
            del self.steps.steps[before:], self.steps.appends[before:]
            if _reads_outer(query):
                raise
            return add_whole(self.steps, query, self.names)

    def add_plain(self, query: exp.Expr) -> Rows:
        match query:
            case exp.Subquery() if not query.args.get("joins"):
                return self.add_query(query.this)
            case exp.Union() if not (query.args.get("order") or query.args.get("limit") or query.args.get("by_name")):
                return self.add_union(query)
            case exp.Intersect() | exp.Except() if not (query.args.get("order") or query.args.get("limit")):
                return self.add_set_operation(query)
            case exp.Select():
                return self.add_select(query)
        raise Unplanned

    # --- set operations ----------------------------------------------------------------------------------
    def add_union(self, query: exp.Union) -> Rows:
        sides = [self.without_identity(self.add_query(side)) for side in (query.left, query.right)]
        names = sides[0].columns
        if len(names) != len(sides[1].columns):
            raise Unplanned
        rows = self.steps.add(UnionStep(tuple(side.step for side in sides), names), names)
        return self.add_distinct(rows) if query.args.get("distinct") else rows

    def add_set_operation(self, query: exp.SetOperation) -> Rows:
        sides = [self.without_identity(self.add_query(side)) for side in (query.left, query.right)]
        if len(sides[0].columns) != len(sides[1].columns):
            raise Unplanned
        word = "INTERSECT" if isinstance(query, exp.Intersect) else "EXCEPT"
        every = "" if query.args.get("distinct") else " ALL"
        sql = f"SELECT * FROM _0 {word}{every} SELECT * FROM _1"
        keys = tuple(side.columns for side in sides)
        step = KeyedStep(tuple(side.step for side in sides), keys, sql, row_keys=sides[0].columns)
        return self.steps.add(step, sides[0].columns)

    def add_distinct(self, rows: Rows) -> Rows:
        rows = self.without_identity(rows)
        return self.steps.add(GroupStep(rows.step, rows.columns, ()), rows.columns)

    def without_identity(self, rows: Rows) -> Rows:
        if not rows.identity:
            return rows
        visible = tuple(name for name in rows.columns if name not in rows.identity)
        return self.steps.add(MapStep(rows.step, tuple((name, column(name)) for name in visible)), visible)

    # --- SELECT ------------------------------------------------------------------------------------------
    def add_select(self, select: exp.Select) -> Rows:
        known = all(part in _PLAIN_SELECT for part, value in select.args.items() if value)
        if not known or not select.args.get("from_"):
            raise Unplanned
        items = [(name, self.add_item(item)) for name, item in _list_items(select)]
        rows, conditions = join_items(self.steps, select, items)
        rows = filter_by_subqueries(self.steps, rows, conditions, self.add_query)
        outputs = [(_name_output(output), flatten(_value_of(output))) for output in select.expressions]
        having = flatten(select.args["having"].this) if select.args.get("having") else None
        qualifies = flatten(select.args["qualify"].this) if select.args.get("qualify") else None
        wanted = Grouped([value for _, value in outputs], having, qualifies, _read_order(select, dict(outputs)))
        grouped = group_rows(self.steps, rows, select, wanted, self.is_aggregate)
        names = [name for name, _ in outputs]
        return self.add_outputs(grouped, names, select)

    def is_aggregate(self, call: exp.Func) -> bool:
        """The parser takes aggregates that it does not know for functions of one row."""
        names = [call.name] if isinstance(call, exp.Anonymous) else call.sql_names()
        return isinstance(call, exp.AggFunc) or any(name.lower() in self.aggregates for name in names)

    def add_item(self, item: exp.Expr) -> Rows:
        """What stands in FROM."""
        if any(item.args.get(part) for part in ("pivots", "sample", "laterals", "ordinality", "when")):
            raise Unplanned
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) and not item.db:
            known = self.names.get(item.name.lower())
            if known is None or (item.args.get("alias") and item.args["alias"].args.get("columns")):
                raise Unplanned
            return self.without_identity(known)
        if isinstance(item, exp.Subquery) and not (item.args["alias"] and item.args["alias"].args.get("columns")):
            return self.without_identity(limit_ranks(self.steps, self.add_query(item.this), item))
        raise Unplanned

    def add_outputs(self, grouped: tuple[Rows, Grouped], names: list[str], select: exp.Select) -> Rows:
        """The columns of the SELECT: computed row by row, or, with OVER and LIMIT, for the rows of each partition."""
        rows, wanted = grouped
        if len({name.lower() for name in names}) < len(names):
            raise Unplanned
        if any(value.find(exp.Subquery, exp.Select, exp.Exists) for value in wanted.all()):
            raise Unplanned
        limited = select.args.get("limit") or select.args.get("offset")
        windows = [each for value in wanted.all() for each in value.find_all(exp.Window)]
        outputs = tuple((name, sql_of(value)) for name, value in zip(names, wanted.outputs, strict=True))
        distinct = bool(select.args.get("distinct"))
        if (limited and (distinct or windows)) or (_list_distinct(select) and windows):
            raise Unplanned
        if windows or wanted.qualify is not None or limited or _list_distinct(select):
            made = self.add_partitioned(rows, outputs, wanted, windows, select)
            distinct = distinct and not _list_distinct(select)
        else:
            hidden = () if distinct else tuple((f"_id.{name}", column(name)) for name in rows.identity)
            made = self.steps.add(
                MapStep(rows.step, (*outputs, *hidden)),
                (*names, *(name for name, _ in hidden)),
                tuple(n for n, _ in hidden),
            )
        return self.add_distinct(made) if distinct else made

    def add_partitioned(
        self,
        rows: Rows,
        outputs: tuple[tuple[str, str], ...],
        wanted: Grouped,
        windows: list[exp.Window],
        select: exp.Select,
    ) -> Rows:
        """What looks at several rows: each partition by itself."""
        if any(window.args.get("alias") for window in windows) or select.args.get("windows"):
            raise Unplanned
        keys = _common_partition(windows) if windows else self.read_keys(select, outputs, wanted)
        rows, names = self.add_key_columns(rows, keys)
        told = tuple((f"_row.{number}", column(name)) for number, name in enumerate(names))
        head = f"DISTINCT ON ({', '.join(map(column, names))}) " if _list_distinct(select) else ""
        chosen = ", ".join(f"{sql} AS {column(name)}" for name, sql in (*outputs, *told))
        tail = f" QUALIFY {sql_of(wanted.qualify)}" if wanted.qualify is not None else ""
        tail += f" ORDER BY {', '.join(map(sql_of, wanted.order))}" if wanted.order else ""
        parts = [select.args[part].sql("duckdb") for part in ("limit", "offset") if select.args.get(part)]
        tail = " ".join([tail, *parts])
        sql = f"SELECT {head}{chosen} FROM _0{tail}"
        first_few = (head or select.args.get("limit")) and wanted.order and not select.args.get("offset")
        can_forget = first_few and self.steps.appends[rows.step] and wanted.qualify is None
        keep = f"SELECT {head}* FROM _0{tail}" if can_forget else None
        row_keys = tuple(name for name, _ in told)
        visible = tuple(name for name, _ in outputs)
        step = KeyedStep((rows.step,), (names,), sql, keep, row_keys)
        return only(self.steps, self.steps.add(step, (*visible, *row_keys)), visible)

    def read_keys(self, select: exp.Select, outputs: tuple[tuple[str, str], ...], wanted: Grouped) -> list[exp.Expr]:
        """What DISTINCT ON is about."""
        values = dict(zip((name for name, _ in outputs), wanted.outputs, strict=True))
        return [_read_outputs(each, values) for each in _list_distinct(select)]

    def add_key_columns(self, rows: Rows, keys: Sequence[exp.Expr]) -> tuple[Rows, Columns]:
        """The rows with a column for each key."""
        plain = [key for key in keys if isinstance(key, exp.Column)]
        if len(plain) == len(keys):
            return rows, tuple(key.name for key in plain)
        added = tuple((f"_key.{number}", sql_of(key)) for number, key in enumerate(keys))
        outputs = (*((name, column(name)) for name in rows.columns), *added)
        made = self.steps.add(MapStep(rows.step, outputs), tuple(name for name, _ in outputs))
        return made, tuple(name for name, _ in added)


def _list_items(select: exp.Select) -> list[tuple[str, exp.Expr]]:
    found = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
    if any(not item.alias_or_name for item in found):
        raise Unplanned
    return [(item.alias_or_name, item) for item in found]


def _name_output(output: exp.Expr) -> str:
    if isinstance(output, exp.Alias) or (isinstance(output, exp.Column) and not isinstance(output.this, exp.Star)):
        return output.alias_or_name
    raise Unplanned


def _value_of(output: exp.Expr) -> exp.Expr:
    return output.this if isinstance(output, exp.Alias) else output


def _read_order(select: exp.Select, outputs: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    """What ORDER BY says, if it says which rows there are; names of outputs mean their values."""
    if not select.args.get("order") or not (
        select.args.get("limit") or select.args.get("offset") or _list_distinct(select)
    ):
        return []
    return [_read_outputs(each, outputs) for each in select.args["order"].expressions]


def _read_outputs(tree: exp.Expr, outputs: Mapping[str, exp.Expr]) -> exp.Expr:
    """Names of outputs mean their values."""

    def read(node: exp.Expr) -> exp.Expr:
        is_output = isinstance(node, exp.Column) and not node.table and node.name in outputs
        return outputs[node.name].copy() if is_output else node

    return flatten(tree.copy().transform(read))


def _list_distinct(select: exp.Select) -> list[exp.Expr]:
    """What DISTINCT ON names."""
    distinct = select.args.get("distinct")
    on = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    return list(on.expressions) if on is not None else []


def _common_partition(windows: list[exp.Window]) -> list[exp.Expr]:
    """What all windows are partitioned by: rows that differ in it never see one another."""
    parts = [{sql_of(part): part for part in window.args.get("partition_by") or []} for window in windows]
    shared = set(parts[0]).intersection(*parts[1:])
    return [part for text, part in parts[0].items() if text in shared]


def _reads_outer(query: exp.Expr) -> bool:
    """Does it read columns of a query around it?"""
    inner = {table.alias_or_name for table in query.find_all(exp.Table, exp.Subquery)}
    return any(each.table and each.table not in inner for each in query.find_all(exp.Column))
