"""Event time of a stream on Spark: its column, of a type that can have a watermark, and the watermark.

A TIMESTAMP_NTZ, which has no zone, cannot have one.  It is cast to TIMESTAMP as Spark casts it: read in the session's
zone (spark.sql.session.timeZone), so that it is the same instant as in Spark's own SQL.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from cepheid.application import ApplicationSource
from cepheid.errors import InvalidInput, suggest_name
from cepheid.event_time import in_microseconds
from cepheid.execution.spark.schemas import quote_name


def find_time(schema: StructType, source: ApplicationSource) -> str | None:
    """The column that is event time: the one that is named, or the only one there is; None: there is none."""
    times = [field.name for field in schema.fields if is_time(field.dataType)]
    if source.time is not None:
        if source.time not in times:
            told = f'source "{source.name}" has no timestamp called "{source.time}"'
            raise InvalidInput(told, hint=suggest_name(source.time, times))
        return source.time
    if len(times) > 1:
        told = f'source "{source.name}" has several timestamps: {", ".join(times)}'
        raise InvalidInput(told, hint=f'say which one is event time: [source.{source.name}] time = "{times[0]}"')
    return times[0] if times else None


def is_time(kind: DataType) -> bool:
    return isinstance(kind, TimestampType | TimestampNTZType)


def add_event_time(frame: DataFrame, source: ApplicationSource) -> DataFrame:
    """With a watermark, which is the horizon of queries."""
    time = find_time(frame.schema, source)
    if time is None:
        return frame
    if isinstance(frame.schema[time].dataType, TimestampNTZType):
        frame = frame.withColumn(time, F.col(quote_name(time)).cast("timestamp"))
    return frame.withWatermark(time, f"{in_microseconds(source.lateness)} microseconds")
