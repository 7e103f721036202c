"""Aggregates over the rows of a match that a SQL engine computes: what they are called, and the type of their answer.

    map_agg(CLASSIFIER(), b.x)      name "map_agg", two columns, a map
    max(b.x, 3)                     name "max_n", a column and a number, a list

How they are computed is written in execution/row_aggregates.py, once for all hosts.  Those of the catalog are there
as well, where they are of values that only a match has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from cepheid.settings import DialectName

Types = Sequence[pa.DataType]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFunction:
    """trino, spark: as it is written, in capitals; columns: how many it takes; parameter: what may stand behind them;
    takes: which columns it can be of; ordered: does the order of the rows count?"""

    name: str
    trino: tuple[str, ...] = ()
    spark: tuple[str, ...] = ()
    columns: int = 1
    parameter: Literal["number", "text", "share"] | None = None
    takes: Literal["any", "numbers", "integers", "texts", "maps"] = "any"
    type: Callable[[Types], pa.DataType]


def _first(types: Types) -> pa.DataType:
    return types[0]


def _list(types: Types) -> pa.DataType:
    return pa.list_(types[0])


def _double(_: Types) -> pa.DataType:
    return pa.float64()


def _bigint(_: Types) -> pa.DataType:
    return pa.int64()


def _of_pairs(*names: str) -> tuple[RowFunction, ...]:
    """Of two columns of numbers."""
    return tuple(
        RowFunction(name=name, trino=(name.upper(),), spark=(name.upper(),), columns=2, takes="numbers", type=_double)
        for name in names
    )


ROW_FUNCTIONS: tuple[RowFunction, ...] = (
    RowFunction(name="any_value", trino=("ANY_VALUE", "ARBITRARY"), type=_first),
    RowFunction(name="first_row", spark=("ANY_VALUE",), type=_first),
    RowFunction(name="map_agg", trino=("MAP_AGG",), columns=2, type=lambda types: pa.map_(types[0], types[1])),
    RowFunction(
        name="multimap_agg",
        trino=("MULTIMAP_AGG",),
        columns=2,
        type=lambda types: pa.map_(types[0], pa.list_(types[1])),
    ),
    RowFunction(name="histogram", trino=("HISTOGRAM",), type=lambda types: pa.map_(types[0], pa.int64())),
    RowFunction(name="map_union", trino=("MAP_UNION",), takes="maps", type=_first),
    RowFunction(name="set_agg", trino=("SET_AGG", "ARRAY_UNIQUE_AGG"), spark=("COLLECT_SET",), type=_list),
    RowFunction(name="min_n", parameter="number", type=_list),
    RowFunction(name="max_n", parameter="number", type=_list),
    RowFunction(name="min_by_n", columns=2, parameter="number", type=_list),
    RowFunction(name="max_by_n", columns=2, parameter="number", type=_list),
    RowFunction(
        name="string_agg",
        trino=("LISTAGG", "STRING_AGG", "GROUP_CONCAT"),
        spark=("LISTAGG", "STRING_AGG"),
        parameter="text",
        takes="texts",
        type=lambda _: pa.string(),
    ),
    RowFunction(
        name="bit_and", trino=("BITWISE_AND_AGG", "BIT_AND"), spark=("BIT_AND",), takes="integers", type=_first
    ),
    RowFunction(name="bit_or", trino=("BITWISE_OR_AGG", "BIT_OR"), spark=("BIT_OR",), takes="integers", type=_first),
    RowFunction(
        name="bit_xor", trino=("BITWISE_XOR_AGG", "BIT_XOR"), spark=("BIT_XOR",), takes="integers", type=_first
    ),
    RowFunction(name="geometric_mean", trino=("GEOMETRIC_MEAN",), takes="numbers", type=_double),
    RowFunction(name="entropy", trino=("ENTROPY",), takes="numbers", type=_double),
    RowFunction(name="approx_distinct", trino=("APPROX_DISTINCT",), spark=("APPROX_COUNT_DISTINCT",), type=_bigint),
    RowFunction(
        name="approx_percentile",
        trino=("APPROX_PERCENTILE", "APPROX_QUANTILE"),
        parameter="share",
        takes="numbers",
        type=_first,
    ),
    RowFunction(name="median", trino=("MEDIAN",), takes="numbers", type=_double),
    *_of_pairs("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept"),
)

_BY_NAME = {function.name: function for function in ROW_FUNCTIONS}
WITH_NUMBER = {"min": "min_n", "max": "max_n", "min_by": "min_by_n", "max_by": "max_by_n"}
"""What an aggregate of the catalog becomes with a number behind its columns."""


OTHER_ON_SPARK = (
    "ANY_VALUE",
    "MEDIAN",
    "APPROX_PERCENTILE",
    "APPROX_QUANTILE",
)  # Spark means something else, if only by a little


def find_row_function(names: Sequence[str], dialect: DialectName) -> RowFunction | None:
    """By one of the names that a call has in SQL; Spark's dialect has Trino's that Spark does not know."""
    wanted = {name.upper() for name in names}
    return next((each for each in ROW_FUNCTIONS if not wanted.isdisjoint(_names_of(each, dialect))), None)


def is_row_function(name: str) -> bool:
    return name in _BY_NAME


def row_function(name: str) -> RowFunction:
    return _BY_NAME[name]


def list_written(dialect: DialectName) -> list[str]:
    """All names that are written, in capitals."""
    return [name for function in ROW_FUNCTIONS for name in _names_of(function, dialect)]


def accepts(function: RowFunction, column: pa.DataType) -> bool:
    match function.takes:
        case "numbers":
            return pa.types.is_integer(column) or pa.types.is_floating(column) or pa.types.is_decimal(column)
        case "integers":
            return bool(pa.types.is_integer(column))
        case "texts":
            return pa.types.is_string(column) or pa.types.is_large_string(column)
        case "maps":
            return bool(pa.types.is_map(column))
    return True


def _names_of(function: RowFunction, dialect: DialectName) -> tuple[str, ...]:
    if dialect == "trino":
        return function.trino
    return function.spark or tuple(name for name in function.trino if name not in OTHER_ON_SPARK)
