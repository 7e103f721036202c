"""Joins as of a time with tables whose rows say, or let find out, how long they are valid: ordinary SQL.

a JOIN t FOR SYSTEM_TIME AS OF a.ts, t valid from `since` until `till`
=>  a JOIN t ON ... AND (t.since IS NULL OR a.ts >= t.since) AND (t.till IS NULL OR a.ts < t.till)

a ASOF JOIN t ON a.id = t.id AND a.ts >= t.ts, where t is a whole table beside a stream
=>  a JOIN (SELECT *, lead(ts) OVER (PARTITION BY id ORDER BY ts) AS _until FROM t) AS t
      ON a.id = t.id AND a.ts >= t.ts AND (t._until IS NULL OR a.ts < t._until)
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.as_of_condition import AsOf, is_null, is_valid
from cepheid.language.streams.bind_as_of_join import put_only_time
from cepheid.language.streams.joined_items import JoinedItems
from cepheid.scalars.value import Column

UNTIL = "_until"
OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE}


def join_by_validity(items: JoinedItems, join: exp.Expr, asked: AsOf, columns: tuple[str, str]) -> exp.Select:
    name = items.layouts[1].name
    since, until = (exp.column(column, table=name, quoted=True) for column in columns)
    return _join(
        items, join, items.item(1).copy(), [*asked.equalities, *asked.rest, *is_valid(asked.left, since, until)]
    )


def join_whole_table(items: JoinedItems, join: exp.Expr, asked: AsOf) -> exp.Select:
    """Each row of the right side with the time of the next one of its key, or of the one before."""
    layout = items.layouts[1]
    time = asked.right
    if time is None:
        put_only_time(layout)
        value, _ = layout.places["_time"]
        assert isinstance(value, Column), "event time is a column"
        time = exp.column(value.name, table=layout.name, quoted=True)
    if not isinstance(time, exp.Column):
        raise NotSupportedYet(f'"{time.sql()}" as a time', span=span_of(time), hint="compute it in a subquery")
    keys = [half for part in asked.equalities for half in (part.this, part.expression) if items.owners(half) == {1}]
    neighbour = exp.Lead if asked.looks_back else exp.Lag
    bound = exp.Window(
        this=neighbour(this=time.copy()),
        partition_by=[key.copy() for key in keys],
        order=exp.Order(expressions=[exp.Ordered(this=time.copy())]),
    )
    before = [part for part in asked.rest if asked.chosen and items.owners(part) == {1}]
    inner = exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier(layout.name, quoted=True)),
        exp.alias_(bound, UNTIL, quoted=True),
        copy=False,
    ).from_(items.item(1).copy(), copy=False)
    inner = inner.where(exp.Not(this=is_null(time)), *(part.copy() for part in before), copy=False)
    table = inner.subquery(exp.to_identifier(layout.name, quoted=True), copy=False)
    rest = [part for part in asked.rest if not any(part is other for other in before)]
    until = exp.column(UNTIL, table=layout.name, quoted=True)
    reverse = OPPOSITE[asked.comparison]
    times = [
        asked.comparison(this=asked.left.copy(), expression=time.copy()),
        exp.or_(is_null(until), reverse(this=asked.left.copy(), expression=until.copy())),
    ]
    return _join(items, join, table, [*asked.equalities, *rest, *times])


def _join(items: JoinedItems, join: exp.Expr, table: exp.Expr, conditions: list[exp.Expr]) -> exp.Select:
    table.set("alias", table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(items.layouts[1].name)))
    select = items.select_columns().from_(items.item(0).copy(), copy=False)
    on = exp.and_(*(exp.paren(part, copy=True) for part in conditions), copy=False)
    select.append("joins", exp.Join(this=table, side=join.args.get("side"), on=on))
    return items.adopt(select)
