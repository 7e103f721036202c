"""Play a day of buses fast through Spark and report what it holds.

    Parquet files ─▶ Spark stream ─▶ continuously late buses ─▶ Spark: cells ─▶ embedded: gatherings
                             └─────▶ breakdowns

Both row patterns run on Spark; gatherings, which need few rows, are watched by a continuous query in this
process, on the same kernel.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import cepheid as cep
from cepheid.demo.bus_feed import generate_feed, write_feed
from cepheid.demo.queries import BREAKDOWN, CELLS, CONTINUOUSLY_LATE, GATHERING
from cepheid.execution.spark.measurements import read_measurements
from cepheid.execution.spark.session import build_session
from cepheid.kernel.compiled.warm_up import compile_kernels

FILES_PER_BATCH = 4
QUIET = timedelta(minutes=20)  # a gathering is over when nothing was seen for so long
NEAR_M = 30.0

Notify = Callable[[str, dict[str, Any]], None]
"""What happens, as it happens: step, events, gathering, breakdown."""


@dataclass
class Day:
    """What came out of the day."""

    feed: pa.Table
    gatherings: list[dict[str, Any]] = field(default_factory=list)
    breakdowns: list[dict[str, Any]] = field(default_factory=list)
    events: int = 0
    rows_late: int = 0
    spark_s: float = 0.0


def play_day(notify: Notify, folder: Path, seed: int = 7, buses: int = 911, lines: int = 67) -> Day:
    """Generate the feed, play it, give what was found; `folder` holds files and checkpoints meanwhile."""
    notify("step", {"text": "making the feed"})
    feed = generate_feed(seed, buses, lines)
    write_feed(feed, folder / "feed")
    day = Day(feed)
    notify("step", {"text": "compiling the kernels (the first time takes a while)"})
    compile_kernels()
    notify("step", {"text": "starting Spark"})
    spark = build_session("cepheid demo", quiet_log=folder / "spark.log")
    try:
        notify("step", {"text": "playing the day"})
        began = time.perf_counter()
        play_feed(spark, folder, day, notify)
        day.spark_s = time.perf_counter() - began
    finally:
        spark.stop()
    return day


def play_feed(spark: Any, folder: Path, day: Day, notify: Notify) -> None:
    """Play the files in folder/feed through a session; what is found goes into the day."""
    schema = spark.read.parquet(str(folder / "feed")).schema
    stream = (
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", FILES_PER_BATCH)
        .parquet(str(folder / "feed"))
        .withWatermark("ts", "1 minute")
    )
    late = cep.sql(CONTINUOUSLY_LATE, buses=stream)
    in_cells = late.selectExpr("*", "explode(array(0, 1, 2, 3)) AS shift").selectExpr(*CELLS)
    watch = GatheringWatch(day, notify)
    running = [
        _start(in_cells, folder / "late", lambda batch, _: watch.take(batch.toArrow())),
        _start(cep.sql(BREAKDOWN, buses=stream), folder / "breakdowns", lambda batch, _: _report(batch, day, notify)),
    ]
    while any(query.isActive for query in running):
        time.sleep(0.2)
        done = sum(batch.events for query in running for batch in read_measurements(query))
        notify("events", {"done": done, "total": len(running) * len(day.feed)})
    for query in running:
        query.awaitTermination()  # raises what went wrong
        day.events += sum(batch.events for batch in read_measurements(query))
    watch.finish()


def _start(frame: Any, checkpoint: Path, take: Callable[[Any, int], None]) -> Any:
    return (
        frame.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )


def _report(batch: Any, day: Day, notify: Notify) -> None:
    for row in sorted(batch.toArrow().to_pylist(), key=lambda row: row["ts"]):
        day.breakdowns.append(row)
        notify("breakdown", row)


class GatheringWatch:
    """Pushes late buses into the embedded query and makes one gathering of sightings that belong together."""

    def __init__(self, day: Day, notify: Notify) -> None:
        self._day, self._notify = day, notify
        self._query: Any = None

    def take(self, late: pa.Table) -> None:
        if self._query is None:
            self._query = cep.open(GATHERING, late=late.schema, lateness=timedelta(minutes=2))
        self._day.rows_late += len(late) // 4
        self._sight(self._query.push(late=late))

    def finish(self) -> None:
        if self._query is not None:
            self._sight(self._query.finish())

    def _sight(self, rows: pa.Table) -> None:
        for row in sorted(rows.to_pylist(), key=lambda row: row["since"]):
            known = next((other for other in self._day.gatherings if _same_gathering(other, row)), None)
            if known is None:
                found = {"ts": row["since"], "until": row["ts"], "x": row["x"], "y": row["y"], "buses": row["buses"]}
                self._day.gatherings.append(found)
                self._notify("gathering", found)
            else:
                known["until"] = max(known["until"], row["ts"])
                known["buses"] = max(known["buses"], row["buses"])


def _same_gathering(known: dict[str, Any], row: dict[str, Any]) -> bool:
    near = (known["x"] - row["x"]) ** 2 + (known["y"] - row["y"]) ** 2 < NEAR_M**2
    return bool(near and row["since"] - known["until"] < QUIET)


def as_tables(day: Day) -> tuple[pa.Table, pa.Table]:
    """Gatherings and breakdowns as tables for the picture."""
    time_type = day.feed.schema.field("ts").type
    gatherings = pa.Table.from_pylist(
        [{name: row[name] for name in ("ts", "x", "y", "buses")} for row in day.gatherings],
        pa.schema([("ts", time_type), ("x", pa.float64()), ("y", pa.float64()), ("buses", pa.int64())]),
    )
    names = ["ts", "bus", "x", "y", "delay_before", "delay_after"]
    kinds = [time_type, pa.int32(), pa.float64(), pa.float64(), pa.float64(), pa.float64()]
    return gatherings, pa.Table.from_pylist(day.breakdowns, pa.schema(list(zip(names, kinds, strict=True))))


def save_alerts(day: Day, folder: Path) -> None:
    gatherings, breakdowns = as_tables(day)
    pq.write_table(gatherings, folder / "gatherings.parquet")
    pq.write_table(breakdowns, folder / "breakdowns.parquet")


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cepheid-demo-", ignore_cleanup_errors=True)
