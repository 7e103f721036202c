"""The sources of a session, each read once for all queries: envelopes for every stage come out.

    files     worker: columns that any stage reads ─▶ for each feed its columns and conditions ─▶ envelopes
    others    Spark SQL: the columns and conditions of all feeds side by side ─▶ worker ─▶ envelopes

Feeds that are the same are computed and packed once, whatever stages they lead to.  Every source that was announced is
read, by queries or not: Spark keeps the sources of a checkpoint by their number and order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.event_time import BEGINNING, newest_time
from cepheid.execution.embedded.relations import run_relational
from cepheid.execution.spark.clock import Clock, find_clock
from cepheid.execution.spark.direct_ingest import ParquetStream, find_parquet_stream, mean_the_same, read_parquet
from cepheid.execution.spark.engine_stage import union_all, with_watermark
from cepheid.execution.spark.envelopes import (
    ENVELOPE_SCHEMA,
    Packer,
    Packing,
    first_sequence,
    gather_batches,
    part_events,
    write_envelopes,
)
from cepheid.execution.spark.key_groups import choose_labels
from cepheid.execution.spark.live.session_processor import LEAVES
from cepheid.execution.spark.live.session_stage import Feed, SessionStage
from cepheid.execution.spark.plain_errors import TellPlainly
from cepheid.execution.spark.schemas import quote_name
from cepheid.execution.spark.spark_sql import write_spark
from cepheid.execution.spark.watermarks import WATERMARK
from cepheid.graph.operators import Filter, Project
from cepheid.scalars.value import Column, Scalar, substitute_columns
from cepheid.settings import DialectName


@dataclass(frozen=True)
class FeedPorts:
    """A feed, and to whom it goes: numbers of stages and ports of the session."""

    feed: Feed
    readers: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Leaving:
    """Stages that end, and the batch in which they are told."""

    stages: tuple[int, ...]
    batch: int


@dataclass(frozen=True)
class Ingest:
    """envelopes: of all sources.  ports: of the session, for each the port of its stage.  clocks: by source.
    reads_files: is every source a folder that workers read?"""

    envelopes: DataFrame
    ports: list[int]
    clocks: Mapping[str, Clock]
    reads_files: bool


def read_sources(
    frames: Mapping[str, DataFrame],
    stages: Mapping[int, SessionStage],
    leaving: Leaving,
    dialect: DialectName,
    most_files: int | None = None,
) -> Ingest:
    """frames: streams, in the order in which they were announced.  most_files: that a batch takes of a folder which
    does not say it itself; None: all."""
    ports: list[int] = []
    readers: dict[str, dict[Feed, list[tuple[int, int]]]] = {name: {} for name in frames}
    for number, stage in stages.items():
        for place, feed in enumerate(stage.feeds):
            readers[feed.source].setdefault(feed, []).append((number, len(ports)))
            ports.append(place)
    packed, clocks, directly = [], {}, 0
    for name, frame in frames.items():
        feeds = [FeedPorts(feed, tuple(found)) for feed, found in readers[name].items()]
        stream = find_parquet_stream(frame)
        if stream is not None and all(mean_the_same(list(each.feed.nodes), stream.schema) for each in feeds):
            clocks[name] = find_clock([frame], [])
            directly += 1
            files = (
                _limit(stream, most_files)
                .files(frame)
                .mapInArrow(_make_reader(stream, feeds, leaving), ENVELOPE_SCHEMA)
            )
            packed.append(with_watermark(files, _read_delay(frame)) if feeds else files)
        else:
            clocks[name] = find_clock([frame], [frame])
            wide, places = widen(frame, [each.feed for each in feeds], dialect)
            envelopes = wide.mapInArrow(_make_packer(feeds, places, leaving), ENVELOPE_SCHEMA)
            packed.append(envelopes if _has_watermark(frame) else with_watermark(envelopes, 0))
    return Ingest(union_all(packed), ports, clocks, directly == len(frames))


def _limit(stream: ParquetStream, most_files: int | None) -> ParquetStream:
    is_limited = any(name.lower() in ("maxfilespertrigger", "maxbytespertrigger") for name in stream.options)
    if most_files is None or is_limited:
        return stream
    return replace(stream, options={**stream.options, "maxFilesPerTrigger": str(most_files)})


def _has_watermark(frame: DataFrame) -> bool:
    return any(WATERMARK in (field.metadata or {}) for field in frame.schema)


def _read_delay(frame: DataFrame) -> int:
    delays = [int(field.metadata[WATERMARK]) for field in frame.schema if WATERMARK in (field.metadata or {})]
    return max(delays, default=0) * 1000


def _make_reader(stream: ParquetStream, feeds: list[FeedPorts], leaving: Leaving) -> Packer:
    """A function for mapInArrow: names of files in, envelopes out."""
    needed = {name for each in feeds for name in (*each.feed.columns, each.feed.time)}
    schema = pa.schema([field for field in stream.schema if field.name in needed])

    def compute(feed: Feed, table: pa.Table) -> tuple[pa.Table, int]:
        events = table.select(list(feed.columns))
        for node in feed.nodes:
            events = run_relational(node, [events])
        return events, BEGINNING if feed.time is None else newest_time(table.column(feed.time))

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = [path for batch in batches for path in batch.column("path").to_pylist()]
        tables = (part for path in paths for part in read_parquet(path, schema)) if feeds else iter(())
        yield from _pack_all(tables, feeds, compute, leaving)

    return read


@dataclass(frozen=True)
class WidePlaces:
    """Where the columns of a feed are in the wide rows, its condition (None: all rows), and its time."""

    columns: tuple[int, ...]
    condition: int | None
    time: int | None


def _make_packer(feeds: list[FeedPorts], places: list[WidePlaces], leaving: Leaving) -> Packer:
    """A function for mapInArrow: wide rows in, envelopes out."""
    place_of = {each.feed: place for each, place in zip(feeds, places, strict=True)}

    def compute(feed: Feed, table: pa.Table) -> tuple[pa.Table, int]:
        place = place_of[feed]
        events = pa.table([table.column(number) for number in place.columns], names=feed.layout.names)
        newest = BEGINNING if place.time is None else newest_time(table.column(place.time))
        if place.condition is not None:
            events = events.filter(table.column(place.condition))
        return events, newest

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _pack_all(gather_batches(batches), feeds, compute, leaving)

    return pack


def _pack_all(
    tables: Iterator[pa.Table],
    feeds: list[FeedPorts],
    compute: Callable[[Feed, pa.Table], tuple[pa.Table, int]],
    leaving: Leaving,
) -> Iterator[pa.RecordBatch]:
    yield from _tell_leaving(leaving)
    with TellPlainly():
        for sequence, table in enumerate(tables, first_sequence()):
            for each in feeds:
                events, newest = compute(each.feed, table)
                yield from _pack(events.cast(each.feed.layout), each, sequence, newest)


def _pack(events: pa.Table, each: FeedPorts, sequence: int, newest: int) -> Iterator[pa.RecordBatch]:
    how = Packing(0, each.feed.keys, each.feed.groups)
    shares = how.count_shares()
    parts = part_events(events, how)
    if each.feed.is_free:  # whoever is free takes them
        parts = [(sequence % shares, payload) for _, payload in parts if payload is not None]
    for stage, port in each.readers:
        labels = choose_labels(shares, stage)
        yield write_envelopes([(labels[share], payload) for share, payload in parts], port, sequence, newest)


def _tell_leaving(leaving: Leaving) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    batch = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    if leaving.stages and batch is not None and int(batch) == leaving.batch:
        shares = Packing(0, (), 1).count_shares()
        labels = [label for stage in leaving.stages for label in choose_labels(shares, stage)]
        yield write_envelopes([(label, None) for label in labels], LEAVES, 0, BEGINNING)


# --- wide rows -------------------------------------------------------------------------------------------
def widen(frame: DataFrame, feeds: list[Feed], dialect: DialectName) -> tuple[DataFrame, list[WidePlaces]]:
    """Rows with the columns of all feeds; what several have is there once."""
    texts: dict[str, int] = {}

    def place(text: str) -> int:
        return texts.setdefault(text, len(texts))

    places = []
    for feed in feeds:
        columns, condition = _see_through(feed, dialect)
        places.append(
            WidePlaces(
                tuple(place(text) for text in columns),
                None if condition is None else place(condition),
                None if feed.time is None else place(quote_name(feed.time)),
            )
        )
    place(quote_name(frame.columns[0]))  # rows need a column
    return frame.select(*(F.expr(text).alias(f"c{number}") for text, number in texts.items())), places


def _see_through(feed: Feed, dialect: DialectName) -> tuple[list[str], str | None]:
    """The columns of its layout and its condition, in Spark SQL over the source.  Columns are computed only where the
    condition holds: elsewhere they might fail."""
    meanings: dict[str, Scalar] = {name: Column(name) for name in feed.columns}
    conditions: list[str] = []
    for node in feed.nodes:
        if isinstance(node, Filter):
            conditions.append(f"({write_spark(substitute_columns(node.predicate, meanings), dialect)})")
        elif isinstance(node, Project):
            meanings = {name: substitute_columns(value, meanings) for name, value in node.columns}
    condition = " AND ".join(conditions) if conditions else None
    columns = []
    for name in feed.layout.names:
        text = write_spark(meanings[name], dialect)
        is_plain = condition is None or isinstance(meanings[name], Column)
        columns.append(text if is_plain else f"CASE WHEN {condition} THEN {text} END")
    return columns, condition
