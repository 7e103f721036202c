"""Does a query look at each row by itself?  Then it may be run batch by batch.

    SELECT *, 'fast' AS kind FROM _cep_1 UNION ALL SELECT *, 'slow' FROM _cep_2 WHERE d > 5         yes
    SELECT kind, count(*) FROM _cep_1 GROUP BY kind                                                no

Yes is only said of what is surely so: projections and filters of single tables, and UNION ALL of such.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cepheid.language.relations.simple_select import OVER_SEVERAL_ROWS, only_item
from cepheid.language.relations.sql_values import write_tree
from cepheid.scalars.value import Scalar

_UNION_PARTS = {"this", "expression", "distinct", "with_"}
# sqlglot does not know what these functions do: they may be aggregates
_UNKNOWN = (exp.Anonymous, exp.AnonymousAggFunc)


def is_row_wise_query(query: Scalar, tables: Iterable[str]) -> bool:
    """`tables`: the names that the query may read."""
    return _is_row_wise(write_tree(query), {name.lower() for name in tables})


def _is_row_wise(query: exp.Expr, known: set[str]) -> bool:
    with_clause = query.args.get("with_")
    if with_clause is not None:
        if with_clause.args.get("recursive"):
            return False
        for cte in with_clause.expressions:
            if cte.args["alias"].args.get("columns") or not _is_row_wise(cte.this, known):
                return False
            known = known | {cte.alias.lower()}
    if isinstance(query, exp.Union):
        modified = any(value for part, value in query.args.items() if part not in _UNION_PARTS)
        sides = (query.left, query.right)
        return not modified and not query.args.get("distinct") and all(_is_row_wise(side, known) for side in sides)
    if isinstance(query, exp.Subquery):
        return not any(value for part, value in query.args.items() if part != "this") and _is_row_wise(
            query.this, known
        )
    return isinstance(query, exp.Select) and _is_row_wise_select(query, known)


def _is_row_wise_select(query: exp.Select, known: set[str]) -> bool:
    item = only_item(query)
    if item is None:
        return False
    reads_known = _is_row_wise(item.this, known) if isinstance(item, exp.Subquery) else item.name.lower() in known
    where = query.args.get("where")
    parts = [output for output in query.expressions if not output.is_star] + ([where.this] if where else [])
    return reads_known and all(part.find(*OVER_SEVERAL_ROWS, *_UNKNOWN) is None for part in parts)
