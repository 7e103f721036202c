"""SELECTs with ASOF JOIN or FOR SYSTEM_TIME AS OF: each such join becomes a table of its own, which the rest reads.

    SELECT a.x, count(*) FROM a ASOF JOIN b ON ... JOIN c ON a.y = c.y GROUP BY a.x
    =>  SELECT j."a.x", count(*) FROM <a ASOF JOIN b> AS j JOIN c ON j."a.y" = c.y GROUP BY j."a.x"

So whatever may stand around a table may stand around such a join, and several of them behind one another.

streams, or whole tables on both sides     bind_as_of_join.py
a stream with a whole table (Spark)        SQL: each row of the table is valid until the next one of its key
a table that says how long rows are valid  SQL, or the lookup of a stream (bind_table_join.py)
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.graph.operators import Source
from cepheid.language.parsing.places import span_of
from cepheid.language.relations.conditions import list_joins
from cepheid.language.streams.as_of_condition import (
    AsOf,
    is_as_of,
    read_as_of,
    reads_past,
    reads_present,
    refuse_version,
)
from cepheid.language.streams.bind_as_of_join import AsOfSelect
from cepheid.language.streams.bind_window_join import JoinSide
from cepheid.language.streams.joined_items import JoinedItems, take_apart
from cepheid.language.streams.next_join import add_next_join
from cepheid.language.streams.query_binder import BoundTable, QueryBinder
from cepheid.language.streams.stream_joins import find_lookup
from cepheid.language.streams.stream_layout import StreamLayout, name_inputs
from cepheid.language.streams.valid_times import join_by_validity, join_whole_table
from cepheid.language.streams.versioned_views import Versions, read_versions
from cepheid.language.streams.window_queries import add_join


def add_as_of_join(binder: QueryBinder, query: exp.Expr, timed: bool) -> BoundTable | None:
    """The rows of a SELECT with such joins; None if it has none, or only such with tables that are looked up."""
    if not isinstance(query, exp.Select) or not query.args.get("from_"):
        return None
    joins = list_joins(query)
    if not any(map(is_as_of, joins)) or all(find_lookup(binder, join.this) for join in joins):
        return None
    folded = query.copy()
    binder.roots.append((folded, binder.around(query)))
    first, join, *others = take_apart(folded)
    refuse_version(first)
    versions = read_versions(binder, join.this) if reads_past(join.this) else None
    if versions is not None:
        _read_all_versions(join, versions)
    items = JoinedItems(binder, folded, (first, join))
    joined = (
        _add_pair(binder, items, join, versions) if is_as_of(join) else binder.add_query(items.select_all(join), timed)
    )
    return items.add_rest(binder, joined, others, timed)


def _read_all_versions(join: exp.Expr, versions: Versions) -> None:
    item = join.this
    rows = versions.rows.subquery(item.alias_or_name, copy=False)
    rows.set("version", item.args["version"])
    join.set("this", rows)


def _name_versions(asked: AsOf, items: JoinedItems, versions: Versions) -> AsOf:
    """The view says by which time its rows are versions, and of what."""
    layout = items.layouts[1]
    halves = [half for part in asked.equalities for half in (part.this, part.expression)]
    keys = {half.name.lower() for half in halves if items.owners(half) == {1} and isinstance(half, exp.Column)}
    if keys != versions.keys or layout.find_name(versions.time) is None:
        raise NotSupportedYet(
            f'"{layout.name}" as of a time, joined by other columns than its rows are the latest of',
            span=span_of(asked.left),
            hint=f"join it by {', '.join(sorted(versions.keys))}, and let it show {versions.time}",
        )
    return replace(asked, right=exp.column(versions.time, table=layout.name, quoted=True))


def _add_pair(binder: QueryBinder, items: JoinedItems, join: exp.Expr, versions: Versions | None) -> BoundTable:
    """The join of the first item with the second."""
    if join.this.args.get("version") is not None and reads_present(join.this, items.layouts[0]):
        return _join_present(binder, items, join)
    items.write_out_using(join)
    asked = read_as_of(join, items.owners)
    if versions is not None:
        asked = _name_versions(asked, items, versions)
    validity = _find_validity(binder, join.this)
    if validity is not None and asked.right is None:
        if validity[1] is not None:
            return binder.add_query(join_by_validity(items, join, asked, (validity[0], validity[1])))
        asked = replace(asked, right=exp.column(validity[0], table=items.layouts[1].name, quoted=True))
    first, second = (_reads_streams(binder, items.item(number)) for number in (0, 1))
    if second and not first:
        raise NotSupportedYet(
            "a table joined as of the time of a stream", span=span_of(join), hint="name the stream first"
        )
    if first and not second:
        return binder.add_query(join_whole_table(items, join, asked))
    return _add_streams(binder, items, join, asked)


def _add_streams(binder: QueryBinder, items: JoinedItems, join: exp.Expr, asked: AsOf) -> BoundTable:
    tables = [binder.find_timed(items.item(number)) for number in (0, 1)]
    vertices = [table.vertex for table in tables]
    named = zip(tables, items.layouts, name_inputs(binder.graph, vertices), strict=True)
    sides = [
        JoinSide(StreamLayout(table.label, layout.name, table.schema, binder.describe, prefix=f"{prefix}."), None)
        for table, layout, prefix in named
    ]
    bound = AsOfSelect(items.select_columns(), sides, "arrival", span_of(join), asked=asked)
    if not asked.looks_back:
        return add_next_join(binder, bound, vertices)
    return add_join(binder, bound, vertices, timed=True)


def _join_present(binder: QueryBinder, items: JoinedItems, join: exp.Expr) -> BoundTable:
    if _reads_streams(binder, items.item(1)):
        raise NotSupportedYet(
            "a stream as it is now (PROCTIME)",
            span=span_of(join),
            hint="join it as of the event time, FOR SYSTEM_TIME AS OF a.ts, or give it as a cep.Table",
        )
    return binder.add_query(items.select_all(join))


def _find_validity(binder: QueryBinder, item: exp.Expr) -> tuple[str, str | None] | None:
    """The columns that say from when and until when rows are valid, of a table given with them."""
    if not isinstance(item, exp.Table) or item.name.lower() in binder.visible_ctes(item):
        return None
    return next((told for name, told in binder.known.validity.items() if name.lower() == item.name.lower()), None)


def _reads_streams(binder: QueryBinder, item: exp.Table | exp.Subquery) -> bool:
    graph = binder.graph
    try:
        vertex = binder.find_item(item).vertex
        below = [binder.graph.vertices[name] for name in binder.graph.reach(vertex, binder.graph.inputs)]
        return any(isinstance(node, Source) and node.name in binder.known.streams for node in below)
    finally:
        binder.graph = graph
