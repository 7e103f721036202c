"""The late stream: events that came after the horizon had passed them, kept in a query's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.errors import AnalysisException, IllegalArgumentException, SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.errors import InvalidInput
from cepheid.execution.blob import read_table_bytes
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.key_groups import choose_labels
from cepheid.execution.spark.worker_python import own_python


def read_late_events(spark: SparkSession, checkpoint: str, stages: set[int] | None = None) -> DataFrame:
    """All late events of a query, with the columns that it reads; a DataFrame without columns if there were none.
    stages: of a session, whose those are."""
    if not hasattr(spark, "read"):
        raise InvalidInput(f"this is no Spark session: {spark!r}", hint='cep.late_events(spark, "checkpoint/")')
    try:
        return _read_late(spark, checkpoint, stages)
    except (SparkRuntimeException, AnalysisException, IllegalArgumentException) as problem:
        said = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]
        raise InvalidInput(
            f'"{checkpoint}" is no checkpoint of a stream of ours that has run: {said}',
            hint="give what was given as checkpointLocation, once the query has finished a batch",
        ) from None


def _read_late(spark: SparkSession, checkpoint: str, stages: set[int] | None) -> DataFrame:
    stored = (
        spark.read.format("statestore")
        .option("stateVarName", "late")
        .option("flattenCollectionTypes", "true")
        .load(checkpoint)
    )
    if stages is not None:
        shares = spark.read.format("state-metadata").load(checkpoint).select("numPartitions").collect()[0][0]
        labels = [label for stage in stages for label in choose_labels(shares, stage)]
        stored = stored.where(F.col("key.label").isin(labels))
    stored = stored.select(F.col("user_map_value.blob").alias("blob"))
    first = stored.take(1)
    if not first:
        return spark.createDataFrame([], "struct<>")
    schema = read_table_bytes(bytes(first[0].blob)).schema

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob").to_pylist():
                yield from read_table_bytes(blob).to_batches()

    with own_python(spark):
        return stored.mapInArrow(unpack, from_arrow_schema(schema))
