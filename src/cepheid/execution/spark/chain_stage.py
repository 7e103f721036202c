"""Windows and patterns over the rows of others, on a stream: each engine runs all of them.

    raw events in envelopes ─▶ by share of the keys ─▶ a continuous query (continuous.py) ─▶ cells of the topmost

What the upper one reads is ordered by the moments of the lower one, and how far those have come is known only where
both are: so they run together, as they do in one process, for the share of the keys that an engine serves.  Where
their keys do not part the chain as a whole (placement/chain_keys.py), there is one group.  What lies above the topmost
runs in Spark SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.errors import NotSupportedYet
from cepheid.execution.spark.chain_meaning import check_chain, spark_is_ansi
from cepheid.execution.spark.chain_processor import ChainProcessor, ChainTask
from cepheid.execution.spark.clock import Clock, find_clock
from cepheid.execution.spark.direct_ingest import DirectInput, DirectStream, find_direct_stream, make_reader
from cepheid.execution.spark.engine_stage import Stage, record_stage, run_stateful, union_all, with_watermark
from cepheid.execution.spark.envelopes import ENVELOPE_SCHEMA, Packing, make_packer
from cepheid.execution.spark.idle_inputs import check_clock
from cepheid.execution.spark.schemas import arrow_schema, number_columns, quote_name
from cepheid.execution.spark.stage_program import CORRECTED, StageProgram, take_below, write_program
from cepheid.execution.spark.watermarks import read_delay
from cepheid.execution.user_functions import list_functions
from cepheid.graph.column_origin import trace_columns
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import Sink, Source
from cepheid.graph.query_graph import QueryGraph
from cepheid.graph.read_columns import source_columns
from cepheid.hosts import SPARK_STREAMS
from cepheid.placement.chain_keys import find_chain_keys
from cepheid.placement.place_by_nature import place_by_nature
from cepheid.settings import Settings


@dataclass(frozen=True)
class Chain:
    """A chain over streams: what workers are told, and by stream, in the order of its ports, the columns that are read
    and those that tell the key group."""

    task: ChainTask
    groups: int
    read: Mapping[str, list[str]]
    keys: Mapping[str, tuple[str, ...]]


def plan_chain(
    graph: QueryGraph,
    vertex: str,
    frames: Mapping[str, DataFrame],
    settings: Settings,
    session: Mapping[str, str],
    clock: Clock | None = None,
) -> Chain:
    """vertex: the topmost that is stateful.  `frames` have watermarks; session: the settings that the query depends
    on; clock: None, as these streams are read by a query of its own."""
    lower = _take_below(graph, vertex)
    times = _find_times(lower)
    read = {name: _columns_read(lower, name, frames[name].columns) for name in times}
    schemas = {
        name: pa.schema([arrow_schema(frames[name]).field(column) for column in columns])
        for name, columns in read.items()
    }
    check_chain(lower, schemas, spark_is_ansi(frames))
    keys = find_chain_keys(lower, vertex, schemas).columns
    lateness_us = max((read_delay(frames[name], column) for name, column in times.items() if column), default=0)
    groups = settings.key_groups if keys else 1
    if clock is None:
        through_jvm = [frames[name] for name, time in times.items() if _find_direct(frames[name], time) is None]
        clock = find_clock([frames[name] for name in times], through_jvm)
    placed, record = place_by_nature(lower, SPARK_STREAMS.native), record_stage(graph, vertex, groups, session)
    if settings.corrects or (settings.waiting is not None and settings.emit == "changes"):
        # what is kept is other than without corrections, and with rows that are never taken back
        told = f"{record.described}, which late events correct (emit = {settings.emit})"
        record = replace(record, digest=f"{record.digest}{CORRECTED}{settings.emit}", described=told)
    idle_after_us = settings.idle_after_us(times)
    check_clock(idle_after_us, clock)
    own = list_functions(repr(list(lower.vertices.values())))
    task = ChainTask(placed, schemas, lateness_us, record, list(times.values()), clock, idle_after_us, settings, own)
    return Chain(task, groups, read, {name: tuple(keys.get(name, ())) for name in times})


def run_chain_on_stream(
    graph: QueryGraph, vertex: str, frames: Mapping[str, DataFrame], settings: Settings, session: Mapping[str, str]
) -> DataFrame:
    """The cells of the topmost stateful vertex."""
    chain = plan_chain(graph, vertex, frames, settings, session)
    task, packed = chain.task, []
    for port, (name, time) in enumerate(zip(chain.read, task.times, strict=True)):
        how = Packing(port, chain.keys[name], chain.groups, time)
        stream = _find_direct(frames[name], time)
        if stream is None:
            picked = number_columns(frames[name].select(*map(quote_name, chain.read[name])))
            envelopes = picked.mapInArrow(make_packer(how, task.schemas[name]), ENVELOPE_SCHEMA)
        else:
            reader = make_reader(DirectInput(stream, chain.read[name], [], time), task.schemas[name], how)
            names = stream.open_names(frames[name].sparkSession)
            envelopes = with_watermark(names.mapInArrow(reader, ENVELOPE_SCHEMA), task.lateness_us)
        packed.append(envelopes)
    lower, clock = task.placed.graph, int(task.clock)
    program = StageProgram("chain", lower, vertex, task.schemas, (task.lateness_us,), clock, tuple(task.times))
    written = "" if CORRECTED in task.record.digest else write_program(program)  # it cannot be moved yet
    stage = Stage(vertex, task.record, task.clock, task.open_query().schema, written)
    return run_stateful(union_all(packed), ChainProcessor(task), stage)


def _find_direct(frame: DataFrame, time: str) -> DirectStream | None:
    """How workers read the stream themselves, if they can; what has no time comes through Spark."""
    return find_direct_stream(frame) if time else None


def _take_below(graph: QueryGraph, vertex: str) -> QueryGraph:
    """A vertex and what feeds it, as a query of its own."""
    lower, _ = take_below(graph, vertex).add(Sink(), [vertex])
    return lower


def _find_times(graph: QueryGraph) -> dict[str, str]:
    """The streams, each with the column that orders it; empty: only views read it, which need no order."""
    times: dict[str, str] = {}
    for vertex, node in graph.vertices.items():
        for feed in graph.inputs(vertex) if isinstance(node, EngineNode) else ():
            if any(isinstance(graph.vertices[name], EngineNode) for name in graph.reach(feed, graph.inputs)):
                continue  # rows of another
            origins = trace_columns(graph, feed, "_time")
            if origins is None or any(times.setdefault(source.name, time) != time for source, time in origins):
                raise NotSupportedYet(
                    "a window or pattern over the rows of another, on a stream that is made by a subquery or ordered "
                    "by different columns",
                    hint="write the rows of the first to a sink, and run the second on that",
                )
    streams = [node.name for node in graph.vertices.values() if isinstance(node, Source)]
    return {name: times.get(name, "") for name in dict.fromkeys([*times, *streams])}


def _columns_read(graph: QueryGraph, stream: str, known: list[str]) -> list[str]:
    (source,) = [vertex for vertex, node in graph.vertices.items() if isinstance(node, Source) and node.name == stream]
    return source_columns(graph, source, known)
