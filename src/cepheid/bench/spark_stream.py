"""A Spark stream over Parquet that is fed batch by batch, and what each batch took by Spark's own account."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.bench.study_data import write_files

SCHEMA = "id int, a1 double, a2 double, a3 double, a4 double, a5 double, ts timestamp"
WARM_UP = 100_000

Make = Callable[[Any], Any]
"""From a streaming DataFrame to that of the answer."""


@dataclass
class Batches:
    """Seconds of each batch after the first, which starts workers and loads what is needed; rows of all batches."""

    seconds: list[float] = field(default_factory=list)
    rows: int = 0

    @property
    def total_s(self) -> float:
        return sum(self.seconds)


def run_batches(
    spark: Any,
    folder: Path,
    tables: Iterable[pa.Table],
    make: Make,
    files: int = 4,
    on_batch: Callable[[int], None] = lambda _number: None,
) -> Batches:
    """Each table as one micro-batch of a running query; on_batch: called after each, with its number."""
    found = Batches()
    counts: list[int] = []
    source = folder / "in"
    source.mkdir(parents=True)
    query = (
        make(spark.readStream.schema(SCHEMA).parquet(str(source)))
        .writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    try:
        seen = -1
        for number, table in enumerate(tables):
            _feed(table, source, folder / "next", number, files)
            query.processAllAvailable()
            done = [each for each in query.recentProgress if each["batchId"] > seen]
            seen = max(each["batchId"] for each in done)
            if number:
                found.seconds.append(sum(each["durationMs"]["triggerExecution"] for each in done) / 1000)
            on_batch(number)
    finally:
        query.stop()
    found.rows = sum(counts)
    return found


def _feed(table: pa.Table, source: Path, aside: Path, number: int, files: int) -> None:
    """Files appear whole, and all before Spark looks for the last of them."""
    write_files(table, aside, files)
    for file in sorted(aside.iterdir(), reverse=True):
        file.rename(source / f"{number:05d}-{file.name}")


def measure_stream(spark: Any, table: pa.Table, files: int, folder: Path, make: Make) -> dict[str, Any]:
    """Run a small batch, then all events in one; give the seconds of that and the rows of both."""
    found = run_batches(spark, folder, [table.slice(0, WARM_UP), table.slice(WARM_UP)], make, files)
    return {"s": found.total_s, "rows": found.rows}
