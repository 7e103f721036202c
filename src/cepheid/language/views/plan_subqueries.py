"""WHERE with subqueries: IN and EXISTS by key, others with all rows together."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cepheid.language.views.plan_joins import find_equality
from cepheid.language.views.steps import (
    Rows,
    Steps,
    Unplanned,
    column,
    filter_rows,
    flatten,
    has_query,
    join_and,
    only,
    split_and,
    sql_of,
    tables_of,
    with_keys,
)
from cepheid.language.views.view_plan import KeyedStep

AddQuery = Callable[[exp.Expr], Rows]
_SIMPLE = {"expressions", "from_", "joins", "where", "distinct", "kind"}


def filter_by_subqueries(steps: Steps, rows: Rows, conditions: list[exp.Expr], add_query: AddQuery) -> Rows:
    """The rows for which all conditions hold, those without subqueries first."""
    plain = [part for part in conditions if not has_query(part)]
    rows = filter_rows(steps, rows, list(map(flatten, plain)))
    for part in conditions:
        if part not in plain:
            rows = _filter_by(steps, rows, part.unnest(), add_query)
    return rows


def _filter_by(steps: Steps, rows: Rows, part: exp.Expr, add_query: AddQuery) -> Rows:
    outer = {name.split(".", 1)[0] for name in rows.columns}
    match part:
        case exp.In(this=value) if part.args.get("query") and not has_query(value):
            query = part.args["query"].unnest()
            if not _reads(query, outer):
                return _filter_in(steps, rows, value, add_query(query))
            test = exp.EQ(this=value.copy(), expression=_only_output(query).copy())
            return _filter_exists(steps, rows, query, [test], False, add_query, outer)
        case exp.Exists(this=query) if _reads(query, outer):
            return _filter_exists(steps, rows, query.unnest(), [], False, add_query, outer)
        case exp.Not(this=inner) if isinstance(inner.unnest(), exp.Exists):
            query = inner.unnest().this
            if _reads(query, outer):
                return _filter_exists(steps, rows, query.unnest(), [], True, add_query, outer)
    return _filter_whole(steps, rows, part, add_query, outer)


def _reads(query: exp.Expr, outer: set[str]) -> bool:
    """Does a subquery read columns of the query around it?"""
    own = {table.alias_or_name for table in query.find_all(exp.Table, exp.Subquery)}
    return bool((tables_of(query) - own) & outer) or bool(tables_of(query) & own & outer)


def _only_output(query: exp.Expr) -> exp.Expr:
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        raise Unplanned
    output = query.expressions[0]
    return output.this if isinstance(output, exp.Alias) else output


def _filter_in(steps: Steps, rows: Rows, value: exp.Expr, found: Rows) -> Rows:
    visible = tuple(name for name in found.columns if name not in found.identity)
    if len(visible) != 1:
        raise Unplanned
    tested = flatten(value)
    left, keys = with_keys(steps, rows, [tested], "_in.")
    sql = f"SELECT * FROM _0 WHERE ({sql_of(tested)}) IN (SELECT {column(visible[0])} FROM _1)"
    made = steps.add(KeyedStep((left.step, found.step), (keys, visible), sql, row_keys=keys), left.columns)
    return only(steps, made, rows.columns)


def _filter_exists(
    steps: Steps,
    rows: Rows,
    query: exp.Expr,
    tests: list[exp.Expr],
    negated: bool,
    add_query: AddQuery,
    outer: set[str],
) -> Rows:
    """[NOT] EXISTS of rows that are tied to ours by conditions; those that say "equal" make the key."""
    if not isinstance(query, exp.Select) or any(value and part not in _SIMPLE for part, value in query.args.items()):
        raise Unplanned
    own = {item.alias_or_name for item in (query.args["from_"].this, *(j.this for j in query.args.get("joins") or []))}
    if own & outer:
        raise Unplanned
    parts = split_and(query.args["where"].this if query.args.get("where") else None)
    tied = [*(part for part in parts if tables_of(part) & outer), *tests]
    if any(map(has_query, tied)):
        raise Unplanned
    inner, named = _read_columns(query, [part for part in parts if not tables_of(part) & outer], tied, own)
    found = add_query(inner)
    pairs = [pair for part in tied if (pair := find_equality(part, own)) is not None]
    left, left_keys = with_keys(steps, rows, [flatten(outside) for _, outside in pairs], "_exists.")
    right, right_keys = with_keys(steps, found, [_rename(inside, named) for inside, _ in pairs], "_key.")
    condition = join_and([flatten(_rename(part, named)) for part in tied])
    sql = f"SELECT * FROM _0 WHERE {'NOT ' if negated else ''}EXISTS (SELECT 1 FROM _1 WHERE {condition})"
    made = steps.add(KeyedStep((left.step, right.step), (left_keys, right_keys), sql, row_keys=left_keys), left.columns)
    return only(steps, made, rows.columns)


def _read_columns(
    query: exp.Select, kept: list[exp.Expr], tied: list[exp.Expr], own: set[str]
) -> tuple[exp.Select, dict[tuple[str, str], str]]:
    """The subquery alone, giving the columns that the conditions read, and what those are called."""
    read = dict.fromkeys(
        (each.table, each.name) for part in tied for each in part.find_all(exp.Column) if each.table in own
    )
    named = {each: f"_inner_{number}" for number, each in enumerate(read)}
    inner = query.copy()
    outputs = [
        exp.alias_(exp.column(name, table=table, quoted=True), alias, quoted=True)
        for (table, name), alias in named.items()
    ]
    inner.set("expressions", outputs or [exp.alias_(exp.Literal.number(1), "_inner_none", quoted=True)])
    inner.set("distinct", None)
    inner.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    return inner, named


def _rename(tree: exp.Expr, named: dict[tuple[str, str], str]) -> exp.Expr:
    def rename(node: exp.Expr) -> exp.Expr:
        alias = named.get((node.table, node.name)) if isinstance(node, exp.Column) else None
        return node if alias is None else exp.column(alias, quoted=True)

    return tree.copy().transform(rename)


def _filter_whole(steps: Steps, rows: Rows, part: exp.Expr, add_query: AddQuery, outer: set[str]) -> Rows:
    """Any condition over subqueries that stand alone: all rows are tested again when one of them changes."""
    part = part.copy()
    sources = [rows]
    holder = exp.Paren(this=part)
    for query in list(part.find_all(exp.Select, exp.SetOperation)):
        if query.find_ancestor(exp.Select, exp.SetOperation) is not None:
            continue
        if _reads(query, outer):
            raise Unplanned
        found = add_query(query)
        visible = ", ".join(column(name) for name in found.columns if name not in found.identity)
        query.replace(_read_step(visible, len(sources)))
        sources.append(found)
    sql = f"SELECT * FROM _0 WHERE {sql_of(flatten(holder.this))}"
    step = KeyedStep(tuple(each.step for each in sources), ((),) * len(sources), sql)
    return steps.add(step, rows.columns, rows.identity)


def _read_step(columns: str, number: int) -> exp.Select:
    return exp.select(columns, dialect="duckdb").from_(exp.to_identifier(f"_{number}", quoted=True))
