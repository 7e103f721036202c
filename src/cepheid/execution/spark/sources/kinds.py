"""The kinds of streams on Spark, in the order in which they are asked.

[source.buses] path = "feeds/*.csv"    path = "rate:100"    path = "table:buses"    path = "delta:lake/buses"
                                  └────────── open_stream ──────────┘
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.spark.sources import (
    catalog_table,
    csv_files,
    delta,
    json_lines,
    kafka,
    parquet_files,
    rate,
    socket,
)
from cepheid.execution.spark.sources.source import OpenStream, StreamKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM_KINDS: list[StreamKind] = [
    rate.KIND,
    socket.KIND,
    catalog_table.KIND,
    delta.KIND,
    kafka.KIND,
    # A kind with a prefix of its own goes here.
    csv_files.KIND,
    json_lines.KIND,
    parquet_files.KIND,  # behind the others: it takes any folder
]


def find_stream_kind(text: str, name: str, folder: Path) -> StreamKind:
    """name: of the source, for messages."""
    for kind in STREAM_KINDS:
        if kind.recognises(text, folder):
            return kind
    raise UnknownKind("source", name, text, [f"{kind.name} ({kind.written})" for kind in STREAM_KINDS])


def open_stream(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    """Its rows with event time and a watermark.  folder: where relative paths start from."""
    from cepheid.execution.spark.sources.event_time import add_event_time

    if source.path is None:
        hint = f'[source.{source.name}] path = "feed/", or {"; ".join(kind.written for kind in STREAM_KINDS)}'
        raise InvalidInput(f'source "{source.name}" does not say where its events are', hint=hint)
    opened = find_stream_kind(source.path, source.name, folder).open(spark, source, folder)
    return OpenStream(add_event_time(opened.rows, source), opened.misfits, opened.is_replayable)


def read_stream_schema(text: str, name: str, folder: Path) -> pa.Schema | None:
    """Before Spark is there; None: it is read from files, as in a process without Spark."""
    kind = find_stream_kind(text, name, folder)
    if kind.is_files:
        return None
    return pa.schema([]) if kind.read_schema is None else kind.read_schema(text, folder)
