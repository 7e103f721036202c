"""ORDER BY of a view whose rows come at the end: by the columns that come out."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.relations.sql_values import write_tree
from cepheid.language.views.steps import column
from cepheid.scalars.value import Scalar


def write_order(query: Scalar, outputs: Sequence[str]) -> str:
    """What stands behind ORDER BY, in DuckDB's SQL; empty: nothing does, or LIMIT has heeded it."""
    tree = write_tree(query)
    order = tree.args.get("order")
    if order is None or tree.args.get("limit"):
        return ""
    return ", ".join(_write_term(term, outputs) for term in order.expressions)


def _write_term(term: exp.Expr, outputs: Sequence[str]) -> str:
    value = term.this if isinstance(term, exp.Ordered) else term
    by_name = {name.lower(): name for name in outputs}
    name: str | None = None
    if isinstance(value, exp.Literal) and not value.is_string and 1 <= int(value.this) <= len(outputs):
        name = outputs[int(value.this) - 1]
    elif isinstance(value, exp.Column):
        name = by_name.get(value.name.lower())
    if name is None:
        raise NotSupportedYet(
            "ORDER BY something that is no column of the SELECT, over a stream",
            hint="add it to the SELECT under a name, and order by that name",
        )
    direction = " DESC" if term.args.get("desc") else ""
    if term.args.get("nulls_first") is not None:
        direction += " NULLS FIRST" if term.args["nulls_first"] else " NULLS LAST"
    return column(name) + direction
