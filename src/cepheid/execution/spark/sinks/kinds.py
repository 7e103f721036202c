"""The kinds of sinks on Spark, in the order in which they are asked.

[query.jam] sink = "out/jam/"    sink = "delta:lake/jam"    sink = "postgresql://host/shop#jam"    sink = "console"
                                  └────────────── open_spark_sink ──────────────┘
"""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import UnknownKind
from cepheid.execution.spark.sinks import delta, files, kafka, postgres, terminal
from cepheid.execution.spark.sinks.sink import BatchSink, FileSink, SparkSinkKind

SPARK_SINK_KINDS: list[SparkSinkKind] = [
    terminal.KIND,
    delta.KIND,
    postgres.KIND,
    kafka.KIND,
    # A kind with a prefix of its own goes here.
    files.CSV,
    files.JSON,
    files.PARQUET,  # behind the others: it takes any folder
]


def open_spark_sink(text: str, query: str, folder: Path) -> FileSink | BatchSink:
    """folder: where relative paths start from."""
    return _find_kind(text, query).open(text, query, folder)


def find_spark_target(text: str, query: str, folder: Path) -> Path | None:
    return _find_kind(text, query).find_target(text, folder)


def _find_kind(text: str, query: str) -> SparkSinkKind:
    for kind in SPARK_SINK_KINDS:
        if kind.recognises(text):
            return kind
    raise UnknownKind("sink", query, text, [f"{kind.name} ({kind.written})" for kind in SPARK_SINK_KINDS])
