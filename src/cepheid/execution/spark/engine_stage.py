"""A stateful vertex of ours on Spark: events go to engines in Python workers, cells come back.

    pack into envelopes ─▶ group by key group ─▶ engines ─▶ cells

Over whole tables each key group is run once, from its first event to the end.  On a stream the engines' state lives in
Spark's state store, and the watermark is the horizon.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cepheid.errors import IdlePartitionsWarning, NotSupportedYet
from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_table_bytes
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.spark.direct_ingest import DirectInput, find_direct_input, make_reader
from cepheid.execution.spark.envelopes import ENVELOPE_SCHEMA, make_packer, open_envelopes
from cepheid.execution.spark.processor import COUNTED, OUTPUT_SCHEMA, EngineProcessor, EngineTask
from cepheid.execution.spark.rejections import watch_rejections
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.execution.spark.watermarks import read_delay
from cepheid.graph.column_origin import name_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.query_graph import QueryGraph
from cepheid.settings import Settings

STREAM_SETTINGS = {
    # transformWithState works on RocksDB only
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # commit what changed, not whole snapshots
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # with processing-time timers Spark would run empty batches for ever (SPARK-50180)
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def run_engines_on_batch(
    node: EngineNode, inputs: list[DataFrame], settings: Settings, observations: list[Observation]
) -> DataFrame:
    """The cells of a vertex over whole tables; `observations` get who counts the events that are rejected."""
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = _cell_schema(node, schemas)
    watched = [watch_rejections(frame, node.order) for frame in inputs]
    observations += [observation for _, observation in watched]
    packed = _pack_all(node, [frame for frame, _ in watched], schemas, settings)
    return packed.groupBy("label").applyInArrow(_make_runner(node, schemas, cells), from_arrow_schema(cells))


def _cell_schema(node: EngineNode, schemas: list[pa.Schema]) -> pa.Schema:
    (cells,) = Engine([node], schemas).schemas
    return cells


def _pack_all(node: EngineNode, inputs: list[DataFrame], schemas: list[pa.Schema], settings: Settings) -> DataFrame:
    packed: DataFrame | None = None
    for port, (frame, schema) in enumerate(zip(inputs, schemas, strict=True)):
        packer = make_packer(port, settings.key_groups, name_keys(node), schema)
        envelopes = number_columns(frame).mapInArrow(packer, ENVELOPE_SCHEMA)
        packed = envelopes if packed is None else packed.union(envelopes)
    assert packed is not None, "a stateful vertex has inputs"
    return packed


def name_keys(node: EngineNode) -> list[str]:
    """The columns of its layout that key groups are made of."""
    return [f"_key{number}" for number in range(node.split)]


def _read_all(
    node: EngineNode,
    inputs: list[DataFrame],
    direct: list[DirectInput],
    delays_us: list[int],
    settings: Settings,
) -> DataFrame:
    """Envelopes straight from files."""
    packed: DataFrame | None = None
    for port, (frame, reading, delay) in enumerate(zip(inputs, direct, delays_us, strict=True)):
        reader = make_reader(reading, arrow_schema(frame), port, settings.key_groups, name_keys(node))
        envelopes = with_watermark(reading.stream.files(frame).mapInArrow(reader, ENVELOPE_SCHEMA), delay)
        packed = envelopes if packed is None else packed.union(envelopes)
    assert packed is not None, "a stateful vertex has inputs"
    return packed


def with_watermark(envelopes: DataFrame, delay_us: int) -> DataFrame:
    """Where Spark sees no event, the watermark follows what envelopes tell."""
    moments = envelopes.withColumn("moment", F.timestamp_micros("newest"))
    return moments.withWatermark("moment", f"{delay_us} microseconds").drop("moment")


def _make_runner(node: EngineNode, schemas: list[pa.Schema], cells: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """A function for applyInArrow: all envelopes of one key group in, cells out."""

    def run(envelopes: pa.Table) -> pa.Table:
        tables = open_envelopes(
            envelopes.column("port").to_pylist(),
            envelopes.column("sequence").to_pylist(),
            envelopes.column("payload").to_pylist(),
            schemas,
        )
        engine = Engine([node], schemas)
        found = [*engine.push(tables, BEGINNING), *engine.finish()]
        return pa.concat_tables(found).cast(cells)

    return run


def run_engines_on_stream(
    graph: QueryGraph,
    vertex: str,
    node: EngineNode,
    inputs: list[DataFrame],
    frames: Mapping[str, DataFrame],
    settings: Settings,
) -> DataFrame:
    """The cells of a vertex over streams, as they are settled."""
    if not all(frame.isStreaming for frame in inputs):
        raise NotSupportedYet(
            "a pattern, or a join of windows, over a stream and a table together",
            hint="leave the table without a window: each event joins with the table as it is then",
        )
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = _cell_schema(node, schemas)
    delays_us = [read_delay(frame) for frame in inputs]
    prepare_session(inputs[0].sparkSession)
    found = [find_direct_input(graph, feed, frames) for feed in graph.inputs(vertex)]
    direct = [reader for reader in found if reader is not None]
    if len(direct) == len(inputs):
        packed = _read_all(node, inputs, direct, delays_us, settings)
    else:
        packed = _pack_all(node, inputs, schemas, settings)
    task = EngineTask(node, schemas, delays_us, identify_engine(graph, [vertex]), name_columns(graph, vertex))
    return run_stateful(packed, EngineProcessor(task), cells, f"cepheid {vertex} {graph.digests[vertex]}")


def prepare_session(spark: SparkSession) -> None:
    """What a stream with state of ours needs of its session."""
    for name, value in STREAM_SETTINGS.items():
        spark.conf.set(name, value)


def run_stateful(packed: DataFrame, processor: StatefulProcessor, cells: pa.Schema, name: str) -> DataFrame:
    """Envelopes through a processor of ours; `name`: of what it counts."""
    stage = packed.groupBy("label").transformWithStateInPandas(
        statefulProcessor=processor,
        outputStructType=OUTPUT_SCHEMA,
        outputMode="append",
        timeMode="processingTime",
    )
    counted = stage.observe(name, *(F.sum(each).alias(each) for each in COUNTED))
    return counted.select("payload").mapInArrow(_make_unpacker(cells), from_arrow_schema(cells))


def warn_idle_partitions(spark: SparkSession, key_groups: int) -> None:
    """Spark's default of 200 partitions means 200 state stores, most of them empty."""
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    if partitions > key_groups:
        warnings.warn(
            f"spark.sql.shuffle.partitions is {partitions}, but there are {key_groups} key groups: most partitions "
            f"will be idle, and a checkpoint keeps their number; set it to a divisor of {key_groups} first",
            IdlePartitionsWarning,
            stacklevel=4,
        )


def _make_unpacker(cells: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                if payload is not None:
                    yield from read_table_bytes(payload).cast(cells).to_batches()

    return unpack
