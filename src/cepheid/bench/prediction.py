"""Does the simulator predict what really happens?  Q2 and Q5 of the study on each host, predicted and then run.

    calibrate ─▶ profile ─▶ simulate: throughput at three rates, overload     (nothing is run at these rates before)
    run paced at the same rates ─▶ measured throughput; halve the gap between a rate that is kept up with and one that
    is not ─▶ measured overload

The stream of the study has 50,000 events to a second of event time; the offered rate says how quickly it is played, so
that what an event costs does not depend on it.  Both hosts take what has come at every trigger, or as soon as the batch
before is done, up to a bound.  Overload: batches are as large as they may be and the backlog grows.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from cepheid.bench.machine import describe_machine, keep_memory
from cepheid.bench.one_core import one_core
from cepheid.bench.study_data import generate_events, q5_text
from cepheid.bench.window_queries import q2_text
from cepheid.calibration.calibrate import EXTENTS, PARTS_PER_BATCH, calibrate_embedded, calibrate_on_spark, count_needed
from cepheid.calibration.feed import Feed
from cepheid.calibration.file_source import FilePool
from cepheid.calibration.paced_files import run_paced_files
from cepheid.calibration.paced_pushes import run_paced_pushes
from cepheid.calibration.paced_run import PacedRun, judge_run
from cepheid.calibration.predict import HostShape, Predictor
from cepheid.calibration.profile_vertices import make_profile
from cepheid.compiler import compile_query
from cepheid.cost.profile import HostName, QueryProfile
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.spark.session import build_session
from cepheid.extras import require_extra
from cepheid.kernel.compiled.warm_up import compile_kernels
from cepheid.language.catalog import Catalog
from cepheid.placement.placed_graph import PlacedGraph

QUERIES = {"Q2": q2_text("avg", 50_000, 1), "Q5": q5_text()}
RATES = (0.5, 0.9, 1.3)  # of the predicted overload
ASKED = 0.15
HALVINGS = 3
BUSY = 0.7  # load before
EVENTS = 30_000_000
SHAPES: dict[HostName, HostShape] = {
    # The trigger is shorter than a full batch takes: else the bound of a batch would be what limits
    "embedded": HostShape(EXTENTS["embedded"].pes, 0.001, EXTENTS["embedded"].largest_batch),
    "spark": HostShape(EXTENTS["spark"].pes, 0.5, EXTENTS["spark"].largest_batch),
}
RUN_S: dict[HostName, float] = {"embedded": 2.0, "spark": 16.0}

Notify = Callable[[str], None]
RunPaced = Callable[[float], PacedRun]


@dataclass(frozen=True)
class Bench:
    """One query on one host: how to calibrate it, and how to run it at a rate."""

    calibrate: Callable[[], QueryProfile]
    run: RunPaced


def measure_prediction(hosts: Literal["embedded", "spark", "both"]) -> dict[str, Any]:
    if hosts != "embedded":
        require_extra("spark")  # now, not after minutes on the other host
    compile_kernels()
    keep_memory()
    load = os.getloadavg()[0]
    if load > BUSY:
        Console(stderr=True).print(f"this machine is busy (load {load:.1f}): what is measured will be off")
    chosen: list[HostName] = ["embedded", "spark"] if hosts == "both" else [hosts]
    began, results = time.perf_counter(), {}
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("making events", total=None)
        table = generate_events(max(EVENTS, *(count_needed(host, EXTENTS[host]) for host in chosen)))
        feed = Feed({"events": table.select(["id", "a1", "ts"])})
        del table
        for host in chosen:
            with (_embedded if host == "embedded" else _spark)(feed) as make_bench:
                for name, text in QUERIES.items():

                    def notify(what: str, title: str = f"{host} {name}") -> None:
                        progress.update(bar, description=f"{title}: {what}")
                        if not progress.console.is_terminal:
                            progress.console.print(f"{time.perf_counter() - began:5.0f} s  {title}: {what}")

                    notify("calibrating")
                    results[f"{name} {host}"] = compare(_place(text, feed), make_bench(text, name), host, notify)
    return {
        "benchmark": "prediction",
        "question": "Calibrated here, does the simulator predict throughput and overload?  Q2: sliding avg, ROWS "
        "50,000, GROUP BY id; Q5: 10 s, selectivity 0.1%; MAX_ID 10,000; embedded: one core; Spark: local[2], files of "
        f"{EXTENTS['spark'].part:,} events",
        **describe_machine(),
        "load_before": round(load, 2),  # a machine that does something else meanwhile gives other numbers
        "seed": 1,
        "elapsed_s": round(time.perf_counter() - began, 1),
        "worst_error": max(abs(row["error"]) for result in results.values() for row in result["rows"]),
        "asked": ASKED,
        "predictions": results,
    }


def compare(placed: PlacedGraph, bench: Bench, host: HostName, notify: Notify) -> dict[str, Any]:
    """All that is predicted is predicted before anything is run at a rate."""
    cost, shape = bench.calibrate(), SHAPES[host]
    notify("simulating")
    predictor = Predictor(placed, make_profile(placed, {"query": cost}, host, shape.pes), shape, {"events": 1.0})
    overload = predictor.predict_overload()
    predicted = {part: predictor.predict_run(part * overload) for part in RATES}
    runs: dict[float, PacedRun] = {}

    def grows(part: float) -> bool:
        if part not in runs:
            notify(f"running at {part * overload:,.0f} events/s")
            runs[part] = bench.run(part * overload)
        return runs[part].grows

    for part in RATES:
        grows(part)
    low, high = bracket_overload(grows, RATES, HALVINGS)
    rows = [
        _row(f"{part:.0%} of predicted overload", part * overload, each.throughput_per_s, runs[part].throughput_per_s)
        for part, each in predicted.items()
    ]
    rows.append(_row("overload", None, overload, (low + high) / 2.0 * overload))
    return {
        "overhead_ms": round(cost.overhead_s * 1000.0, 3),
        "event_us": round(cost.regression_s * 1e6, 4),
        "r2": round(cost.r2, 3),
        "spread": round(cost.spread, 3),
        "trigger_s": shape.trigger_s,
        "most_events": shape.most_events,
        "rows": rows,
        "overload_between": [round(low * overload), round(high * overload)],
        "runs": [
            {
                "offered_per_s": round(run.offered_per_s),
                "throughput_per_s": round(run.throughput_per_s),
                "overloaded": run.grows,
                "busy": round(run.busy, 3),
                "batches": run.batches,
                "mean_batch": round(run.mean_batch),
            }
            for _, run in sorted(runs.items())
        ],
    }


def bracket_overload(grows: Callable[[float], bool], rates: tuple[float, ...], halvings: int) -> tuple[float, float]:
    """Two neighbouring rates, one that is kept up with and one that is not."""
    kept = [rate for rate in rates if not grows(rate)]
    low = max(kept, default=0.0)
    high = min((rate for rate in rates if rate > low and grows(rate)), default=None)
    while high is None:
        rate = low * 1.25
        low, high = (low, rate) if grows(rate) else (rate, None)
    for _ in range(halvings):
        middle = (low + high) / 2.0
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low, high


def _row(what: str, offered: float | None, predicted: float, measured: float) -> dict[str, Any]:
    return {
        "what": what,
        "offered_per_s": None if offered is None else round(offered),
        "predicted_per_s": round(predicted),
        "measured_per_s": round(measured),
        "error": round(predicted / measured - 1.0, 4),
    }


def _place(text: str, feed: Feed) -> PlacedGraph:
    schemas = {name: table.schema for name, table in feed.tables.items()}
    return compile_query(text, Catalog(schemas, describe_sql, frozenset(schemas))).placed


@contextmanager
def _embedded(feed: Feed) -> Iterator[Callable[[str, str], Bench]]:
    extent, shape = EXTENTS["embedded"], SHAPES["embedded"]

    def make(text: str, _: str) -> Bench:
        def run(rate: float) -> PacedRun:
            warm_up = extent.plan().warm_up
            batches = run_paced_pushes(text, feed, warm_up, rate, RUN_S["embedded"], shape.trigger_s, shape.most_events)
            return judge_run(batches, rate, shape.most_events)

        return Bench(lambda: calibrate_embedded(text, feed, extent), run)

    with one_core():
        yield make


@contextmanager
def _spark(feed: Feed) -> Iterator[Callable[[str, str], Bench]]:
    extent, shape = EXTENTS["spark"], SHAPES["spark"]
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        pool = FilePool(feed, folder / "files", extent.part)
        spark = build_session("cepheid bench", cores=shape.pes, quiet_log=folder / "spark.log")

        def make(text: str, title: str) -> Bench:
            def run(rate: float) -> PacedRun:
                place = folder / f"{title}-{rate:.0f}"
                batches = run_paced_files(
                    spark, text, pool, place, rate, RUN_S["spark"], shape.trigger_s, PARTS_PER_BATCH
                )
                return judge_run(batches, rate, shape.most_events)

            return Bench(lambda: calibrate_on_spark(spark, text, pool, folder / f"{title}-calibration", extent), run)

        try:
            yield make
        finally:
            spark.stop()
