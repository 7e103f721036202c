"""Q5 on a Spark stream over Parquet, beside a stateful operator written by hand, in one run.

Both read the same files in one micro-batch of a query that is already running: a small batch first starts
workers and loads what is needed.  Both are measured by Spark's own account of the batch (triggerExecution).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.machine import describe_machine
from cepheid.bench.study_data import generate_events, q5_text, threshold_for, write_files
from cepheid.execution.spark.session import build_session
from cepheid.extras import require_extra
from cepheid.kernel.compiled.warm_up import compile_kernels

WARM_UP = 100_000
SCHEMA = "id int, a1 double, a2 double, a3 double, a4 double, a5 double, ts timestamp"


def measure_spark(events: int, files: int, repeats: int, key_groups: int) -> dict[str, Any]:
    require_extra("spark")  # now, not after a minute
    compile_kernels()
    table = generate_events(WARM_UP + events)
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        spark = build_session("cepheid bench", quiet_log=folder / "spark.log")
        try:
            ours = [
                measure_stream(spark, table, files, folder / f"ours-{run}", lambda stream: _cepheid(stream, key_groups))
                for run in track(range(repeats), "Cepheid", console=Console(stderr=True))
            ]
            naive = [
                measure_stream(spark, table, files, folder / f"naive-{run}", _naive)
                for run in track(range(repeats), "by hand", console=Console(stderr=True))
            ]
        finally:
            spark.stop()
    ours_s, naive_s = statistics.median(run["s"] for run in ours), statistics.median(run["s"] for run in naive)
    assert {run["rows"] for run in ours} == {run["rows"] for run in naive}, "both find the same rows"
    return {
        "benchmark": "spark",
        "question": "Q5 all-to-all on a stream over Parquet, local[2], 10 s window, MAX_ID 10,000, selectivity 0.1%",
        **describe_machine(),
        "events": events,
        "files": files,
        "key_groups": key_groups,
        "repeats": repeats,
        "rows": ours[0]["rows"],
        "batches": [run["batches"] for run in ours + naive],
        "cepheid_s": round(ours_s, 2),
        "cepheid_spread_s": [round(run["s"], 2) for run in ours],
        "cepheid_events_per_s": round(events / ours_s),
        "naive_s": round(naive_s, 2),
        "naive_spread_s": [round(run["s"], 2) for run in naive],
        "naive_events_per_s": round(events / naive_s),
        "ratio_to_naive": round(naive_s / ours_s, 1),
    }


def _cepheid(stream: Any, key_groups: int) -> Any:
    return cep.sql(q5_text(), events=stream, lateness=timedelta(0), key_groups=key_groups)


def _naive(stream: Any) -> Any:
    from cepheid.execution.spark.naive_baseline import run_naive_q5  # imports pyspark, which may be missing

    return run_naive_q5(stream, threshold_for(0.001), 10_000_000)


def measure_stream(spark: Any, table: pa.Table, files: int, folder: Path, make: Callable[[Any], Any]) -> dict[str, Any]:
    """Run a small batch, then all events in one; give the seconds of that and the rows of both."""
    source = folder / "in"
    write_files(table.slice(0, WARM_UP), source, 2)
    write_files(table.slice(WARM_UP), folder / "next", files)
    counts: list[int] = []
    stream = spark.readStream.schema(SCHEMA).parquet(str(source))
    query = (
        make(stream)
        .writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        for file in sorted((folder / "next").iterdir()):
            file.rename(source / f"next-{file.name}")
        query.processAllAvailable()
        batches = [
            progress for progress in query.recentProgress if progress["batchId"] > 0 and progress["numInputRows"]
        ]
        return {
            "s": sum(progress["durationMs"]["triggerExecution"] for progress in batches) / 1000,
            "batches": len(batches),
            "rows": sum(counts),
        }
    finally:
        query.stop()
