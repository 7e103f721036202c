"""Events at a rate into Spark: a file appears whenever its last event would have happened."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from cepheid.calibration.file_source import FilePool
from cepheid.calibration.paced_run import PacedBatch
from cepheid.calibration.spark_batches import count_batches, duration_s, streaming
from cepheid.compiler import Query

WARM_UP_BATCHES = (2, 5, 10, 20)  # of a session that is warm already: the new query's plan, and its state
ENOUGH_BATCHES = 12
LONGEST = 2.5  # times as long as asked: where a batch takes long
LAST_BATCH_S = 30.0  # the one under way at the end is waited for


def run_paced_files(
    spark: Any,
    query: Query,
    pool: FilePool,
    folder: Path,
    rate_per_s: float,
    seconds: float,
    trigger_s: float,
    parts_per_batch: int,
) -> list[PacedBatch]:
    """seconds: at least, if there are files for it; longer if too few batches are done by then."""
    part_s = pool.events_per_part / rate_per_s
    first = sum(WARM_UP_BATCHES)
    parts = min(parts_per_batch + int(LONGEST * seconds / part_s), pool.parts - first)
    pool.write(first + parts)
    with streaming(spark, query, pool, folder, parts_per_batch, trigger_s) as running:
        at = 0
        for size in WARM_UP_BATCHES:
            for part in range(at, at + size):
                pool.link(part, folder / "in")
            at += size
            running.processAllAvailable()
        before = count_batches(running)
        for part in range(first, first + parts_per_batch):
            pool.link(part, folder / "in")
        began_at, began = time.time(), time.perf_counter()
        enough = threading.Event()
        later = range(first + parts_per_batch, first + parts)
        source = threading.Thread(target=_offer, args=(pool, folder / "in", later, part_s, began, enough))
        source.start()
        while source.is_alive():
            ran = time.perf_counter() - began
            if ran >= seconds and count_batches(running) - before >= ENOUGH_BATCHES:
                enough.set()
            source.join(0.1)
        ended, done = time.perf_counter() - began, count_batches(running)
        while count_batches(running) == done and time.perf_counter() - began < ended + LAST_BATCH_S:
            time.sleep(0.02)
        finished = [each for each in running.recentProgress if each["batchId"] >= before and each["numInputRows"]]
    batches: list[PacedBatch] = []
    taken = 0
    for progress in finished:
        start = datetime.fromisoformat(progress["timestamp"]).timestamp() - began_at
        came = parts_per_batch + max(0, int(start / part_s))
        events = _count_events(progress, pool, parts_per_batch)
        waiting = max(came * pool.events_per_part - taken, events)
        batches.append(PacedBatch(start, start + duration_s(progress), events, waiting))
        taken += events
    return [batch for batch in batches if batch.start_s < ended]


def _offer(pool: FilePool, folder: Path, parts: range, part_s: float, began: float, enough: threading.Event) -> None:
    """Each file has its own time: one that is late does not delay the next."""
    for number, part in enumerate(parts, 1):
        if enough.wait(max(0.0, began + number * part_s - time.perf_counter())):
            return
        pool.link(part, folder)


def _count_events(progress: Any, pool: FilePool, parts_per_batch: int) -> int:
    """Where workers read the files themselves, Spark counts files; else events."""
    rows, streams = int(progress["numInputRows"]), len(pool.feed.tables)
    counts_files = rows <= parts_per_batch * streams
    return rows * pool.events_per_part // streams if counts_files else rows
