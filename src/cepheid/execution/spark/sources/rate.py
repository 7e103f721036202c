"""rate:100, Spark's own source of so many rows per second, to try things with: timestamp, value (0, 1, 2, ...)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, begins_with, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "rate:"
SCHEMA = pa.schema([("timestamp", pa.timestamp("us")), ("value", pa.int64())])


def read_rate(text: str) -> int:
    rate = text.removeprefix(PREFIX)
    if not rate.isdigit() or not int(rate):
        raise InvalidInput(f'"{text}" does not say how many rows a second', hint='write path = "rate:100"')
    return int(rate)


def _read_schema(text: str, folder: Path) -> pa.Schema:  # noqa: ARG001 (it has no path)
    read_rate(text)
    return SCHEMA


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:  # noqa: ARG001
    reader = spark.readStream.format("rate").option("rowsPerSecond", read_rate(text_of(source)))
    return OpenStream(reader.options(**source.options).load())


KIND = StreamKind("rate", "rate:100", begins_with(PREFIX), _open, _read_schema)
