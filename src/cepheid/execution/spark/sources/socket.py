"""socket:HOST:PORT, lines of text with the time they came: timestamp, value.  For trying things out only.

A socket cannot be asked again: what was read when the application stopped or failed is lost to the next run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, begins_with, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "socket:"
SCHEMA = pa.schema([("value", pa.string()), ("timestamp", pa.timestamp("us"))])


def read_address(text: str) -> tuple[str, int]:
    host, _, port = text.removeprefix(PREFIX).rpartition(":")
    if not host or not port.isdigit():
        raise InvalidInput(f'"{text}" is no address of a socket', hint='write path = "socket:localhost:9999"')
    return host, int(port)


def _read_schema(text: str, folder: Path) -> pa.Schema:  # noqa: ARG001 (it has no path)
    read_address(text)
    return SCHEMA


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:  # noqa: ARG001
    if source.is_declared and source.schema.names != SCHEMA.names:
        hint = "leave the schema out, and take the lines apart in the query: from_json(value, ...) or split(value, ',')"
        raise InvalidInput(f'source "{source.name}" is a socket, which has the columns value and timestamp', hint=hint)
    host, port = read_address(text_of(source))
    reader = spark.readStream.format("socket").option("host", host).option("port", port)
    return OpenStream(reader.option("includeTimestamp", "true").load(), is_replayable=False)


KIND = StreamKind("socket", "socket:HOST:PORT", begins_with(PREFIX), _open, _read_schema)
