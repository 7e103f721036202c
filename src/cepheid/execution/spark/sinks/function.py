"""A function of the user's, called with the rows of each batch that has some, and with the batch's number.

A batch that was cut short is given again, with the same number: a function that keeps the last number it has done, in
one transaction with what it does, does nothing twice.  The numbers of a new checkpoint begin at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.execution.spark.sinks.sink import BatchId, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FunctionSink:
    def __init__(self, function: Callable[[pa.Table, int], None]) -> None:
        self._function = function

    def prepare(self, frame: DataFrame) -> DataFrame:
        return frame

    def write(self, rows: Rows, batch: BatchId) -> None:
        self._function(pa.Table.from_batches(rows, rows.schema), batch.number)
