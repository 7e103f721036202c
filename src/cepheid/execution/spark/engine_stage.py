"""A stateful vertex of ours on Spark: events go to engines in Python workers, cells come back.

    pack into envelopes ─▶ group by share of the keys ─▶ engines ─▶ cells

Over whole tables each key group is run once, from its first event to the end.  On a stream each state partition of
Spark has one engine, which serves a share of the key groups (key_groups.py); its state lives in Spark's state store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import TimestampType

from cepheid.errors import NotSupportedYet
from cepheid.event_time import BEGINNING
from cepheid.execution.blob import read_table_bytes
from cepheid.execution.engine import Engine
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.spark.capabilities import check_protobuf, check_stateful, from_arrow_schema
from cepheid.execution.spark.clock import Clock, find_clock
from cepheid.execution.spark.direct_ingest import DirectInput, find_direct_input, make_reader
from cepheid.execution.spark.engine_warm_up import ensure_engine
from cepheid.execution.spark.envelopes import ENVELOPE_SCHEMA, Packing, make_packer, open_envelopes
from cepheid.execution.spark.idle_inputs import check_clock, find_idle_inputs, find_stamped_inputs
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.processor import COUNTED, OUTPUT_SCHEMA, EngineProcessor, EngineTask
from cepheid.execution.spark.query_start import mark_stage, watch_starts
from cepheid.execution.spark.rejections import watch_rejections
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.execution.spark.stage_program import StageProgram, take_below, write_program
from cepheid.execution.spark.stage_record import StageRecord
from cepheid.execution.spark.watermarks import WATERMARK, read_delay
from cepheid.execution.spark.worker_python import check_driver_python, runs_here
from cepheid.execution.user_functions import list_functions, register_functions
from cepheid.graph.column_origin import find_settled_times, name_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.query_graph import QueryGraph
from cepheid.settings import Settings

_named: Counter[str] = Counter()


def run_engines_on_batch(
    node: EngineNode, inputs: list[DataFrame], settings: Settings, observations: list[Observation]
) -> DataFrame:
    """The cells of a vertex over whole tables; `observations` get who counts the events that are rejected."""
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = cell_schema(node, schemas)
    if runs_here(inputs[0].sparkSession):
        ensure_engine(node, schemas)
    watched = [watch_rejections(frame, node.order) for frame in inputs]
    observations += [observation for _, observation in watched]
    frames = [frame for frame, _ in watched]
    groups = settings.key_groups if name_keys(node) else 1
    ways = [Packing(port, name_keys(node), groups, whole=True) for port in range(len(schemas))]
    packers = [make_packer(how, schema) for how, schema in zip(ways, schemas, strict=True)]
    packed = union_all([number_columns(f).mapInArrow(p, ENVELOPE_SCHEMA) for f, p in zip(frames, packers, strict=True)])
    return packed.groupBy("label").applyInArrow(_make_runner(node, schemas, cells), from_arrow_schema(cells))


def cell_schema(node: EngineNode, schemas: list[pa.Schema]) -> pa.Schema:
    (cells,) = Engine([node], schemas).schemas
    return cells


def union_all(envelopes: list[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, envelopes)


def name_keys(node: EngineNode) -> tuple[str, ...]:
    """The columns of its layout that key groups are made of."""
    return tuple(f"_key{number}" for number in range(node.split))


def _pack_all(node: EngineNode, inputs: list[DataFrame], schemas: list[pa.Schema], groups: int) -> DataFrame:
    """Envelopes of events that come through the JVM."""
    packers = [make_packer(Packing(port, name_keys(node), groups), schema) for port, schema in enumerate(schemas)]
    return union_all([number_columns(f).mapInArrow(p, ENVELOPE_SCHEMA) for f, p in zip(inputs, packers, strict=True)])


def _read_all(
    node: EngineNode, inputs: list[DataFrame], direct: list[DirectInput], delays_us: list[int], groups: int
) -> DataFrame:
    """Envelopes straight from files or topics."""
    packed = []
    for port, (frame, reading, delay) in enumerate(zip(inputs, direct, delays_us, strict=True)):
        reader = make_reader(reading, arrow_schema(frame), Packing(port, name_keys(node), groups))
        names = reading.stream.open_names(frame.sparkSession)
        packed.append(with_watermark(names.mapInArrow(reader, ENVELOPE_SCHEMA), delay))
    return union_all(packed)


def with_watermark(envelopes: DataFrame, delay_us: int) -> DataFrame:
    """Where Spark sees no event, the watermark follows what envelopes tell."""
    moments = envelopes.withColumn("moment", F.timestamp_micros("newest"))
    return moments.withWatermark("moment", f"{delay_us} microseconds").drop("moment")


def _make_runner(node: EngineNode, schemas: list[pa.Schema], cells: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """A function for applyInArrow: all envelopes of one key group in, cells out."""
    own = list_functions(repr(node))

    def run(envelopes: pa.Table) -> pa.Table:
        register_functions(own)
        tables = open_envelopes(
            envelopes.column("port").to_pylist(),
            envelopes.column("sequence").to_pylist(),
            envelopes.column("payload").to_pylist(),
            schemas,
            ["_time"] * len(schemas),
        )
        ensure_engine(node, schemas)
        with TellPlainly():
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
    session: Mapping[str, str],
) -> DataFrame:
    """The cells of a vertex over streams, as they are settled; session: the settings that the query depends on."""
    if not all(frame.isStreaming for frame in inputs):
        raise NotSupportedYet(
            "a pattern, or a join of windows, over a stream and a table together",
            hint="leave the table without a window: each event joins with the table as it is then",
        )
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = cell_schema(node, schemas)
    if runs_here(inputs[0].sparkSession):
        ensure_engine(node, schemas)
    delays_us = [read_delay(frame) for frame in inputs]
    groups = settings.key_groups if name_keys(node) else 1
    found = [find_direct_input(graph, feed, frames) for feed in graph.inputs(vertex)]
    direct = [reader for reader in found if reader is not None]
    if len(direct) == len(inputs):
        packed, clock = _read_all(node, inputs, direct, delays_us, groups), find_clock(inputs, [])
    else:
        packed, clock = _pack_all(node, inputs, schemas, groups), find_clock(inputs, inputs)
    by_number = {str(port): schema for port, schema in enumerate(schemas)}
    program = StageProgram("engine", take_below(graph, vertex), vertex, by_number, tuple(delays_us), int(clock))
    stage = Stage(vertex, record_stage(graph, vertex, groups, session), clock, cells, write_program(program))
    identity = identify_engine(graph, [vertex])
    idle_after_us = find_idle_inputs(graph, vertex, settings)
    check_clock(idle_after_us, clock)
    names = name_columns(graph, vertex)
    own = list_functions(repr(node))
    stamped = find_stamped_inputs(graph, vertex)
    task = EngineTask(node, schemas, delays_us, identity, names, stage.record, clock, idle_after_us, stamped, own)
    settled = {name: max(delays_us) // 1000 for name in find_settled_times(graph, vertex)}
    return run_stateful(packed, EngineProcessor(task), stage, settled)


def record_stage(graph: QueryGraph, vertex: str, groups: int, session: Mapping[str, str]) -> StageRecord:
    """What a checkpoint keeps of a stateful vertex."""
    return StageRecord(graph.digests[vertex], f"{vertex}: {graph.vertices[vertex].describe()}", groups, session)


@dataclass(frozen=True)
class Stage:
    """A stateful vertex on a stream: what the checkpoint keeps of it, how it knows the time, what comes out; program:
    what it computes (stage_program.py), so that its state can be moved."""

    vertex: str
    record: StageRecord
    clock: Clock
    cells: pa.Schema
    program: str = ""


def run_stateful(
    packed: DataFrame, processor: StatefulProcessor, stage: Stage, settled: Mapping[str, int] | None = None
) -> DataFrame:
    """Envelopes through a processor of ours; the plan says whose stage it is.

    settled: columns for which the horizon is a watermark, with its delay in milliseconds."""
    answers = answer_envelopes(packed, processor, OUTPUT_SCHEMA)
    counted = answers.observe(
        name_counts(f"cepheid {stage.vertex} {stage.record.digest}"),
        *(F.sum(each).alias(each) for each in COUNTED),
        F.collect_list("lateness").alias("lateness"),  # of each share: a quantile of all is not one of theirs
    )
    marked = counted.select(mark_stage(F.col("payload"), stage.record, stage.clock, stage.program))
    schema = from_arrow_schema(stage.cells)
    for field in schema.fields:
        if settled and field.name in settled and isinstance(field.dataType, TimestampType):
            field.metadata = {WATERMARK: settled[field.name]}
    return marked.mapInArrow(make_unpacker(stage.cells), schema)


def answer_envelopes(packed: DataFrame, processor: StatefulProcessor, schema: str) -> DataFrame:
    """What a processor of ours gives for the envelopes of each share."""
    check_protobuf()
    check_driver_python(packed.sparkSession)
    watch_starts(packed.sparkSession)
    grouped = packed.groupBy("label")
    check_stateful(grouped)
    return grouped.transformWithStateInPandas(
        statefulProcessor=processor,
        outputStructType=schema,
        outputMode="append",
        timeMode="eventTime",  # shares that wait are called as soon as the watermark moves, if that tells them more
    )


def name_counts(name: str) -> str:
    """A name of its own, since one stage may stand in a plan twice: the second is called so."""
    _named[name] += 1
    return name if _named[name] == 1 else f"{name} ({_named[name]})"


def make_unpacker(cells: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow: a column of payloads in, cells out."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(0).to_pylist():
                if payload is not None:
                    yield from read_table_bytes(payload).cast(cells).to_batches()

    return unpack
