"""The data set of the performance study: ID uniform in 1..MAX_ID, A1..A5 uniform in 1..100, a steady rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE_PER_S = 50_000
MAX_ID = 10_000
BEGIN_US = 1_767_225_600_000_000  # 2026-01-01


def generate_events(count: int, seed: int = 1, max_id: int = MAX_ID) -> pa.Table:
    """`count` events, in order of time, `RATE_PER_S` to the second."""
    random = np.random.default_rng(seed)
    times = BEGIN_US + np.arange(count) * (1_000_000 // RATE_PER_S)
    columns: dict[str, pa.Array] = {"id": pa.array(random.integers(1, max_id + 1, count, dtype=np.int32))}
    for number in range(1, 6):
        columns[f"a{number}"] = pa.array(random.uniform(1.0, 100.0, count))
    columns["ts"] = pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.table(columns)


def threshold_for(selectivity: float) -> float:
    """The constant K for which `a1 > K` holds for this share of events."""
    return 100.0 - 99.0 * selectivity


def write_files(events: pa.Table, folder: Path, files: int) -> None:
    """The events as Parquet files, in order of time."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(events) // files)
    for number in range(files):
        pq.write_table(events.slice(number * size, size), folder / f"events-{number:04d}.parquet")


def q5_text(within_s: int = 10, selectivity: float = 0.001) -> str:
    """Q5, all-to-all: an event, then another of the same id whose a1 is above K."""
    return f"""
        SELECT a.id, a.ts AS first_ts, b.ts AS last_ts
        FROM PATTERN SEQ(events a, events b)
        WHERE a.id = b.id AND b.a1 > {threshold_for(selectivity)}
        WITHIN INTERVAL '{within_s}' SECOND
        STRATEGY skip_till_any"""
