"""Columns of DataFrames as Arrow has them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.execution.spark.capabilities import from_arrow_schema, to_arrow_schema


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Times in UTC whatever the session's zone; any column may be null, as those of one stream are for another's."""
    return pa.schema([field.with_nullable(True) for field in to_arrow_schema(frame.schema)])


def declared_schema(schema: pa.Schema) -> StructType:
    """Columns as applications declare them: "timestamp" is Spark's TIMESTAMP, an instant."""
    fields = [
        field.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(field.type) else field
        for field in schema
    ]
    return from_arrow_schema(pa.schema(fields))


def number_columns(frame: DataFrame) -> DataFrame:
    """The columns as c0, c1, ...: mapInArrow takes a dot in a name for a field of a struct."""
    return frame.select(*(F.col(quote_name(name)).alias(f"c{place}") for place, name in enumerate(frame.columns)))


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
