"""A batch of a session on the driver: the rows of each stage, through what queries make of them, into their sinks.

    answers of all stages, kept ─▶ counts by stage ─▶ for each query with rows: cells ─Spark SQL─▶ rows ─▶ its sink

The answers are computed once: engines with state must not run again for every sink.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.errors import CepheidError, SinkFailed
from cepheid.execution.interpret import interpret
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.engine_stage import make_unpacker
from cepheid.execution.spark.host import SparkHost, SparkInputs
from cepheid.execution.spark.processor import COUNTED
from cepheid.execution.spark.sinks.arrow_rows import arrow_rows
from cepheid.execution.spark.sinks.attach import CHECKPOINT_ID, first_line
from cepheid.execution.spark.sinks.sink import BatchId, BatchSink
from cepheid.execution.spark.worker_python import own_python
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import Settings


@dataclass(frozen=True)
class QueryOutput:
    """A query of the session.  stages: by vertex, the number of the stage that gives its rows, and their columns.
    since: the first batch of the query as it is.  shown: its sink in messages."""

    name: str
    placed: PlacedGraph
    given: SparkInputs
    stages: Mapping[str, tuple[int, pa.Schema]]
    since: int
    sink: BatchSink
    shown: str

    def has_rows(self, rows: Mapping[int, int]) -> bool:
        return any(rows.get(number) for number, _ in self.stages.values())


class CellsHost(SparkHost):
    """What lies above the stages, over their rows."""

    def __init__(self, output: QueryOutput, cells: Mapping[str, DataFrame]) -> None:
        super().__init__(output.placed, output.given, Settings())
        self._cells = cells

    def runs_whole(self, vertex: str) -> bool:
        return vertex in self._cells

    def run_whole(self, vertex: str) -> DataFrame:
        return self._cells[vertex]


def make_rows(output: QueryOutput, cells: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of a query, of the rows of its stages."""
    (answer,) = interpret(output.placed, CellsHost(output, cells), []).values()
    return answer


@dataclass(frozen=True)
class BatchAccount:
    """What a batch did.  counts: by stage.  rows: by query.  seconds: that it took here, engines and sinks together."""

    number: int
    seconds: float
    counts: Mapping[int, Counter[str]]
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
            counts = _count(answers)
            given = {stage: counted["rows"] for stage, counted in counts.items()}
            rows = {
                output.name: self._write(output, answers, BatchId(output.name, f"{checkpoint}-{output.since}", number))
                for output in self._outputs
                if output.has_rows(given)
            }
            self._tell(BatchAccount(number, time.monotonic() - begun, counts, rows))
        finally:
            answers.unpersist()

    def _write(self, output: QueryOutput, answers: DataFrame, batch: BatchId) -> int:
        with own_python(answers.sparkSession):
            cells = {vertex: _unpack(answers, *stage) for vertex, stage in output.stages.items()}
            frame = output.sink.prepare(make_rows(output, cells))
        with arrow_rows(frame) as rows:
            if not rows:
                return 0
            try:
                output.sink.write(rows, batch)
            except CepheidError as problem:
                self.failure = SinkFailed(output.shown, output.name, problem.message, problem.hint)
                raise
            except Exception as problem:
                self.failure = SinkFailed(output.shown, output.name, first_line(problem), None)
                raise
            return rows.count


def _count(answers: DataFrame) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    for row in answers.select("stage", *COUNTED).collect():
        found.setdefault(row.stage, Counter()).update({name: row[name] for name in COUNTED})
    return found


def _unpack(answers: DataFrame, stage: int, cells: pa.Schema) -> DataFrame:
    payloads = answers.where((F.col("stage") == stage) & F.col("payload").isNotNull()).select("payload")
    return payloads.mapInArrow(make_unpacker(cells), from_arrow_schema(cells))
