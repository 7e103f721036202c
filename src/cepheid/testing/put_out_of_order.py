"""Events as they arrive if they are late: for tests of queries over streams in disorder.

    late = put_out_of_order(buses, Exponential(mean_ms=500))
    bound = find_most_late(late)
    query = cep.open("SELECT ...", disorder=cep.Disorder(bound=bound), buses=buses.schema)

With that bound, or a longer one, the rows are those over the table in order.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.bench.disorder.delays.delay import Delay
from cepheid.disorder.waits.wait import Int64s, measure_lateness
from cepheid.errors import InvalidInput
from cepheid.event_time import BEGINNING


def put_out_of_order(table: pa.Table, *delays: Delay, time: str = "ts", seed: int = 1, fifo: bool = False) -> pa.Table:
    """The rows in the order in which they arrive if each is late by all these delays.

    time: the column that the events are ordered by.  fifo: no event overtakes one that is older.  Events that arrive
    together, and those without a time, which come first, keep their order.
    """
    times_us, placed = _read_times(table, time)
    order = np.argsort(times_us, kind="stable")
    since_ns = 1000 * (times_us[order] - times_us[order][:1])  # the oldest begins the stream
    random = np.random.default_rng(seed)
    arrivals = since_ns + sum((delay.draw(since_ns, random) for delay in delays), np.zeros(len(order), np.int64))
    if fifo:
        arrivals = np.maximum.accumulate(arrivals)
    arrived = np.flatnonzero(placed)[order[np.argsort(arrivals, kind="stable")]]
    return table.take(pa.array(np.concatenate([np.flatnonzero(~placed), arrived])))


def find_most_late(table: pa.Table, time: str = "ts") -> timedelta:
    """By how much an event of the table was overtaken by one that arrived before it."""
    lateness = measure_lateness(_read_times(table, time)[0], BEGINNING)
    return timedelta(microseconds=int(lateness.max(initial=0)))


def _read_times(table: pa.Table, time: str) -> tuple[Int64s, np.ndarray]:
    """int64[m]: times of those events that have one, in microseconds; bool[n]: which do."""
    if time not in table.column_names or not pa.types.is_timestamp(table.schema.field(time).type):
        hint = f'say which column tells the time: time="...", one of {", ".join(table.column_names)}'
        raise InvalidInput(f'there is no column "{time}" of timestamps', hint=hint)
    column = table.column(time)
    times = column.drop_null().cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64()).to_numpy()
    return times, pc.is_valid(column).to_numpy(zero_copy_only=False)
