"""delta:PATH, a Delta table, written by delta-rs: exactly once.

The commit that adds the rows of a batch also sets the table's transaction of this query to the batch's number (`txn` of
Delta's protocol).  A batch that comes again finds its number there, and adds nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.execution.file_names import is_path, locate_path
from cepheid.execution.spark.sinks.sink import BatchId, Rows, SparkSinkKind
from cepheid.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREFIX = "delta:"


class DeltaSink:
    def __init__(self, place: str) -> None:
        require_extra("delta")
        self._place = place

    def prepare(self, frame: DataFrame) -> DataFrame:
        return frame

    def write(self, rows: Rows, batch: BatchId) -> None:
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        owner = f"cepheid:{batch.query}:{batch.checkpoint}"
        if DeltaTable.is_deltatable(self._place):
            done = DeltaTable(self._place).transaction_version(owner)
            if done is not None and done >= batch.number:
                return
        write_deltalake(
            self._place,
            pa.RecordBatchReader.from_batches(rows.schema, iter(rows)),
            mode="append",
            commit_properties=CommitProperties(app_transactions=[Transaction(owner, batch.number)]),
        )


def find_target(text: str, folder: Path) -> Path | None:
    place = text.removeprefix(PREFIX)
    return locate_path(place, folder) if is_path(place) else None


def _open(text: str, query: str, folder: Path) -> DeltaSink:  # noqa: ARG001 (batches bear the name)
    target = find_target(text, folder.absolute())
    return DeltaSink(text.removeprefix(PREFIX) if target is None else str(target))


KIND = SparkSinkKind("Delta", "delta:PATH", lambda text: text.startswith(PREFIX), _open, find_target)
