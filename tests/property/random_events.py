"""Random events: few distinct values, many nulls, ties in time, so that conditions hold and fail about as often.

The columns of a stream, and what they are there for:

    ts      timestamp   the order, with ties
    n       bigint      decides ties, where a query says so
    k, s    int, text   keys
    i, f, flag, w, at   int, float with NaN and infinity, bool, text, timestamp: for conditions and measures
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

START = 1_767_225_600_000_000  # 2026-01-01
SECOND = 1_000_000

NUMBERS = {"i": [-2, -1, 0, 1, 2, 3, 7], "f": [-1.5, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, float("nan"), float("inf")]}
TEXTS = {"s": ["", "a", "b", "Z", "é"], "w": ["", "a", "ab", "b", "B", "z\N{GRINNING FACE}", "zz", "\uffee"]}
TYPES: dict[str, pa.DataType] = {
    "ts": pa.timestamp("us"), "n": pa.int64(), "k": pa.int32(), "s": pa.string(), "i": pa.int64(),
    "f": pa.float64(), "flag": pa.bool_(), "w": pa.string(), "at": pa.timestamp("us"),
}  # fmt: skip
SCHEMA = pa.schema(list(TYPES.items()))


def make_events(seed: int, count: int, *, keys: int, gaps: Sequence[int], null_orders: bool = False) -> pa.Table:
    """`count` events in order of ts; gaps: the seconds between events are drawn from these."""
    random = np.random.default_rng(seed)
    times = START + np.cumsum(random.choice(np.array(gaps, dtype=np.int64), count)) * SECOND
    columns = {
        "ts": _with_nulls(times.tolist(), random, 0.1 if null_orders else 0.0),
        "n": _with_nulls(random.integers(0, 4, count).tolist(), random, 0.1 if null_orders else 0.0),
        "k": _choose(list(range(keys)), random, count, 0.1),
        "s": _choose(TEXTS["s"][:keys], random, count, 0.1),
        "i": _choose(NUMBERS["i"], random, count, 0.1),
        "f": _choose(NUMBERS["f"], random, count, 0.1),
        "flag": _choose([True, False], random, count, 0.1),
        "w": _choose(TEXTS["w"], random, count, 0.1),
        "at": _choose([START + second * SECOND for second in range(12)], random, count, 0.1),
    }
    return pa.table([pa.array(columns[name], kind) for name, kind in TYPES.items()], schema=SCHEMA)


def shuffle_events(table: pa.Table, seed: int, most_seconds: int) -> pa.Table:
    """The events as they arrive if each may come up to `most_seconds` late; events of one time keep their order."""
    random = np.random.default_rng(seed)
    times = table.column("ts").cast(pa.int64()).fill_null(START).to_numpy()
    delays = {time: int(random.integers(0, most_seconds * SECOND + 1)) for time in np.unique(times).tolist()}
    arrivals = times + np.array([delays[time] for time in times.tolist()], dtype=np.int64)
    return table.take(pa.array(np.argsort(arrivals, kind="stable")))


def _choose(values: Sequence[Any], random: np.random.Generator, count: int, nulls: float) -> list[Any]:
    return _with_nulls([values[place] for place in random.integers(0, len(values), count)], random, nulls)


def _with_nulls(values: list[Any], random: np.random.Generator, share: float) -> list[Any]:
    missing = random.random(len(values)) < share
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]
