"""Random delays, waits and bounds: what comes late is put right, and all rows together are those of sorted events.

Delays are those of the benchmark's generator: of several sources, from no event out of order to most of them.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))  # how many cases there are lies beside this file
from case_counts import few

import cepheid as cep
from cepheid.bench.disorder.delays.delay import Delay
from cepheid.bench.disorder.delays.drawn import Exponential, LogNormal, Pareto, UniformShare, Zipf
from cepheid.bench.disorder.delays.drift import Drift
from cepheid.bench.disorder.delays.outage import Outage
from cepheid.bench.disorder.delays.ramp import Ramp
from cepheid.bench.disorder.played_events import PlayedEvents, generate
from cepheid.bench.disorder.scenario import PlacedDelay, Scenario
from cepheid.disorder.waits.kinds import WAITS
from cepheid.testing import list_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.RowsAtTheEndWarning"),
]
Tables = Mapping[str, pa.Table]
PATTERN = (
    "SELECT a.k AS k, a.v + b.v AS v, a.n AS n, b.ts AS at FROM PATTERN SEQ(s a, s b) WHERE a.k = b.k AND b.v > a.v "
    "WITHIN INTERVAL '3' SECOND"
)
QUERIES = {
    "sequence": PATTERN,
    "sequence, every start": f"{PATTERN} STRATEGY skip_till_any",
    "sequence of two streams": (
        "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(s a, r b) WHERE a.k = b.k AND b.v > 1 WITHIN INTERVAL '2' SECOND"
    ),
    "absence between": (
        "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(s a, ~s x, s b) WHERE a.k = b.k AND a.k = x.k AND x.v > 3 "
        "AND a.v > 1 AND b.v > 1 WITHIN INTERVAL '3' SECOND"
    ),
    "absence for a while": (
        "SELECT a.n AS n, MATCH_TIME() AS t FROM PATTERN SEQ(s a, ~s x FOR INTERVAL '2' SECOND) "
        "WHERE a.k = x.k AND a.v > 2 AND x.v > 3"
    ),
    "Kleene": (
        "SELECT a.n AS n, count(b[]) AS c, sum(b[].v) AS v FROM PATTERN SEQ(s a, s+ b[], s c) "
        "WHERE a.k = b[i].k AND a.k = c.k AND a.v > 2 AND b[i].v > 1 AND c.v < 2 WITHIN INTERVAL '3' SECOND"
    ),
    "MATCH_RECOGNIZE": (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.n AS n, LAST(b.n) AS m, count(b.n) "
        "AS c PATTERN (a b+) WITHIN INTERVAL '4' SECOND DEFINE b AS b.v >= PREV(b.v))"
    ),
    "MATCH_RECOGNIZE, after first": (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.n AS n, b.n AS m AFTER MATCH SKIP TO "
        "NEXT ROW PATTERN (a x* b) WITHIN INTERVAL '2' SECOND DEFINE x AS x.v < 2, b AS b.v > a.v)"
    ),
    "tumbling": "SELECT k, count(*) AS c, sum(v) AS v, window_end AS at FROM s [RANGE 2 S SLIDE 2 S] GROUP BY k",
    "hopping": "SELECT k, max(v) AS v, count(*) AS c, window_end AS at FROM s [RANGE 3 S SLIDE 1 S] GROUP BY k",
    "sliding": "SELECT k, count(*) AS c, avg(v) AS v, max(ts) AS at FROM s [RANGE 2 SECONDS] GROUP BY k",
    "last rows": "SELECT k, sum(n) AS n, count(*) AS c FROM s [PARTITION BY k ORDER BY ts ROWS 4] GROUP BY k",
    "session": (
        "SELECT k, count(*) AS c, min(n) AS n, window_end AS at FROM s [PARTITION BY k ORDER BY ts SESSION 1 SECOND] "
        "GROUP BY k"
    ),
    "join of windows": (
        "SELECT x.n AS n, y.n AS m FROM s [ORDER BY ts RANGE 2 SECONDS] AS x, r [ORDER BY ts RANGE 1 SECOND] AS y "
        "WHERE x.k = y.k AND x.v > 1"
    ),
    "join by time": (
        "SELECT a.n AS n, b.n AS m FROM s AS a LEFT JOIN r AS b ON a.k = b.k "
        "AND b.ts BETWEEN a.ts - INTERVAL '1' SECOND AND a.ts"
    ),
    "rows before": (
        "SELECT n, lag(v) OVER (PARTITION BY k ORDER BY ts) AS v, count(*) OVER (PARTITION BY k ORDER BY ts RANGE "
        "BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) AS c FROM s"
    ),
    "filter": "SELECT n, v * 2 AS w FROM s WHERE v > 2",
    "filter over a pattern": f"SELECT n, v FROM ({PATTERN}) AS p WHERE v > 4",
    "window over a pattern": (
        f"SELECT k, count(*) AS c, max(n) AS n FROM ({PATTERN}) AS p [PARTITION BY k ORDER BY at RANGE 4 SECONDS SLIDE "
        "4 SECONDS] GROUP BY k"
    ),
    "groups of doubles": (  # both zeros among them, which are one group
        "SELECT f, count(*) AS c, max(n) AS n FROM (SELECT ts, n, (v - 2) * (n % 2 - 5e-1) AS f FROM s) "
        "[ORDER BY ts RANGE 2 S SLIDE 2 S] GROUP BY f"
    ),
    "what is new in a window": "SELECT ISTREAM k, count(*) AS c FROM s [RANGE 2 SECONDS] GROUP BY k",
    "what has left a window": "SELECT DSTREAM k, max(v) AS v FROM s [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "always changing, over a window": (
        "SELECT k, max(c) AS c FROM (SELECT k, count(*) AS c FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY k) AS w "
        "GROUP BY k"
    ),
}
KINDS = {name: number for number, name in enumerate(QUERIES)}


def make_delay(random: Random) -> Delay:
    """Events are 100 ms apart."""
    made: list[Delay] = [
        Exponential(mean_ms=random.choice((5, 100, 600))),
        LogNormal(median_ms=50, sigma=1),
        Pareto(shape=1.2, least_ms=20),
        Zipf(skew=1.8, unit_ms=30, cap_ms=4000),
        UniformShare(share=random.choice((0.01, 0.1, 0.9)), low_ms=0, high_ms=random.choice((300, 3000))),
        Ramp(start_s=2, end_s=6, step_ms=200, add_us=random.choice((40_000, 200_000))),
        Outage(every_s=5, length_s=2),
        Drift(of=Exponential(mean_ms=40), factor=11, period_s=6),
    ]
    return random.choice(made)


def make_events(random: Random) -> PlayedEvents:
    sources = random.choice((1, 2, 4))
    fifo = frozenset(source for source in range(sources) if random.random() < 0.3)
    delays = [PlacedDelay(delay=make_delay(random))]
    if random.random() < 0.5:
        begin = random.choice((0.0, 4.0))
        delays.append(PlacedDelay(delay=make_delay(random), sources=frozenset({sources - 1}), from_s=begin))
    return generate(
        Scenario(
            title="random",
            events=random.randrange(20, 120),
            sources=sources,
            interval_ns=100_000_000,
            delays=tuple(delays),
            seed=random.randrange(1000),
            fifo=fifo,
        )
    )


def make_table(random: Random, events: PlayedEvents, shift_us: int) -> pa.Table:
    """In the order of arrival.  shift_us: so that no two streams have an event at one time."""
    count = len(events)
    return pa.table(
        {
            "ts": pa.array(events.times_us + shift_us).cast(pa.timestamp("us")),
            "k": pa.array([random.choice((1, 1, 2, 3)) for _ in range(count)], pa.int64()),
            "v": pa.array([random.choice((None, 0, 1, 2, 3, 4, 5)) for _ in range(count)], pa.int64()),
            "n": pa.array(range(count), pa.int64()),
        }
    )


@dataclass
class Reader:
    """Who reads the changes: knows the rows that are there, by their names."""

    rows: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    versions: dict[Any, int] = field(default_factory=dict)

    def take(self, changes: pa.Table) -> None:
        for change, name, version, *values in list_rows(changes):
            before = self.versions.get(name, -1)  # of the last insert
            if change == "retract":
                assert self.rows.pop(name, None) == tuple(values), f"{name} is taken back, but is not there like that"
                assert version >= before, f"{name} is taken back by version {version} after {before}"
            else:
                assert name not in self.rows, f"{name} is inserted twice"
                assert version > before, f"{name} is inserted as version {version} after {before}"
                self.rows[name], self.versions[name] = tuple(values), version

    def count(self) -> Counter[Any]:
        return Counter(self.rows.values())


@dataclass(frozen=True)
class Streams:
    """played: in the order of arrival.  most_late: by how much an event was overtaken."""

    played: Tables
    arrivals: Mapping[str, np.ndarray]
    most_late: timedelta

    def sort(self) -> Tables:
        return {name: table.sort_by("ts") for name, table in self.played.items()}

    def cut(self, random: Random) -> list[dict[str, pa.Table]]:
        """Pushes: what arrives until some time, of all streams."""
        last = max(int(arrivals[-1]) for arrivals in self.arrivals.values())
        ends = sorted(random.randrange(last + 1) for _ in range(random.choice((1, 6, 25))))
        pushes, before = [], dict.fromkeys(self.played, 0)
        for end in [*ends, last]:
            push = {}
            for name, table in self.played.items():
                until = int(np.searchsorted(self.arrivals[name], end, side="right"))
                push[name], before[name] = table.slice(before[name], until - before[name]), until
            pushes.append(push)
        return pushes


def make_streams(random: Random, query: str) -> Streams:
    names = [name for name in "sr" if re.search(rf"\b{name}\b", query)]
    events = {name: make_events(random) for name in names}
    tables = {name: make_table(random, each, 37 * place) for place, (name, each) in enumerate(events.items())}
    latest = max(int(each.measure_lateness_ns().max()) for each in events.values())
    arrivals = {name: each.arrivals_ns for name, each in events.items()}
    return Streams(tables, arrivals, timedelta(microseconds=latest // 1000 + 1))


def make_disorder(random: Random, most_late: timedelta, emit: Any) -> cep.Disorder:
    """bound: no less than any event is late."""
    bound = most_late * random.choice((1.0, 1.0, 1.5, 10.0))
    if emit == "final":
        return cep.Disorder(bound=bound)
    rule: Any = random.choice(["fixed", "fixed", *(rule for rule in WAITS if rule != "fixed")])
    speculation: Any = random.choice((1.0, 1.0, 0.5, 0.0))
    if rule != "fixed":
        return cep.Disorder(wait=rule, bound=bound, emit=emit, speculation=speculation)
    wait = bound * random.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    return cep.Disorder(wait=wait, bound=bound, emit=emit, speculation=speculation)


def run(random: Random, query: str, streams: Streams, disorder: cep.Disorder) -> tuple[Counter[Any], int]:
    """The rows that are there in the end, and how many events were late."""
    schemas = {name: table.schema for name, table in streams.played.items()}
    opened, reader, given = cep.open(query, disorder=disorder, **schemas), Reader(), []
    for push in streams.cut(random):
        given.append(opened.push(**push))
        if random.random() < 0.2:
            opened = cep.open(query, disorder=disorder, snapshot=opened.snapshot(), **schemas)
    given.append(opened.finish())
    if disorder.emit == "final":
        return Counter(list_rows(pa.concat_tables(given))), opened.counts.late
    for changes in given:
        reader.take(changes)
    return reader.count(), opened.counts.late


@pytest.mark.parametrize("seed", range(few(4, of=60)))
@pytest.mark.parametrize("name", QUERIES)
def test_late_events_are_put_right(name: str, seed: int) -> None:
    query = QUERIES[name]
    random = Random(100 * KINDS[name] + seed)
    streams = make_streams(random, query)
    expected = Counter(list_rows(cep.sql(query, **streams.sort())))
    for emit in ("changes", "changes", "final"):
        disorder = make_disorder(random, streams.most_late, emit)
        found, late = run(random, query, streams, disorder)
        assert late == 0, disorder
        assert found == expected, disorder


def test_the_delays_put_few_and_many_events_out_of_order() -> None:
    shares = [float((make_events(Random(seed)).measure_lateness_ns() > 0).mean()) for seed in range(200)]
    assert min(shares) == 0.0
    assert 0.0 < min(share for share in shares if share > 0) < 0.02
    assert max(shares) > 0.6


OF_ONE_STREAM = [
    *("sequence", "sequence, every start", "absence between", "absence for a while", "Kleene", "MATCH_RECOGNIZE"),
    *("MATCH_RECOGNIZE, after first", "tumbling", "hopping", "sliding", "last rows", "session", "rows before"),
    *("filter over a pattern", "window over a pattern", "what is new in a window", "what has left a window"),
]


@pytest.mark.parametrize("seed", range(few(3, of=60)))
@pytest.mark.parametrize("name", OF_ONE_STREAM)
def test_final_rows_are_those_of_all_events_that_were_not_late(name: str, seed: int) -> None:
    """Events come later than what is waited for: those that change what was given out are late, the others count."""
    query = QUERIES[name]
    random = Random(1000 + 100 * KINDS[name] + seed)
    streams = make_streams(random, query)
    bound = streams.most_late * random.choice((0.3, 1.0, 2.0))
    disorder = cep.Disorder(wait=bound * random.choice((0.0, 0.1, 0.4)), bound=bound)
    schema = streams.played["s"].schema
    opened, given, late = cep.open(query, disorder=disorder, s=schema), [], set()
    for push in streams.cut(random):
        given.append(opened.push(**push))
        late |= set(opened.late_events().column("ts").to_pylist())
        if random.random() < 0.2:
            opened = cep.open(query, disorder=disorder, snapshot=opened.snapshot(), s=schema)
    given.append(opened.finish())
    late |= set(opened.late_events().column("ts").to_pylist())
    ordered = streams.sort()["s"]
    on_time = ordered.filter(pa.array([time not in late for time in ordered.column("ts").to_pylist()], pa.bool_()))
    assert opened.counts.late <= len(late)
    assert Counter(list_rows(pa.concat_tables(given))) == Counter(list_rows(cep.sql(query, s=on_time))), disorder


def test_what_is_late_above_another_engine_is_told() -> None:
    """The event at 1 s changes nothing that the lower engine, lag, gave out; but the count of the row at 2 s, above."""
    rows = {"ts": [0, 2, 3], "k": [1, 1, 1], "v": [1, 1, 1], "n": [0, 1, 2]}
    schema = pa.schema({"ts": pa.timestamp("s"), **dict.fromkeys("kvn", pa.int64())})
    disorder = cep.Disorder(wait="0 s", bound="10 s")
    opened = cep.open(QUERIES["rows before"], disorder=disorder, s=schema)
    given = [opened.push(s=pa.table(rows, schema=schema))]
    given.append(opened.push(s=pa.table({"ts": [1], "k": [1], "v": [1], "n": [9]}, schema=schema)))
    given.append(opened.finish())
    found = [row["n"] for row in pa.concat_tables(given).to_pylist()]
    assert sorted(found) == [0, 1, 2]
    assert opened.counts.late == 1
    assert len(opened.late_events()) == 1
