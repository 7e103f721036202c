"""Sources and sinks of an application: asked about when it is read, opened when it runs in this process.

APP.toml ─read_application(path, ENDPOINTS)─▶ Application ─open_application_source─▶ Source
                                                          ─open_application_sink─▶ Sink

On Spark there are others (execution/spark/sources, execution/spark/sinks), which execution/spark/application.py opens.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cepheid.application import Application, Endpoints
from cepheid.cost.profile import HostName
from cepheid.errors import InvalidInput
from cepheid.execution.sinks.declared_rows import DeclaredRows, check_declared
from cepheid.execution.sinks.kinds import find_target, open_sink
from cepheid.execution.sinks.sink import Sink
from cepheid.execution.sources.kinds import open_source, read_whole
from cepheid.execution.sources.source import Source
from cepheid.execution.spark.sinks.kinds import find_spark_target
from cepheid.execution.spark.sources.kinds import read_stream_schema


def _read_source_schema(text: str, name: str, folder: Path, host: HostName) -> pa.Schema:
    known = read_stream_schema(text, name, folder) if host == "spark" else None
    return open_source(text, name=name, folder=folder).schema if known is None else known


def _find_sink_target(text: str, name: str, folder: Path, host: HostName) -> Path | None:
    return find_spark_target(text, name, folder) if host == "spark" else find_target(text, name=name, folder=folder)


ENDPOINTS = Endpoints(_read_source_schema, _find_sink_target)


def open_application_source(application: Application, name: str) -> Source:
    source = application.sources[name]
    if source.path is None:
        hint = f'[source.{name}] path = "feed.parquet"'
        raise InvalidInput(f'source "{name}" of {application.path} does not say where its events are', hint=hint)
    return open_source(source.path, name=name, schema=source.schema, folder=application.path.parent)


def read_application_table(application: Application, name: str) -> pa.Table:
    """What events are looked up in, from its files, whole."""
    path = application.table_paths.get(name)
    if path is None:
        hint = f'[table.{name}] path = "{name}.parquet"'
        raise InvalidInput(f'table "{name}" of {application.path} does not say where its rows are', hint=hint)
    source = open_source(path, name=name, schema=application.tables[name], folder=application.path.parent)
    return read_whole(source, name)


def open_application_sink(application: Application, name: str, schema: pa.Schema) -> Sink | None:
    """schema: of the rows of the query; None: the query names no sink."""
    query, folder = application.queries[name], application.path.parent
    if query.sink is None:
        return None
    if query.rows is None:
        return open_sink(query.sink, name=name, schema=schema, folder=folder)
    check_declared(name, schema, query.rows)
    return DeclaredRows(open_sink(query.sink, name=name, schema=query.rows, folder=folder), query.rows)
