"""What queries of a session make of the rows of their stages.

    few bytes, columns and conditions that are proved to mean the same    DuckDB, on the driver: no job of Spark's
    few bytes                                                             Spark SQL, over rows of the driver
    many                                                                  Spark SQL, over what workers hold

A batch has few rows for most queries, and a job of Spark costs more than they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.interpret import interpret
from cepheid.execution.spark.arrow_frames import make_frame
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.host import SparkHost, SparkInputs
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.execution.spark.sinks.arrow_rows import ArrowRows, arrow_rows
from cepheid.execution.spark.sinks.sink import BatchSink
from cepheid.execution.spark.worker_python import own_python
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Sink, Source, TableJoin, Union
from cepheid.language.expressions.worker_sql import type_in_worker
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import EmitName, Settings


@dataclass(frozen=True)
class Above:
    """A query above its stages.  cells: by vertex, the columns of what stages give.  schema: of its rows.
    means_the_same: in DuckDB as in Spark SQL.  is_plain: does the sink take rows as they are?  emit: what comes out."""

    placed: PlacedGraph
    given: SparkInputs
    cells: Mapping[str, pa.Schema]
    schema: pa.Schema
    means_the_same: bool
    sink: BatchSink
    is_plain: bool
    emit: EmitName = "final"


class TableRows:
    """Rows that are here."""

    def __init__(self, table: pa.Table) -> None:
        self.schema, self.count = table.schema, len(table)
        self._table = table

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches()


def rows_of_tables(above: Above, cells: Mapping[str, pa.Table], spark: SparkSession) -> TableRows:
    """cells: what the stages gave, here."""
    if above.means_the_same and above.is_plain:
        (answer,) = interpret(above.placed, ArrowCells(cells), []).values()
        return TableRows(answer.cast(above.schema))
    frames = {
        vertex: make_frame(spark, table, from_arrow_schema(above.cells[vertex])) for vertex, table in cells.items()
    }
    frame = _run(above, frames)
    found = frame.toArrow()
    return TableRows(found.rename_columns(frame.columns).cast(arrow_schema(frame)))


@contextmanager
def rows_of_frames(above: Above, cells: Mapping[str, DataFrame]) -> Iterator[ArrowRows]:
    """cells: what the stages gave, where it is."""
    with arrow_rows(_run(above, cells)) as rows:
        yield rows


def _run(above: Above, cells: Mapping[str, DataFrame]) -> DataFrame:
    spark = next(iter(cells.values())).sparkSession
    with own_python(spark):
        (answer,) = interpret(above.placed, FrameCells(above, cells), []).values()
        return above.sink.prepare(answer)


class FrameCells(SparkHost):
    """Rows are DataFrames; those of the stages are given."""

    def __init__(self, above: Above, cells: Mapping[str, DataFrame]) -> None:
        super().__init__(above.placed, above.given, Settings(emit=above.emit))
        self._cells = cells

    def runs_whole(self, vertex: str) -> bool:
        return vertex in self._cells

    def run_whole(self, vertex: str) -> DataFrame:
        return self._cells[vertex]


class ArrowCells:
    """Rows are Arrow tables; those of the stages are given, and all above them is columns and conditions."""

    def __init__(self, cells: Mapping[str, pa.Table]) -> None:
        self._cells = cells

    def runs_whole(self, vertex: str) -> bool:
        return vertex in self._cells

    def run_whole(self, vertex: str) -> pa.Table:
        return self._cells[vertex]

    def read_source(self, vertex: str, node: Source) -> pa.Table:
        raise AssertionError(f"{vertex} is below the stages")

    def run_engine(self, vertices: list[str], inputs: list[pa.Table]) -> list[pa.Table]:
        raise AssertionError(f"{vertices} are stages")

    def look_up(self, vertex: str, node: TableJoin, rows: pa.Table) -> pa.Table:
        raise AssertionError(f"{vertex} needs Spark")

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[pa.Table]) -> pa.Table:
        return run_relational(node, inputs)


def means_the_same_above(placed: PlacedGraph, cells: Mapping[str, pa.Schema], ansi: bool) -> bool:
    """Is all that lies above the stages proved to be computed alike by DuckDB and Spark SQL?"""
    graph = placed.graph
    found: dict[str, pa.Schema] = dict(cells)
    for vertex in _list_above(placed, cells):
        inputs = [found[name] for name in graph.inputs(vertex)]
        schema = _type_rows(graph.vertices[vertex], inputs, ansi)
        if schema is None:
            return False
        found[vertex] = schema
    return True


def _list_above(placed: PlacedGraph, cells: Mapping[str, pa.Schema]) -> list[str]:
    graph = placed.graph
    needed: set[str] = set()
    for vertex in reversed(graph.order):
        is_read = any(reader in needed for reader in graph.outputs(vertex))
        if vertex not in cells and (is_read or graph.vertices[vertex].role == "consumer"):
            needed.add(vertex)
    return [vertex for vertex in graph.order if vertex in needed]


def _type_rows(node: PlanNode, inputs: list[pa.Schema], ansi: bool) -> pa.Schema | None:
    match node:
        case Filter(predicate=predicate):
            return inputs[0] if type_in_worker(predicate, inputs[0], ansi) is not None else None
        case Project(columns=columns):
            types = [(name, type_in_worker(value, inputs[0], ansi)) for name, value in columns]
            return pa.schema(types) if all(kind is not None for _, kind in types) else None
        case Sink():
            return inputs[0]
        case Union():
            return inputs[0] if all(schema == inputs[0] for schema in inputs) else None
    return None
