"""delta:PATH, a Delta table that only grows, read by delta-rs: first what it holds, then what each version adds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, begins_with, locate, text_of
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "delta:"


def _read_schema(text: str, folder: Path) -> pa.Schema:
    require_extra("delta")
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    place = locate(text.removeprefix(PREFIX), folder)
    try:
        return DeltaTable(place).to_pyarrow_dataset().schema
    except (DeltaError, OSError, ValueError) as problem:
        told = str(problem).splitlines()[0]
        hint = "give the folder that holds _delta_log; the table has to be there when the application starts"
        raise InvalidInput(f'"{place}" is no Delta table that can be read: {told}', hint=hint) from None


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    from cepheid.execution.spark.capabilities import from_arrow_schema
    from cepheid.execution.spark.sources.delta_reader import DeltaStream
    from cepheid.execution.spark.worker_python import own_python

    text = text_of(source)
    stored = _read_schema(text, folder)
    missing = [column for column in source.schema.names if column not in stored.names]
    if missing:
        told = f'"{text}" has no column "{missing[0]}", which source "{source.name}" declares'
        raise InvalidInput(told, hint=f"it has: {', '.join(stored.names)}")
    schema = from_arrow_schema(stored)
    place = locate(text.removeprefix(PREFIX), folder)
    with own_python(spark):
        spark.dataSource.register(DeltaStream)
        reader = spark.readStream.format(DeltaStream.name()).schema(schema).option("path", place)
        return OpenStream(reader.options(**source.options).load())


KIND = StreamKind("Delta", "delta:PATH", begins_with(PREFIX), _open, _read_schema)
