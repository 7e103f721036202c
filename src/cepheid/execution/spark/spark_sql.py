"""SQL as Spark SQL runs it: whole queries over DataFrames, and the types of their columns."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import InvalidInput, InvalidQuery
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.connect_plans import is_connect
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.language.expressions.host_types import UTC_NAMES, SparkRules
from cepheid.language.relations.sql_values import translate_text, write_query, write_sql
from cepheid.scalars.value import Scalar
from cepheid.settings import DialectName

REPAIR = "write it with functions and types that Spark SQL knows, too"


def run_query(spark: SparkSession, query: Scalar, frames: Mapping[str, DataFrame], dialect: DialectName) -> DataFrame:
    """A query over DataFrames."""
    return _run_over(spark, frames, lambda views: write_query(query, "spark", views, dialect))


def _run_over(
    spark: SparkSession, frames: Mapping[str, DataFrame], write: Callable[[Mapping[str, str]], str]
) -> DataFrame:
    """SQL over DataFrames, by names that nobody else uses and that are gone afterwards."""
    views = {name: f"_cepheid_{uuid.uuid4().hex}" for name in frames}
    run = _run_on_server if is_connect(spark) else _run_over_views
    try:
        with _quiet_logger():
            return run(spark, {views[name]: frame for name, frame in frames.items()}, write(views))
    except (AnalysisException, ParseException) as problem:
        raise InvalidQuery(f"Spark SQL refuses this: {_first_line(problem)}", hint=REPAIR) from None


def _run_over_views(spark: SparkSession, frames: Mapping[str, DataFrame], text: str) -> DataFrame:
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        return spark.sql(text)
    finally:
        for name in frames:
            spark.catalog.dropTempView(name)


def _run_on_server(spark: SparkSession, frames: Mapping[str, DataFrame], text: str) -> DataFrame:
    """Spark Connect reads the text when the DataFrame is used: views would be gone, so their plans go with the text."""
    text = text.replace("{", "{{").replace("}", "}}")
    for name in frames:
        text = text.replace(name, "{" + name + "}")
    plans: dict[str, Any] = dict(frames)
    found = spark.sql(text, **plans)
    assert found.schema is not None, "asked now, so that what Spark refuses is refused here"
    return found


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0].partition(" SQLSTATE:")[0]  # its line and place are not the user's


@contextmanager
def _quiet_logger() -> Iterator[None]:
    """PySpark logs what it refuses, with the JVM's whole stack; we tell it in our own words."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # PySpark's own class: a plain one cannot log its errors
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def describe_sql(spark: SparkSession, sql: str, schemas: Mapping[str, pa.Schema], dialect: DialectName) -> pa.Schema:
    empty = {name: spark.createDataFrame([], from_arrow_schema(schema)) for name, schema in schemas.items()}
    return arrow_schema(_run_over(spark, empty, lambda views: translate_text(sql, "spark", views, dialect)))


def fold_sql(spark: SparkSession, sql: str) -> pa.Scalar:
    """The value of Spark SQL without columns, as this session computes it."""
    found = _run_over(spark, {}, lambda _: f"SELECT {sql} AS x")
    try:
        with _quiet_logger():
            return found.toArrow().column(0)[0]
    except PySparkException as problem:
        raise InvalidQuery(f"Spark SQL refuses this: {_first_line(problem)}", hint=REPAIR) from None


def read_rules(spark: SparkSession, dialect: DialectName) -> SparkRules | None:
    """What the session means by SQL in its own dialect; Trino's, which all hosts read alike, is in UTC."""
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    if dialect == "spark":
        is_ansi = str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"
        return SparkRules(lambda sql: fold_sql(spark, sql), zone, is_ansi)
    if zone not in UTC_NAMES:
        raise InvalidInput(
            f"in other dialects than Spark's times are in UTC, and the session's zone is {zone}",
            hint="set spark.sql.session.timeZone to UTC, or write the query in Spark SQL, without dialect=",
        )
    return None


def write_spark(value: Scalar, dialect: DialectName) -> str:
    """A value as Spark SQL writes it."""
    return write_sql(value, "spark", dialect)


def active_session() -> SparkSession:
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise InvalidInput("there is no Spark session", hint="give at least one DataFrame")
    return spark
