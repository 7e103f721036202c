"""The Spark host: the same graph over DataFrames, batch or streaming; an ordinary DataFrame comes out.

relations, filters, projections        Spark SQL
patterns, windows, joins of windows    engines in Python workers (engine_stage.py)
windows that are a GROUP BY            Spark's own, over whole tables (native_window.py)
one of these over the rows of another  on a stream: engines that do all of it (chain_stage.py)
tables of databases                    asked by Python workers (lookup_stage.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from cepheid.compiler import Compilation, Query, check_bounded, compile_query, placed_at_order
from cepheid.errors import InvalidInput, NotSupportedYet
from cepheid.execution.interpret import interpret
from cepheid.execution.lookup.database import read_database_schema
from cepheid.execution.spark.arrow_frames import make_frame
from cepheid.execution.spark.chain_stage import run_chain_on_stream
from cepheid.execution.spark.changes_stage import carry_changes, find_top, fit_types, run_changes_on_stream
from cepheid.execution.spark.engine_stage import run_engines_on_batch, run_engines_on_stream
from cepheid.execution.spark.lookup_stage import run_lookup
from cepheid.execution.spark.native_window import run_native_window
from cepheid.execution.spark.netted_changes import run_changes
from cepheid.execution.spark.query_start import refuse_own_streams
from cepheid.execution.spark.rejections import remember_rejections
from cepheid.execution.spark.schemas import arrow_schema, quote_name
from cepheid.execution.spark.session_meaning import read_meaning
from cepheid.execution.spark.spark_sql import active_session, describe_sql, read_rules, run_query, write_spark
from cepheid.execution.spark.stamped_frames import add_stamped
from cepheid.execution.spark.told_changes import tell_changes
from cepheid.execution.spark.user_functions import register_on_spark
from cepheid.execution.spark.watermarks import add_watermarks, keep_above_watermark
from cepheid.execution.spark.worker_python import own_python
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Changes, Filter, HostWindow, Project, Relation, Source, TableJoin, Union
from cepheid.graph.read_columns import source_columns
from cepheid.hosts import SPARK_STREAMS, SPARK_TABLES
from cepheid.kernel.python_aggregate import PythonAggregate
from cepheid.language.catalog import Catalog, Validity
from cepheid.language.dialects.named_times import mark_event_times
from cepheid.lookups import Database, Table
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.schema import CHANGE_COLUMNS
from cepheid.settings import DialectName, Settings
from cepheid.user_functions import Function, make_list_functions


@dataclass(frozen=True)
class SparkInputs:
    """What a query on Spark is given: DataFrames, tables of databases, and aggregates in Python by name in lower
    case; dialect: whose SQL conditions and columns are in; functions, validity: as in the catalog; event_time:
    by stream, the column that is its time."""

    frames: Mapping[str, DataFrame]
    databases: Mapping[str, Database]
    python: Mapping[str, PythonAggregate]
    dialect: DialectName = "spark"
    functions: Mapping[str, Function] = field(default_factory=dict)
    validity: Mapping[str, Validity] = field(default_factory=dict)
    event_time: Mapping[str, str] = field(default_factory=dict)


def read_inputs(
    given: Mapping[str, Any],
    python: Mapping[str, PythonAggregate],
    dialect: DialectName = "spark",
    functions: Mapping[str, Function] | None = None,
) -> SparkInputs:
    """Tables in memory become DataFrames: Spark joins them itself."""
    frames = {name: value for name, value in given.items() if isinstance(value, DataFrame)}
    for name, frame in frames.items():
        if any(column in frame.columns for column in CHANGE_COLUMNS):
            raise NotSupportedYet(
                f'"{name}", a DataFrame whose rows come and go ({", ".join(CHANGE_COLUMNS)}),',
                hint="push it to cep.open, which takes rows back; on Spark, give these columns other names",
            )
    refuse_own_streams(frames)
    spark = next(iter(frames.values())).sparkSession
    tables = {name: value for name, value in given.items() if isinstance(value, Table)}
    frames |= {name: make_frame(spark, table.data) for name, table in tables.items()}
    databases = {name: value for name, value in given.items() if isinstance(value, Database)}
    validity = {name: table.validity for name, table in tables.items() if table.validity is not None}
    register_on_spark(spark, {**(functions or {}), **make_list_functions(python)})
    return SparkInputs(frames, databases, python, dialect, functions or {}, validity)


def compile_on_spark(query: Query | Mapping[str, Query], given: SparkInputs, updating: bool = False) -> Compilation:
    """updating: may its rows change, where they are never settled?"""
    frames = given.frames
    spark = next(iter(frames.values())).sparkSession
    schemas = {name: arrow_schema(frame) for name, frame in frames.items()}
    schemas |= {name: read_database_schema(database) for name, database in given.databases.items()}
    schemas = mark_event_times(schemas, given.event_time)
    catalog = Catalog(
        schemas,
        lambda sql, tables: describe_sql(spark, sql, tables, given.dialect),
        frozenset(name for name, frame in frames.items() if frame.isStreaming),
        frozenset(given.databases),
        given.python,
        spark=read_rules(spark, given.dialect),
        portable=given.dialect == "trino",
        updating=updating,
        validity=given.validity,
        functions=given.functions,
    )
    return compile_query(query, catalog, SPARK_STREAMS if catalog.streams else SPARK_TABLES)


def run_on_spark(query: Query | Mapping[str, Query], given: SparkInputs, settings: Settings) -> DataFrame:
    """The rows of a query as a DataFrame; nothing runs before the DataFrame is used."""
    if isinstance(query, Mapping):
        raise NotSupportedYet("several queries together on Spark", hint="call cep.sql once for each")
    frames = given.frames
    streaming = [name for name, frame in frames.items() if frame.isStreaming]
    if settings.waiting is not None and not streaming:
        raise InvalidInput("disorder has no meaning for whole tables", hint="give a streaming DataFrame")
    if settings.waiting is not None and settings.lateness is None:
        hint = 'how far back late events count decides what Spark keeps: bound="10 minutes"'
        raise InvalidInput("a wait that follows the stream needs a bound on Spark", hint=hint)
    if settings.lateness is not None and not streaming:
        raise InvalidInput("lateness has no meaning for whole tables", hint="give a streaming DataFrame")
    if settings.emit == "changes" and not streaming:
        raise InvalidInput('emit="changes" has no meaning for whole tables', hint="give a streaming DataFrame")
    if settings.idle_after is not None and not streaming:
        raise InvalidInput("idle_after has no meaning for whole tables", hint="give a streaming DataFrame")
    compilation = compile_on_spark(query, given, settings.emit == "changes")
    given = replace(given, frames=add_stamped(compilation.placed.graph, frames))
    if streaming:
        check_bounded(compilation, settings.strict)
    with placed_at_order(compilation), own_python(next(iter(frames.values())).sparkSession):
        host = SparkHost(compilation.placed, given, replace(settings, changelog="cepheid"))
        answer = _interpret(compilation, host)
        if settings.emit == "changes":
            answer = fit_types(answer, _describe_whole(query, given))
        if settings.changelog != "cepheid":
            answer = tell_changes(answer, settings.changelog)
        return remember_rejections(answer, host.observations)


def _interpret(compilation: Compilation, host: SparkHost) -> DataFrame:
    groups = [[vertex] for vertex in compilation.placed.at_engines()]
    (answer,) = interpret(compilation.placed, host, groups).values()
    return answer


def _describe_whole(query: Query, given: SparkInputs) -> DataFrame:
    """The answer over tables without rows: nothing is computed but its types."""
    frames = {name: frame.sparkSession.createDataFrame([], frame.schema) for name, frame in given.frames.items()}
    whole = replace(given, frames=frames)
    compilation = compile_on_spark(query, whole)
    return _interpret(compilation, SparkHost(compilation.placed, whole, Settings()))


class SparkHost:
    """Rows are DataFrames."""

    def __init__(self, placed: PlacedGraph, given: SparkInputs, settings: Settings) -> None:
        self._graph = placed.graph
        self._chained = placed.chained()
        self._frames = add_watermarks(placed, given.frames, settings)
        self._databases = given.databases
        self._dialect = given.dialect
        self._settings = settings
        self._top = find_top(placed.graph) if settings.emit == "changes" else ""
        self._corrects = settings.corrects
        self._session = read_session_meaning(placed, given)
        self.observations: list[Observation] = []  # who counts the events that are rejected

    def runs_whole(self, vertex: str) -> bool:
        """A chain over streams runs in engines that do all of it, and so does what late events correct."""
        if self._top:
            return vertex == self._top
        corrects = self._corrects and isinstance(self._graph.vertices[vertex], EngineNode)
        return (corrects or vertex in self._chained) and self._reads_streams(vertex)

    def run_whole(self, vertex: str) -> DataFrame:
        if self._top or self._corrects:
            frames, settings = self._frames, self._settings
            return run_changes_on_stream(self._graph, vertex, frames, self._frame_of, settings, self._session)
        return run_chain_on_stream(self._graph, vertex, self._frames, self._settings, self._session)

    def read_source(self, vertex: str, node: Source) -> DataFrame:
        frame = self._frames[node.name]
        columns = source_columns(self._graph, vertex, frame.columns)
        return frame.select(*(F.col(quote_name(column)) for column in columns))

    def run_engine(self, vertices: list[str], inputs: list[DataFrame]) -> list[DataFrame]:
        (vertex,) = vertices
        node = self._graph.vertices[vertex]
        assert isinstance(node, EngineNode), f"{vertex} runs in an engine"
        if any(frame.isStreaming for frame in inputs):
            return [
                run_engines_on_stream(self._graph, vertex, node, inputs, self._frames, self._settings, self._session)
            ]
        return [run_engines_on_batch(node, inputs, self._settings, self.observations)]

    def look_up(self, vertex: str, node: TableJoin, rows: DataFrame) -> DataFrame:
        return run_lookup(node, rows, self._databases[node.table])

    def run_relational(self, vertex: str, node: PlanNode, inputs: list[DataFrame]) -> DataFrame:
        if isinstance(node, HostWindow):
            return run_native_window(node, inputs[0], self.observations)
        return run_relational(carry_changes(node) if self._top else node, inputs, self._dialect)

    def _frame_of(self, vertex: str) -> DataFrame:
        """The rows of a vertex that Spark computes, with all that feeds it."""
        node = self._graph.vertices[vertex]
        if isinstance(node, Source):
            return self.read_source(vertex, node)
        return run_relational(node, [self._frame_of(source) for source in self._graph.inputs(vertex)], self._dialect)

    def _reads_streams(self, vertex: str) -> bool:
        below = [self._graph.vertices[name] for name in self._graph.reach(vertex, self._graph.inputs)]
        return any(isinstance(node, Source) and self._frames[node.name].isStreaming for node in below)


def read_session_meaning(placed: PlacedGraph, given: SparkInputs) -> dict[str, str]:
    """The settings of the session that a stream depends on; whole tables have no checkpoint."""
    frames = given.frames
    if not placed.at_engines() or not any(frame.isStreaming for frame in frames.values()):
        return {}
    schemas = {name: arrow_schema(frame) for name, frame in frames.items()}
    return read_meaning(placed.graph, schemas, next(iter(frames.values())).sparkSession, given.dialect)


def run_relational(node: PlanNode, inputs: list[DataFrame], dialect: DialectName) -> DataFrame:
    match node:
        case Filter(predicate=predicate):
            return inputs[0].where(keep_above_watermark(F.expr(write_spark(predicate, dialect)), inputs[0]))
        case Project(columns=columns):
            return inputs[0].select(*(F.expr(write_spark(value, dialect)).alias(name) for name, value in columns))
        case Union(columns=names):
            stacked, *others = [frame.select(*map(quote_name, names)) for frame in inputs]
            for other in others:
                stacked = stacked.union(other)
            return stacked
        case Changes():
            return run_changes(node, inputs[0])
        case Relation(query=query, inputs=names):
            spark = inputs[0].sparkSession if inputs else active_session()
            return run_query(spark, query, dict(zip(names, inputs, strict=True)), dialect)
    raise AssertionError(f"{type(node).__name__} is not relational")
