"""Events for a schema: values by type, seeded; the first time column advances steadily, at the rate of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.calibration.feed import Feed
from cepheid.errors import InvalidInput

BEGIN_US = 1_767_225_600_000_000  # 2026-01-01
DAY_US = 86_400_000_000
KEYS = 1000


@dataclass(frozen=True, slots=True)
class StreamShape:
    """rate_per_s: of event time.  keys: how many different values columns of whole numbers and of text have; for all of
    them, or by column."""

    schema: pa.Schema
    rate_per_s: float = 1000.0
    keys: float | Mapping[str, float] = KEYS

    def count_values(self, column: str) -> int:
        return max(1, int(self.keys.get(column, KEYS) if isinstance(self.keys, Mapping) else self.keys))


def sample_feed(shapes: Mapping[str, StreamShape], events: int, seed: int = 1) -> Feed:
    """So many events of all streams together, each with its share by rate."""
    total = sum(shape.rate_per_s for shape in shapes.values())
    return Feed(
        {
            name: sample_events(shape, max(1, round(events * shape.rate_per_s / total)), seed + number)
            for number, (name, shape) in enumerate(shapes.items())
        }
    )


def sample_events(shape: StreamShape, count: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    times = BEGIN_US + (np.arange(count) * (1e6 / shape.rate_per_s)).astype(np.int64)
    clock = next((field.name for field in shape.schema if pa.types.is_timestamp(field.type)), None)
    columns = [
        _to_time(times, field.type)
        if field.name == clock
        else _sample_column(field, count, shape.count_values(field.name), random)
        for field in shape.schema
    ]
    return pa.table(columns, schema=shape.schema)


def _sample_column(field: pa.Field, count: int, keys: int, random: np.random.Generator) -> pa.Array:
    kind, types = field.type, pa.types
    if types.is_dictionary(kind):
        return _sample_column(field.with_type(kind.value_type), count, keys, random).cast(kind)
    if types.is_integer(kind):
        most = min(keys, int(np.iinfo(kind.to_pandas_dtype()).max))
        return pa.array(random.integers(1, most + 1, count), kind)
    if types.is_floating(kind) or types.is_decimal(kind):
        return pa.array(random.uniform(1.0, 100.0, count)).cast(kind, safe=False)
    if types.is_boolean(kind):
        return pa.array(random.integers(0, 2, count).astype(bool))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        names = pa.array([f"k{number}" for number in range(1, keys + 1)])
        return names.take(pa.array(random.integers(0, keys, count))).cast(kind)
    if types.is_timestamp(kind) or types.is_date(kind):
        return _to_time(BEGIN_US + random.integers(0, DAY_US, count), kind)
    raise InvalidInput(
        f'there is no way to make up values for the column "{field.name}" of type {kind}',
        hint="give real events: --data NAME=FILE.parquet",
    )


def _to_time(times_us: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    plain = pa.array(times_us).view(pa.timestamp("us"))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        plain = plain.view(pa.timestamp("us", tz=kind.tz))
    return plain.cast(kind, safe=False)
