"""Columns that travel through a row-wise query unseen: every SELECT in it passes them on, behind its own.

SELECT a + 1 AS b FROM t UNION ALL SELECT * FROM u

SELECT a + 1 AS b, "c" FROM t UNION ALL SELECT * EXCLUDE ("c"), "c" FROM u
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from cepheid.language.relations.sql_values import read_value, write_tree
from cepheid.scalars.value import Scalar


def carry_columns(query: Scalar, columns: Sequence[str]) -> Scalar:
    """The query, which must be row-wise (row_wise_query.py), with these columns of its inputs in its rows."""
    tree = write_tree(query)
    for select in list(tree.find_all(exp.Select)):
        outputs = [_leave_out(output, columns) for output in select.expressions]
        select.set("expressions", [*outputs, *(_column(name) for name in columns)])
    return read_value(tree)


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _leave_out(output: exp.Expr, columns: Sequence[str]) -> exp.Expr:
    """`*` means the columns that users know."""
    star = output.this if isinstance(output, exp.Column) else output
    if isinstance(star, exp.Star):
        known = star.args.get("except_") or []
        star.set("except_", [*known, *(exp.to_identifier(name, quoted=True) for name in columns)])
    return output
