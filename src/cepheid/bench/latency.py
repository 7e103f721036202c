"""How long one push takes: 1 to 100 events at a time, at a steady pace and one right behind another; and how soon a new
process answers.

Between paced pushes the process sleeps, so that each begins with a core that was idle: on a virtual machine that shows.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.machine import describe_machine
from cepheid.bench.pattern_queries import PATTERNS
from cepheid.bench.study_data import generate_events

WARM_UP_PUSHES = 200
# A process of its own: import, open, push one event; prints the seconds since the process began.
FIRST_PUSH = """
import time, sys
import cepheid as cep, pyarrow as pa
query = cep.open(sys.argv[1], events={"id": "int", "a1": "double", "a2": "double", "ts": "timestamp"})
query.push(events=pa.table({"id": pa.array([1], pa.int32()), "a1": [1.0], "a2": [1.0],
                            "ts": pa.array([0], pa.timestamp("us"))}))
"""


def measure_latency(rate_per_s: int, seconds: float) -> dict[str, Any]:
    events = int(rate_per_s * seconds)
    table = generate_events(events)
    found: dict[str, Any] = {}
    for name, text in track(PATTERNS.items(), "pushes", console=Console(stderr=True)):
        paced = _measure_pushes(text, table, rate_per_s)
        unpaced = _measure_pushes(text, table, None)
        first = min(_measure_first_push(text) for _ in range(3))
        found[name] = {**paced, **{f"unpaced_{name}": value for name, value in unpaced.items()}, "first_push_s": first}
    return {
        "benchmark": "latency",
        "question": f"cep.open, 1 to 100 events a push at {rate_per_s:,} events/s, after {WARM_UP_PUSHES} pushes",
        **describe_machine(),
        "events": events,
        "seed": 1,
        "embedded": found,
    }


def _measure_pushes(text: str, table: pa.Table, rate_per_s: int | None) -> dict[str, Any]:
    """Each push is due when its last event would have happened; one that is late does not delay the next."""
    random = np.random.default_rng(1)
    query = cep.open(text, events=table.schema)
    taken, at, began = [], 0, time.perf_counter()
    while at < len(table):
        size = int(random.integers(1, 101))
        batch = table.slice(at, size)
        at += size
        wait = 0.0 if rate_per_s is None else began + at / rate_per_s - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        start = time.perf_counter()
        query.push(events=batch)
        taken.append((time.perf_counter() - start) * 1000)
    p50, p99, most = np.percentile(taken[WARM_UP_PUSHES:], [50, 99, 100])
    return {"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "max_ms": round(most, 3)}


def _measure_first_push(text: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST_PUSH, text], check=True)
    return round(time.perf_counter() - began, 2)
