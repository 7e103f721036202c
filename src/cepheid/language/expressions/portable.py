"""Queries in Trino's dialect on Spark: only what surely means the same in Spark SQL, where the rest of the query runs.

Trino's SQL is translated for Spark.  A function that is translated into one of another meaning (`dayofweek`, `log`,
`regexp_extract`, CAST of 2.5 to INT) would give wrong rows in silence; so what is not in the list is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.language.expressions.aggregates import FACTS, UNKNOWN_TO_SQLGLOT
from cepheid.language.expressions.function_table import find_function
from cepheid.language.expressions.navigation import PHYSICAL
from cepheid.language.parsing.parser import list_parts
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import ParsedQuery

HINT = 'write the query in Spark SQL, without dialect="trino": there every function is Spark\'s own'
# beside those of the table; for the parser AND, CASE and EXISTS are functions, too
_KNOWN: tuple[type[exp.Expr], ...] = (
    exp.AggFunc, exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Exists, exp.Length, exp.Concat, exp.DPipe, exp.Pi,
    exp.TimeToUnix, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Rand, exp.Uuid, exp.Localtimestamp,
    exp.RowNumber, exp.Array, exp.Unnest,
)  # fmt: skip
_CAST_TO = (exp.DType.DOUBLE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.DATE, exp.DType.DECIMAL)


def check_portable(parsed: ParsedQuery, python: Iterable[str]) -> None:
    """Refuse what may mean something else on Spark; python: aggregates of the user, by name in lower case."""
    own = {name.upper() for name in python} | {*FACTS, *PHYSICAL, *UNKNOWN_TO_SQLGLOT, "E"}
    trees = [parsed.relation, *(part for clause in parsed.clauses for part in list_parts(clause))]
    for node in (node for tree in trees for node in tree.walk()):
        if isinstance(node, exp.Func) and not _is_portable(node, own):
            name = node.name.upper() if isinstance(node, exp.Anonymous) else node.sql_name()
            raise NotSupportedYet(f"{name} in Trino's dialect on Spark", span=span_of(node), hint=HINT).with_text(
                parsed.text
            )


def _is_portable(node: exp.Func, own: set[str]) -> bool:
    match node:
        case exp.Cast():
            return node.to.this in _CAST_TO
        case exp.Round():
            return node.args.get("decimals") is None
        case exp.Anonymous():
            return node.name.upper() in own
        case exp.Log():
            return node.args.get("expression") is not None
    return isinstance(node, _KNOWN) or any(find_function(name, "trino") for name in node.sql_names())
