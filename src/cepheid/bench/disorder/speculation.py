"""How early rows come out if they may be taken back, and how often they are.

    1 % of the events late by up to 2 s ─▶ batches of 10 ms by arrival ─▶ query ─▶ rows, each with its batch

One query waits for all late events (emit="final"); the same query waits for a share of that and corrects itself.  The
latency of a row is in the time of arrival: from the event that completes it, the last to arrive of those it is made of,
until the end of the batch in which it came out as it stayed.  Inserts less retracts must be the rows over sorted
events before any figure is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.bench.disorder.arrival_batches import cut_by_arrival
from cepheid.bench.disorder.delays.delay import MILLISECOND_NS, Floats, Int64s
from cepheid.bench.disorder.measured_queries import SEQUENCE, TUMBLING, make_table
from cepheid.bench.disorder.played_events import BEGIN_US, PlayedEvents, generate
from cepheid.bench.disorder.scenario import load_scenario
from cepheid.schema import INSERT

SCENARIO = "uniform"
BOUND = timedelta(seconds=2)
BATCH_NS = 10 * MILLISECOND_NS
SHARES = (1.0, 0.75, 0.5, 0.25, 0.1, 0.0)  # of the wait that events are really held
FEW_SHARES = (1.0, 0.5, 0.0)
SEED = 1


@dataclass(frozen=True, slots=True)
class Arrived:
    """Events and when they arrived, by their numbers."""

    table: pa.Table
    played: PlayedEvents


@dataclass(frozen=True, slots=True)
class Question:
    """complete_ns: for rows of the query, int64[n]: when the last event arrived that each is made of."""

    text: str
    complete_ns: Callable[[pa.Table, Arrived], Int64s]


def _complete_pairs(rows: pa.Table, arrived: Arrived) -> Int64s:
    arrivals = arrived.played.arrivals_ns
    return np.maximum(*(arrivals[rows.column(name).to_numpy()] for name in ("first_n", "last_n")))


def _complete_windows(rows: pa.Table, arrived: Arrived) -> Int64s:
    """A window is made of its events, and of the first one behind its end."""
    times, arrivals = arrived.played.times_us, arrived.played.arrivals_ns
    ends = rows.column("until").cast(pa.int64()).to_numpy() - BEGIN_US
    clock = np.maximum.accumulate(times)
    behind = np.minimum(np.searchsorted(clock, ends), len(clock) - 1)
    keys = arrived.table.column("k").to_numpy()
    windows = {}
    for key, window, at in zip(keys.tolist(), (times // 1_000_000).tolist(), arrivals.tolist(), strict=True):
        windows[key, window] = at  # in the order of arrival: the last stays
    found = zip(rows.column("k").to_pylist(), (ends // 1_000_000 - 1).tolist(), strict=True)
    return np.maximum(np.array([windows[each] for each in found], dtype=np.int64), arrivals[behind])


QUESTIONS = {
    "keyed SEQ": Question(SEQUENCE, _complete_pairs),
    "tumbling window": Question(TUMBLING, _complete_windows),
}


def measure_speculation(events: int, shares: Sequence[float], advance: Callable[[], object]) -> dict[str, Any]:
    """advance: one run is done."""
    scenario = replace(load_scenario(SCENARIO), events=events)
    played = generate(scenario)
    arrived = Arrived(make_table(played.times_us, SEED), played)
    found: dict[str, Any] = {}
    for name, question in QUESTIONS.items():
        found[name] = {}
        expected = Counter(_list_rows(cep.sql(question.text, events=arrived.table.sort_by("ts"))))
        for title, disorder in list_settings(shares):
            found[name][title] = _measure(question, arrived, disorder, expected)
            advance()
    return {
        "stream": scenario.title,
        "events": events,
        "bound_s": BOUND.total_seconds(),
        "batch_ms": BATCH_NS // MILLISECOND_NS,
        "runs": found,
    }


def list_settings(shares: Sequence[float]) -> Iterator[tuple[str, cep.Disorder]]:
    """By name; first the one that corrects nothing."""
    yield "waits for all", cep.Disorder(wait=BOUND, bound=BOUND)
    for share in shares:
        name = f"holds {share * BOUND.total_seconds():g} s"
        yield name, cep.Disorder(wait=BOUND, bound=BOUND, speculation=share, emit="changes")


def _measure(question: Question, arrived: Arrived, disorder: cep.Disorder, expected: Counter[Any]) -> dict[str, Any]:
    query = cep.open(question.text, disorder=disorder, events=arrived.table.schema)
    given, ends = [], []
    for batch in cut_by_arrival(arrived.played.arrivals_ns, BATCH_NS):
        given.append(query.push(events=arrived.table.slice(batch.begin, batch.end - batch.begin)))
        ends.append(batch.at_ns)
    given.append(query.finish())
    ends.append(ends[-1])
    changes = pa.concat_tables(given)
    at = np.repeat(np.array(ends, dtype=np.int64), [len(table) for table in given])
    is_end = np.repeat(np.arange(len(given)) == len(given) - 1, [len(table) for table in given])
    stayed, corrections = find_stayed(changes)
    rows = changes.take(pa.array(stayed))
    if "_change" in rows.column_names:
        rows = rows.drop_columns(["_change", "_match", "_version"])
    assert Counter(_list_rows(rows)) == expected, "what is corrected is the answer over sorted events"
    timed = ~is_end[stayed]  # what only the end of the input gives out has no latency
    latency = (at[stayed] - question.complete_ns(rows, arrived))[timed] / MILLISECOND_NS
    return {**_describe(latency), "rows": len(rows), "corrections_per_1000": round(1000 * corrections / len(rows), 1)}


def find_stayed(changes: pa.Table) -> tuple[Int64s, int]:
    """The places of the inserts that were not taken back, and the number of retracts."""
    if "_change" not in changes.column_names:
        return np.arange(len(changes)), 0
    there: dict[str, int] = {}
    words, names = changes.column("_change").to_pylist(), changes.column("_match").to_pylist()
    for place, (change, name) in enumerate(zip(words, names, strict=True)):
        if change == INSERT:
            there[name] = place
        else:
            del there[name]
    return np.array(sorted(there.values()), dtype=np.int64), sum(change != INSERT for change in words)


def _describe(latency_ms: Floats) -> dict[str, Any]:
    p50, p99 = np.percentile(latency_ms, [50, 99])
    return {"p50_ms": round(float(p50), 1), "p99_ms": round(float(p99), 1)}


def _list_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
