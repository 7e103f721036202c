"""The tables of an application on Spark: read when it starts, and joined with streams by Spark itself.

    [table.stops] path = "stops.csv"     files, by the sources of a process without Spark: the same columns and types
    [table.stops] path = "delta:lake/stops"                     by delta-rs
    [table.stops] path = "table:stops"                          a table or view of the session's catalog, as it is in
                                                                each batch
Times without a zone are read in the session's, as those of streams are.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.application import Application
from cepheid.errors import InvalidInput, UnknownKind
from cepheid.execution.sources.kinds import open_source, read_whole
from cepheid.execution.spark.arrow_frames import make_frame
from cepheid.execution.spark.schemas import declared_schema, quote_name
from cepheid.execution.spark.sources import catalog_table, delta
from cepheid.execution.spark.sources.kinds import find_stream_kind
from cepheid.execution.spark.sources.source import locate
from cepheid.extras import require_extra

TAKEN = ("files (.csv, .jsonl, .parquet, .arrow, or a folder of them)", "Delta (delta:PATH)", "catalog (table:NAME)")


def open_tables(spark: SparkSession, application: Application) -> dict[str, DataFrame]:
    """By name; whole DataFrames, no streams."""
    return {name: _open_table(spark, application, name) for name in application.tables}


def _open_table(spark: SparkSession, application: Application, name: str) -> DataFrame:
    path, folder = application.table_paths.get(name), application.path.parent
    if path is None:
        told = f'table "{name}" of {application.path} does not say where its rows are'
        raise InvalidInput(told, hint=f'[table.{name}] path = "{name}.parquet"')
    kind = find_stream_kind(path, name, folder)
    if kind is catalog_table.KIND:
        return _open_catalog(spark, name, path.removeprefix(catalog_table.PREFIX))
    if kind is delta.KIND:
        return _make_frame(spark, _read_delta(locate(path.removeprefix(delta.PREFIX), folder)))
    if not kind.is_files:
        raise UnknownKind("table", name, path, list(TAKEN))
    source = open_source(path, name=name, schema=application.tables[name], folder=folder)
    return _make_frame(spark, read_whole(source, name))


def _read_delta(place: str) -> pa.Table:
    require_extra("delta")
    from deltalake import DeltaTable

    return DeltaTable(place).to_pyarrow_table()


def _open_catalog(spark: SparkSession, name: str, table: str) -> DataFrame:
    try:
        frame = spark.table(table)
    except AnalysisException as problem:
        told = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]
        hint = "give a table or a view of the session's catalog; [spark] says which catalog the session has"
        raise InvalidInput(f'table "{name}" cannot be read from "{table}": {told}', hint=hint) from None
    if frame.isStreaming:
        raise InvalidInput(f'table "{name}" is a stream', hint=f'[source.{name}] path = "table:{table}"')
    return frame


def _make_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    wanted = declared_schema(rows.schema)
    frame = make_frame(spark, rows)
    return frame.select(*(F.col(quote_name(field.name)).cast(field.dataType) for field in wanted.fields))
