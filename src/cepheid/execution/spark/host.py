"""The Spark host: the same graph over DataFrames, batch or streaming; an ordinary DataFrame comes out.

    relations, filters, projections     Spark SQL
    patterns                            pack into envelopes ─▶ group by key group ─▶ engines in Python workers

On a stream the engines' state lives in Spark's state store, and the watermark is the horizon.
"""

from __future__ import annotations

import logging
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
import sqlglot
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, TimestampType
from sqlglot import exp

from cepheid.compiler import Compilation, check_bounded, compile_query, placed_at_order
from cepheid.errors import IdlePartitionsWarning, InvalidInput, InvalidOrder, InvalidQuery, NotSupportedYet
from cepheid.event_time import BEGINNING, in_microseconds
from cepheid.execution.blob import read_table_bytes
from cepheid.execution.cells import write_schema
from cepheid.execution.engine import Engine, unite_schemas
from cepheid.execution.spark.direct_ingest import DirectInput, find_direct_input, make_reader
from cepheid.execution.spark.envelopes import ENVELOPE_SCHEMA, make_packer, open_envelopes
from cepheid.execution.spark.processor import COUNTED, OUTPUT_SCHEMA, PatternProcessor, PatternTask
from cepheid.execution.spark.rejections import remember_rejections, watch_rejections
from cepheid.execution.spark.schemas import arrow_schema
from cepheid.graph.column_origin import name_columns, trace_column
from cepheid.graph.json_form import write_origin
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation, RowPattern, Sequence, Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.language.pattern_builder import Pattern
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.rewrite.rule_order import CARRYING_RULES
from cepheid.settings import Settings

WATERMARK = "spark.watermarkDelayMs"
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


def compile_on_spark(query: str | Pattern, frames: Mapping[str, DataFrame]) -> Compilation:
    spark = next(iter(frames.values())).sparkSession
    schemas = {name: arrow_schema(frame) for name, frame in frames.items()}
    return compile_query(query, schemas, lambda sql, tables: describe_sql(spark, sql, tables), CARRYING_RULES)


def run_on_spark(query: str | Pattern, frames: Mapping[str, DataFrame], settings: Settings) -> DataFrame:
    """The rows of a query as a DataFrame; nothing runs before the DataFrame is used."""
    streaming = [name for name, frame in frames.items() if frame.isStreaming]
    if settings.lateness is not None and not streaming:
        raise InvalidInput("lateness has no meaning for whole tables", hint="give a streaming DataFrame")
    compilation = compile_on_spark(query, frames)
    if streaming:
        _refuse_chained_patterns(compilation.placed)
        check_bounded(compilation, settings.strict)
    with placed_at_order(compilation):
        return _run_graph(compilation.placed.graph, frames, settings)


def _refuse_chained_patterns(placed: PlacedGraph) -> None:
    patterns = placed.at_engines()
    for pattern in patterns:
        above = placed.graph.reach(pattern, placed.graph.outputs)[1:]
        if any(other in above for other in patterns):
            raise NotSupportedYet(
                "a pattern over the rows of another pattern, on a stream",
                hint="write the rows of the first to a sink, and run the second on that",
            )


def _run_graph(graph: QueryGraph, frames: Mapping[str, DataFrame], settings: Settings) -> DataFrame:
    frames = _add_watermarks(graph, frames, settings)
    made: dict[str, DataFrame] = {}
    observations: list[Observation] = []
    for vertex in graph.order:
        node = graph.vertices[vertex]
        inputs = [made[source] for source in graph.inputs(vertex)]
        match node:
            case Source(name=name, columns=columns):
                made[vertex] = frames[name].select(*(F.col(_quote(column)) for column in columns))
            case RowPattern() | Sequence():
                if any(frame.isStreaming for frame in inputs):
                    made[vertex] = _run_stream(graph, vertex, node, inputs, frames, settings)
                else:
                    made[vertex] = _run_batch(node, inputs, settings, observations)
            case Sink():
                return remember_rejections(inputs[0], observations)
            case _:
                made[vertex] = run_relational(node, inputs)
    raise AssertionError("a graph ends in a consumer")


def run_relational(node: PlanNode, inputs: list[DataFrame]) -> DataFrame:
    match node:
        case Filter(predicate=predicate):
            return inputs[0].where(F.expr(translate_sql(predicate)))
        case Project(columns=columns):
            return inputs[0].select(*(F.expr(translate_sql(sql)).alias(name) for name, sql in columns))
        case Relation(sql=sql, inputs=names):
            return run_sql(
                inputs[0].sparkSession if inputs else _active_session(), sql, dict(zip(names, inputs, strict=True))
            )
    raise AssertionError(f"{type(node).__name__} is not relational")


def run_sql(spark: SparkSession, sql: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """A query over DataFrames, by names that nobody else uses and that are gone afterwards."""
    views = {name: f"_cepheid_{uuid.uuid4().hex}" for name in frames}
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(views[name])
        with _quiet_logger():
            return spark.sql(translate_sql(sql, views))
    except (AnalysisException, ParseException) as problem:
        told = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]  # its line and place are not the user's
        raise InvalidQuery(f"Spark SQL refuses this: {told}") from None
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


@contextmanager
def _quiet_logger() -> Iterator[None]:
    """PySpark logs what it refuses, with the JVM's whole stack; we tell it in our own words."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def describe_sql(spark: SparkSession, sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    empty = {name: spark.createDataFrame([], from_arrow_schema(schema)) for name, schema in schemas.items()}
    return arrow_schema(run_sql(spark, sql, empty))


def translate_sql(sql: str, tables: Mapping[str, str] | None = None) -> str:
    parsed = sqlglot.parse_one(sql, dialect="trino")
    for table in parsed.find_all(exp.Table) if tables else ():
        if tables and table.name in tables:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(tables[table.name]))
    return parsed.sql(dialect="spark")


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _active_session() -> SparkSession:
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise InvalidInput("there is no Spark session", hint="give at least one DataFrame")
    return spark


def _run_batch(
    node: RowPattern | Sequence, inputs: list[DataFrame], settings: Settings, observations: list[Observation]
) -> DataFrame:
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = _cell_schema(node, schemas)
    watched = [watch_rejections(frame, node.order) for frame in inputs]
    observations += [observation for _, observation in watched]
    packed = _pack_all(node, [frame for frame, _ in watched], schemas, settings)
    return packed.groupBy("label").applyInArrow(_make_runner(node, schemas, cells), from_arrow_schema(cells))


def _cell_schema(node: RowPattern | Sequence, schemas: list[pa.Schema]) -> pa.Schema:
    return write_schema(node, {field.name: field.type for field in unite_schemas(schemas, len(schemas) > 1)})


def _pack_all(
    node: RowPattern | Sequence, inputs: list[DataFrame], schemas: list[pa.Schema], settings: Settings
) -> DataFrame:
    packed: DataFrame | None = None
    for port, (frame, schema) in enumerate(zip(inputs, schemas, strict=True)):
        # numbered names: mapInArrow takes a dot in a name for a field of a struct
        numbered = frame.select(*(F.col(_quote(name)).alias(f"c{place}") for place, name in enumerate(frame.columns)))
        packer = make_packer(port, settings.key_groups, node.keys, schema)
        envelopes = numbered.mapInArrow(packer, ENVELOPE_SCHEMA)
        packed = envelopes if packed is None else packed.union(envelopes)
    assert packed is not None, "a pattern has inputs"
    return packed


def _read_all(
    node: RowPattern | Sequence,
    inputs: list[DataFrame],
    direct: list[DirectInput],
    delays_us: list[int],
    settings: Settings,
) -> DataFrame:
    """Envelopes straight from files.  Spark sees no event, so the watermark follows what envelopes tell."""
    packed: DataFrame | None = None
    for port, (frame, reading, delay) in enumerate(zip(inputs, direct, delays_us, strict=True)):
        reader = make_reader(reading, arrow_schema(frame), port, settings.key_groups, node.keys)
        envelopes = (
            reading.stream.files(frame)
            .mapInArrow(reader, ENVELOPE_SCHEMA)
            .withColumn("moment", F.timestamp_micros("newest"))
            .withWatermark("moment", f"{delay} microseconds")
            .drop("moment")
        )
        packed = envelopes if packed is None else packed.union(envelopes)
    assert packed is not None, "a pattern has inputs"
    return packed


def _make_runner(
    node: RowPattern | Sequence, schemas: list[pa.Schema], cells: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
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


def _run_stream(
    graph: QueryGraph,
    vertex: str,
    node: RowPattern | Sequence,
    inputs: list[DataFrame],
    frames: Mapping[str, DataFrame],
    settings: Settings,
) -> DataFrame:
    if not all(frame.isStreaming for frame in inputs):
        raise NotSupportedYet("a pattern over a stream and a table together")
    schemas = [arrow_schema(frame) for frame in inputs]
    cells = _cell_schema(node, schemas)
    delays_us = [_read_delay(frame) for frame in inputs]
    spark = inputs[0].sparkSession
    for name, value in STREAM_SETTINGS.items():
        spark.conf.set(name, value)
    _warn_idle_partitions(spark, settings.key_groups)
    found = [find_direct_input(graph, feed, frames) for feed in graph.inputs(vertex)]
    direct = [reader for reader in found if reader is not None]
    if len(direct) == len(inputs):
        packed = _read_all(node, inputs, direct, delays_us, settings)
    else:
        packed = _pack_all(node, inputs, schemas, settings)
    task = PatternTask(node, schemas, delays_us, write_origin(graph, vertex), name_columns(graph, vertex))
    stage = packed.groupBy("label").transformWithStateInPandas(
        statefulProcessor=PatternProcessor(task),
        outputStructType=OUTPUT_SCHEMA,
        outputMode="append",
        timeMode="processingTime",
    )
    counted = stage.observe("cepheid", *(F.sum(name).alias(name) for name in COUNTED))
    return counted.select("payload").mapInArrow(_make_unpacker(cells), from_arrow_schema(cells))


def _warn_idle_partitions(spark: SparkSession, key_groups: int) -> None:
    """Spark's default of 200 partitions means 200 state stores, most of them empty."""
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    if partitions > key_groups:
        warnings.warn(
            f"spark.sql.shuffle.partitions is {partitions}, but there are {key_groups} key groups: most partitions "
            f"will be idle, and a checkpoint keeps their number; set it to a divisor of {key_groups} first",
            IdlePartitionsWarning,
            stacklevel=5,
        )


def _read_delay(frame: DataFrame) -> int:
    """The delay of the watermark that a stream needs on the column it is ordered by, in microseconds."""
    time = frame.schema["_time"]
    _check_event_time(time.dataType)
    if WATERMARK not in (time.metadata or {}):
        raise InvalidOrder(
            "ORDER BY is not event time: the stream has no watermark on that column",
            hint='call .withWatermark("<column>", "10 seconds") on the DataFrame, or give lateness= to cep.sql',
        )
    return int(time.metadata[WATERMARK]) * 1000


def _check_event_time(order_type: DataType) -> None:
    if not isinstance(order_type, TimestampType):
        raise InvalidOrder(
            f"a stream is ordered by event time, but ORDER BY names a column of type {order_type.simpleString()}",
            hint="order by a column of type timestamp",
        )


def _add_watermarks(graph: QueryGraph, frames: Mapping[str, DataFrame], settings: Settings) -> dict[str, DataFrame]:
    """The streams with a watermark made of the lateness, put on the producer: filters must not stop time."""
    watched = dict(frames)
    for vertex, node in graph.vertices.items():
        if settings.lateness is None or not isinstance(node, RowPattern | Sequence):
            continue
        for layout in graph.inputs(vertex):
            origin = trace_column(graph, layout, "_time")
            if origin is None:
                raise NotSupportedYet(
                    "lateness for a stream behind a subquery", hint="use withWatermark on the DataFrame"
                )
            source, column = origin
            frame = watched[source.name]
            metadata = frame.schema[column].metadata or {}
            if WATERMARK in (frames[source.name].schema[column].metadata or {}):
                raise InvalidInput(
                    f'stream "{source.name}" has a watermark and lateness was given too', hint="use one of the two"
                )
            if frame.isStreaming and WATERMARK not in metadata:
                _check_event_time(frame.schema[column].dataType)
                delay = f"{in_microseconds(settings.lateness)} microseconds"
                watched[source.name] = frame.withWatermark(column, delay)
    return watched


def _make_unpacker(cells: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                if payload is not None:
                    yield from read_table_bytes(payload).cast(cells).to_batches()

    return unpack
