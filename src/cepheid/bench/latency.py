"""How long one push takes: 1 to 100 events at a time, at a steady pace and one right behind another; how many events a
second come through in pushes of 100 and one by one; and how soon a new process answers.

Between paced pushes the process sleeps, so that each begins with a core that was idle: on a virtual machine that shows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.machine import describe_machine
from cepheid.bench.pattern_queries import PATTERNS
from cepheid.bench.study_data import generate_events
from cepheid.bench.window_queries import FUNCTIONS, q2_text, q3_text

WARM_UP_PUSHES = 200
HUNDREDS = 100  # events of a push, where pushes are of one size
ROWS = 50_000  # of windows
# A process of its own: import, open, push one event, which comes in Arrow's format; prints the time of day then.  (To
# make a table from lists, Arrow loads pandas, where it is installed: that is another 0.2 s, and no part of a push.)
FIRST_PUSH = """
import sys, time
import cepheid as cep, pyarrow as pa
table = pa.ipc.open_stream(sys.stdin.buffer).read_all()
query = cep.open(sys.argv[1], **dict.fromkeys(sys.argv[2:], table.schema))
query.push(**{sys.argv[2]: table})
print(time.time())
"""


@dataclass(frozen=True)
class Measured:
    """A query, and the streams that its events come by; those of several are pushed together, half and half."""

    text: str
    streams: tuple[str, ...] = ("events",)


QUERIES = {name: Measured(text) for name, text in PATTERNS.items()} | {
    **{f"Q2 {function} R={ROWS:,}": Measured(q2_text(function, ROWS, 1)) for function in FUNCTIONS},
    f"Q3 R={ROWS:,}": Measured(q3_text(ROWS), ("s1", "s2")),
}


def measure_latency(rate_per_s: int, seconds: float) -> dict[str, Any]:
    events = int(rate_per_s * seconds)
    table = generate_events(events)
    found: dict[str, Any] = {}
    for name, query in track(QUERIES.items(), "pushes", console=Console(stderr=True)):
        paced = _measure_pushes(query, table, rate_per_s)
        unpaced = _measure_pushes(query, table, None)
        found[name] = {
            **paced,
            **{f"unpaced_{name}": value for name, value in unpaced.items()},
            "pushes_of_100_per_s": _measure_hundreds(query, table),
            "single_pushes_per_s": _measure_singles(query, table.slice(0, events // 4)),
            "single_fed_per_s": _measure_feed(query, table, size=1),
            "fed_by_100_per_s": _measure_feed(query, table, size=HUNDREDS),
            "first_push_s": min(_measure_first_push(query, table.slice(0, 1)) for _ in range(3)),
        }
    return {
        "benchmark": "latency",
        "question": f"cep.open, 1 to 100 events a push at {rate_per_s:,} events/s, after {WARM_UP_PUSHES} pushes",
        **describe_machine(),
        "events": events,
        "seed": 1,
        "embedded": found,
    }


def _open(query: Measured, table: pa.Table) -> Any:
    return cep.open(query.text, **dict.fromkeys(query.streams, table.schema))


def _split(query: Measured, batch: pa.Table) -> dict[str, pa.Table]:
    """The events of a push by stream."""
    if len(query.streams) == 1:
        return {query.streams[0]: batch}
    half = len(batch) // 2
    first, second = query.streams
    return {first: batch.slice(0, half), second: batch.slice(half)}


def _measure_pushes(query: Measured, table: pa.Table, rate_per_s: int | None) -> dict[str, Any]:
    """Each push is due when its last event would have happened; one that is late does not delay the next."""
    random = np.random.default_rng(1)
    opened = _open(query, table)
    taken, at, began = [], 0, time.perf_counter()
    while at < len(table):
        size = int(random.integers(1, 101))
        batches = _split(query, table.slice(at, size))
        at += size
        wait = 0.0 if rate_per_s is None else began + at / rate_per_s - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        start = time.perf_counter()
        opened.push(**batches)
        taken.append((time.perf_counter() - start) * 1000)
    p50, p99, most = np.percentile(taken[WARM_UP_PUSHES:], [50, 99, 100])
    return {"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "max_ms": round(most, 3)}


def _measure_rate(calls: Iterator[Callable[[], Any]], events_each: int) -> int:
    """Events per second of calls that are made one right behind another, those to warm up left out."""
    began, count = time.perf_counter(), 0
    for number, call in enumerate(calls):
        if number == WARM_UP_PUSHES:
            began = time.perf_counter()
        call()
        count = number + 1
    return round(events_each * (count - WARM_UP_PUSHES) / (time.perf_counter() - began))


def _measure_hundreds(query: Measured, table: pa.Table) -> int:
    opened = _open(query, table)
    batches = [_split(query, table.slice(at, HUNDREDS)) for at in range(0, len(table), HUNDREDS)]
    return _measure_rate(((lambda batch=batch: opened.push(**batch)) for batch in batches), HUNDREDS)  # type: ignore[misc]


def _measure_singles(query: Measured, table: pa.Table) -> int:
    """Events of several streams by turns."""
    opened, streams = _open(query, table), query.streams
    batches = [{streams[at % len(streams)]: table.slice(at, 1)} for at in range(len(table))]
    return _measure_rate(((lambda batch=batch: opened.push(**batch)) for batch in batches), 1)  # type: ignore[misc]


def _measure_feed(query: Measured, table: pa.Table, size: int) -> int:
    """Tuples with times in microseconds; those of several streams by turns."""
    opened, names = _open(query, table), query.streams
    feeds = [opened.feed(name) for name in names]
    columns = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns]
    events = list(zip(*(column.to_pylist() for column in columns), strict=True))
    given = events if size == 1 else [events[at : at + size] for at in range(0, len(events), size)]
    pushes = [feeds[number % len(feeds)].push for number in range(len(given))]
    return _measure_rate(
        ((lambda push=push, each=each: push(each)) for push, each in zip(pushes, given, strict=True)),  # type: ignore[misc]
        size,
    )


def _measure_first_push(query: Measured, event: pa.Table) -> float:
    """Seconds from the start of a process to its first answer."""
    sent = pa.BufferOutputStream()
    with pa.ipc.new_stream(sent, event.schema) as stream:
        stream.write_table(event)
    # as wherever a package is installed: Python's bytecode is kept
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-W", "ignore", "-c", FIRST_PUSH, query.text, *query.streams]
    began = time.time()
    process = subprocess.run(
        command, input=sent.getvalue().to_pybytes(), stdout=subprocess.PIPE, check=True, env=environment
    )
    return round(float(process.stdout) - began, 2)
