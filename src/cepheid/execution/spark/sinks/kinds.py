"""The kinds of sinks on Spark, in the order in which they are asked.

[query.jam] sink = "out/jam/"    sink = "delta:lake/jam"    sink = "postgresql://host/shop#jam"    sink = "console"
                                  └────────────── open_spark_sink ──────────────┘
"""

from __future__ import annotations

from pathlib import Path

from cepheid.database_url import show_address
from cepheid.errors import UnknownKind
from cepheid.execution.sinks.merged_table import PREFIX
from cepheid.execution.spark.sinks import delta, files, kafka, merged_table, postgres, terminal
from cepheid.execution.spark.sinks.sink import BatchSink, FileSink, SparkSinkKind

SPARK_SINK_KINDS: list[SparkSinkKind] = [
    terminal.KIND,
    delta.KIND,
    postgres.KIND,
    kafka.KIND,
    merged_table.KIND,
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


def show_spark_sink(text: str) -> str:
    """In messages: without passwords, and without options, which may hold one."""
    place = text.removeprefix(PREFIX)
    shown = show_address(place) if place.startswith(postgres.PREFIXES) else place.partition("?")[0]
    return f"{text.removesuffix(place)}{shown}"


def _find_kind(text: str, query: str) -> SparkSinkKind:
    for kind in SPARK_SINK_KINDS:
        if kind.recognises(text):
            return kind
    raise UnknownKind("sink", query, text, [f"{kind.name} ({kind.written})" for kind in SPARK_SINK_KINDS])
