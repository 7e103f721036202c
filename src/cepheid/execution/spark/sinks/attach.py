"""A sink at the end of a streaming query.

rows ─writeStream─┬─ files: Spark's own sink
                  └─ others: foreachBatch ─▶ BatchSink.write, which is told which batch it is

What a sink raises would reach the user through Java, as text with two stacks: it is kept here as it was (`failure`).
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cepheid.errors import CepheidError, SinkFailed
from cepheid.execution.spark.sinks.arrow_rows import arrow_rows
from cepheid.execution.spark.sinks.sink import BatchId, BatchSink, FileSink

CHECKPOINT_ID = "sql.streaming.queryId"  # Spark's, in the thread that runs a batch: the same for a checkpoint's life


class AttachedSink:
    """shown: the sink in messages, without secrets."""

    def __init__(self, sink: FileSink | BatchSink, query: str, shown: str) -> None:
        self._sink, self._query, self._shown = sink, query, shown
        self.failure: CepheidError | None = None

    def attach(self, frame: DataFrame) -> DataStreamWriter:
        if isinstance(self._sink, FileSink):
            writer = frame.writeStream.format(self._sink.form).option("path", self._sink.path)
            return writer.options(**dict(self._sink.options))
        return self._sink.prepare(frame).writeStream.foreachBatch(self._take)

    def _take(self, frame: DataFrame, number: int) -> None:
        assert not isinstance(self._sink, FileSink), "Spark writes files itself"
        checkpoint = frame.sparkSession.sparkContext.getLocalProperty(CHECKPOINT_ID)
        assert checkpoint, "Spark says whose batch it runs"
        with arrow_rows(frame) as rows:
            if not rows:
                return
            try:
                self._sink.write(rows, BatchId(self._query, checkpoint, number))
            except CepheidError as problem:
                self.failure = self._tell(problem.message, problem.hint)
                raise
            except Exception as problem:
                self.failure = self._tell(first_line(problem), None)
                raise

    def _tell(self, reason: str, hint: str | None) -> SinkFailed:
        return SinkFailed(self._shown, self._query, reason, hint)


def first_line(problem: Any) -> str:
    return next(iter(str(problem).splitlines()), type(problem).__name__)
