"""How much memory windows need: Q6 over hours, and 64 queries over one stream.  Each is measured in a process of its
own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.bench.machine import return_memory
from cepheid.bench.new_process import measure_in_new_process
from cepheid.bench.study_data import BEGIN_US, MAX_ID
from cepheid.bench.window_queries import Q6, q2_text, q3_text
from cepheid.kernel.compiled.warm_up import compile_kernels

MANY = 64
SHARED_EVENTS = 1_200_000
PUSH = 20_000


def resident_mb() -> float:
    """What the process has in use, in memory."""
    return_memory()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure_q6(hours: int, rate_per_s: int) -> dict[str, Any]:
    """Q6 with a window of so many hours at a rate, for as long as the window: memory of the operator, and events per
    second."""
    compile_kernels()
    query = cep.open(Q6.format(span=f"{hours} HOURS"), events={"a1": "double", "ts": "timestamp"})
    values = pa.array(np.random.default_rng(1).uniform(1.0, 100.0, 10 * rate_per_s))
    offsets = np.arange(10 * rate_per_s) * (1_000_000 // rate_per_s)

    def push(batch: int) -> int:
        times = pa.array(BEGIN_US + batch * 10_000_000 + offsets).view(pa.timestamp("us"))
        return len(query.push(events=pa.table([values, times], names=["a1", "ts"])))

    rows = push(0) + push(1)
    before, began = resident_mb(), time.perf_counter()
    batches = hours * 360
    rows += sum(push(batch) for batch in range(2, batches))
    took = time.perf_counter() - began
    return {
        "events": batches * 10 * rate_per_s,
        "rows": rows,
        "grown_mb": round(resident_mb() - before, 1),
        "snapshot_mb": round(len(query.snapshot()) / 1e6, 2),
        "events_per_s": round((batches - 2) * 10 * rate_per_s / took),
    }


def measure_many(kind: str, count: int, same: bool) -> dict[str, Any]:
    """`count` queries over one stream, the same or with windows of 400,000 to 500,000 events: memory and time."""
    compile_kernels()
    sizes = [1_000] * count if same else [500_000 - number * 100_000 // count for number in range(count)]
    if kind == "join":
        texts = {f"q{number}": q3_text(size) for number, size in enumerate(sizes)}
        schema: Any = {"id": "int", "a1": "double", "ts": "timestamp"}
        query = cep.open(texts, s1=schema, s2=schema)
    else:
        texts = {f"q{number}": q2_text("avg", size, 1) for number, size in enumerate(sizes)}
        query = cep.open(texts, events={"id": "int", "a1": "double", "ts": "timestamp"})
    random, ids_at_most = (
        np.random.default_rng(1),
        500_000 if kind == "join" else MAX_ID,
    )  # a join: one row for each event
    before = resident_mb()
    began = time.perf_counter()
    for begin in range(0, SHARED_EVENTS, PUSH):
        times = pa.array(BEGIN_US + np.arange(begin, begin + PUSH) * 20).view(pa.timestamp("us"))
        ids = pa.array(random.integers(1, ids_at_most + 1, PUSH, dtype=np.int32))
        batch = pa.table([ids, pa.array(random.uniform(1.0, 100.0, PUSH)), times], names=["id", "a1", "ts"])
        if kind == "join":
            half = PUSH // 2
            query.push(s1=batch.slice(0, half), s2=batch.slice(half))
        else:
            query.push(events=batch)
    return {"s": round(time.perf_counter() - began, 2), "grown_mb": round(resident_mb() - before, 1)}


def measure_sharing(kind: str) -> dict[str, Any]:
    """One query beside many."""
    found: dict[str, Any] = {}
    for title, same in (("similar", False), ("identical", True)):
        one, many = (measure_in_new_process(measure_many, kind, count, same) for count in (1, MANY))
        found[f"{MANY} {title} ({kind})"] = {
            "one_s": one["s"],
            "many_s": many["s"],
            "time_ratio": round(many["s"] / one["s"], 2),
            "one_mb": one["grown_mb"],
            "many_mb": many["grown_mb"],
            "memory_ratio": round(many["grown_mb"] / max(one["grown_mb"], 0.1), 2),
        }
    return found
