"""DataFrames out of Arrow tables.

Spark 4.3 reads a table batch by batch, and takes an empty one behind others for the end: what follows would be missing.
So empty batches are left out.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def make_frame(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """schema: None: as Spark reads the table's."""
    batches = [batch for batch in table.to_batches() if len(batch)]
    whole = pa.Table.from_batches(batches, table.schema)
    return spark.createDataFrame(whole) if schema is None else spark.createDataFrame(whole, schema)
