"""Functions of the user on Spark: as Arrow functions of the session, called by the name of hosts.

Conditions over several events are evaluated in workers, which are told the functions that they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.worker_python import own_python
from cepheid.execution.user_functions import register_functions
from cepheid.user_functions import ANYTHING, Function


def register_on_spark(spark: SparkSession, functions: Mapping[str, Function]) -> None:
    """In this process, which types conditions, and in the session."""
    register_functions(functions)
    with own_python(spark) if functions else nullcontext():
        for name, function in functions.items():
            spark.udf.register(function.identify(name), _make(name, function))


def _make(name: str, function: Function) -> Any:
    gives = from_arrow_schema(pa.schema([("x", function.gives)])).fields[0].dataType
    make = getattr(F, "arrow_udf", None)
    if make is not None:
        return make(_on_arrays(name, function), gives)
    before: Any = import_module("pyspark.sql.functions").pandas_udf  # Spark 4.0
    return before(_on_series(name, function), gives)


def _on_arrays(name: str, function: Function) -> Callable[..., pa.Array]:
    def call(*columns: pa.Array) -> pa.Array:
        return function.call(name, columns)

    return call


def _on_series(name: str, function: Function) -> Callable[..., pd.Series]:
    def call(*columns: pd.Series) -> pd.Series:
        types = [None if kind == ANYTHING else kind for kind in function.takes]
        arrays = [pa.Array.from_pandas(column, type=kind) for column, kind in zip(columns, types, strict=True)]
        return function.call(name, arrays).to_pandas()

    return call
