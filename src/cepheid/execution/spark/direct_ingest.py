"""Direct ingest: where a stream is a folder of Parquet files, or a topic of Kafka, workers read the columns themselves.

    ordinary   Parquet ─▶ JVM rows ─▶ Arrow ─▶ worker ─▶ envelopes
    direct     names of files ─▶ worker: Parquet ─▶ Arrow ─▶ envelopes
               ranges of offsets ─▶ worker: Kafka ─▶ Arrow ─▶ envelopes (kafka/stream.py)

The way of each event through the JVM costs many times what matching it does.  A micro-batch then carries the names
of its files only; Spark still decides which files those are.  It is done when it surely gives the same rows:
local files without partition folders, plain columns and simple comparisons in front of the pattern, UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from cepheid.event_time import newest_time
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.spark.envelopes import MOST_ROWS, Packer, Packing, first_sequence, pack_table
from cepheid.execution.spark.kafka.stream import find_kafka_stream
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.graph.column_origin import trace_column
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.language.expressions.worker_sql import type_in_worker

FILES = "path string, modificationTime timestamp, length long, content binary"


class DirectStream(Protocol):
    """What workers can read themselves.  open_names: the stream as rows that say what is to be read.  read: from such
    rows, tables with columns of the schema, each with how far time has come with its batch at most (None: as far as
    its events say)."""

    @property
    def schema(self) -> pa.Schema: ...

    def open_names(self, spark: SparkSession) -> DataFrame: ...

    def read(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[pa.Table, int | None]]: ...


@dataclass(frozen=True)
class ParquetStream:
    """A streaming DataFrame that is nothing but a folder of Parquet files."""

    options: Mapping[str, str]
    schema: pa.Schema

    def open_names(self, spark: SparkSession) -> DataFrame:
        """The same stream as names of files: one row per file, nothing of it read."""
        reader = spark.readStream.format("binaryFile").schema(FILES)
        return reader.options(**self.options).load().select("path")

    def read(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[pa.Table, int | None]]:
        paths = [path for batch in batches for path in batch.column("path").to_pylist()]
        return ((part, None) for path in paths for part in read_parquet(path, schema))


@dataclass(frozen=True)
class DirectInput:
    """One input of a pattern that workers can read: the stream and the columns of it that are read, what lies between,
    the producer's time column."""

    stream: DirectStream
    columns: list[str]
    nodes: list[PlanNode]
    time: str


def find_direct_input(graph: QueryGraph, layout: str, frames: Mapping[str, DataFrame]) -> DirectInput | None:
    """How workers can read what a layout gives; None if they cannot."""
    chain = chain_below(graph, layout)  # values are in the query's dialect: those that mean the same are in any
    origin = trace_column(graph, layout, "_time")
    if chain is None or origin is None:
        return None
    source, nodes = chain
    producer = graph.vertices[source]
    assert isinstance(producer, Source), "the chain ends in a producer"
    stream = find_direct_stream(frames[producer.name])
    if stream is None or not mean_the_same(nodes, stream.schema):
        return None
    return DirectInput(stream, source_columns(graph, source, stream.schema.names), nodes, origin[1])


def find_direct_stream(frame: DataFrame) -> DirectStream | None:
    """What the DataFrame is, read from its plan; None if workers cannot read it."""
    plan = _find_stream_plan(frame)
    found = None if plan is None else find_kafka_stream(plan, arrow_schema(frame))
    return found or find_parquet_stream(frame)


def _find_stream_plan(frame: DataFrame) -> Any:
    """The analysed plan of a stream that workers may read, without its watermark; None: they may not."""
    if not frame.isStreaming or frame.sparkSession.conf.get("spark.sql.session.timeZone") != "UTC":
        return None
    plan = _jvm_plan(frame)
    is_watched = plan is not None and plan.nodeName() == "EventTimeWatermark"
    return plan.children().head() if is_watched else plan


def find_parquet_stream(frame: DataFrame) -> ParquetStream | None:
    """What the DataFrame is, read from its plan; None if it is anything else."""
    plan = _find_stream_plan(frame)
    if plan is None:
        return None
    case_sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive")
    if str(case_sensitive).lower() == "true":  # read_parquet finds columns in any case
        return None
    if plan.nodeName() != "StreamingRelation" or plan.dataSource().className() != "parquet":
        return None
    options = _read_options(plan.dataSource().options())
    path = options.get("path", "")
    if not _is_plain_folder(path) or plan.dataSource().partitionColumns().size():
        return None
    return ParquetStream(options, arrow_schema(frame))


def _jvm_plan(frame: DataFrame) -> Any:
    """The analysed plan; None over Spark Connect, which does not show it."""
    jvm_frame = getattr(frame, "_jdf", None)
    return None if jvm_frame is None else jvm_frame.queryExecution().analyzed()


def _read_options(scala_map: Any) -> dict[str, str]:
    found = {}
    pairs = scala_map.iterator()
    while pairs.hasNext():
        pair = pairs.next()
        found[pair._1()] = pair._2()  # noqa: SLF001 (Scala's name for the first of a pair)
    return found


def _is_plain_folder(path: str) -> bool:
    """A local folder, not a pattern of names, without partition folders such as day=1."""
    parsed = urlparse(path)
    folder = Path(unquote(parsed.path))
    if parsed.scheme not in ("", "file") or not folder.is_dir():
        return False
    return not any(child.is_dir() and "=" in child.name for child in folder.iterdir())


def chain_below(graph: QueryGraph, layout: str) -> tuple[str, list[PlanNode]] | None:
    """The producer under a layout and the vertices between, if workers can run them; else None."""
    nodes: list[PlanNode] = []
    vertex = layout
    while not isinstance(graph.vertices[vertex], Source):
        node = graph.vertices[vertex]
        if not isinstance(node, Project | Filter):
            return None
        nodes.insert(0, node)
        (vertex,) = graph.inputs(vertex)
    return vertex, nodes


def mean_the_same(nodes: list[PlanNode], schema: pa.Schema) -> bool:
    """Does DuckDB, which workers have, compute them as Spark SQL does?  nodes: the lowest first."""
    for node in nodes:
        values = list(node.columns) if isinstance(node, Project) else []
        values += [("", node.predicate)] if isinstance(node, Filter) else []
        types = [(name, type_in_worker(value, schema, ansi=False)) for name, value in values]
        if any(found is None for _, found in types):
            return False
        schema = pa.schema(types) if isinstance(node, Project) else schema
    return True


def make_reader(direct: DirectInput, layout: pa.Schema, how: Packing) -> Packer:
    """A function for mapInArrow: names of files, or whatever says what is to be read, in, envelopes out."""
    stream, nodes = direct.stream, direct.nodes
    schema = pa.schema([stream.schema.field(name) for name in direct.columns])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with TellPlainly():
            for sequence, (table, most) in enumerate(stream.read(batches, schema), first_sequence()):
                newest = newest_time(table.column(direct.time))  # events that are filtered out move time on as well
                newest = newest if most is None else min(newest, most)
                events = table
                for node in nodes:
                    events = run_relational(node, [events])
                yield pack_table(events.cast(layout), how, sequence, newest)

    return read


def read_parquet(path: str, schema: pa.Schema) -> Iterator[pa.Table]:
    """Columns of one file by name, some row groups at a time.

    As Spark does it: case is ignored, and a column that is not there is null.
    """
    # times that Spark wrote as INT96 would be read as nanoseconds, which end in the year 2262
    with pq.ParquetFile(unquote(urlparse(path).path), coerce_int96_timestamp_unit="us") as file:
        spelling = {name.lower(): name for name in file.schema_arrow.names}
        present = {field.name: spelling[field.name.lower()] for field in schema if field.name.lower() in spelling}
        for row_groups, rows in gather_row_groups(file.metadata):
            table = file.read_row_groups(row_groups, columns=list(present.values()))
            columns = [
                table.column(present[field.name]) if field.name in present else pa.nulls(rows, field.type)
                for field in schema
            ]
            yield pa.table(columns, names=schema.names).cast(schema)


def gather_row_groups(metadata: pq.FileMetaData) -> Iterator[tuple[list[int], int]]:
    """Runs of row groups that hold MOST_ROWS rows or a little more, with their rows."""
    run: list[int] = []
    rows = 0
    for number in range(metadata.num_row_groups):
        run.append(number)
        rows += metadata.row_group(number).num_rows
        if rows >= MOST_ROWS or number == metadata.num_row_groups - 1:
            yield run, rows
            run, rows = [], 0
