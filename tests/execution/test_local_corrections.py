"""What late events touch: found, computed again, and nothing else."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import UnboundedStateWarning
from cepheid.execution.changing.changing_engine import ChangingEngine
from cepheid.execution.changing.shelf import Shelf
from cepheid.execution.changing.spans import Spans
from cepheid.graph import reach
from cepheid.graph.reach import ALWAYS_LITTLE, pays_alone

SCHEMA = pa.schema({"ts": pa.timestamp("us"), "k": "int64", "v": "int64", "f": "float64"})
SECOND = 1_000_000
SEQ = "SELECT a.v AS v, b.v AS w FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k AND a.v < b.v"
PATTERN = f"{SEQ} WITHIN INTERVAL '2' SECOND"
TUMBLING = "SELECT k, sum(v) AS a FROM s [ORDER BY ts RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY k"
SLIDING = "SELECT k, count(*) AS n FROM s [ORDER BY ts RANGE 2 SECONDS] GROUP BY k"
JOIN = "SELECT x.v, y.v AS w FROM s [ORDER BY ts RANGE 2 S] AS x, t [ORDER BY ts RANGE 1 S] AS y WHERE x.k = y.k"
BOUND = timedelta(hours=1)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedStateWarning)
        yield


def open_query(text: str, bound: timedelta = BOUND) -> Any:
    streams = {name: SCHEMA for name in "st" if re.search(rf" {name}\b", text)}
    return cep.open(text, disorder=cep.Disorder(wait="0 s", bound=bound, emit="changes"), **streams)


def engine_of(query: Any) -> ChangingEngine:
    (feed,) = query._host.list_engines()
    engine: ChangingEngine = feed.engine
    return engine


def events(times: Any, keys: int = 10) -> pa.Table:
    times = np.asarray(times, dtype=np.int64)
    values = np.arange(len(times))
    columns = [times.view("datetime64[us]"), values % keys, values % 7, values / 2]
    return pa.table(columns, schema=SCHEMA)


def count_fed_again(text: str, kept: int) -> int:
    """Events that the operator is given once more for the sake of a late one; four keys, ten milliseconds apart."""
    query = open_query(text)
    query.push(**{stream: events(np.arange(kept) * 10_000, keys=4) for stream in query._inputs.schemas})
    query.push(s=events([kept * 5_000 + 1]))
    local = engine_of(query)._local
    assert local is not None, "a late event has a reach here"
    return local.fed_again


NEIGHBOURS = (
    "SELECT k, sum(v) AS a FROM s [ORDER BY ts ROWS 5] GROUP BY k",
    "SELECT k, sum(v) AS a FROM s [PARTITION BY k ORDER BY ts ROWS 50] GROUP BY k",
    "SELECT v, lag(v, 2) OVER (PARTITION BY k ORDER BY ts) AS n FROM s",
)
CHAINED = (
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES a.v AS v PATTERN (a b+) WITHIN INTERVAL '1' "
    "SECOND DEFINE a AS a.v = 1, b AS b.v > PREV(b.v))"
)


@pytest.mark.parametrize("text", [PATTERN, TUMBLING, SLIDING, JOIN, *NEIGHBOURS, CHAINED])
def test_what_is_computed_again_does_not_grow_with_what_is_kept(text: str) -> None:
    few = count_fed_again(text, 2_000)
    assert 0 < few < 500, "events of its key, from some seconds before it to some seconds after it"
    assert count_fed_again(text, 40_000) == few


def test_a_late_event_costs_its_session() -> None:
    """Sessions of ten events; the late one is in one of them, and then joins it to the next."""
    query = open_query("SELECT count(*) AS n FROM s [ORDER BY ts SESSION 2 SECONDS]", timedelta(days=10))
    query.push(s=events([100 * SECOND * (n // 10) + SECOND * (n % 10) for n in range(10_000)]))
    local = engine_of(query)._local
    assert local is not None
    query.push(s=events([100 * SECOND * 500 + 4 * SECOND + 1]))
    assert local.fed_again == 11
    joined = query.push(s=events([100 * SECOND * 500 + 11 * SECOND])).column("n").to_pylist()
    assert joined == [11, 12]
    assert local.fed_again == 11 + 12


@pytest.mark.parametrize(
    "text",
    [
        SEQ,
        f"{PATTERN} STRATEGY strict",
        f"{PATTERN} CONSUME MATCHED",
        "SELECT k, sum(v) AS a FROM s [ORDER BY ts ROWS 5 SLIDE 5] GROUP BY k",
        "SELECT v, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM s",
        "SELECT v, lag(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts) AS n FROM s",
        "SELECT k, sum(v) AS a FROM s [ORDER BY ts RANGE UNBOUNDED] GROUP BY k",
        "SELECT x.v FROM s [ORDER BY ts ROWS 2] AS x, t [ORDER BY ts RANGE 1 S] AS y WHERE x.k = y.k",
    ],
)
def test_where_an_event_may_touch_anything_the_engine_goes_back(text: str) -> None:
    assert engine_of(open_query(text))._local is None


def test_going_back_is_for_those_who_touch_a_third_of_what_is_kept() -> None:
    assert pays_alone(ALWAYS_LITTLE, 0)
    assert pays_alone(10_000, 30_000)
    assert not pays_alone(10_001, 30_000)


def test_push_that_touches_most_of_what_is_kept_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "ALWAYS_LITTLE", 0)
    query = open_query(SLIDING)
    query.push(s=events(np.arange(100) * SECOND))
    query.push(s=events([50 * SECOND + 1]))
    local = engine_of(query)._local
    assert local is not None
    assert local.fed_again > 0
    query.push(s=events(np.arange(80) * SECOND + 2))
    assert local.fed_again == 0, "the operator has begun again"


def test_oldest_late_event_still_has_its_neighbours() -> None:
    query = open_query(SLIDING, timedelta(seconds=10))
    for turn in range(20):
        query.push(s=events(np.arange(turn * 10, turn * 10 + 10) * SECOND, keys=1))
    engine = engine_of(query)
    assert engine._settled > 100 * SECOND, "what is older is forgotten"
    assert len(engine._log) < 50
    rows = query.push(s=events([engine.bound.horizon], keys=1))
    assert rows.column("_change").to_pylist() == ["retract", "insert", "insert"], "its own row, and one behind it"
    assert query.counts.late == 0


def test_operator_that_was_fed_more_than_is_kept_begins_afresh() -> None:
    query = open_query(SLIDING)
    query.push(s=events(np.arange(1_000) * 1_000, keys=1))
    engine = engine_of(query)
    fed = []
    for turn in range(20):
        query.push(s=events([500_000 + turn], keys=1))
        assert engine._local is not None
        fed.append(engine._local.fed_again)
    assert max(fed) <= 1_000 + 20 + 8192
    assert sorted(fed) != fed, "it has begun afresh on the way"


@pytest.mark.parametrize("text", [PATTERN, TUMBLING, SLIDING])
def test_checkpoint_copies_nothing_where_nothing_changed(text: str) -> None:
    query = open_query(text)
    query.push(s=events(np.arange(5_000) * 10_000))
    query.push(s=events([25 * SECOND + 1]))
    engine = engine_of(query)
    first, second = engine.keep(), engine.keep()
    assert first.log is second.log
    assert first.rows[0] is second.rows[0]
    query.push(s=events([26 * SECOND + 1]))
    assert len(engine.keep().log) == len(first.log) + 1


def test_shelf_finds_rows_by_scope_and_time_until_they_are_removed() -> None:
    shelf = Shelf(pa.schema({"x": "int64", "w": "string"}), 10)
    count = 1_000
    scopes, times = np.arange(count) % 3, np.arange(count) * 2
    rows = pa.table({"x": np.arange(count), "w": [str(number) for number in range(count)]})
    shelf.append(rows.slice(0, 400), scopes[:400], times[:400])
    shelf.append(rows.slice(400), scopes[400:], times[400:])
    spans = Spans.unite(np.array([1, 1, 2]), np.array([700, 720, 0]), np.array([730, 810, 5]))
    assert spans.ends.tolist() == [810, 5], "what overlaps is one"
    expected = [n for n in range(count) if (n % 3 == 1 and 700 <= 2 * n < 810) or (n % 3 == 2 and 2 * n < 5)]
    found = np.sort(shelf.find(spans))
    assert found.tolist() == expected
    assert shelf.take(found).column("w").to_pylist() == [str(number) for number in expected]
    shelf.remove(found[:3])
    assert np.sort(shelf.find(spans)).tolist() == expected[3:]
    assert len(shelf) == len(shelf.take_all()) == count - 3
    assert shelf.find(Spans.unite(np.array([0]), np.array([-(10**9)]), np.array([10**9]))).tolist() == [
        n for n in range(count) if n % 3 == 0
    ]
