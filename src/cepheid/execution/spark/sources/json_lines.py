"""Folders and patterns of JSON lines; those that are added are taken as they come.  What does not fit is set apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.application import ApplicationSource
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, locate, text_of
from cepheid.execution.spark.sources.text_files import has_endings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDINGS = (".jsonl", ".ndjson", ".json")
NO_OBJECT = "it is no JSON object"


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    from pyspark.sql import functions as F

    from cepheid.execution.spark.sources.text_records import FILE

    lines = spark.readStream.options(**source.options).text(locate(text_of(source), folder))
    return part_lines(lines.select("value", F.col("_metadata.file_path").alias(FILE)), source)


def part_lines(lines: DataFrame, source: ApplicationSource) -> OpenStream:
    """lines: `value`, a JSON object each, and FILE."""
    from pyspark.sql import functions as F

    from cepheid.execution.spark.schemas import declared_schema
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
    options = {**source.options, **PARSING}
    found = F.from_json("value", with_raw(schema), options)
    parsed = lines.where(F.trim("value") != "").select("value", FILE, found.alias("found"))
    raw = F.when(F.col("found").isNull() | F.col(f"found.{RAW}").isNotNull(), F.col("value"))
    flat = parsed.select(*(F.col("found")[name].alias(name) for name in schema.names), raw.alias(RAW), FILE)
    texts = F.from_json(RAW, with_raw(as_texts(schema)), PARSING)
    return part_records(flat, source.name, schema, explain_misfit(texts, schema, NO_OBJECT))


KIND = StreamKind("JSON lines", ", ".join(ENDINGS), has_endings(ENDINGS), _open, is_files=True)
