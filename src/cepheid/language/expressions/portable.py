"""Queries in Trino's dialect on Spark: only what surely means the same in Spark SQL, where the rest of the query runs.

Trino's SQL is translated for Spark.  A function that is translated into one of another meaning (`dayofweek`, `log`,
`regexp_extract`, CAST of 2.5 to INT) would give wrong rows in silence; so what is not in the list is refused.

What is written for Flink has some more, around patterns and windows, where Spark computes it: texts, patterns of texts
and formats are Java's in both, and times without a zone are those of the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

from cepheid.errors import NotSupportedYet
from cepheid.kernel.aggregates.of_rows import list_written
from cepheid.language.expressions.aggregates import FACTS, UNKNOWN_TO_SQLGLOT
from cepheid.language.expressions.function_table import find_function
from cepheid.language.expressions.navigation import PHYSICAL
from cepheid.language.parsing.own_functions import OWN_FUNCTIONS
from cepheid.language.parsing.parser import list_parts
from cepheid.language.parsing.places import span_of
from cepheid.language.parsing.syntax import ParsedQuery
from cepheid.settings import WrittenDialect

# beside those of the table; for the parser AND, CASE and EXISTS are functions, too
_KNOWN: tuple[type[exp.Expr], ...] = (
    exp.AggFunc, exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Exists, exp.Length, exp.Concat, exp.DPipe, exp.Pi,
    exp.TimeToUnix, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Rand, exp.Uuid, exp.Localtimestamp,
    exp.RowNumber, exp.Array, exp.Unnest,
)  # fmt: skip
_CAST_TO = (exp.DType.DOUBLE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.DATE, exp.DType.DECIMAL)


# of Flink; the same in Java, and so in Spark SQL
_OF_JAVA = (exp.Lower, exp.Upper, exp.RegexpLike, exp.RegexpExtract, exp.Hour, exp.Minute, exp.Second, exp.TimeToStr)
_SAME_FORMAT = re.compile(r"(%[YmdHMS]|[^%A-Za-z'])*")  # what comes back as Java's letters, without quotes


def check_portable(parsed: ParsedQuery, python: Iterable[str], written: WrittenDialect | None = None) -> None:
    """Refuse what may mean something else on Spark; python: aggregates of the user, by name in lower case; written:
    whose SQL it is."""
    own = {name.upper() for name in python} | {*FACTS, *PHYSICAL, *UNKNOWN_TO_SQLGLOT, *OWN_FUNCTIONS, "E", "PROCTIME"}
    of_rows = own | set(list_written("trino"))  # over the rows of a match Spark computes none of them
    trees = [(parsed.relation, own), *((part, of_rows) for clause in parsed.clauses for part in list_parts(clause))]
    for node, known in ((node, known) for tree, known in trees for node in tree.walk()):
        is_java = written == "flink" and known is own and _is_of_java(node)
        if isinstance(node, exp.Func) and not is_java and not _is_portable(node, known):
            name = node.name.upper() if isinstance(node, exp.Anonymous) else node.sql_name()
            whose = written or "trino"
            hint = f'write the query in Spark SQL, without dialect="{whose}": there every function is Spark\'s own'
            told = f"{name} in {whose.capitalize()}'s dialect on Spark"
            raise NotSupportedYet(told, span=span_of(node), hint=hint).with_text(parsed.text)
        if isinstance(node, exp.Like | exp.ILike) and not _has_sure_pattern(node):
            told = "LIKE with a pattern that is no literal, in this dialect on Spark"
            hint = "name the escape: LIKE p ESCAPE '!'; Spark takes a backslash for one"
            raise NotSupportedYet(told, span=span_of(node), hint=hint).with_text(parsed.text)


def _has_sure_pattern(like: exp.Expr) -> bool:
    return isinstance(like.parent, exp.Escape) or isinstance(like.args["expression"], exp.Literal)


def _is_of_java(node: exp.Expr) -> bool:
    if isinstance(node, exp.TimeToStr):
        return _SAME_FORMAT.fullmatch(node.text("format")) is not None
    return isinstance(node, _OF_JAVA)


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
