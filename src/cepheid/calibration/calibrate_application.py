"""APP.toml ─▶ events made for its sources ─▶ each query run for real ─▶ a profile of its graph."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.application import Application, ApplicationQuery, compile_application
from cepheid.calibration.calibrate import Extent, calibrate_embedded, calibrate_on_spark, count_needed
from cepheid.calibration.feed import Feed
from cepheid.calibration.file_source import FilePool
from cepheid.calibration.profile_vertices import make_profile
from cepheid.calibration.sample_events import KEYS, StreamShape, sample_feed
from cepheid.cost.profile import HostName, Method, Profile, QueryProfile
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet, suggest_name
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.spark.session import build_session
from cepheid.graph.operators import Sink, Source
from cepheid.processing_time import stream_of
from cepheid.schema import fit_schema

NotifyQuery = Callable[[str, float], None]  # which query, and how much of it is done


def calibrate_application(
    application: Application,
    host: HostName,
    extent: Extent,
    notify: NotifyQuery = lambda _, __: None,
    data: Mapping[str, pa.Table] | None = None,
    method: Method = "regression",
) -> Profile:
    """data: real events by source, in order of time; for the other sources events are made up."""
    if application.tables:
        raise NotSupportedYet("calibrating queries that look events up in tables", hint="leave these queries out")
    placed = compile_application(application, describe_sql).placed
    graph = placed.graph
    feeds = {}
    for name, node in graph.vertices.items():
        if isinstance(node, Sink):
            read = [graph.vertices[vertex] for vertex in graph.reach(name, graph.inputs)]
            streams = {stream_of(source.name) for source in read if isinstance(source, Source)}
            feeds[node.query] = _make_feed(application, streams, data or {}, count_needed(host, extent))
    with tempfile.TemporaryDirectory(prefix="cepheid-calibrate-", ignore_cleanup_errors=True) as folder:
        measured = _measure(application, feeds, host, extent, notify, Path(folder))
    return make_profile(placed, measured, host, extent.pes, method)


def _measure(
    application: Application,
    feeds: Mapping[str, Feed],
    host: HostName,
    extent: Extent,
    notify: NotifyQuery,
    folder: Path,
) -> dict[str, QueryProfile]:
    queries = application.queries.values()
    if host == "embedded":
        return {
            query.name: _placed(
                query, lambda q: calibrate_embedded(q.text, feeds[q.name], extent, lambda done: notify(q.name, done))
            )
            for query in queries
        }
    spark = build_session("cepheid calibrate", cores=extent.pes, quiet_log=folder / "spark.log")
    try:
        return {
            query.name: _placed(
                query,
                lambda q: calibrate_on_spark(
                    spark,
                    q.text,
                    FilePool(feeds[q.name], folder / f"{q.name}-files", extent.part),
                    folder / q.name,
                    extent,
                    lambda done: notify(q.name, done),
                ),
            )
            for query in queries
        }
    finally:
        spark.stop()


def _placed(query: ApplicationQuery, run: Callable[[ApplicationQuery], QueryProfile]) -> QueryProfile:
    """Errors name the query they are in."""
    try:
        return run(query)
    except CepheidError as problem:
        raise problem.with_text(query.text, query.origin) from None


def _make_feed(application: Application, streams: set[str], data: Mapping[str, pa.Table], events: int) -> Feed:
    for name in data:
        if name not in application.sources:
            raise InvalidInput(f'the application has no source "{name}"', hint=suggest_name(name, application.sources))
    shapes: dict[str, StreamShape] = {}
    for name in sorted(streams):
        source = application.sources[name]
        rate = float(source.arrivals.get("rate_per_s", 0.0)) or StreamShape(source.schema).rate_per_s
        shapes[name] = StreamShape(source.schema, rate, source.keys or KEYS)
    if not shapes:
        hint = f"calibrate a query that reads a source in FROM: {', '.join(application.sources)}"
        raise InvalidInput("the query reads no stream: there is nothing to calibrate", hint=hint)
    made = sample_feed(shapes, events + len(shapes)).tables
    return Feed({name: _use_real(name, table, data.get(name)) for name, table in made.items()})


def _use_real(name: str, made: pa.Table, real: Any) -> pa.Table:
    return made if real is None else fit_schema(name, real, made.schema)
