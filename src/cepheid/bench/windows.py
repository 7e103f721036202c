"""Windows and joins over whole tables in one process on one core, as ratios to a numpy sort; what they need in memory;
and a window on all cores."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.all_cores import compare_cores
from cepheid.bench.machine import describe_machine, keep_memory
from cepheid.bench.new_process import measure_in_new_process
from cepheid.bench.one_core import one_core, time_action
from cepheid.bench.study_data import generate_events
from cepheid.bench.window_memory import measure_q6, measure_sharing
from cepheid.bench.window_queries import SIZES, list_queries, q2_text, q3_text
from cepheid.kernel.compiled.warm_up import compile_kernels


def measure_windows(events: int, repeats: int, hours: int, rate_per_s: int) -> dict[str, Any]:
    compile_kernels()
    keep_memory()
    table = generate_events(events).select(["id", "a1", "ts"])
    with one_core():
        queries = _measure_queries(table, repeats)
        joins = _measure_joins(events, repeats)
    cores = compare_cores({"sliding median R=50,000": q2_text("median", 50_000, 1)}, table, repeats)
    return {
        "benchmark": "windows",
        "question": "Q2, Q3, Q6, Q7 of the study, GROUP BY id, MAX_ID 10,000; embedded, one core, memory kept",
        **describe_machine(),
        "events": events,
        "seed": 1,
        "repeats": repeats,
        "windows": queries,
        "joins": joins,
        "cores": cores,
        "sharing": measure_sharing("join") | measure_sharing("avg"),
        "Q6 memory": {f"{hours} hours at {rate_per_s:,}/s": measure_in_new_process(measure_q6, hours, rate_per_s)},
    }


def _measure_queries(table: pa.Table, repeats: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in track(list_queries().items(), "windows", console=Console(stderr=True)):
        slow = "median" in name
        found[name] = _compare(table, lambda text=text: cep.sql(text, events=table), 1 if slow else repeats)  # type: ignore[misc]
    return found


def _measure_joins(events: int, repeats: int) -> dict[str, Any]:
    """J1-2: as many ids as rows in the window, so that each event finds one; and the ids of the other queries."""
    found: dict[str, Any] = {}
    cases = [
        ("Q3 ROWS 5,000, 10,000 ids", 5_000, 10_000),
        *((f"Q3 ROWS {size:,}, as many ids", size, size) for size in SIZES),
    ]
    for name, size, ids in track(cases, "joins", console=Console(stderr=True)):
        table = generate_events(events, max_id=ids).select(["id", "a1", "ts"])
        half = events // 2
        sides = {
            "s1": table.slice(0, half),
            "s2": table.slice(half).set_column(2, "ts", table.slice(0, half).column("ts")),
        }
        found[name] = _compare(table, lambda size=size, sides=sides: cep.sql(q3_text(size), **sides), repeats)  # type: ignore[misc]
    return found


def _compare(table: pa.Table, run: Callable[[], pa.Table], repeats: int) -> dict[str, Any]:
    """A query beside a sort of as many numbers."""
    ids = table.column("id").to_numpy()
    rows = len(run())
    sorts, runs = [], []
    for _ in range(repeats):
        sorts.append(time_action(lambda: np.argsort(ids)))
        runs.append(time_action(run))
    median, sort_s = statistics.median(runs), statistics.median(sorts)
    return {
        "rows": rows,
        "s": round(median, 3),
        "spread_s": [round(min(runs), 3), round(max(runs), 3)],
        "events_per_s": round(len(table) / median),
        "ratio_to_sort": round(sort_s / median, 2),
    }
