"""A batch of a session on the driver: the rows of each stage, through what queries make of them, into their sinks.

    answers of all stages, kept ─▶ counts by stage ─▶ for each query with rows: cells ─session_above─▶ rows ─▶ its sink

The answers are computed once: engines with state must not run again for every sink.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import CepheidError, SinkFailed
from cepheid.execution.blob import read_table_bytes
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.engine_stage import make_unpacker
from cepheid.execution.spark.live.session_above import Above, TableRows, rows_of_frames, rows_of_tables
from cepheid.execution.spark.processor import COUNTED
from cepheid.execution.spark.sinks.arrow_rows import AT_ONCE_BYTES, ArrowRows
from cepheid.execution.spark.sinks.attach import CHECKPOINT_ID, first_line
from cepheid.execution.spark.sinks.sink import BatchId
from cepheid.execution.spark.worker_python import own_python


@dataclass(frozen=True)
class QueryOutput:
    """A query of the session.  stages: by vertex, the number of the stage that gives its rows.  since: the first batch
    of the query as it is.  shown: its sink in messages."""

    name: str
    above: Above
    stages: Mapping[str, int]
    since: int
    shown: str

    def has_rows(self, rows: Mapping[int, int]) -> bool:
        return any(rows.get(number) for number in self.stages.values())


@dataclass(frozen=True)
class BatchAccount:
    """What a batch did.  counts: by stage.  lateness: by stage, what its shares know (lateness_shares.py).  rows: by
    query.  seconds: that it took here, engines and sinks together."""

    number: int
    seconds: float
    counts: Mapping[int, Counter[str]]
    lateness: Mapping[int, list[str]]
    rows: Mapping[str, int]


class BatchTaker:
    """For foreachBatch.  tell: is called when a batch is done."""

    def __init__(self, outputs: list[QueryOutput], tell: Callable[[BatchAccount], None]) -> None:
        self._outputs, self._tell = outputs, tell
        self.failure: CepheidError | None = None

    def take(self, answers: DataFrame, number: int) -> None:
        checkpoint = answers.sparkSession.sparkContext.getLocalProperty(CHECKPOINT_ID)
        assert checkpoint, "Spark says whose batch it runs"
        begun = time.monotonic()
        answers = answers.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts, lateness, size = _count(answers)
            given = {stage: counted["rows"] for stage, counted in counts.items()}
            outputs = [output for output in self._outputs if output.has_rows(given)]
            here = _collect(answers) if outputs and size <= AT_ONCE_BYTES else None
            rows = {}
            for output in outputs:
                with _make_rows(output, answers, here) as found:
                    self._write(output, found, BatchId(output.name, f"{checkpoint}-{output.since}", number))
                    rows[output.name] = found.count
            self._tell(BatchAccount(number, time.monotonic() - begun, counts, lateness, rows))
        finally:
            answers.unpersist()

    def _write(self, output: QueryOutput, rows: TableRows | ArrowRows, batch: BatchId) -> None:
        if not rows.count:
            return
        try:
            output.above.sink.write(rows, batch)
        except CepheidError as problem:
            self.failure = SinkFailed(output.shown, output.name, problem.message, problem.hint)
            raise
        except Exception as problem:
            self.failure = SinkFailed(output.shown, output.name, first_line(problem), None)
            raise


def _count(answers: DataFrame) -> tuple[dict[int, Counter[str]], dict[int, list[str]], int]:
    """By stage, also how late events are; and how many bytes there are."""
    found: dict[int, Counter[str]] = {}
    lateness: dict[int, list[str]] = {}
    size = 0
    for row in answers.select("stage", *COUNTED, "lateness", F.length("payload").alias("size")).collect():
        found.setdefault(row.stage, Counter()).update({name: row[name] for name in COUNTED})
        if row.lateness is not None:
            lateness.setdefault(row.stage, []).append(row.lateness)
        size += row.size or 0
    return found, lateness, size


def _collect(answers: DataFrame) -> dict[int, list[pa.Table]]:
    found: dict[int, list[pa.Table]] = {}
    for row in answers.where(F.col("payload").isNotNull()).select("stage", "payload").collect():
        found.setdefault(row.stage, []).append(read_table_bytes(bytes(row.payload)))
    return found


@contextmanager
def _make_rows(
    output: QueryOutput, answers: DataFrame, here: Mapping[int, list[pa.Table]] | None
) -> Iterator[TableRows | ArrowRows]:
    """here: what stages gave, if it is few; else it stays where it is."""
    above = output.above
    if here is None:
        with own_python(answers.sparkSession):
            cells = {vertex: _unpack(answers, output.stages[vertex], schema) for vertex, schema in above.cells.items()}
        with rows_of_frames(above, cells) as rows:
            yield rows
        return
    tables = {
        vertex: pa.concat_tables(
            [schema.empty_table(), *(table.cast(schema) for table in here.get(output.stages[vertex], []))]
        )
        for vertex, schema in above.cells.items()
    }
    yield rows_of_tables(above, tables, answers.sparkSession)


def _unpack(answers: DataFrame, stage: int, cells: pa.Schema) -> DataFrame:
    payloads = answers.where((F.col("stage") == stage) & F.col("payload").isNotNull()).select("payload")
    return payloads.mapInArrow(make_unpacker(cells), from_arrow_schema(cells))
