"""Spark Connect: what can be seen of a DataFrame there, where neither the JVM nor a checkpoint is at hand.

A client has the plan as a message (protobuf).  In it the stages of ours are found by their marks, as query_start.py
finds them in plans of the JVM; who may go on from a checkpoint is asked by the state itself, in the first batch
(processor.py).
"""

# ruff: noqa: SLF001 (PySpark has no public way to the plan of a DataFrame, nor to that of a writer)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def is_connect(spark: SparkSession) -> bool:
    """Is it a session of Spark Connect?"""
    return not hasattr(spark, "_jsparkSession")


def connect_writer() -> type:
    """The class of `.writeStream`; its package needs gRPC, which is there where a session is."""
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

    return DataStreamWriter


def plan_of_frame(frame: DataFrame) -> Any:
    """The relation that a DataFrame of a client stands for."""
    seen: Any = frame
    return seen._plan.plan(seen._session.client)


def plan_of_writer(writer: Any) -> Any:
    """The relation that a stream writes."""
    return writer._write_stream._child.plan(writer._session.client)


def has_mark(message: Any, mark: str) -> bool:
    """Is there a column of this name that carries a record of ours, anywhere in the plan?"""
    for part in _walk(message):
        if part.DESCRIPTOR.name == "Alias" and list(part.name) == [mark] and f'"{mark}"' in part.metadata:
            return True
    return False


def find_watermark_above(message: Any, mark: str) -> str | None:
    """The column of a watermark that is put on the rows of a stage of ours."""
    for part in _walk(message):
        if part.DESCRIPTOR.name == "WithWatermark" and has_mark(part.input, mark):
            return str(part.event_time)
    return None


def _walk(message: Any) -> Iterator[Any]:
    """The message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            inside = [each for each in value.values() if hasattr(each, "ListFields")]
        else:
            inside = list(value) if hasattr(value, "__len__") and not hasattr(value, "ListFields") else [value]
        for each in inside:
            yield from _walk(each)
