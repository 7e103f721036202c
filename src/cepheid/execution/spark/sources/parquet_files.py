"""Folders and patterns of Parquet files; those that are added are taken as they come.

What the application declares is what rows have: a column that is stored as another type is cast as Spark casts.  Times
without a zone are cast in the session's.  In UTC that changes no number, so the files are read as TIMESTAMP, and
workers can read them past the JVM (direct_ingest.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput
from cepheid.execution.file_names import is_path, is_store
from cepheid.execution.spark.sources.source import OpenStream, StreamKind, locate, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

ENDINGS = (".parquet", ".pq")


def _recognises(text: str, folder: Path) -> bool:  # noqa: ARG001 (behind the others: any path or store)
    return is_store(text) or (is_path(text) and (":" not in text or text.startswith("file://")))


def _open(spark: SparkSession, source: ApplicationSource, folder: Path) -> OpenStream:
    from pyspark.sql import functions as F

    from cepheid.execution.spark.schemas import quote_name

    place = locate(text_of(source), folder)
    stored = _read_stored(spark, place, source)
    wanted = _find_wanted(source, stored)
    read = _find_read(wanted, stored, in_utc=spark.conf.get("spark.sql.session.timeZone") == "UTC")
    frame = spark.readStream.schema(read).options(**source.options).parquet(place)
    if read != wanted:
        frame = frame.select(*(F.col(quote_name(field.name)).cast(field.dataType) for field in wanted.fields))
    return OpenStream(frame)


def _read_stored(spark: SparkSession, place: str, source: ApplicationSource) -> StructType | None:
    """As the first files have it; None: there is none yet."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.options(**source.options).parquet(place).schema
    except AnalysisException as problem:
        said = problem.getCondition() or ""
        if said.startswith(("UNABLE_TO_INFER_SCHEMA", "PATH_NOT_FOUND")) and source.is_declared:
            return None
        told = str(problem).splitlines()[0].partition(" SQLSTATE:")[0]
        hint = f'see that files are there, or declare them: [source.{source.name}] schema = {{ ts = "timestamp" }}'
        raise InvalidInput(f'source "{source.name}", "{place}", cannot be read: {told}', hint=hint) from None


def _find_wanted(source: ApplicationSource, stored: StructType | None) -> StructType:
    from pyspark.sql.types import StructField, StructType, TimestampType

    from cepheid.execution.spark.schemas import declared_schema
    from cepheid.execution.spark.sources.event_time import find_time

    if source.is_declared or stored is None:
        return declared_schema(source.schema)
    time = find_time(stored, source)
    return StructType(
        [StructField(each.name, TimestampType() if each.name == time else each.dataType) for each in stored.fields]
    )


def _find_read(wanted: StructType, stored: StructType | None, in_utc: bool) -> StructType:
    """The types to read with: those of the files, where the wanted ones are made of them by a cast."""
    from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

    kinds = {} if stored is None else {each.name.lower(): each.dataType for each in stored.fields}
    fields = []
    for each in wanted.fields:
        kind = kinds.get(each.name.lower(), each.dataType)
        if in_utc and isinstance(kind, TimestampNTZType) and isinstance(each.dataType, TimestampType):
            kind = each.dataType
        fields.append(StructField(each.name, kind))
    return StructType(fields)


KIND = StreamKind("Parquet", f"{', '.join(ENDINGS)}, or a folder", _recognises, _open, is_files=True)
