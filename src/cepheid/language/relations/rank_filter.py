"""The first rows of each partition: the condition on ranks stays with the query that makes them.

    SELECT bidder FROM (SELECT *, row_number() OVER (...) AS n FROM bids) WHERE n <= 3 AND price > 5
    =>  SELECT bidder FROM (SELECT * FROM (SELECT *, row_number() ...) WHERE n <= 3) WHERE n <= 3 AND price > 5

Who keeps the ranks of a stream up to date then knows that no more than the first three rows are ever asked for.
"""

from __future__ import annotations

from sqlglot import exp

RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
BOUNDS = (exp.EQ, exp.LT, exp.LTE)


def filter_ranks(query: exp.Select, ranked: exp.Expr, name: str) -> exp.Select | None:
    """The rows of `ranked`, which the query reads and calls `name`, that its conditions on ranks let through; None: it
    has none."""
    where = query.args.get("where")
    if where is None or not isinstance(ranked, exp.Select):
        return None
    ranks = {
        output.alias.lower()
        for output in ranked.expressions
        if isinstance(output, exp.Alias) and isinstance(output.this, exp.Window) and isinstance(output.this.this, RANKS)
    }
    parts = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    kept = [part.copy() for part in parts if _bounds_rank(part.unnest(), ranks)]
    if not kept:
        return None
    inner = exp.Subquery(this=ranked.copy(), alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return exp.select("*").from_(inner, copy=False).where(*kept, copy=False)


def _bounds_rank(part: exp.Expr, ranks: set[str]) -> bool:
    column, bound = part.this, part.args.get("expression")
    is_number = isinstance(bound, exp.Literal) and not bound.is_string
    return isinstance(part, BOUNDS) and isinstance(column, exp.Column) and column.name.lower() in ranks and is_number
