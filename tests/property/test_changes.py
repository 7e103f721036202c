"""Inserts minus retracts are the batch answer, through every kind of vertex, however the changes are pushed."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).parent))  # the random queries lie beside this file
import pyarrow as pa
from netted_changes import Netted
from random_changes import make_changes, make_habits
from random_events import make_events
from random_row_patterns import make_row_pattern_case
from random_sequences import make_sequence_case
from random_ways import list_ways_cases
from random_windows import make_window_case
from ways_to_run import report_smallest

import cepheid as cep
from cepheid.compiler import compile_query
from cepheid.errors import MatchFailure, PatternTooCostly, RejectedEventsWarning, UnboundedStateWarning
from cepheid.execution.embedded.continuous import ContinuousQuery
from cepheid.execution.embedded.relations import describe_sql
from cepheid.language.catalog import Catalog
from cepheid.schema import without_changes
from cepheid.settings import Settings
from cepheid.testing import cut_table, list_rows

WINDOWS, SEQUENCES, WAYS, ROW_PATTERNS, OTHERS = 80, 40, 40, 30, 80
CITIES = cep.Table({"k": [0, 1, 1, 2], "city": ["A", "B", "B2", "C"]})
LOWER_PATTERN = (
    "(SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(a.ts) AS first_ts, LAST(b.ts) AS ts, "
    "count(b.i) AS c, FIRST(a.i) AS i PATTERN (a b+) WITHIN INTERVAL '4' SECOND DEFINE b AS b.i >= PREV(b.i)))"
)
TEXTS = (
    "SELECT ts, i + 1 AS j, w FROM s WHERE i > 0",
    "SELECT * FROM s WHERE flag",
    "SELECT i, w FROM s WHERE flag UNION ALL SELECT i + 1, s FROM t WHERE i > 0",
    "SELECT i, w FROM s WHERE flag UNION ALL SELECT i, s FROM s WHERE i > 0",
    "SELECT x.ts, x.i, c.city FROM s AS x JOIN c ON x.k = c.k WHERE x.i > 0",
    "SELECT x.ts, x.i, c.city FROM s AS x LEFT JOIN c ON x.k = c.k",
    "SELECT city, count(*) AS n FROM (SELECT x.ts, c.city FROM s AS x JOIN c ON x.k = c.k) [RANGE 3 S] GROUP BY city",
    (
        "SELECT count(*) AS n, sum(i) AS a FROM (SELECT ts, i FROM s WHERE flag UNION ALL SELECT ts, i FROM t) "
        "[ORDER BY ts RANGE 4 SECONDS] OUTPUT EVERY 2 SECONDS"
    ),
    f"SELECT first_ts, c, k FROM {LOWER_PATTERN} WHERE c > 1",
    f"SELECT count(*) AS n, max(c) AS m, last(i) AS l FROM {LOWER_PATTERN} [ORDER BY ts ROWS 3]",
    f"SELECT k, sum(c) AS n FROM {LOWER_PATTERN} [ORDER BY ts RANGE 5 SECONDS] GROUP BY k OUTPUT EVERY 3 SECONDS",
    (
        f"SELECT * FROM {LOWER_PATTERN} MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(p.c) AS x, LAST(q.i) AS y "
        "PATTERN (p q) DEFINE q AS q.c <= p.c)"
    ),
    "SELECT max(n) AS m FROM (SELECT ISTREAM k, count(*) AS n FROM s [ORDER BY ts ROWS 3] GROUP BY k) [ROWS 2]",
    "SELECT last(i) AS l FROM (SELECT DSTREAM ts, i FROM s [ORDER BY ts RANGE 2 SECONDS] WHERE flag) [ROWS 3]",
    (
        "SELECT a.ts AS t, b.w AS w FROM PATTERN SEQ(s a, ~t c, s b) ORDER BY ts WHERE a.k = b.k AND a.k = c.k "
        "AND a.i > 0 WITHIN INTERVAL '3' SECOND"
    ),
    (
        "SELECT x.n, y.i FROM (SELECT count(*) AS n, last(k) AS k FROM t [ORDER BY ts ROWS 2] OUTPUT EVERY 2 SECONDS) "
        "[RANGE 3 SECONDS] AS x, s [ORDER BY ts RANGE 3 SECONDS] AS y WHERE x.k = y.k"
    ),
    "SELECT x.i, y.i AS j FROM s [ORDER BY ts ROWS 3] AS x, t [ORDER BY ts RANGE 2 SECONDS] AS y WHERE x.k = y.k",
    (
        "SELECT ts, i, count(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '2' SECOND PRECEDING "
        "AND CURRENT ROW) AS c FROM s"
    ),
)


@dataclass(frozen=True)
class Case:
    text: str
    tables: Mapping[str, pa.Table]

    def __repr__(self) -> str:
        return f"{self.text}\n{ {name: table.to_pylist() for name, table in self.tables.items()} }"


def list_cases() -> Iterator[tuple[int, Case]]:
    for seed in range(WINDOWS):
        window = make_window_case(seed)
        yield seed, Case(window.text, window.tables)
    for seed in range(SEQUENCES):
        sequence = make_sequence_case(seed)
        yield seed, Case(sequence.text, sequence.tables)
    for seed, ways in list_ways_cases(WAYS):
        yield seed, Case(ways.text, ways.tables)
    for seed in range(ROW_PATTERNS):
        pattern = make_row_pattern_case(seed)
        yield seed, Case(pattern.text, {"t": pattern.events.slice(0, 60)})
    for seed in range(OTHERS):
        text = TEXTS[seed % len(TEXTS)]
        tables = {name: make_events(seed + shift, 30, keys=3, gaps=(0, 1)) for name, shift in (("s", 0), ("t", 999))}
        yield seed, Case(text, {name: tables[name] for name in tables if re.search(rf"(FROM|,|~) ?{name}\b", text)})


@dataclass(frozen=True)
class Patience:
    """How old changes may be (None: any age), and how long events are held back, if not as long as that."""

    lateness: timedelta | None = None
    wait: timedelta | None = None


AT_ONCE = Patience()


def open_quietly(text: str, schemas: Mapping[str, Any], patience: Patience, snapshot: bytes | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedStateWarning)
        if patience.wait is None:
            return cep.open(text, snapshot=snapshot, lateness=patience.lateness, **schemas)
    streams = {name: value for name, value in schemas.items() if isinstance(value, pa.Schema)}
    lookups = {"c": CITIES}
    hidden = {name: without_changes(schema) for name, schema in streams.items()}
    catalog = Catalog(hidden | {"c": CITIES.schema}, describe_sql, frozenset(streams), frozenset(lookups))
    settings = Settings(lateness=patience.lateness, wait=patience.wait)
    return ContinuousQuery(compile_query(text, catalog).placed, streams, settings, snapshot, lookups=lookups)


def find_lateness(tables: Mapping[str, pa.Table]) -> timedelta:
    """How old the oldest change is when it comes, the row that it replaces included: nothing is late with this."""
    oldest = 0
    for table in tables.values():
        times = table.column("ts").cast(pa.int64()).to_pylist()
        matches = table.column("_match").to_pylist() if "_match" in table.column_names else range(len(times))
        newest, known = 0, {}
        for match, time in zip(matches, times, strict=True):
            oldest = max([oldest, *(newest - each for each in (time, known.get(match)) if each is not None and newest)])
            newest, known[match] = max(newest, time or 0), time
    return timedelta(microseconds=oldest)


def run_changes(text: str, tables: Mapping[str, pa.Table], random: Random, patience: Patience = AT_ONCE) -> Netted:
    """Push the tables in random pieces, with a restart on the way."""
    pieces = random.choice((1, 3, 8, 20))
    parts = {
        name: cut_table(table, sorted(random.randint(0, len(table)) for _ in range(pieces - 1)))
        for name, table in tables.items()
    }
    schemas: dict[str, Any] = {name: table.schema for name, table in tables.items()} | {"c": CITIES}
    restarts = {random.randrange(pieces) for _ in range(random.choice((0, 1, 2)))}
    query, netted = open_quietly(text, schemas, patience), Netted()
    for number in range(pieces):
        netted.take(query.push(**{name: parts[name][number] for name in tables}))
        if number in restarts:
            query = open_quietly(text, schemas, patience, query.snapshot())
    netted.take(query.finish())
    assert query.counts.late == 0, "nothing is late"
    return netted


def change_streams(case: Case, random: Random) -> dict[str, pa.Table]:
    """At least one of the streams changes."""
    names = list(case.tables)
    changing = set(random.sample(names, random.randint(1, len(names))))
    return {
        name: make_changes(table, random, make_habits(random)) if name in changing else table
        for name, table in case.tables.items()
    }


def check_case(case: Case, seed: int, seen: Counter[str]) -> None:
    random = Random(seed)
    tables = change_streams(case, random)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RejectedEventsWarning)
            expected = Counter(list_rows(cep.sql(case.text, **tables, c=CITIES)))
        bound = find_lateness(tables)
        patience = random.choice(
            (AT_ONCE, AT_ONCE, Patience(bound), Patience(bound, bound * random.choice((0, 0.3, 0.7))))
        )
        netted = run_changes(case.text, tables, random, patience)
        again = run_changes(case.text, tables, random)
    except (MatchFailure, PatternTooCostly):
        seen["failed"] += 1
        return
    assert netted.plain_rows() == expected, (
        f"too many: {list((netted.plain_rows() - expected).items())[:3]}, "
        f"missing: {list((expected - netted.plain_rows()).items())[:3]}"
    )
    assert netted.matches() == again.matches(), "ids do not depend on pushes"
    twice = [match for match, rows in netted.matches().items() if rows > 1 and len(str(match)) == 32]
    assert not twice, f"rows of an engine have ids of their own: {twice[:3]}"
    seen["rows"] += bool(expected)
    seen["retracts"] += bool(netted.retracts)
    seen["bounded"] += patience.wait is None and patience.lateness is not None
    seen["corrected"] += patience.wait is not None and bool(netted.retracts)


def test_netted_changes_are_the_batch_answer() -> None:
    seen: Counter[str] = Counter()
    wrong: list[tuple[int, object, AssertionError]] = []
    count = 0
    for seed, case in list_cases():
        count += 1
        try:
            check_case(case, seed, seen)
        except AssertionError as problem:
            wrong.append((seed, case, problem))
    report_smallest(wrong)
    assert seen["rows"] > count / 3, f"many queries find something: {seen}"
    assert seen["retracts"] > count / 5, f"many take something back: {seen}"
    assert seen["bounded"] > 10, f"some have a bound: {seen}"
    assert seen["corrected"] > 10, f"some take back what was given out too early: {seen}"
