"""A view that keeps the latest row of each key, joined as of a time: all its rows are versions.

    WITH rates AS (SELECT k, rate, at FROM
      (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC) AS n FROM r) WHERE n = 1)
    ... FROM a JOIN rates FOR SYSTEM_TIME AS OF a.ts ON a.k = rates.k
    =>  FROM a JOIN (SELECT k, rate, at FROM (SELECT * FROM r)) FOR SYSTEM_TIME AS OF a.ts ..., versions by `at`

Read as it stands, the view has the last row of all times only; at a time in the past, it had another.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.places import span_of
from cepheid.language.streams.query_binder import QueryBinder

PLAIN = {"expressions", "from_", "where", "with_", "kind"}


@dataclass(frozen=True)
class Versions:
    """rows: all versions; keys, time: the columns that the view is the latest by."""

    rows: exp.Select
    keys: frozenset[str]
    time: str


def read_versions(binder: QueryBinder, item: exp.Expr) -> Versions | None:
    """Of an item of FROM that names such a view; None if it is something else."""
    cte = binder.visible_ctes(item).get(item.name.lower()) if isinstance(item, exp.Table) else None
    query = None if cte is None else cte.this
    if not isinstance(query, exp.Select) or not _is_plain(query) or query.args.get("where") is None:
        return None
    inner = query.args["from_"].this
    select = inner.this if isinstance(inner, exp.Subquery) else None
    if not isinstance(select, exp.Select) or not _is_plain(select):
        return None
    ranked = next((each for each in select.expressions if _is_row_number(each.unalias())), None)
    if ranked is None or not _asks_for_first(query.args["where"].this, ranked.alias):
        return None
    window = ranked.unalias()
    term = window.args["order"].expressions[0]
    keys = window.args.get("partition_by") or []
    if not all(isinstance(part, exp.Column) for part in (*keys, term.this)) or _reads(query, ranked.alias):
        raise NotSupportedYet(
            "this view as of a time", span=span_of(item), hint="name its columns, and keep ROW_NUMBER out of them"
        )
    rows = query.copy()
    rows.set("where", None)
    source = rows.args["from_"].this.this
    source.set("expressions", [each for each in source.expressions if each.alias != ranked.alias])
    binder.roots.append((rows, cte))
    return Versions(rows, frozenset(part.name.lower() for part in keys), term.this.name)


def _is_plain(query: exp.Select) -> bool:
    return bool(query.args.get("from_")) and not any(value for part, value in query.args.items() if part not in PLAIN)


def _is_row_number(call: exp.Expr) -> bool:
    """ROW_NUMBER() OVER (... ORDER BY one thing DESC)."""
    if not isinstance(call, exp.Window) or call.args.get("order") is None:
        return False
    function = call.this
    name = function.name if isinstance(function, exp.Anonymous) else getattr(function, "sql_name", str)()
    terms = call.args["order"].expressions
    return name.lower() == "row_number" and len(terms) == 1 and bool(terms[0].args.get("desc"))


def _asks_for_first(condition: exp.Expr, name: str) -> bool:
    if not isinstance(condition, exp.EQ | exp.LTE):
        return False
    column, number = condition.this, condition.expression
    return isinstance(column, exp.Column) and column.name == name and number.sql() == "1"


def _reads(query: exp.Select, name: str) -> bool:
    """Is the number among the columns of the view?"""
    columns = [part.name for item in query.expressions for part in item.find_all(exp.Column)]
    return name in columns or any(item.is_star for item in query.expressions)
