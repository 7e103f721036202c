"""Event time on Spark: the watermark that a stream has, or gets from the lateness that users give."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, TimestampNTZType, TimestampType

from cepheid.errors import InvalidInput, InvalidOrder, NotSupportedYet
from cepheid.event_time import in_microseconds
from cepheid.execution.spark.schemas import quote_name
from cepheid.graph.column_origin import trace_columns
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.settings import Settings

WATERMARK = "spark.watermarkDelayMs"


def read_delay(frame: DataFrame, column: str = "_time") -> int:
    """The delay of the watermark that a stream needs on the column it is ordered by, in microseconds."""
    time = frame.schema[column]
    _check_event_time(time.dataType)
    if WATERMARK not in (time.metadata or {}):
        raise InvalidOrder(
            "ORDER BY is not event time: the stream has no watermark on that column",
            hint='call .withWatermark("<column>", "10 seconds") on the DataFrame, or give lateness= to cep.sql',
        )
    return int(time.metadata[WATERMARK]) * 1000


def keep_above_watermark(condition: Column, frame: DataFrame) -> Column:
    """The same condition, of a form that Spark does not evaluate before it has looked at the time of an event.

    It does with conditions that do not name the time: events that do not fulfil them would not move it, and what waits
    for it would never be settled.
    """
    times = [field.name for field in frame.schema if WATERMARK in (field.metadata or {})]
    if not frame.isStreaming or not times:
        return condition
    return F.greatest(condition, condition & F.col(quote_name(times[0])).isNull())


def _check_event_time(order_type: DataType) -> None:
    if not isinstance(order_type, TimestampType):
        hint = "order by a column of type timestamp"
        if isinstance(order_type, TimestampNTZType):
            hint = (
                "Spark's watermarks need a timestamp with a zone; cast it, which reads it in the session's: "
                'df.withColumn("<column>", df["<column>"].cast("timestamp"))'
            )
        raise InvalidOrder(
            f"a stream is ordered by event time, but ORDER BY names a column of type {order_type.simpleString()}",
            hint=hint,
        )


def add_watermarks(placed: PlacedGraph, frames: Mapping[str, DataFrame], settings: Settings) -> dict[str, DataFrame]:
    """The streams with a watermark made of the lateness, put on the producer: filters must not stop time."""
    watched, graph, chained = dict(frames), placed.graph, placed.chained()
    for vertex in placed.at_engines():
        if settings.lateness is None or vertex in chained:
            continue
        for layout in graph.inputs(vertex):
            origins = trace_columns(graph, layout, "_time")
            if origins is None:
                raise NotSupportedYet(
                    "lateness for a stream behind a subquery", hint="use withWatermark on the DataFrame"
                )
            for source, column in origins:
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
