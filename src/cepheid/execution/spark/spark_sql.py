"""SQL as Spark SQL runs it: whole queries over DataFrames, and the types of their columns."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.errors import InvalidInput, InvalidQuery
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.language.relations.sql_values import translate_text, write_query, write_sql
from cepheid.scalars.value import Scalar


def run_query(spark: SparkSession, query: Scalar, frames: Mapping[str, DataFrame]) -> DataFrame:
    """A query over DataFrames."""
    return _run_over(spark, frames, lambda views: write_query(query, "spark", views))


def _run_over(
    spark: SparkSession, frames: Mapping[str, DataFrame], write: Callable[[Mapping[str, str]], str]
) -> DataFrame:
    """SQL over DataFrames, by names that nobody else uses and that are gone afterwards."""
    views = {name: f"_cepheid_{uuid.uuid4().hex}" for name in frames}
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(views[name])
        with _quiet_logger():
            return spark.sql(write(views))
    except (AnalysisException, ParseException) as problem:
        told = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]  # its line and place are not the user's
        hint = "write it with functions and types that Spark SQL knows, too"
        raise InvalidQuery(f"Spark SQL refuses this: {told}", hint=hint) from None
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


@contextmanager
def _quiet_logger() -> Iterator[None]:
    """PySpark logs what it refuses, with the JVM's whole stack; we tell it in our own words."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # PySpark's own class: a plain one cannot log its errors
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def describe_sql(spark: SparkSession, sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    empty = {name: spark.createDataFrame([], from_arrow_schema(schema)) for name, schema in schemas.items()}
    return arrow_schema(_run_over(spark, empty, lambda views: translate_text(sql, "spark", views)))


def write_spark(value: Scalar) -> str:
    """A value as Spark SQL writes it."""
    return write_sql(value, "spark")


def active_session() -> SparkSession:
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise InvalidInput("there is no Spark session", hint="give at least one DataFrame")
    return spark
