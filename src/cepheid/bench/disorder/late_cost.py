"""What an event costs that comes late, beside one that comes in order, by how many events are kept to be corrected; and
beside three of these and the events that it makes the query look at again, if they came in order.

    pushed before: as many events as are kept, in order           │ measured
    ├─────────────────────────────────────────────────────────────┤▶ ▶ ▶      in order
      ▲        ▲                       ▲            ▲                         late: anywhere among those that are kept

Events wait for nothing (wait 0), what is kept may all be corrected, and rows are given out as changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.bench.disorder.delays.delay import Int64s
from cepheid.bench.disorder.measured_queries import (
    JOIN,
    LAG,
    LAST_ROWS,
    ROW_PATTERN,
    SCHEMA,
    SEQUENCE,
    SESSION,
    SLIDING,
    STREAMS,
    TUMBLING,
    make_table,
)

KEPT = (1_000, 10_000, 100_000, 1_000_000)
QUERIES = {
    "keyed SEQ": SEQUENCE,
    "MATCH_RECOGNIZE": ROW_PATTERN,
    "tumbling window": TUMBLING,
    "sliding window": SLIDING,
    "last 10 rows": LAST_ROWS,
    "session": SESSION,
    "LAG": LAG,
    "join of windows": JOIN,
}
EVERY_US = 1_000  # between two events
SIZES = (1, 100)  # events of a push
PUSH = 10_000  # events, before anything is measured
WARM_UP = 3
FEW = 5  # pushes of the events that are looked at again
TIMES = 3  # what an event in order costs, besides those
SEED = 1
RELEVANT = 0.9  # least value of the events that are measured: such as matches and joins are made of


def measure_late_cost(kept: Sequence[int], repeats: int, advance: Callable[[], object]) -> dict[str, Any]:
    """kept: how many events are there to be corrected.  repeats: pushes of each kind and size, of which the median
    counts.  advance: one query with one number of events is done."""
    rows: dict[str, Any] = {}
    for name, text in QUERIES.items():
        for count in kept:
            rows[f"{name}, {count:,} kept"] = {"query": name, "kept": count, **_measure(text, count, repeats)}
            advance()
    return {"repeats": repeats, "rows": rows}


def _measure(text: str, kept: int, repeats: int) -> dict[str, Any]:
    streams = [name for name in STREAMS if name in text]
    bound = timedelta(microseconds=4 * EVERY_US * (kept + PUSH))
    disorder = cep.Disorder(wait=timedelta(0), bound=bound, emit="changes")
    query = cep.open(text, disorder=disorder, **dict.fromkeys(streams, SCHEMA))
    for batch in _cut(make_table(EVERY_US * np.arange(kept, dtype=np.int64), SEED), PUSH):
        query.push(**_share(batch, streams))
    random = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    newest = kept

    def push_in_order(size: int, turn: int) -> float:
        nonlocal newest
        newest += size
        times = EVERY_US * np.arange(newest - size, newest, dtype=np.int64)
        return _time_push(query, _share(make_table(times, SEED + turn, RELEVANT), streams))

    for size in SIZES:
        taken: dict[str, list[float]] = {"in_order": [], "late": []}
        again: list[int] = []
        for turn in range(WARM_UP + repeats):
            in_order = push_in_order(size, turn)
            times = EVERY_US * random.integers(0, kept, size) + EVERY_US // 2
            before = query.counts.again
            late = _time_push(query, _share(make_table(times, SEED + turn, RELEVANT), streams))
            if turn >= WARM_UP:
                taken["in_order"].append(in_order)
                taken["late"].append(late)
                again.append(query.counts.again - before)
        found[f"again_{size}"] = round(float(np.median(again)))
        taken["again"] = [push_in_order(found[f"again_{size}"], turn) for turn in range(min(repeats, FEW))]
        for kind, spent_ms in taken.items():
            found[f"{kind}_{size}_ms"] = round(float(np.median(spent_ms)), 3)
        found[f"ratio_{size}"] = round(found[f"late_{size}_ms"] / found[f"in_order_{size}_ms"], 1)
        allowed = TIMES * found[f"in_order_{size}_ms"] + found[f"again_{size}_ms"]
        found[f"of_allowed_{size}"] = round(found[f"late_{size}_ms"] / allowed, 2)
    assert query.counts.late == 0, "all events that are measured are taken in"
    return found


def _time_push(query: Any, batches: dict[str, pa.Table]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    query.push(**batches)
    return (time.perf_counter() - start) * 1000


def _share(batch: pa.Table, streams: list[str]) -> dict[str, pa.Table]:
    """Of several streams each has its part of the events."""
    return {name: batch.take(pa.array(_every(len(batch), place, len(streams)))) for place, name in enumerate(streams)}


def _every(count: int, place: int, streams: int) -> Int64s:
    return np.arange(place % count if count else 0, count, streams)


def _cut(table: pa.Table, size: int) -> Iterator[pa.Table]:
    return (table.slice(at, size) for at in range(0, len(table), size))
