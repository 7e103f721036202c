"""A session of many queries: how long it takes to add, alter and retire one, and how long the others stand still.

The queries are those of `bench compilation`; events of one more stream, with one query, are pushed all the time by a
thread of its own: a push that takes longer than such pushes do otherwise was held up by the change.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track

import cepheid as cep
from cepheid.bench.compilation import SCHEMA, SEED, STREAMS, make_queries
from cepheid.bench.machine import describe_machine
from cepheid.errors import UnboundedStateWarning

WATCHED = "SELECT id, avg(a1) AS f FROM watched [ROWS 1000] GROUP BY id"
EVENTS_A_PUSH = 10
CHANGES = 20


def measure_session(count: int) -> dict[str, Any]:
    """count: how many queries run."""
    queries = make_queries(count + CHANGES, SEED)
    names = list(queries)
    with warnings.catch_warnings(), cep.Session() as session:
        warnings.simplefilter("ignore", UnboundedStateWarning)
        for number in range(STREAMS):
            session.source(f"s{number}", SCHEMA)
        session.source("watched", SCHEMA)
        session.deploy("watched", WATCHED)
        for name in track(names[:count], "queries", console=Console(stderr=True)):
            session.deploy(name, queries[name])
        with PushingThread(session) as pushing:
            pushing.watch(lambda: time.sleep(0.5))  # what is loaded by the first push
            quiet = pushing.watch(lambda: time.sleep(2.0))
            added = [_take_time(pushing, lambda n=name: session.deploy(n, queries[n])) for name in names[count:]]  # type: ignore[misc]
            altered = [
                _take_time(pushing, lambda n=name, t=text: session.alter(n, t))  # type: ignore[misc]
                for name, text in zip(names[count:], reversed([queries[name] for name in names[count:]]), strict=True)
            ]
            retired = [_take_time(pushing, lambda n=name: session.retire(n)) for name in names[count:]]  # type: ignore[misc]
        rows = session.push(watched=_make_events(pushing.pushed))["watched"]
    return {
        "benchmark": "session",
        "question": f"a query added to, altered in and retired from a session of {count:,} running ones",
        **describe_machine(),
        "seed": SEED,
        "changes": CHANGES,
        "longest_push_ms_when_nothing_changes": round(quiet, 2),
        "rows_of_the_watched_query": pushing.rows + len(rows),
        "rows_expected_of_it": pushing.pushed + EVENTS_A_PUSH,
        "embedded": {"deploy": _summarise(added), "alter": _summarise(altered), "retire": _summarise(retired)},
    }


class PushingThread:
    """Pushes events of the watched stream until it is left; knows the longest push since it was last asked."""

    def __init__(self, session: cep.Session) -> None:
        self._session = session
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._push, daemon=True)
        self._longest_ms = 0.0
        self.pushed, self.rows, self.count = 0, 0, 0

    def __enter__(self) -> PushingThread:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stop.set()
        self._thread.join()

    def watch(self, action: Callable[[], object]) -> float:
        """The longest push, in milliseconds, while something is done and until the next push has ended."""
        self._longest_ms = 0.0
        action()
        goal = self.count + 2
        while self.count < goal:
            time.sleep(0.0005)
        return self._longest_ms

    def _push(self) -> None:
        while not self._stop.is_set():
            batch = _make_events(self.pushed)
            begin = time.perf_counter()
            rows = self._session.push(watched=batch)["watched"]
            self._longest_ms = max(self._longest_ms, 1000 * (time.perf_counter() - begin))
            self.pushed += len(batch)
            self.rows += len(rows)
            self.count += 1
            time.sleep(0.001)


def _make_events(first: int) -> pa.Table:
    numbers = np.arange(first, first + EVENTS_A_PUSH)
    values = {f"a{number}": (numbers % 97).astype(np.float64) for number in (1, 2, 3)}
    times = pa.array(1000 * numbers, pa.timestamp("us"))
    return pa.table({"ts": times, "id": pa.array(numbers % 10, pa.int32()), **values}, schema=SCHEMA)


def _take_time(pushing: PushingThread, change: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that a change took, and the longest push meanwhile."""
    taken: list[float] = []

    def change_timed() -> None:
        begin = time.perf_counter()
        change()
        taken.append(1000 * (time.perf_counter() - begin))

    longest = pushing.watch(change_timed)
    return taken[0], longest


def _summarise(measured: list[tuple[float, float]]) -> dict[str, float]:
    taken, longest = np.array(measured).T
    return {
        "median_ms": round(float(np.median(taken)), 2),
        "most_ms": round(float(taken.max()), 2),
        "longest_push_ms": round(float(longest.max()), 2),
        "median_longest_push_ms": round(float(np.median(longest)), 2),
    }
