"""table:NAME, a table of Spark's catalog, or a view of the session, that Spark can read as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, begins_with, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "table:"


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:  # noqa: ARG001
    from pyspark.errors import AnalysisException

    name = text_of(source).removeprefix(PREFIX)
    try:
        frame = spark.table(name)
        if not frame.isStreaming:  # a view of a stream is one
            frame = spark.readStream.options(**source.options).table(name)
    except AnalysisException as problem:
        told = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]
        hint = "give a table of the catalog, or a view of a stream; [spark] says which catalog the session has"
        raise InvalidInput(f'source "{source.name}" cannot read "{name}" as a stream: {told}', hint=hint) from None
    if source.is_declared:
        missing = [column for column in source.schema.names if column not in frame.columns]
        if missing:
            told = f'"{name}" has no column "{missing[0]}", which source "{source.name}" declares'
            raise InvalidInput(told, hint=f"it has: {', '.join(frame.columns)}")
    return OpenStream(frame)


KIND = StreamKind("catalog table", "table:NAME", begins_with(PREFIX), _open)
