"""Event time on Spark: the watermark that a stream has, or gets from the lateness that users give."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, TimestampNTZType, TimestampType

from cepheid.errors import InvalidInput, InvalidOrder, NotSupportedYet
from cepheid.event_time import in_microseconds
from cepheid.execution.spark.schemas import quote_name
from cepheid.graph.row_times import StreamTime, trace_times
from cepheid.placement.placed_graph import PlacedGraph
from cepheid.processing_time import base_name
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
        if settings.lateness is None:
            continue
        for layout in graph.inputs(vertex):
            times = trace_times(graph, layout, "_time")
            if times is None and vertex not in chained:
                raise NotSupportedYet(
                    "lateness for a stream behind a subquery", hint="use withWatermark on the DataFrame"
                )
            for time in [time for time in times or () if isinstance(time, StreamTime)]:  # not of rows of others
                frame = watched[time.stream]
                if base_name(time.stream) is not None:
                    continue  # its stamps are never late
                known = (frames[time.stream].schema[time.column].metadata or {}).get(WATERMARK)
                is_bound = settings.waiting is not None  # sessions and applications have put it there
                if is_bound and known is not None and int(known) * 1000 == in_microseconds(settings.lateness):
                    continue
                if known is not None:
                    raise InvalidInput(
                        f'stream "{time.stream}" has a watermark and lateness was given too', hint="use one of the two"
                    )
                if frame.isStreaming and WATERMARK not in (frame.schema[time.column].metadata or {}):
                    _check_event_time(frame.schema[time.column].dataType)
                    delay = f"{in_microseconds(settings.lateness)} microseconds"
                    watched[time.stream] = frame.withWatermark(time.column, delay)
    return watched
