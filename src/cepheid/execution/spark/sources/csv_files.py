"""Folders and patterns of CSV files with a line of names; those that are added are taken as they come.

The names are checked against the schema: without that, Spark would read columns by their place, whatever they are
called.  What does not fit is set apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.application import ApplicationSource
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, locate, text_of
from cepheid.execution.spark.sources.text_files import has_endings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDINGS = (".csv",)
# All columns are parsed, whichever are read: else what fits would depend on the query.
READING = {"header": "true", "enforceSchema": "false", "columnPruning": "false"}


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    from pyspark.sql import functions as F

    from cepheid.execution.spark.schemas import declared_schema, quote_name
    from cepheid.execution.spark.sources.text_records import (
        FILE,
        PARSING,
        RAW,
        as_texts,
        explain_misfit,
        part_records,
        with_raw,
    )

    schema = declared_schema(source.schema)
    options = {**READING, **source.options, **PARSING}
    lines = spark.readStream.schema(with_raw(schema)).options(**options).csv(locate(text_of(source), folder))
    parsed = lines.select(*map(quote_name, schema.names), RAW, F.col("_metadata.file_path").alias(FILE))
    names = ", ".join(f"{quote_name(field.name)} string" for field in with_raw(as_texts(schema)).fields)
    texts = F.from_csv(RAW, names, {**source.options, **PARSING})
    otherwise = f"it has not {len(schema.names)} values"
    return part_records(parsed, source.name, schema, explain_misfit(texts, schema, otherwise))


KIND = StreamKind("CSV", ", ".join(ENDINGS), has_endings(ENDINGS), _open, is_files=True)
