"""Windows as others write them, turned into ours: one ordered list, `SPELLINGS`.

    SELECT k, count(*), window_end                          SELECT k, count(*), window_end
    FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), d))      =>  FROM s [ORDER BY ts RANGE d SLIDE d]
    GROUP BY k, window_start, window_end                    GROUP BY k

    SELECT TUMBLE_END(ts, d) ... GROUP BY TUMBLE(ts, d)     first becomes a table function, then the same
    SELECT window.end ... GROUP BY window(ts, 'd')          (group_windows.py)

    any other SELECT over a table function              =>  over its rows, with window_start, window_end, window_time:
                                                            one for each window that the event is in

A window of ours starts at multiples of its slide since 1970.  One with an offset is among those that start at multiples
of the greatest common divisor of slide and offset; the others are left out by HAVING.  A cumulating window [s, s + j
step) is the window of the whole size that ends there, grouped by s; what began before s is left out by HAVING.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from sqlglot import exp

from cepheid.errors import InvalidWindow, NotSupportedYet
from cepheid.language.parsing.dialect import carry_clause
from cepheid.language.parsing.group_windows import COMPUTED, call_group_windows, call_spark_windows
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.window_clauses import MOST_WINDOWS, check_sizes, make_window, slide_of
from cepheid.language.parsing.window_expressions import (
    BEFORE_END,
    END,
    START,
    TIME,
    shift,
    write_floor,
)
from cepheid.language.parsing.window_function_parser import WINDOW_CALL, WindowCall
from cepheid.language.parsing.window_ranks import RANKED, rank_windows

BOUNDS = frozenset((START, END, TIME))
BESIDE = ("joins", "laterals", "distinct", "qualify", "windows", "connect", "kind")


def spell_windows(tree: exp.Expression, host_windows: bool = False) -> None:
    """Change every SELECT in the tree that has a window in another spelling; host_windows: those of Spark stay, since
    Spark runs them."""
    for spelling in SPELLINGS:
        if not (host_windows and spelling is SPARK_WINDOWS):
            spelling(tree)


def _each_select(change: Callable[[exp.Select], None]) -> Callable[[exp.Expression], None]:
    def change_all(tree: exp.Expression) -> None:
        for select in list(tree.find_all(exp.Select)):
            change(select)

    return change_all


# --- a window function over the rows of another -----------------------------------------------------------
def hide_bounds(tree: exp.Expression) -> None:
    """Where the rows of windows are put into windows again, the new bounds stand for the old ones."""
    named = {cte.alias.lower(): cte.this for cte in tree.find_all(exp.CTE) if not cte.args["alias"].args.get("columns")}
    for table in [table for table in tree.find_all(exp.Table) if WINDOW_CALL in table.meta]:
        call: WindowCall = table.meta[WINDOW_CALL]
        source = call.source
        query = source.this if isinstance(source, exp.Subquery) else named.get(source.name.lower())
        outputs = [output.alias_or_name for output in query.expressions] if isinstance(query, exp.Select) else []
        if not all(outputs) or "*" in outputs or not BOUNDS & {name.lower() for name in outputs}:
            continue
        kept: list[exp.Expr] = [exp.column(name, quoted=True) for name in outputs if name.lower() not in BOUNDS]
        time = call.time
        if time.name.lower() in BOUNDS:
            kept.append(exp.alias_(time.copy(), COMPUTED, quoted=True))
            time = exp.column(COMPUTED, quoted=True)
            time.this.meta.update(call.time.this.meta)
        select = exp.Select(expressions=kept, from_=exp.From(this=source.copy()))
        inner = select.subquery(source.alias_or_name or None, copy=False)
        table.meta[WINDOW_CALL] = replace(call, source=inner, time=time)


# --- SELECT * FROM a window function, in FROM or in WITH ---------------------------------------------------
def merge_plain_calls(tree: exp.Expression) -> None:
    """What only passes on the rows of a window function is left out: FROM (SELECT * FROM TABLE(TUMBLE(...)))."""
    for select in list(tree.find_all(exp.Select)):
        source = select.args.get("from_")
        item = source.this if source is not None else None
        query = _find_query(item, select)
        if query is None or item is None or item.args.get("joins") or not _passes_on(query):
            continue
        table = query.args["from_"].this.copy()
        name = item.alias_or_name
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None)
        item.replace(table)
        inner, outer = query.args.get("where"), select.args.get("where")
        if inner is not None:
            both = inner.this.copy() if outer is None else exp.and_(inner.this.copy(), outer.this, copy=False)
            select.set("where", exp.Where(this=both))


def _find_query(item: exp.Expr | None, select: exp.Select) -> exp.Expr | None:
    """The query of a subquery, or of a name in the WITH of the same SELECT."""
    if isinstance(item, exp.Subquery):
        return item.this
    with_clause = select.args.get("with_")
    if not isinstance(item, exp.Table) or with_clause is None or WINDOW_CALL in item.meta:
        return None
    plain = [cte for cte in with_clause.expressions if not cte.args["alias"].args.get("columns")]
    return next((cte.this for cte in plain if cte.alias.lower() == item.name.lower()), None)


def _passes_on(query: exp.Expr) -> bool:
    """SELECT * FROM <window function> [WHERE ...], no more."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return False
    others = [part for part, value in query.args.items() if value and part not in ("expressions", "from_", "where")]
    stars = query.expressions
    is_star = len(stars) == 1 and isinstance(stars[0], exp.Star) and not any(stars[0].args.values())
    table = query.args["from_"].this
    return is_star and not others and WINDOW_CALL in table.meta and not table.args.get("joins")


# --- a SELECT that groups by its window ------------------------------------------------------------------
def _aggregate_call(select: exp.Select) -> None:
    source = select.args.get("from_")
    call: WindowCall | None = source.this.meta.get(WINDOW_CALL) if source is not None else None
    if call is None or not _is_windowed(select, call):
        return
    check_sizes(call)
    select = _lift_order(select)
    carrier = select.args["from_"].this
    name = carrier.alias or call.source.alias_or_name
    _drop_qualifiers(select, name)
    table = carry_clause(make_window(call))
    table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None)
    carrier.replace(table)
    _group_without_bounds(select)
    if call.kind == "cumulate":
        _share_start(select, call)
    elif call.offset % slide_of(call):
        _and_having(select, _is_aligned(exp.column(START), slide_of(call), call.offset))
    _write_window_time(select)


def _is_windowed(select: exp.Select, call: WindowCall) -> bool:
    """Does it group by the bounds of its window, and do nothing that only a whole relation can?"""
    group = select.args.get("group")
    if group is None or any(value for part, value in group.args.items() if part != "expressions"):
        return False
    if any(select.args.get(part) for part in BESIDE):
        return False
    if any(isinstance(term, exp.GroupingSets | exp.Rollup | exp.Cube) for term in group.expressions):
        return False
    if any(RANKED not in node.meta for node in _own(select, exp.Window, exp.Query)):
        return False
    if select.args["from_"].this.args.get("joins"):
        return False
    bounds = {name for term in group.expressions if (name := _bound_name(term, select))}
    if not bounds & {START, END}:
        return False
    if call.kind in ("cumulate", "session") and not {START, END} <= bounds:
        return False
    plain = {id(column) for term in group.expressions for column in [_resolve(term, select)]}
    inside = (column for term in group.expressions for column in _resolve(term, select).find_all(exp.Column))
    return not any(column.name.lower() in BOUNDS and id(column) not in plain for column in inside)


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of these kinds in the outputs and conditions of the SELECT itself."""
    parts = [
        *select.expressions,
        *(select.args[part] for part in ("where", "having", "order") if select.args.get(part)),
    ]
    return [node for part in parts for node in part.find_all(*kinds)]


def _resolve(term: exp.Expr, select: exp.Select) -> exp.Expr:
    """What a term of GROUP BY stands for: an output by its number or its name."""
    outputs = select.expressions
    if isinstance(term, exp.Literal) and term.name.isdigit() and 1 <= int(term.name) <= len(outputs):
        return outputs[int(term.name) - 1].unalias()
    if isinstance(term, exp.Column) and not term.table and term.name.lower() not in BOUNDS:
        named = [item for item in outputs if item.alias.lower() == term.name.lower()]
        if named and isinstance(named[0].unalias(), exp.Column) and named[0].unalias().name.lower() in BOUNDS:
            return named[0].unalias()
    return term


def _bound_name(term: exp.Expr, select: exp.Select) -> str | None:
    column = _resolve(term, select)
    return column.name.lower() if isinstance(column, exp.Column) and column.name.lower() in BOUNDS else None


def _drop_qualifiers(select: exp.Select, name: str) -> None:
    """t.window_start is window_start."""
    for column in select.find_all(exp.Column):
        is_bound = column.name.lower() in BOUNDS and column.table.lower() == name.lower()
        if column.table and is_bound and column.find_ancestor(exp.Select) is select:
            column.set("table", None)


def _group_without_bounds(select: exp.Select) -> None:
    """A window is a group by itself; without other groups and aggregates, one row for all events of it."""
    group = select.args["group"]
    others = [_resolve(term, select) for term in group.expressions if _bound_name(term, select) is None]
    if not others and not _own(select, exp.AggFunc, exp.Anonymous):
        others = [exp.true()]
    select.set("group", exp.Group(expressions=[other.copy() for other in others]) if others else None)


def _lift_order(select: exp.Select) -> exp.Select:
    """ORDER BY and LIMIT are of the whole answer here; beside a window of ours they are of each window.  Gives the
    SELECT without them, which is then a subquery."""
    parts = {part: select.args.get(part) for part in ("order", "limit", "offset")}
    if not any(parts.values()):
        return select
    names = {item.alias_or_name.lower() for item in select.expressions}
    for term in parts["order"].expressions if parts["order"] else ():
        inner = term.this if isinstance(term, exp.Ordered) else term
        if isinstance(inner, exp.Literal) or (isinstance(inner, exp.Column) and inner.name.lower() in names):
            inner.set("table", None) if isinstance(inner, exp.Column) else None
            continue
        raise NotSupportedYet(
            "ORDER BY what is no output of a window function", span=span_of(term), hint="give it a name in SELECT"
        )
    inside = select.copy()
    for part in parts:
        inside.set(part, None)
    with_clause = inside.args.get("with_")
    inside.set("with_", None)
    for part in list(select.args):
        if part not in parts:
            select.set(part, None)
    select.set("expressions", [exp.Star()])
    select.set("with_", with_clause)
    select.set("from_", exp.From(this=inside.subquery("_windowed", copy=False)))
    return inside


# --- offsets, cumulating windows -------------------------------------------------------------------------
def _is_aligned(moment: exp.Expr, every: timedelta, offset: timedelta) -> exp.Expr:
    return exp.EQ(this=write_floor(moment, every, offset), expression=moment.copy())


def _share_start(select: exp.Select, call: WindowCall) -> None:
    """Windows of the whole size that end at every step, of which those events count that came since the start."""
    start = write_floor(call.time, call.size, call.offset)
    for column in list(select.find_all(exp.Column)):
        if column.name.lower() == START and not column.table and column.find_ancestor(exp.Select) is select:
            is_output = column.parent is select and column.arg_key == "expressions"
            column.replace(exp.alias_(start.copy(), START) if is_output else start.copy())
    group = select.args.get("group")
    others = group.expressions if group is not None else []
    select.set("group", exp.Group(expressions=[*others, start.copy()]))
    _and_having(select, exp.LTE(this=exp.column(END), expression=shift(start.copy(), call.size)))
    assert call.step is not None, "the parser asks for the step of CUMULATE"
    if call.offset % call.step:
        _and_having(select, _is_aligned(exp.column(END), call.step, call.offset))


def _and_having(select: exp.Select, condition: exp.Expr) -> None:
    having = select.args.get("having")
    both = condition if having is None else exp.And(this=exp.Paren(this=having.this), expression=condition)
    select.set("having", exp.Having(this=both))


def _write_window_time(select: exp.Select) -> None:
    for column in list(select.find_all(exp.Column)):
        if column.name.lower() == TIME and column.find_ancestor(exp.Select) is select:
            written = shift(exp.column(END), -BEFORE_END)
            is_output = column.parent is select and column.arg_key == "expressions"
            column.replace(exp.alias_(written, TIME) if is_output else written)


# --- any other SELECT: a row for each window that an event is in ------------------------------------------
def _assign_windows(tree: exp.Expression) -> None:
    while True:
        table = next((table for table in tree.find_all(exp.Table) if WINDOW_CALL in table.meta), None)
        if table is None:
            return
        call: WindowCall = table.meta.pop(WINDOW_CALL)
        check_sizes(call)
        assigned = _select_session(call) if call.kind == "session" else _select_assigned(call)
        alias = table.args.get("alias")
        name = call.source.alias_or_name
        subquery = assigned.subquery(copy=False)
        subquery.set("alias", alias or (exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None))
        for part in ("joins", "laterals", "pivots", "sample"):
            if table.args.get(part):
                subquery.set(part, table.args[part])
        table.replace(subquery)


def _select_assigned(call: WindowCall) -> exp.Query:
    """SELECT *, window_start, ... FROM source, for each of the windows that an event can be in."""
    step = slide_of(call)
    count = -(-call.size // step)
    if count > MOST_WINDOWS:
        hint = "group by window_start and window_end in the same SELECT, or make the step larger"
        raise NotSupportedYet(f"an event in {count} windows", span=call.span, hint=hint)
    if step > call.size:
        raise InvalidWindow("the slide is larger than the window", span=call.places.get("SLIDE"), hint="swap the two")
    selects: list[exp.Select] = []
    for number in range(count):
        if call.kind == "cumulate":
            start = write_floor(call.time, call.size, call.offset)
            end = shift(start.copy(), step * (number + 1))
            bounded = number < count - 1
        else:
            start = shift(write_floor(call.time, step, call.offset), -step * number)
            end = shift(write_floor(call.time, step, call.offset), call.size - step * number)
            bounded = step * (number + 1) > call.size
        condition = exp.LT(this=call.time.copy(), expression=end.copy()) if bounded else None
        selects.append(_select_bounds(call, start, end, condition))
    first, *others = selects
    query: exp.Query = first
    for other in others:
        query = exp.union(query, other, distinct=False, copy=False)
    return query


def _select_bounds(call: WindowCall, start: exp.Expr, end: exp.Expr, condition: exp.Expr | None) -> exp.Select:
    outputs = [exp.alias_(start, START), exp.alias_(end, END), exp.alias_(shift(end.copy(), -BEFORE_END), TIME)]
    select = exp.Select(expressions=[exp.Star(), *outputs], from_=exp.From(this=call.source.copy()))
    if condition is not None:
        select.set("where", exp.Where(this=condition))
    return select


def _select_session(call: WindowCall) -> exp.Select:
    """Sessions are known when they end: the events of each, with its bounds."""
    table = carry_clause(make_window(call))
    outputs = [exp.Star(), exp.column(START), exp.column(END), exp.alias_(shift(exp.column(END), -BEFORE_END), TIME)]
    return exp.Select(expressions=outputs, from_=exp.From(this=table))


SPARK_WINDOWS = _each_select(call_spark_windows)
SPELLINGS: tuple[Callable[[exp.Expression], None], ...] = (
    _each_select(call_group_windows),
    SPARK_WINDOWS,
    hide_bounds,
    merge_plain_calls,
    _each_select(rank_windows),
    _each_select(_aggregate_call),
    _assign_windows,
)
