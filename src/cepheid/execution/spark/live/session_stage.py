"""What a query needs of a session: stages, which run in engines, and what they read of the sources.

    placed graph ─make_stages─▶ by vertex, SessionStage ─▶ its task in workers, its feeds

What lies below a stage is columns and conditions over one source; it is computed where the source is read, once for all
queries (session_ingest.py).  What lies above runs in Spark SQL, over the rows of a batch (session_rows.py).  A query
without windows and patterns has a stage that lets its events pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.errors import NotSupportedYet
from cepheid.execution.engine_identity import identify_engine
from cepheid.execution.spark.chain_processor import ChainTask
from cepheid.execution.spark.chain_stage import plan_chain
from cepheid.execution.spark.changes_stage import find_top, lift_rows, name_idle_streams
from cepheid.execution.spark.clock import Clock
from cepheid.execution.spark.direct_ingest import chain_below
from cepheid.execution.spark.engine_stage import cell_schema, name_keys, record_stage
from cepheid.execution.spark.host import run_relational
from cepheid.execution.spark.idle_inputs import find_idle_inputs
from cepheid.execution.spark.processor import EngineTask
from cepheid.execution.spark.schemas import arrow_schema, quote_name
from cepheid.execution.spark.stage_record import StageRecord
from cepheid.execution.spark.watermarks import WATERMARK, read_delay
from cepheid.execution.user_functions import list_functions
from cepheid.graph.column_origin import name_columns, trace_column
from cepheid.graph.node import EngineNode, PlanNode
from cepheid.graph.operators import Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import base_name
from cepheid.settings import DialectName, Settings

HINT = "run it as a streaming query of its own: cep.sql(...).writeStream"


@dataclass(frozen=True)
class PassTask:
    """Events that only pass, with these columns."""

    schema: pa.Schema
    record: StageRecord


StageTask = EngineTask | ChainTask | PassTask


@dataclass(frozen=True)
class Feed:
    """What a stage reads of a source: these columns, through projections and conditions, the lowest first, to events of
    the layout.  time: the source's column that tells how far time has come; None: it has none.  keys: columns of the
    layout that tell the key group.  is_free: any share may take any of them."""

    source: str
    columns: tuple[str, ...]
    nodes: tuple[PlanNode, ...]
    layout: pa.Schema
    time: str | None
    keys: tuple[str, ...]
    groups: int
    is_free: bool = False


@dataclass(frozen=True)
class SessionStage:
    """feeds: by port of the task.  cells: the columns of its rows."""

    record: StageRecord
    task: StageTask
    feeds: tuple[Feed, ...]
    cells: pa.Schema


@dataclass(frozen=True)
class StageContext:
    """frames: the sources of the session, with watermarks.  session: the settings that the query depends on."""

    frames: Mapping[str, DataFrame]
    settings: Settings
    session: Mapping[str, str]
    dialect: DialectName


def make_stages(placed: PlacedGraph, given: StageContext) -> dict[str, SessionStage]:
    """By vertex whose rows the part in Spark SQL begins with."""
    graph, settings = placed.graph, given.settings
    if any(isinstance(node, Source) and base_name(node.name) for node in graph.vertices.values()):
        raise NotSupportedYet("PROCTIME() in a session on Spark", hint=HINT)
    if settings.emit == "changes":
        top = find_top(graph)
        return {top: _make_corrected(graph, top, given)}
    chained = placed.chained()
    found: dict[str, SessionStage] = {}
    waiting = [vertex for vertex, node in graph.vertices.items() if node.role == "consumer"]
    while waiting:
        vertex = waiting.pop()
        node = graph.vertices[vertex]
        if vertex in found:
            continue
        if settings.corrects and isinstance(node, EngineNode):
            found[vertex] = _make_corrected(graph, vertex, given)
        elif vertex in chained:
            found[vertex] = _make_chain(graph, vertex, given)
        elif isinstance(node, EngineNode):
            found[vertex] = _make_engine(graph, vertex, node, given)
        elif isinstance(node, Source):
            if given.frames[node.name].isStreaming:
                found[vertex] = _make_pass(graph, vertex, node, given)
        else:
            waiting += graph.inputs(vertex)
    return found


def _make_engine(graph: QueryGraph, vertex: str, node: EngineNode, given: StageContext) -> SessionStage:
    groups = given.settings.key_groups if name_keys(node) else 1
    feeds, delays_us = [], []
    for layout in graph.inputs(vertex):
        feed, rows = _read_layout(graph, layout, given)
        delays_us.append(read_delay(rows))
        feeds.append(replace(feed, keys=name_keys(node), groups=groups))
    schemas = [feed.layout for feed in feeds]
    record = record_stage(graph, vertex, groups, given.session)
    task = EngineTask(
        node,
        schemas,
        delays_us,
        identify_engine(graph, [vertex]),
        name_columns(graph, vertex),
        record,
        Clock.ENVELOPES,
        find_idle_inputs(graph, vertex, given.settings),
        functions=list_functions(repr(node)),
    )
    return SessionStage(record, task, tuple(feeds), cell_schema(node, schemas))


def _read_layout(graph: QueryGraph, layout: str, given: StageContext) -> tuple[Feed, DataFrame]:
    """What an engine reads, without its keys; and the rows."""
    below, origin = chain_below(graph, layout), trace_column(graph, layout, "_time")
    if below is None or origin is None:
        raise NotSupportedYet("a window or pattern over a subquery, in a session on Spark,", hint=HINT)
    source, nodes = below
    producer = graph.vertices[source]
    assert isinstance(producer, Source), "what is below a layout ends in a producer"
    frame = given.frames[producer.name]
    if not frame.isStreaming:
        raise NotSupportedYet(
            "a pattern, or a join of windows, over a stream and a table together",
            hint="leave the table without a window: each event joins with the table as it is then",
        )
    columns = source_columns(graph, source, frame.columns)
    rows = frame.select(*map(quote_name, columns))
    for each in nodes:
        rows = run_relational(each, [rows], given.dialect)
    return Feed(producer.name, tuple(columns), tuple(nodes), arrow_schema(rows), origin[1], (), 1), rows


def _make_corrected(graph: QueryGraph, vertex: str, given: StageContext) -> SessionStage:
    """A vertex whose rows may be taken back, or that late events still reach: with all that remembers below it."""
    lower, top, lifted = lift_rows(graph, vertex, lambda _: True)
    read = {stream: _read_layout(graph, layout, given) for stream, layout in lifted.items()}
    frames = {**given.frames, **{stream: rows for stream, (_, rows) in read.items()}}
    settings = name_idle_streams(given.settings, graph, lifted)
    chain = plan_chain(lower, top, frames, settings, given.session, Clock.ENVELOPES)
    task, feeds = chain.task, []
    for name, time in zip(chain.read, task.times, strict=True):
        plain = Feed(name, tuple(chain.read[name]), (), task.schemas[name], time, (), 1)
        feed = read[name][0] if name in read else plain
        assert feed.layout.names == task.schemas[name].names, "a stage reads all that is made for it"
        feeds.append(replace(feed, layout=task.schemas[name], keys=chain.keys[name], groups=chain.groups))
    return SessionStage(task.record, task, tuple(feeds), task.open_query().schema)


def _make_chain(graph: QueryGraph, vertex: str, given: StageContext) -> SessionStage:
    chain = plan_chain(graph, vertex, given.frames, given.settings, given.session, Clock.ENVELOPES)
    task = chain.task
    feeds = [
        Feed(name, tuple(chain.read[name]), (), task.schemas[name], time, chain.keys[name], chain.groups)
        for name, time in zip(chain.read, task.times, strict=True)
    ]
    return SessionStage(task.record, task, tuple(feeds), task.open_query().schema)


def _make_pass(graph: QueryGraph, vertex: str, node: Source, given: StageContext) -> SessionStage:
    """Events as they are; what the query makes of them is made above."""
    frame = given.frames[node.name]
    columns = source_columns(graph, vertex, frame.columns)
    schema = arrow_schema(frame.select(*map(quote_name, columns)))
    digest = f"{graph.digests[vertex]} {' '.join(columns)}"
    record = StageRecord(digest, f"{vertex}: {node.describe()}", 1, given.session)
    times = [field.name for field in frame.schema if WATERMARK in (field.metadata or {})]
    time = times[0] if times else None
    feed = Feed(node.name, tuple(columns), (), schema, time, (), 1, is_free=True)
    return SessionStage(record, PassTask(schema, record), (feed,), schema)
