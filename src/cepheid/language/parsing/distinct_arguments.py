"""DISTINCT in a function of one row is refused: of one argument these are written without their name, so that

SELECT CONCAT(DISTINCT x) FROM s     would be read as     SELECT DISTINCT x FROM s
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.errors import InvalidQuery
from cepheid.language.parsing.places import span_near, span_of

_OF_ONE_ROW = (exp.Coalesce, exp.Greatest, exp.Least, exp.Concat, exp.ConcatWs)


def refuse_distinct_arguments(tree: exp.Expr) -> None:
    for call in tree.find_all(*_OF_ONE_ROW):
        if any(isinstance(argument, exp.Distinct) for argument in call.iter_expressions()):
            raise InvalidQuery(
                f"DISTINCT has no meaning in {call.sql_name()}, which reads one row",
                span=span_of(call) or span_near(call),
                hint="leave DISTINCT out",
            )
