"""Queries in several processes give what they give in one, push by push, over delays, snapshots and deaths.

The processes are local here (local_worker.py), so that there may be many cases; test_processes.py has real ones.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "property")]
from case_counts import few
from local_worker import LocalWorker
from test_late_events import QUERIES, Reader, make_disorder, make_streams

import cepheid as cep
from cepheid.execution.shares.share_link import ShareLink
from cepheid.testing import list_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::cepheid.UnboundedStateWarning"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.RowsAtTheEndWarning"),
]
BY_BEGINNINGS = {
    "pairs of all": (
        "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(s a, s b) WHERE b.v > a.v AND a.v > 2 WITHIN INTERVAL '2' SECOND"
    ),
    "Kleene of all": (
        "SELECT a.n AS n, count(b[]) AS c, d.n AS m FROM PATTERN SEQ(s a, s+ b[], ~s x, s d) WHERE a.v > 3 "
        "AND b[i].v < a.v AND x.v > 4 AND d.v = 1 WITHIN INTERVAL '2' SECOND STRATEGY skip_till_any"
    ),
    "neighbours": (
        "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(s a, s b, s c) WHERE b.v > a.v AND c.v < b.v "
        "WITHIN INTERVAL '2' SECOND STRATEGY strict"
    ),
    "absence before and after": (
        "SELECT a.n AS n, b.n AS m FROM PATTERN SEQ(~r x, s a, r b, ~s y) WHERE a.v > 1 AND x.v > 3 AND y.v > 4 "
        "AND b.v > 0 WITHIN INTERVAL '1' SECOND"
    ),
    "two streams, time runs out": (
        "SELECT a.n AS n, b.n AS m, TIMED_OUT() AS t FROM PATTERN SEQ(s a, r b) WHERE a.v = b.v AND b.n > a.n "
        "WITHIN INTERVAL '1' SECOND TIMEOUT ROWS"
    ),
}
MORE = {
    "every second, by key": (
        "SELECT k, count(*) AS c FROM s [PARTITION BY k ORDER BY ts RANGE 3 SECONDS] GROUP BY k OUTPUT EVERY 1 SECOND"
    ),
    "having": "SELECT k, max(v) AS v, window_end AS at FROM s [RANGE 2 S SLIDE 2 S] GROUP BY k HAVING count(*) > 2",
    "since the beginning": "SELECT k, count(*) AS c FROM s [RANGE UNBOUNDED] GROUP BY k",
    "tumbling over a tumbling": (
        "SELECT k, sum(c) AS c, window_end AS until FROM (SELECT k, count(*) AS c, window_end AS at FROM s [RANGE 1 S "
        "SLIDE 1 S] GROUP BY k) AS w [ORDER BY at RANGE 4 S SLIDE 4 S] GROUP BY k"
    ),
}
NOT_SHARED = {
    "every second": "it has no keys",
    "filter": "looks at each event by itself",
    "always changing, over a window": "a join, grouping or sorting",
    "what is new in a window": "it has no keys",
    "what has left a window": "it has no keys",
    "groups of doubles": "none of its keys is a copy",
    "no key": "it has no keys",
    "first rows of all": "it has no keys",
    "one match after another": "it has no keys",
    "matches that share no event": "it has no keys",
    "repeated first step": "it has no keys",
}
REFUSED = QUERIES | {
    "every second": "SELECT k, count(*) AS c, sum(v) AS v FROM s [RANGE 3 SECONDS] GROUP BY k OUTPUT EVERY 1 SECOND",
    "no key": "SELECT count(*) AS c FROM s [RANGE 2 S SLIDE 2 S]",
    "first rows of all": "SELECT k, v FROM s [RANGE 2 S SLIDE 2 S] ORDER BY v LIMIT 2",
    "one match after another": "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES a.n AS n PATTERN (a b) "
    "DEFINE b AS b.v > a.v)",
    "matches that share no event": "SELECT a.n FROM PATTERN SEQ(s a, s b) WHERE b.v > a.v WITHIN INTERVAL '2' SECOND "
    "CONSUME MATCHED",
    "repeated first step": "SELECT b.n FROM PATTERN SEQ(s+ a[], s b) WHERE b.v > a[1].v WITHIN INTERVAL '2' SECOND",
}
STACKED = {"window over a pattern"}  # how far the upper one is hangs on all keys of the lower
SHARED = {name: query for name, query in (QUERIES | BY_BEGINNINGS | MORE).items() if name not in NOT_SHARED}
PLACES = {name: number for number, name in enumerate(SHARED)}


@pytest.fixture(autouse=True)
def local_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ShareLink, "open_worker", LocalWorker)
    yield
    LocalWorker.deaths = None


def make_settings(random: Random, most_late: Any, emit: Any) -> dict[str, Any]:
    disorder = make_disorder(random, most_late, emit)
    if emit == "final" and random.random() < 0.5:  # some events are late
        return {"disorder": replace(disorder, wait=most_late * 0.2, bound=most_late * random.choice((0.5, 1.0)))}
    return {"disorder": disorder}


def count_changes(changes: pa.Table) -> Counter[Any]:
    """Ids differ: each process numbers its events."""
    return Counter((change, *values) for change, _, _, *values in list_rows(changes))


class Told:
    """Rows of both; ahead: may a process be ahead of one that has all keys?"""

    def __init__(self, ahead: bool) -> None:
        self._ahead = ahead
        self._ones: Counter[Any] = Counter()
        self._shared: Counter[Any] = Counter()

    def take(self, shared: pa.Table, ones: pa.Table, is_last: bool = False) -> None:
        self._shared += Counter(list_rows(shared))
        self._ones += Counter(list_rows(ones))
        missing, early = self._ones - self._shared, self._shared - self._ones
        assert not missing, "a process is never behind"
        assert not early or (self._ahead and not is_last), "nor are there other rows"


@pytest.mark.parametrize("seed", range(few(2, of=40)))
@pytest.mark.parametrize("name", SHARED)
def test_shares_give_what_one_process_gives(name: str, seed: int) -> None:
    query, random = SHARED[name], Random(500 * PLACES[name] + seed)
    streams = make_streams(random, query)
    schemas = {stream: table.schema for stream, table in streams.played.items()}
    for emit in ("changes", "final"):
        settings = make_settings(random, streams.most_late, emit)
        if name in BY_BEGINNINGS and emit == "final":  # an event is late for all processes, or for none
            settings = {"disorder": cep.Disorder(bound=streams.most_late)}
        engines = random.randint(1, 8)
        LocalWorker.deaths = Random(seed) if random.random() < 0.5 else None
        is_fixed = settings["disorder"].read_waiting().rule == "fixed"
        one, shared, reader, told = cep.open(query, **settings, **schemas), None, Reader(), Told(name in STACKED)
        shared = cep.open(query, engines=engines, **settings, **schemas)
        for push in streams.cut(random):
            expected, found = one.push(**push), shared.push(**push)
            if emit == "changes":
                reader.take(found)
                if is_fixed and name not in STACKED:
                    assert count_changes(found) == count_changes(expected), settings
            else:
                told.take(found, expected)
                assert Counter(list_rows(shared.late_events())) == Counter(list_rows(one.late_events()))
            if random.random() < 0.2:
                shared = cep.open(query, engines=engines, snapshot=shared.snapshot(), **settings, **schemas)
        expected, found = one.finish(), shared.finish()
        if emit == "changes":
            reader.take(found)
            assert reader.count() == Counter(list_rows(cep.sql(query, **streams.sort()))), settings
        else:
            told.take(found, expected, is_last=True)
            assert shared.counts.late == one.counts.late
            assert shared.counts.events == one.counts.events


@pytest.mark.parametrize("name", NOT_SHARED)
def test_what_cannot_be_shared_out_is_refused_by_name(name: str) -> None:
    schema = make_streams(Random(0), "s").played["s"].schema
    with pytest.raises(cep.errors.NotSupportedYet, match=f"several engines for .*{NOT_SHARED[name]}"):
        cep.open(REFUSED[name], engines=2, s=schema, emit="changes" if "changing" in name else None)


def test_what_is_late_for_some_processes_only_is_refused() -> None:
    query = "SELECT a.n AS n FROM PATTERN SEQ(s a, s b) WHERE b.v > a.v WITHIN INTERVAL '2' SECOND"
    schema = make_streams(Random(0), "s").played["s"].schema
    for disorder in (cep.Disorder(wait="1 s", bound="2 s"), cep.Disorder(recall=0.99)):
        with pytest.raises(cep.errors.NotSupportedYet, match="without a key, with emit"):
            cep.open(query, engines=2, s=schema, disorder=disorder)


def test_workers_died_in_these_cases() -> None:
    """Else the test above would say nothing of deaths."""
    LocalWorker.died = 0
    test_shares_give_what_one_process_gives("sequence", 0)
    for seed in range(1, 8):
        test_shares_give_what_one_process_gives("tumbling", seed)
    assert LocalWorker.died > 3
