"""What a view may say on Spark, where DuckDB keeps it up to date: only what both mean alike.

Values are compared, counted, added up and chosen from; expressions beyond that are Spark's to compute: in a subquery
below the view, where Spark computes them itself.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.parsing.own_functions import INT_DIV, WHOLE
from cepheid.language.relations.sql_values import write_tree
from cepheid.scalars.value import Scalar
from cepheid.user_functions import is_own

_SHAPE = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Distinct, exp.With, exp.CTE, exp.Subquery, exp.Table, exp.TableAlias, exp.Identifier, exp.Alias, exp.Column,
    exp.Star, exp.Union, exp.Intersect, exp.Except, exp.Paren, exp.Tuple, exp.GroupingSets, exp.Rollup, exp.Cube,
    exp.Window, exp.WindowSpec, exp.Qualify, exp.Filter, exp.Exists, exp.Var, exp.DataType,
)  # fmt: skip
_VALUES = (
    exp.Literal, exp.Null, exp.Boolean, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not,
    exp.Is, exp.In, exp.Between, exp.Coalesce, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Case, exp.If,
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.CountIf, exp.Grouping,
    exp.RowNumber, exp.Rank, exp.DenseRank,
)  # fmt: skip
HINT = "compute it in a subquery below, FROM (SELECT ..., f(x) AS y FROM s), or in the DataFrame"


# where the parser leaves functions as they are written; and ours for whole numbers, which both hosts cut alike
_CALLS = ("row_number", "rank", "dense_rank", INT_DIV.lower(), WHOLE.lower())


def is_portable(node: exp.Expr) -> bool:
    """Does this part of a query mean the same in both, if all its parts do?"""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _CALLS or (is_own(node.name) and node.find(exp.ArrayAgg) is not None)
    if isinstance(node, exp.ArrayAgg):  # the values of an aggregate of the user (language/relations/user_aggregates.py)
        call = node.find_ancestor(exp.Anonymous, exp.Select)
        return isinstance(call, exp.Anonymous) and is_own(call.name)
    if isinstance(node, exp.Cast):  # the type that sums of whole numbers have with us
        return isinstance(node.this, exp.Sum) and node.to.this == exp.DType.BIGINT
    return isinstance(node, _SHAPE + _VALUES)


def check_portable_view(query: Scalar) -> None:
    """Refuse a view in which workers might compute something otherwise than Spark SQL."""
    for node in write_tree(query).walk():
        if not is_portable(node):
            told = node.sql(dialect="spark")
            shown = told if len(told) < 60 else f"{told[:57]}..."
            raise NotSupportedYet(f"{shown} inside of a result that changes, on Spark", hint=HINT)
