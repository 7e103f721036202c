"""Event time as 64-bit integers, so that every layer orders events in the same way.

Timestamps and dates become microseconds since 1970, integers stay, floats map to integers that keep
their order.  Null and NaN have no place in an order: such events are rejected and counted.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.arrow_compute import pc
from cepheid.errors import InvalidInput

BEGINNING = -(2**62)  # before every event; leaves room for arithmetic
END = 2**62  # after every event
EVENT_TIME = b"cepheid.event_time"  # in the metadata of a column, for those who bind queries


def in_microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


def read_moment(moment: datetime | int) -> int:
    """In microseconds since 1970, which a number is already; a datetime without a zone is UTC."""
    if isinstance(moment, bool) or not isinstance(moment, datetime | int):
        raise InvalidInput(f"{moment!r} is no moment", hint="give a datetime, or microseconds since 1970")
    if isinstance(moment, int):
        return moment
    with_zone = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return in_microseconds(with_zone - datetime(1970, 1, 1, tzinfo=UTC))


def can_order(arrow_type: pa.DataType) -> bool:
    """Can a column of this type order events?"""
    types = pa.types
    return types.is_integer(arrow_type) or types.is_floating(arrow_type) or is_event_time(arrow_type)


def same_order(one: pa.DataType, other: pa.DataType) -> bool:
    """Do the integers that stand for values of both types compare as the values do?"""
    if is_event_time(one) or is_event_time(other):
        return is_event_time(one) and is_event_time(other)
    return can_order(one) and can_order(other) and pa.types.is_integer(one) == pa.types.is_integer(other)


def is_event_time(arrow_type: pa.DataType) -> bool:
    """Is a column of this type a point in time?"""
    return pa.types.is_timestamp(arrow_type) or pa.types.is_date(arrow_type)


def mark_event_time(schema: pa.Schema, column: str) -> pa.Schema:
    """The schema, in which this column is said to be the time of events."""
    number = schema.get_field_index(column)
    return schema.set(number, schema.field(number).with_metadata({EVENT_TIME: b"1"}))


def is_marked(field: pa.Field) -> bool:
    """Is it said to be the time of events?"""
    return field.metadata is not None and EVENT_TIME in field.metadata


def order_values(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
    """int64[n]; bool[n]: has the event a place in the order (None: all have)?"""
    placed: npt.NDArray[np.bool_] | None = None
    if column.null_count:
        placed = pc.is_valid(column).to_numpy()
        column = column.fill_null(_zero_of(column.type))
    if is_event_time(column.type):
        return _microseconds(column), placed
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).to_numpy() + 0.0
        number = ~np.isnan(values)
        if not number.all():
            placed = number if placed is None else placed & number
        return _ordered_bits(values), placed
    integers: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return integers, placed


def newest_time(column: pa.ChunkedArray) -> int:
    """The latest time of a column, BEGINNING if it has none."""
    return find_span(column)[1]


def find_span(column: pa.ChunkedArray) -> tuple[int, int]:
    """The earliest and the latest time of a column; BEGINNING if it has none."""
    times, placed = order_values(column)
    times = times if placed is None else times[placed]
    return (int(times.min()), int(times.max())) if len(times) else (BEGINNING, BEGINNING)


def _microseconds(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    if pa.types.is_timestamp(column.type):
        if column.type.unit == "us" and column.num_chunks:  # as they lie in memory
            stored: list[npt.NDArray[np.int64]] = [chunk.view(pa.int64()).to_numpy() for chunk in column.chunks]
            return stored[0] if len(stored) == 1 else np.concatenate(stored)
        column = column.cast(pa.timestamp(column.type.unit))  # the same instants, without a zone
    numbers: npt.NDArray[np.int64] = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
    return numbers


def _ordered_bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _zero_of(arrow_type: pa.DataType) -> pa.Scalar:
    return pa.scalar(0, pa.int64()).cast(arrow_type) if not pa.types.is_date32(arrow_type) else pa.scalar(0, arrow_type)


def restore_values(
    values: npt.NDArray[np.int64], arrow_type: pa.DataType, absent: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """What `order_values` was given, from what it gave."""
    if pa.types.is_floating(arrow_type):
        return pa.array(_ordered_bits(values.view(np.float64)).view(np.float64), mask=absent).cast(arrow_type)
    numbers = pa.array(values, mask=absent)
    if not is_event_time(arrow_type):
        return numbers.cast(arrow_type)
    times = numbers.view(pa.timestamp("us"))
    if pa.types.is_timestamp(arrow_type):
        scaled = times.cast(pa.timestamp(arrow_type.unit), safe=False)
        return scaled if arrow_type.tz is None else scaled.view(pa.int64()).view(arrow_type)
    return times.cast(arrow_type, safe=False)
