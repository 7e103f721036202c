"""Patterns over whole tables in one process on one core, and on a Spark stream, as ratios to a numpy sort; some of them
on all cores, as ratios to one.

The sort (argsort of as many int32) runs in the same process, before and after each pattern: a machine that slows
down slows both.
"""

from __future__ import annotations

import statistics
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.all_cores import compare_cores
from cepheid.bench.machine import describe_machine, keep_memory
from cepheid.bench.one_core import one_core, time_action
from cepheid.bench.pattern_queries import PATTERNS
from cepheid.bench.spark_stream import WARM_UP, measure_stream
from cepheid.bench.study_data import generate_events
from cepheid.execution.spark.session import build_session
from cepheid.extras import require_extra
from cepheid.kernel.compiled.warm_up import compile_kernels

SPARK_RUNS = 2
ON_ALL_CORES = ("skip till next", "Kleene, rising")
WARM_UP_RUNS = 2  # they load kernels, and have the machine give its memory, which takes a virtual one a while


def measure_patterns(events: int, repeats: int, on_spark: bool) -> dict[str, Any]:
    if on_spark:
        require_extra("spark")  # now, not after the embedded part
    compile_kernels()
    keep_memory()
    table = generate_events(WARM_UP + events)
    with one_core():
        embedded = _measure_embedded(table.slice(WARM_UP), repeats)
    result = {
        "benchmark": "patterns",
        "question": "10 s windows, MAX_ID 10,000; embedded: one core, memory kept; Spark: local[2]",
        **describe_machine(),
        "events": events,
        "seed": 1,
        "repeats": repeats,
        "embedded": embedded,
        "cores": compare_cores({name: PATTERNS[name] for name in ON_ALL_CORES}, table.slice(WARM_UP), repeats),
    }
    return {**result, "spark": _measure_spark(table, events)} if on_spark else result


def _measure_embedded(table: pa.Table, repeats: int) -> dict[str, Any]:
    ids = table.column("id").to_numpy()
    found: dict[str, Any] = {}
    for name, text in track(PATTERNS.items(), "embedded", console=Console(stderr=True)):
        rows = {len(cep.sql(text, events=table)) for _ in range(WARM_UP_RUNS)}.pop()
        sorts, runs = [], []
        for _ in range(repeats):
            sorts.append(time_action(lambda: np.argsort(ids)))
            runs.append(time_action(lambda text=text: cep.sql(text, events=table)))  # type: ignore[misc]
        found[name] = _notify(len(table), rows, statistics.median(sorts), runs)
    return found


def _measure_spark(table: pa.Table, events: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    ids = table.column("id").to_numpy()[:events]
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        spark = build_session("cepheid bench", quiet_log=folder / "spark.log")
        try:
            for place, (title, text) in enumerate(track(PATTERNS.items(), "on Spark", console=Console(stderr=True))):

                def run(stream: Any, text: str = text) -> Any:
                    return cep.sql(text, events=stream, lateness=timedelta(0))

                runs = [
                    measure_stream(spark, table, 4, folder / f"{place}-{number}", run) for number in range(SPARK_RUNS)
                ]
                sort_s = time_action(lambda: np.argsort(ids))
                found[title] = _notify(events, runs[0]["rows"], sort_s, [one["s"] for one in runs])
        finally:
            spark.stop()
    return found


def _notify(events: int, rows: int, sort_s: float, runs: list[float]) -> dict[str, Any]:
    median = statistics.median(runs)
    return {
        "rows": rows,
        "s": round(median, 3),
        "spread_s": [round(min(runs), 3), round(max(runs), 3)],
        "events_per_s": round(events / median),
        "sort_s": round(sort_s, 3),
        "ratio_to_sort": round(sort_s / median, 2),
    }
