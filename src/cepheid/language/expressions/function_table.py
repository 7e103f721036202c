"""The scalar functions, what they are called in each dialect, and who may compute them over several events.

    one event        the host's own SQL engine, whatever the function; or the kernel, where that is proved equal
    several events   only what is in this table: `kernel` or `duckdb`, which are proved equal to the dialect

A function of values of several events (`log(b.v - a.v)`) is computed where the match is: in the kernel, or by DuckDB
beside it, also in the Python workers of Spark.  It must mean there what it means elsewhere: so a function that is not
in this table for the query's dialect is refused before anything runs.  tests/language/test_function_table.py and
tests/spark/test_functions_on_spark.py hold each line against the hosts over edge values;
docs/reference/functions.md shows the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cepheid.settings import DialectName

Evaluator = Literal["kernel", "duckdb"]
ANY = 99  # so many arguments as one likes


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarFunction:
    """trino, spark: its names there, none where it is not computed over several events; arguments: least and most;
    takes, gives: for people; rounded: by libraries whose last digit may differ; note: what to know."""

    operation: str
    trino: tuple[str, ...] = ()
    spark: tuple[str, ...] = ()
    arguments: tuple[int, int] = (1, 1)
    takes: str
    gives: str
    evaluator: Evaluator = "kernel"
    rounded: bool = False
    note: str = ""


_NUMBER = "a number"
_NARROW = "two numbers, no BIGINT"
_SAME = "as given"
_NULLS = "Trino: null if one is null; Spark: nulls are left out"


def _of_double(operation: str, *names: str, note: str = "") -> ScalarFunction:
    return ScalarFunction(
        operation=operation, trino=names, spark=names, takes=_NUMBER, gives="double", rounded=True, note=note
    )


FUNCTIONS: tuple[ScalarFunction, ...] = (
    # --- choices -----------------------------------------------------------------------------------------
    ScalarFunction(operation="coalesce", trino=("coalesce",), spark=("coalesce", "nvl", "ifnull"), arguments=(1, ANY),
                   takes="values of one type", gives=_SAME),
    ScalarFunction(operation="nullif", trino=("nullif",), spark=("nullif",), arguments=(2, 2),
                   takes="two values of one type", gives=_SAME),
    ScalarFunction(operation="if", trino=("if",), spark=("if", "iff"), arguments=(2, 3),
                   takes="a condition, values of one type", gives=_SAME),
    ScalarFunction(operation="greatest", trino=("greatest",), spark=("greatest",), arguments=(2, ANY),
                   takes="values of one type", gives=_SAME, note=_NULLS),
    ScalarFunction(operation="least", trino=("least",), spark=("least",), arguments=(2, ANY),
                   takes="values of one type", gives=_SAME, note=_NULLS),
    ScalarFunction(operation="is_null", spark=("isnull",), takes="any value", gives="boolean"),
    ScalarFunction(operation="is_not_null", spark=("isnotnull",), takes="any value", gives="boolean"),
    ScalarFunction(operation="null_safe_equal", spark=("equal_null",), arguments=(2, 2),
                   takes="two values of one type", gives="boolean"),
    # --- numbers -----------------------------------------------------------------------------------------
    ScalarFunction(operation="abs", trino=("abs",), spark=("abs",), takes=_NUMBER, gives=_SAME),
    ScalarFunction(operation="neg", spark=("negative",), takes=_NUMBER, gives=_SAME),
    ScalarFunction(operation="mod", trino=("mod",), spark=("mod", "try_mod"), arguments=(2, 2), takes="two numbers",
                   gives=_SAME, note="the sign of the first; null where the second is zero"),
    ScalarFunction(operation="try_add", spark=("try_add",), arguments=(2, 2), takes=_NARROW, gives=_SAME),
    ScalarFunction(operation="try_sub", spark=("try_subtract",), arguments=(2, 2), takes=_NARROW, gives=_SAME),
    ScalarFunction(operation="try_mul", spark=("try_multiply",), arguments=(2, 2), takes=_NARROW, gives=_SAME),
    ScalarFunction(operation="try_div", spark=("try_divide",), arguments=(2, 2), takes="two numbers", gives="double"),
    ScalarFunction(operation="sign", trino=("sign",), spark=("sign", "signum"), takes=_NUMBER,
                   gives="Trino: as given; Spark: double"),
    ScalarFunction(operation="floor", trino=("floor",), takes=_NUMBER, gives=_SAME),
    ScalarFunction(operation="ceil", trino=("ceil", "ceiling"), takes=_NUMBER, gives=_SAME),
    ScalarFunction(operation="trunc", trino=("truncate",), takes=_NUMBER, gives=_SAME),
    ScalarFunction(operation="round", trino=("round",), arguments=(1, 2), takes="a number, digits", gives=_SAME,
                   note="a half goes away from zero"),
    ScalarFunction(operation="is_nan", spark=("isnan",), takes=_NUMBER, gives="boolean"),
    ScalarFunction(operation="sqrt", trino=("sqrt",), spark=("sqrt",), takes=_NUMBER, gives="double",
                   note="NaN of what is less than zero"),
    _of_double("cbrt", "cbrt"),
    _of_double("exp", "exp"),
    _of_double("ln", "ln", note="Spark: null of zero and less; Trino: NaN, -infinity"),
    ScalarFunction(operation="log", spark=("log",), arguments=(1, 2), takes="[base,] number", gives="double",
                   rounded=True, note="of one argument it is ln; null of zero and less"),
    ScalarFunction(operation="log_base", trino=("log",), arguments=(2, 2), takes="the base 2 or 10, a number",
                   gives="double", rounded=True),
    _of_double("log2", "log2", note="as ln"),
    _of_double("log10", "log10", note="as ln"),
    ScalarFunction(operation="power", trino=("power", "pow"), spark=("power", "pow"), arguments=(2, 2),
                   takes="two numbers", gives="double", rounded=True),
    _of_double("sin", "sin"),
    _of_double("cos", "cos"),
    _of_double("tan", "tan"),
    _of_double("asin", "asin"),
    _of_double("acos", "acos"),
    _of_double("atan", "atan"),
    ScalarFunction(operation="atan2", trino=("atan2",), spark=("atan2",), arguments=(2, 2), takes="two numbers",
                   gives="double", rounded=True),
    _of_double("radians", "radians"),
    _of_double("degrees", "degrees"),
    # --- times -------------------------------------------------------------------------------------------
    ScalarFunction(operation="date_diff", trino=("date_diff",), arguments=(3, 3), takes="a unit, two times",
                   gives="bigint", note="units that are complete, up to weeks"),
    ScalarFunction(operation="to_unixtime", trino=("to_unixtime",), takes="a time", gives="double"),
    # --- text --------------------------------------------------------------------------------------------
    ScalarFunction(operation="concat", spark=("concat",), arguments=(1, ANY), takes="texts", gives="text",
                   evaluator="duckdb", note="null if one is null; the same as ||"),
    ScalarFunction(operation="starts_with", spark=("startswith",), arguments=(2, 2), takes="two texts",
                   gives="boolean", evaluator="duckdb"),
    ScalarFunction(operation="ends_with", spark=("endswith",), arguments=(2, 2), takes="two texts", gives="boolean",
                   evaluator="duckdb"),
    ScalarFunction(operation="contains", spark=("contains",), arguments=(2, 2), takes="two texts", gives="boolean",
                   evaluator="duckdb"),
)  # fmt: skip


def names_of(function: ScalarFunction, dialect: DialectName) -> tuple[str, ...]:
    return function.spark if dialect == "spark" else function.trino


def find_function(name: str, dialect: DialectName) -> ScalarFunction | None:
    """The line of a function by the name it has in a dialect."""
    return _BY_NAME[dialect].get(name.lower())


def list_names(dialect: DialectName) -> list[str]:
    """The functions of several events, by the names they have in a dialect."""
    return sorted(_BY_NAME[dialect])


_DIALECTS: tuple[DialectName, ...] = ("trino", "spark")
_BY_NAME: dict[DialectName, dict[str, ScalarFunction]] = {
    dialect: {name: function for function in FUNCTIONS for name in names_of(function, dialect)} for dialect in _DIALECTS
}
