"""cep.sql on several engines: the same tables, whatever their number; and what may be split among cores."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.bench.pattern_queries import PATTERNS
from cepheid.bench.study_data import generate_events
from cepheid.bench.window_queries import Q7, q2_text
from cepheid.compiler import compile_query
from cepheid.errors import InvalidInput, MatchFailure
from cepheid.execution import cores, engine, key_group_operator
from cepheid.execution.cores import choose_engines, run_all
from cepheid.execution.embedded.batch_host import run_batch
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.key_group_operator import balance_groups
from cepheid.language.catalog import Catalog

EVENTS = generate_events(20_000, max_id=300)
QUERIES = {
    **PATTERNS,
    "sliding median": q2_text("median", 2_000, 1),
    "sliding avg, its window's end": "SELECT id, avg(a1) AS f, window_end AS e FROM events [ROWS 500] GROUP BY id",
    "sliding by time": "SELECT id, max(a1) AS f FROM events [RANGE 1 SECOND] GROUP BY id",
    "jumping": q2_text("avg", 2_000, 2_000),
    "jumping by key": "SELECT id, sum(a1) AS f FROM events [PARTITION BY id RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY id",
    "counted by key": "SELECT id, min(a1) AS f FROM events [PARTITION BY id ROWS 10 SLIDE 10] GROUP BY id",
    "session by key": "SELECT id, count(*) AS n FROM events [PARTITION BY id SESSION 1 SECOND] GROUP BY id",
    "top": "SELECT id, a1 FROM events [PARTITION BY id ROWS 4] ORDER BY a1 LIMIT 2 OUTPUT EVERY 3 EVENTS",
    "windows of windows": Q7.format(span="1 SECOND"),
    "join": (
        "SELECT x.ts, y.ts AS other FROM events [RANGE 10 MILLISECONDS] AS x, events [RANGE 1 SECOND] AS y "
        "WHERE x.id = y.id AND x.a1 > y.a2"
    ),
    "interval join": (
        "SELECT x.ts, y.ts AS other FROM events x LEFT JOIN events y ON x.id = y.id AND y.a1 > 99 "
        "AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '20' MILLISECOND"
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_rows_and_their_order_do_not_depend_on_the_number_of_engines(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_AT_ONCE", 7_000)
    monkeypatch.setattr(key_group_operator, "WORTH_THREADS", 0)
    expected = cep.sql(QUERIES[name], events=EVENTS, engines=1)
    assert len(expected) > 0
    for engines in (2, 3, 8):
        found = cep.sql(QUERIES[name], events=EVENTS, engines=engines)
        assert found.schema == expected.schema
        assert found.equals(expected), f"{engines} engines"


def test_rows_that_wait_for_their_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL's OVER, in our kernel as over a stream: DuckDB, which has it over whole tables, promises no order."""
    monkeypatch.setattr(key_group_operator, "WORTH_THREADS", 0)
    table = EVENTS.slice(0, 3_000)
    times = pc.floor_temporal(table.column("ts"), 5, "millisecond")
    tables = {"events": table.set_column(table.schema.get_field_index("ts"), "ts", times)}
    text = "SELECT sum(a1) OVER (PARTITION BY id ORDER BY ts RANGE INTERVAL '1' SECOND PRECEDING) AS f FROM events"
    catalog = Catalog({"events": tables["events"].schema}, describe_sql, frozenset({"events"}))
    placed = compile_query(text, catalog).placed
    assert placed.engines()
    expected = run_batch(placed, tables, engines=1)[0]["query"]
    assert run_batch(placed, tables, engines=3)[0]["query"].equals(expected)


def test_several_queries_share_engines() -> None:
    queries = {"short": q2_text("avg", 50, 1), "long": q2_text("max", 900, 1)}
    expected = cep.sql(queries, events=EVENTS, engines=1)
    found = cep.sql(queries, events=EVENTS, engines=2)
    assert all(found[name].equals(expected[name]) for name in queries)


def test_keys_of_any_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_group_operator, "WORTH_THREADS", 0)
    random = np.random.default_rng(3)
    ids = [None if number == 3 else f"bus {number}" for number in random.integers(0, 40, 5_000).tolist()]
    table = EVENTS.slice(0, 5_000).set_column(0, "id", pa.array(ids).dictionary_encode())
    for query in (PATTERNS["Kleene, rising"], PATTERNS["skip till next"], q2_text("median", 100, 1)):
        expected = cep.sql(query, events=table, engines=1)
        assert cep.sql(query, events=table, engines=3).equals(expected)


def test_a_mistake_in_the_data_is_told_whoever_finds_it() -> None:
    text = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(a1) AS x
      AFTER MATCH SKIP TO FIRST b PATTERN (a b?) DEFINE a AS a1 < 99, b AS a1 > 99)"""
    for engines in (1, 4):
        with pytest.raises(MatchFailure, match="SKIP TO"):
            cep.sql(text, events=EVENTS, engines=engines)


def test_the_number_of_engines_is_checked() -> None:
    with pytest.raises(InvalidInput, match="engines is 0"):
        cep.sql(q2_text("avg", 5, 1), events=EVENTS, engines=0)


def test_small_tables_have_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "count_cores", lambda: 4)
    assert choose_engines(0) == choose_engines(cores.WORTH_AN_ENGINE) == 1
    assert choose_engines(2 * cores.WORTH_AN_ENGINE) == 2
    assert choose_engines(100 * cores.WORTH_AN_ENGINE) == 4


def test_tasks_run_at_a_time_and_give_what_they_give_in_order() -> None:
    together = threading.Barrier(2, timeout=60)
    assert run_all([together.wait, lambda: together.wait() and None]) in ([0, None], [1, None])
    assert run_all([lambda number=number: number for number in range(20)]) == list(range(20))


def test_the_first_task_that_failed_is_told() -> None:
    def fail(name: str) -> None:
        raise MatchFailure(name, hint="none")

    with pytest.raises(MatchFailure, match="second"):
        run_all([lambda: None, lambda: fail("second"), lambda: fail("third")])
    with pytest.raises(MatchFailure, match="first"):
        run_all([lambda: fail("first"), lambda: fail("second")])


def test_key_groups_are_shared_out_by_their_events() -> None:
    counts = np.array([100, 7, 20, 50, 49, 8])
    loads = np.bincount(balance_groups(counts, 2), weights=counts)
    assert loads.tolist() == [120, 114]
    assert balance_groups(np.zeros(64, dtype=np.int64), 4).tolist().count(2) == 16


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (PATTERNS["Kleene, rising"], "engines, by _key0]"),
        (PATTERNS["strict"], "one engine]"),
        (q2_text("avg", 50, 1), "one engine, its cores by _group0: the window is of the whole stream]"),
        (q2_text("avg", 50, 50), "one engine: the window is of the whole stream]"),
    ],
)
def test_explain_tells_what_is_split_among_cores(query: str, told: str) -> None:
    assert told in cep.explain(query, step="placed", events=EVENTS)


@pytest.mark.parametrize("engines", [0, -1, 65, 1000, True, 1.5, "2"])
def test_a_wrong_number_of_engines_is_refused(engines: Any) -> None:
    with pytest.raises(cep.CepheidError, match="engines is") as refused:
        cep.sql("SELECT 1 AS one", engines=engines)
    assert refused.value.hint
