"""SELECTs that do more with a stream and its tables than look rows up: the join becomes a table, which the rest reads.

    SELECT t.name, count(*) FROM s JOIN t ON s.id = t.id JOIN u ON s.n = u.n GROUP BY t.name
    =>  SELECT j."t.name", count(*) FROM <s JOIN t ON s.id = t.id> AS j JOIN u ON j."s.n" = u.n GROUP BY j."t.name"

So whatever may stand around a stream may stand around such a join, and tables and streams may be joined in any order.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.language.relations.conditions import list_items, list_joins, split_conditions
from cepheid.language.relations.simple_select import find_items
from cepheid.language.streams.joined_columns import SELECT_PARTS
from cepheid.language.streams.joined_items import JoinedItems, take_apart
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_joins import add_table_join, find_lookup


def add_looked_up(binder: QueryBinder, query: exp.Select, timed: bool) -> BoundTable | None:
    """The rows of a SELECT from streams and tables that are looked up; None if it reads no such table."""
    items = list(find_items(query))
    if len(items) < 2 or not any(find_lookup(binder, item) for item in items):
        return None
    if not _does_more(binder, query):
        return add_table_join(binder, query)
    folded = query.copy()
    binder.roots.append((folded, binder.around(query)))
    first, join, *others = take_apart(folded)
    if find_lookup(binder, first) is not None:
        if not _may_swap(binder, folded, join):
            return add_table_join(binder, query)  # which refuses it
        table, first = first, join.this
        join.set("this", table)
    joined = JoinedItems(binder, folded, (first, join))
    joined.write_out_using(join)
    _take_conditions(folded, join, joined)
    return joined.add_rest(binder, binder.add_query(joined.select_pair(join), timed), others, timed)


def _does_more(binder: QueryBinder, query: exp.Select) -> bool:
    """Does it group, sort, use OVER or USING, or read another stream, or name a table first?"""
    first, *others = list_items(query)
    if any(value for part, value in query.args.items() if part not in SELECT_PARTS):
        return True
    if find_lookup(binder, first) is not None or any(find_lookup(binder, item) is None for item in others):
        return True
    if any(join.args.get("using") for join in list_joins(query)):
        return True
    where = query.args.get("where")
    parts = [*query.expressions, *([where] if where is not None else [])]
    return any(part.find(exp.AggFunc, exp.Window, exp.Query) is not None for part in parts)


def _may_swap(binder: QueryBinder, query: exp.Select, join: exp.Expr) -> bool:
    """t JOIN s is s JOIN t, where nobody asks for the columns in the order of FROM."""
    is_inner = (
        not join.args.get("side") and not join.args.get("method") and join.args.get("kind") in (None, "INNER", "")
    )
    has_stars = any(item.is_star for item in query.expressions)
    return is_inner and not has_stars and find_lookup(binder, join.this) is None


def _take_conditions(query: exp.Select, join: exp.Expr, joined: JoinedItems) -> None:
    """FROM s, t WHERE s.id = t.id AND ...: what is about these two is a condition of their join."""
    where = query.args.get("where")
    if where is None or join.args.get("side"):
        return
    parts = split_conditions(where.this)
    own = [part for part in parts if joined.is_of_both(part)]
    if not own:
        return
    rest = [part for part in parts if not any(part is other for other in own)]
    on = [join.args["on"]] if join.args.get("on") is not None else []
    join.set("on", exp.and_(*on, *own, copy=True))
    join.set("kind", None)  # of CROSS JOIN
    query.set("where", exp.Where(this=exp.and_(*rest, copy=True)) if rest else None)
