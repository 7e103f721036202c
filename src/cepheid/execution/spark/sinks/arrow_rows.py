"""The rows of a micro-batch as Arrow batches on the driver, a bounded number of bytes at a time.

rows ─mapInArrow─▶ one blob for each Arrow batch, kept ─┬─ few bytes ─▶ all at once
                                                        └─ many ──────▶ partition by partition

They are computed once, by all tasks together, and kept until the sink is done with them: it may go through them again,
as after a lost connection, and what lies below (engines with state) does not run twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.execution.blob import read_table_bytes, write_table
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.execution.spark.worker_python import own_python

AT_ONCE_BYTES = 64 << 20


class ArrowRows:
    """blobs: one row for each Arrow batch; size: bytes of all of them; count: of the rows."""

    def __init__(self, schema: pa.Schema, blobs: DataFrame, size: int, count: int) -> None:
        self.schema, self.count = schema, count
        self._blobs, self._size = blobs, size

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        at_once = self._size <= AT_ONCE_BYTES
        for blob in self._blobs.collect() if at_once else self._blobs.toLocalIterator():
            table = read_table_bytes(bytes(blob.payload)).rename_columns(self.schema.names)
            yield from table.cast(self.schema).to_batches()


@contextmanager
def arrow_rows(frame: DataFrame) -> Iterator[ArrowRows]:
    with own_python(frame.sparkSession):
        blobs = number_columns(frame).mapInArrow(_pack, "rows long, payload binary")
    blobs = blobs.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        size, count = blobs.agg(F.sum(F.length("payload")), F.sum("rows")).collect()[0]
        yield ArrowRows(arrow_schema(frame), blobs, size or 0, count or 0)
    finally:
        blobs.unpersist()


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if len(batch):
            blob = write_table(pa.Table.from_batches([batch]))
            columns = [pa.array([len(batch)], pa.int64()), pa.array([blob], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["rows", "payload"])
