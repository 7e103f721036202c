"""merge:ADDRESS, a table that is kept at the net answer of a query whose rows come and go: sinks/merged_table.py.

Rows go to the driver, a batch at a time, whole.  The number of a batch need not be known: one that comes again changes
nothing.  While a database is away, the batch waits: up to PATIENCE_S, then the query fails.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.errors import DatabaseAway
from cepheid.execution.file_names import is_path
from cepheid.execution.merging.merge_address import read_merge_address
from cepheid.execution.sinks.merged_table import PREFIX, WRITTEN, MergeSink, is_merge, locate
from cepheid.execution.spark.sinks.sink import BatchId, Rows, SparkSinkKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATIENCE_S = 60.0
PAUSE_S = 0.5


class MergedTableSink:
    def __init__(self, target: str, query: str) -> None:
        self._target, self._query = target, query
        self._sink = MergeSink(target, name=query)

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The same rows; those that cannot be merged are refused before the query runs."""
        from cepheid.execution.spark.schemas import arrow_schema

        self._sink = MergeSink(self._target, name=self._query, schema=arrow_schema(frame))
        return frame

    def write(self, rows: Rows, batch: BatchId) -> None:
        changes = pa.Table.from_batches(rows, rows.schema)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._sink.write(changes)
                return
            except DatabaseAway:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_S)


def find_target(text: str, folder: Path) -> Path | None:
    """The folder that is written; None: a database, which has several tables."""
    place = read_merge_address(locate(text, folder).removeprefix(PREFIX)).place
    return Path(place) if is_path(place) else None


def _open(text: str, query: str, folder: Path) -> MergedTableSink:
    return MergedTableSink(locate(text, folder.absolute()), query)


KIND = SparkSinkKind("merged table", WRITTEN, is_merge, _open, find_target)
