"""Micro-batches on Spark: the files of each are put into a folder, and Spark's progress says how long it took."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import cepheid as cep
from cepheid.calibration.batch_plan import BatchPlan
from cepheid.calibration.batch_sample import BatchSample, Measured
from cepheid.calibration.embedded_pushes import Notify
from cepheid.calibration.file_source import FilePool
from cepheid.compiler import Query
from cepheid.errors import InvalidInput
from cepheid.execution.spark.measurements import read_measurements

# Java compiles what it runs often: in a new session batches become quicker for half a minute and more.
EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
KEPT_PROGRESS = "spark.sql.streaming.numRecentProgressUpdates"  # 100 otherwise: a warm-up alone may take half of them
LONGEST_WARM_UP = 48  # small batches
FULL_WARM_UP = 8  # then full ones: what they run, small ones run seldom
LOOKED_AT = 8
NO_QUICKER = 0.93


def plan_for_files(plan: BatchPlan, events_per_part: int) -> BatchPlan:
    """In whole files, in parts instead of events; every size as often, since small batches take nearly as long as
    large ones."""
    sizes = tuple(sorted({max(1, round(size / events_per_part)) for size in plan.sizes}))
    rounds = max(1, round(plan.events / (plan.blocks * sum(sizes) * events_per_part)))
    return replace(
        plan,
        sizes=sizes,
        rounds=(rounds,) * len(sizes),
        warm_up=(2,) * LONGEST_WARM_UP + (10, *(sizes[-1],) * FULL_WARM_UP),
    )


def is_warm(durations_s: Sequence[float]) -> bool:
    """Were the last batches no quicker than those before?"""
    if len(durations_s) < 2 * LOOKED_AT:
        return False
    before, last = durations_s[-2 * LOOKED_AT : -LOOKED_AT], durations_s[-LOOKED_AT:]
    return statistics.median(last) > NO_QUICKER * statistics.median(before)


def measure_batches(
    spark: Any, query: Query, pool: FilePool, plan: BatchPlan, folder: Path, notify: Notify
) -> Measured:
    """plan: in parts of the pool.  Batches follow one another without a pause, as they do when a host is loaded: what
    Java, the state store and the workers put off until later is then paid for as well."""
    pool.write(plan.events)
    measured = [plan.block(number) for number in range(plan.blocks)]
    total = len(plan.warm_up) + sum(map(len, measured))
    small, full = plan.warm_up[:LONGEST_WARM_UP], plan.warm_up[LONGEST_WARM_UP:]
    sizes = [small[0]]
    with streaming(spark, query, pool, folder, first_parts=small[0]) as running:

        def offer(size: int) -> None:
            """The files of the next batch, as soon as the one before has been planned."""
            _wait_for(running, folder / "checkpoint" / "offsets" / str(len(sizes) - 1))
            first = sum(sizes)
            for part in range(first, first + size):
                pool.link(part, folder / "in")
            sizes.append(size)
            notify(len(sizes) / total)

        while len(sizes) < len(small) and not is_warm(list(_read_durations(running).values())):
            offer(small[0])
        for size in full:
            offer(size)
        counted_from = len(sizes)
        for size in (size for block in measured for size in block):
            offer(size)
        running.processAllAvailable()
        durations = _read_durations(running)
        measurements = {each.batch: each for each in read_measurements(running) if each.batch in durations}
    if len(durations) != len(sizes):
        raise InvalidInput(
            f"{len(sizes)} batches were offered, and Spark made {len(durations)} of them",
            hint="is the machine busy with something else?",
        )
    samples = [
        BatchSample(size * pool.events_per_part, measurements[number].rows, durations[number])
        for number, size in enumerate(sizes)
    ]
    blocks, at = [], counted_from
    for block in measured:
        blocks.append(samples[at : at + len(block)])
        at += len(block)
    reached, events = sum(each.events for each in measurements.values()), sum(sample.events for sample in samples)
    return Measured(blocks, reached / events if 0 < reached <= events else 1.0)


def _wait_for(running: Any, file: Path) -> None:
    while not file.exists():
        if not running.isActive:
            running.awaitTermination()  # raises the reason
        time.sleep(0.005)


def _read_durations(running: Any) -> dict[int, float]:
    """Of the batches that are done, by their number."""
    return {each["batchId"]: duration_s(each) for each in running.recentProgress if each["numInputRows"]}


@contextmanager
def streaming(
    spark: Any,
    query: Query,
    pool: FilePool,
    folder: Path,
    parts_per_batch: int | None = None,
    trigger_s: float = 0.0,
    first_parts: int = 0,
) -> Iterator[Any]:
    """The query over files that will be linked into folder/in; its rows go nowhere.  first_parts: are there at once."""
    spark.conf.set(KEPT_PROGRESS, str(10 * LONGEST_WARM_UP))
    frames = pool.frames(spark, folder / "in", parts_per_batch)
    for part in range(first_parts):
        pool.link(part, folder / "in")
    result = cep.sql(query, lateness=timedelta(0), **frames)
    writer = result.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    before = spark.conf.get(EMPTY_BATCHES, "true")
    spark.conf.set(EMPTY_BATCHES, "false")  # a batch for each offer, so that they are found by number
    try:
        running = writer.trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds").start()
    finally:
        spark.conf.set(EMPTY_BATCHES, before)  # the query has its copy
    try:
        yield running
    finally:
        running.stop()


def count_batches(running: Any) -> int:
    """How many batches are done."""
    last = running.lastProgress
    return 0 if last is None else last["batchId"] + (1 if last["numInputRows"] else 0)


def duration_s(progress: Any) -> float:
    return progress["durationMs"]["triggerExecution"] / 1000.0
