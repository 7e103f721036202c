"""Streams on Spark, beside what one would write by hand in PySpark and what Spark does itself, in one run.

throughput  Q5 over Parquet in large batches: read by workers, through the JVM, and by hand
small       batches of 10,000 events: how long each takes, beside a stateful operator that does nothing
first       a new process: from the start of a query to the end of its first batch
keys        the same events per batch, from few keys to many
level       many batches: do time and memory stay level?
hours       two hours of event time, while a million keys come and go: does memory stay level?
state       a large state: how much of it is written by a batch that touches little
kafka       Q5 over a topic, beside the same by hand (spark_kafka.py)

Batches are measured by Spark's own account (triggerExecution), after a small one that starts workers.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.machine import describe_machine
from cepheid.bench.new_process import measure_in_new_process
from cepheid.bench.spark_kafka import measure_kafka
from cepheid.bench.spark_stream import WARM_UP, Make, run_batches
from cepheid.bench.study_data import generate_events, q5_text, threshold_for, write_files
from cepheid.execution.spark.session import build_session
from cepheid.extras import require_extra
from cepheid.kernel.compiled.warm_up import compile_kernels

SMALL = 10_000
SMALL_KEYS = 1_000
Rows = dict[str, dict[str, Any]]


def measure_spark(events: int, repeats: int, parts: list[str]) -> dict[str, Any]:
    """events: in a large batch, of which there are four; the other sizes follow."""
    require_extra("spark")  # now, not after a minute
    compile_kernels()
    found: dict[str, Any] = {
        "benchmark": "spark",
        "question": "Q5 all-to-all on a stream over Parquet, local[2], 10 s window, selectivity 0.1%",
        **describe_machine(),
        "events_per_batch": events,
        "repeats": repeats,
    }
    for part in track(parts, "bench spark", console=Console(stderr=True)):
        with tempfile.TemporaryDirectory(prefix="cepheid-bench-", ignore_cleanup_errors=True) as name:
            found[part] = PARTS[part](Path(name), events, repeats)
    return found


def _in_session(measure: Callable[[Any, Path, int, int], Rows]) -> Callable[[Path, int, int], Rows]:
    def run(folder: Path, events: int, repeats: int) -> Rows:
        spark = build_session("cepheid bench", quiet_log=folder / "spark.log")
        try:
            return measure(spark, folder, events, repeats)
        finally:
            spark.stop()

    return run


# --- what is measured ------------------------------------------------------------------------------------
def _cepheid(stream: Any) -> Any:
    return cep.sql(q5_text(), events=stream, lateness=timedelta(0))


def _cepheid_through_jvm(stream: Any) -> Any:
    return _cepheid(stream.where("true"))  # any step of the user's own: workers do not read the files


def _by_hand(how: str, stream: Any) -> Any:
    from cepheid.execution.spark import baselines  # imports pyspark, which may be missing

    if how == "nothing":
        return baselines.run_nothing(stream)
    run = baselines.run_naive_q5 if how == "naive" else baselines.run_numpy_q5
    return run(stream, threshold_for(0.001), 10_000_000)


# --- the parts -------------------------------------------------------------------------------------------
def measure_throughput(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """Four large batches; what is slow by hand gets one."""
    table = generate_events(WARM_UP + 4 * events)
    starts = range(WARM_UP, len(table), events)
    many = [table.slice(0, WARM_UP), *(table.slice(start, events) for start in starts)]
    ways: list[tuple[str, Make, list[pa.Table]]] = [
        ("Cepheid, workers read the files", _cepheid, many),
        ("Cepheid, through the JVM", _cepheid_through_jvm, many),
        ("NumPy per id, transformWithStateInPandas", partial(_by_hand, "numpy"), many[:2]),
        ("row by row, transformWithStateInPandas", partial(_by_hand, "naive"), many[:2]),
    ]
    seconds: dict[str, list[float]] = {}
    rows: dict[str, set[int]] = {}
    for run in range(repeats):
        for place, (name, make, tables) in enumerate(ways):
            found = run_batches(spark, folder / f"{run}-{place}", tables, make)
            seconds.setdefault(name, []).append(found.total_s / len(found.seconds))
            rows.setdefault(name, set()).add(found.rows)
    assert rows[ways[0][0]] == rows[ways[1][0]], "both ways find the same rows"
    assert rows[ways[2][0]] == rows[ways[3][0]], "both ways by hand find the same rows"
    name = "Spark itself, whole table: groupBy(id).avg(a1)"
    write_files(table.slice(WARM_UP), folder / "whole", 16)
    seconds[name] = [_time_group_by(spark, folder / "whole") / 4 for _ in range(repeats + 1)][1:]
    ours = statistics.median(seconds[ways[0][0]])
    return {
        name: {
            "s_per_batch": round(statistics.median(runs), 2),
            "spread_s": [round(min(runs), 2), round(max(runs), 2)],
            "events_per_s": round(events / statistics.median(runs)),
            "cepheid_is_times": round(statistics.median(runs) / ours, 2),
        }
        for name, runs in seconds.items()
    }


def _time_group_by(spark: Any, folder: Path) -> float:
    begin = time.perf_counter()
    spark.read.parquet(str(folder)).groupBy("id").avg("a1").write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def measure_small(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """Batches of 10,000 events, of 1,000 keys; each is a file."""
    del events
    table = generate_events(SMALL * (10 + 30 * repeats), max_id=SMALL_KEYS)
    tables = [table.slice(start, SMALL) for start in range(0, len(table), SMALL)]
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    found: Rows = {}
    for name, make, shuffle in (
        ("Cepheid", _cepheid, partitions),
        ("Cepheid, 200 shuffle partitions set", _cepheid, "200"),
        ("nothing, transformWithStateInPandas", partial(_by_hand, "nothing"), partitions),
    ):
        spark.conf.set("spark.sql.shuffle.partitions", shuffle)
        seconds = run_batches(spark, folder / f"small-{len(found)}", tables, make, files=1).seconds[9:]
        found[name] = {"batches": len(seconds), "p50_s": _percentile(seconds, 50), "p99_s": _percentile(seconds, 99)}
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    bare = found["nothing, transformWithStateInPandas"]["p50_s"]
    return {name: {**row, "p50_to_nothing": round(row["p50_s"] / bare, 2)} for name, row in found.items()}


def _percentile(seconds: list[float], percent: int) -> float:
    return round(float(np.percentile(seconds, percent)), 3)


def measure_first(folder: Path, events: int, repeats: int) -> Rows:
    """The session is there; workers, imports and kernels of the query are not loaded yet."""
    del events
    ways = {"first batch of a session": time_first_batch, "the same, a stateful operator that does nothing": time_bare}
    runs: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(repeats):
        for place, (name, measure) in enumerate(ways.items()):
            runs[name].append(measure_in_new_process(measure, folder / f"{run}-{place}"))
    return {
        name: {"s": round(statistics.median(found), 2), "spread_s": [round(min(found), 2), round(max(found), 2)]}
        for name, found in runs.items()
    }


def time_first_batch(folder: Path) -> float:
    """From the text of a query to the end of its first batch, of 10,000 events."""
    return _time_first(folder, _cepheid)


def time_bare(folder: Path) -> float:
    return _time_first(folder, partial(_by_hand, "nothing"))


def _time_first(folder: Path, make: Make) -> float:
    folder.mkdir(parents=True)
    spark = build_session("cepheid bench", quiet_log=folder / "spark.log")
    begin = time.perf_counter()
    run_batches(spark, folder, [generate_events(SMALL)], make)
    seconds = time.perf_counter() - begin
    spark.stop()
    return seconds


def measure_keys(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """The window holds as many events whatever the keys: ten seconds."""
    found: Rows = {}
    for keys in (1_000, 30_000, 1_000_000):
        table = generate_events(WARM_UP + repeats * events, max_id=keys)
        starts = range(WARM_UP, len(table), events)
        tables = [table.slice(0, WARM_UP), *(table.slice(start, events) for start in starts)]
        seconds = statistics.median(run_batches(spark, folder / str(keys), tables, _cepheid).seconds)
        first = next(iter(found.values()))["s_per_batch"] if found else seconds
        found[f"{keys:,} keys"] = {"s_per_batch": round(seconds, 2), "to_the_fewest": round(seconds / first, 2)}
    return found


def measure_level(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """200 small batches, after ten that do not count."""
    del events, repeats
    table = generate_events(210 * SMALL, max_id=SMALL_KEYS)
    tables = [table.slice(start, SMALL) for start in range(0, len(table), SMALL)]
    memory: list[int] = []
    seconds = run_batches(
        spark, folder / "level", tables, _cepheid, files=1, on_batch=lambda _number: memory.append(_worker_memory())
    ).seconds[9:]
    quarters = {"first quarter": slice(0, 50), "last quarter": slice(150, 200)}
    return {
        name: {
            "p50_s": round(statistics.median(seconds[part]), 3),
            "workers_mb": round(statistics.median(memory[10:][part]) / 2**20),
        }
        for name, part in quarters.items()
    }


def measure_hours(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """72 batches of 100 s, with 500 events a second; each key is there for 400 s."""
    del events, repeats
    batches, size, new_keys = 72, 50_000, 1_000_000 // 72
    memory: list[int] = []

    def tables() -> Any:
        for number in range(batches):
            table = generate_events(size, max_id=4 * new_keys)
            ids = table.column("id").to_numpy() + number * new_keys
            times = np.arange(size, dtype=np.int64) * 2_000 + number * 100_000_000
            table = table.set_column(0, "id", pa.array(ids, pa.int32()))
            yield table.set_column(6, "ts", pa.array(times).cast(table.schema.field("ts").type))

    begin = time.perf_counter()
    run_batches(
        spark, folder / "hours", tables(), _cepheid, files=1, on_batch=lambda _number: memory.append(_worker_memory())
    )
    seconds = time.perf_counter() - begin
    tenth = memory[batches // 10 : batches // 5]
    return {
        "two hours of event time": {
            "keys": batches * new_keys,
            "times_faster": round(batches * 100 / seconds, 1),
            "workers_mb_after_a_tenth": round(statistics.median(tenth) / 2**20),
            "workers_mb_in_the_last_tenth": round(statistics.median(memory[-batches // 10 :]) / 2**20),
            "workers_mb_at_most": round(max(memory[batches // 10 :]) / 2**20),
        }
    }


def _worker_memory() -> int:
    """Resident bytes of all Python workers of this process's Spark, as Linux tells them."""
    total = 0
    for folder in (each for each in Path("/proc").iterdir() if each.name.isdecimal()):
        with suppress(OSError):  # it has gone meanwhile
            started = (folder / "cmdline").read_bytes().split(b"\0")
            is_python = b"-m" in started and any(word.endswith(b"daemon") for word in started)  # Java names it, too
            if is_python and _descends_from(folder, os.getpid()):
                total += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def _descends_from(folder: Path, ancestor: int) -> bool:
    number = int(folder.name)
    while number > 1 and number != ancestor:
        number = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    return number == ancestor


def measure_state(spark: Any, folder: Path, events: int, repeats: int) -> Rows:
    """Events of an hour are kept: sixteen large batches of them, then batches of one hundredth of that."""
    few = 16 * events // 100
    table = generate_events(WARM_UP + 4 * events, max_id=100_000)
    sizes: list[int] = []

    def tables() -> Any:
        yield table.slice(0, WARM_UP)
        for number in range(16):
            yield _later(table.slice(WARM_UP + number % 4 * events, events), number // 4 * 4 * events)
        for number in range(repeats):
            yield _later(table.slice(WARM_UP, few), 16 * events + number * few)

    def make(stream: Any) -> Any:
        return cep.sql(q5_text(within_s=3600, selectivity=0.0), events=stream, lateness=timedelta(0))

    run_batches(
        spark, folder / "state", tables(), make, on_batch=lambda _number: sizes.append(_written(folder / "state"))
    )
    before, written = sizes[16] - sizes[0], [after - then for then, after in pairwise(sizes[16:])]
    return {
        "a batch of one hundredth": {
            "state_mb": round(before / 2**20),
            "written_mb": round(statistics.median(written) / 2**20, 1),
            "written_of_state": round(statistics.median(written) / before, 3),
        }
    }


def _later(table: pa.Table, events: int) -> pa.Table:
    """The same events at the time at which so many more would have passed."""
    times = table.column("ts").cast(pa.int64()).to_numpy() + events * 20
    return table.set_column(6, "ts", pa.array(times).cast(table.schema.field("ts").type))


def _written(folder: Path) -> int:
    """Bytes of all changelogs and snapshots of the state so far; none is deleted in so few batches."""
    return sum(file.stat().st_size for file in (folder / "checkpoint" / "state").rglob("*") if file.is_file())


PARTS: dict[str, Callable[[Path, int, int], Rows]] = {
    "throughput": _in_session(measure_throughput),
    "small": _in_session(measure_small),
    "first": measure_first,
    "keys": _in_session(measure_keys),
    "level": _in_session(measure_level),
    "hours": _in_session(measure_hours),
    "state": _in_session(measure_state),
    "kafka": _in_session(measure_kafka),
}
