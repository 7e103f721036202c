"""What each kind of operator keeps goes with its keys when state is split, and what cannot be split is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import compile_query
from cepheid.errors import NotSupportedYet
from cepheid.event_time import BEGINNING, newest_time
from cepheid.execution.embedded.relations import describe_sql, run_relational
from cepheid.execution.embedded.row_queue import RowQueue, merge_waiting, split_waiting, with_places
from cepheid.execution.engine import Engine, make_operator
from cepheid.execution.operator import HELD, KeptEvents, Operator
from cepheid.execution.state_split import (
    make_owners,
    merge_states,
    move_groups,
    own_by_columns,
    split_state,
    spread_groups,
)
from cepheid.graph.node import EngineNode
from cepheid.graph.operators import RowPattern, Source
from cepheid.kernel.key_hash import group_keys
from cepheid.language.catalog import Catalog
from cepheid.testing.compare_rows import list_rows

START = datetime(2026, 1, 1)  # noqa: DTZ001 (streams here have no zone)
SCHEMA = pa.schema([("ts", pa.timestamp("us")), ("k", pa.string()), ("v", pa.float64()), ("w", pa.string())])
GROUPS = spread_groups(64, 4)


def make_events(*rows: tuple[float, str | None, Any], words: Callable[[Any], str] = str) -> pa.Table:
    """Seconds, key and value of each event."""
    columns = {
        "ts": [START + timedelta(seconds=second) for second, _, _ in rows],
        "k": [key for _, key, _ in rows],
        "v": [float(value) for *_, value in rows],
        "w": [words(value) for *_, value in rows],
    }
    return pa.table(columns, schema=SCHEMA)


class Runner:
    """The engine of a query over s (and t), and what is needed to split its state."""

    def __init__(self, text: str) -> None:
        known = {"s": SCHEMA, "t": SCHEMA}
        self._graph = compile_query(text, Catalog(known, describe_sql, streams=frozenset(known))).placed.graph
        (self._vertex,) = [name for name, node in self._graph.vertices.items() if isinstance(node, EngineNode)]
        node = self._graph.vertices[self._vertex]
        assert isinstance(node, EngineNode)
        self.node = node

    def read(self, **tables: pa.Table) -> list[pa.Table]:
        """Events in the layout."""
        return [self._read(feed, tables) for feed in self._graph.inputs(self._vertex)]

    def _read(self, vertex: str, tables: dict[str, pa.Table]) -> pa.Table:
        node = self._graph.vertices[vertex]
        if isinstance(node, Source):
            return tables.get(node.name, SCHEMA.empty_table())
        return run_relational(node, [self._read(source, tables) for source in self._graph.inputs(vertex)])

    def open(self, kept: KeptEvents | None = None) -> Engine:
        engine = Engine([self.node], [table.schema for table in self.read()])
        if kept is not None:
            engine.restore(kept)
        return engine

    @property
    def operator(self) -> Operator:
        return make_operator([self.node], self.open().layout, len(self.read()) > 1, "compiled")

    def push(self, engine: Engine, lateness: float = 0, **tables: pa.Table) -> list[tuple[Any, ...]]:
        inputs = self.read(**tables)
        newest = max(newest_time(table.column("_time")) for table in inputs)
        return list_rows(engine.push(inputs, newest - int(lateness * 1e6))[0])

    def push_shared(self, engines: list[Engine], lateness: float = 0, **tables: pa.Table) -> list[tuple[Any, ...]]:
        """Each engine gets the events of its keys, and all get the time."""
        inputs = self.read(**tables)
        horizon = max(newest_time(table.column("_time")) for table in inputs) - int(lateness * 1e6)
        owners = make_owners(GROUPS, self.node.split)
        whose = [owners(table) for table in inputs]
        rows: list[tuple[Any, ...]] = []
        for number, engine in enumerate(engines):
            own = [table.filter(pa.array(of == number)) for table, of in zip(inputs, whose, strict=True)]
            rows += list_rows(engine.push(own, horizon)[0])
        return rows

    def split(self, engine: Engine) -> list[Engine]:
        return [
            self.open(part)
            for part in split_state(self.operator, engine.keep(), GROUPS, self.node.split, len(set(GROUPS)))
        ]

    def merge(self, engines: list[Engine]) -> Engine:
        return self.open(merge_states(self.operator, [engine.keep() for engine in engines]))


def finish(*engines: Engine) -> list[tuple[Any, ...]]:
    return [row for engine in engines for row in list_rows(engine.finish()[0])]


def by_key(rows: list[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Of each key, in order; the key is one of the first two cells."""
    found = {key: [row for row in rows if key in row[:2]] for key in "ab"}
    assert sum(map(len, found.values())) == len(rows)
    return found


PATTERN = (
    "SELECT k, n, x FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n, LAST(b.v) AS x "
    "PATTERN (a b) DEFINE b AS b.v > a.v)"
)


def test_keys_are_spread_by_the_hash_of_the_envelopes() -> None:
    keys = pa.table({"_key0": ["a", "b", None, "c"], "_key1": [1, 2, 3, 4]})
    expected = group_keys([keys.column("_key0")], 4, 64)
    assert make_owners(np.arange(64), 1)(keys).tolist() == expected.tolist()
    assert own_by_columns(np.arange(64), ["_key0"])(keys).tolist() == expected.tolist()
    assert np.bincount(spread_groups(64, 8)).tolist() == [8] * 8


def test_match_numbers_go_on_after_split_and_merge() -> None:
    runner = Runner(PATTERN)
    engine = runner.open()
    keys = ["a", "b", "c", None]
    before = make_events(*((second, key, second) for second in range(4) for key in keys))
    assert {row[1] for row in runner.push(engine, s=before)} == {1, 2}
    parts = runner.split(engine)
    assert sum(part.counts.kept > 0 for part in parts) > 1, "keys are spread"
    more = make_events(*((second, key, second) for second in (10, 11) for key in keys))
    assert sorted(runner.push_shared(parts, s=more), key=repr) == sorted(((key, 3, 11.0) for key in keys), key=repr)
    last = make_events(*((second, key, second) for second in (20, 21) for key in keys))
    assert sorted(runner.push(runner.merge(parts), s=last), key=repr) == sorted(
        ((key, 4, 21.0) for key in keys), key=repr
    )


def test_held_events_go_with_their_keys() -> None:
    runner = Runner(PATTERN)
    engine = runner.open()
    assert runner.push(engine, lateness=10, s=make_events((5, "a", 2), (4, "a", 1), (5, "b", 4), (3, "b", 3))) == []
    parts = runner.split(engine)
    held = [part.keep() for part in parts]
    assert sorted(len(kept.table) for kept in held) == [0, 0, 2, 2]
    assert all((kept.roles == HELD).all() for kept in held)
    assert runner.merge(parts).counts.held == 4
    assert sorted(finish(*parts)) == [("a", 1, 2.0), ("b", 1, 4.0)]


def test_partial_matches_and_their_limit_stay_with_their_keys() -> None:
    runner = Runner(
        "SELECT a.k AS k, a.v AS x, b.v AS y FROM PATTERN SEQ(s a, t b) ORDER BY ts WHERE a.k = b.k "
        "LIMIT PARTIALS 2 DROP OLDEST"
    )
    engine = runner.open()
    runner.push(engine, s=make_events(*((second, key, second) for second in range(3) for key in "abc")))
    runner.push(engine, t=make_events((3, "z", 0)))
    parts = runner.split(engine)
    runner.push_shared(parts, s=make_events((4, "a", 4)))
    merged = runner.merge(parts)
    runner.push(merged, t=make_events((6, "a", 6), (6, "b", 6), (6, "z", 6)))
    assert sorted(finish(merged)) == [("a", 2.0, 6.0), ("a", 4.0, 6.0), ("b", 1.0, 6.0), ("b", 2.0, 6.0)]


def test_windows_without_events_keep_sums_texts_and_rare_numbers() -> None:
    runner = Runner(
        "SELECT k, sum(v) AS s, min(w) AS w, first(w) AS f, max_by(w, v) AS m, count(*) AS n "
        "FROM s [PARTITION BY k ORDER BY ts RANGE UNBOUNDED] GROUP BY k"
    )
    alone = runner.open()
    values = {"a": [1e308, 1e308, -1e308], "b": [float("inf"), 1, 2], "c": [0.1, 0.2, 0.3], "d": [float("nan"), 1, 2]}
    batches = [
        make_events(*((second, key, values[key][second]) for key in values), words=lambda value: f"word {value}")
        for second in range(3)
    ]
    expected = [runner.push(alone, s=batch) for batch in batches]
    engine = runner.open()
    assert runner.push(engine, s=batches[0]) == expected[0]
    assert not len(engine.keep().table), "no events are kept"
    parts = runner.split(engine)
    assert sorted(runner.push_shared(parts, s=batches[1]), key=repr) == sorted(expected[1], key=repr)
    merged = runner.merge(parts)
    assert sorted(runner.push(merged, s=batches[2]), key=repr) == sorted(expected[2], key=repr)
    assert sorted(runner.push_shared(runner.split(merged), s=batches[2]), key=repr) == sorted(
        runner.push(alone, s=batches[2]), key=repr
    )


@pytest.mark.parametrize(
    "window",
    [
        "RANGE 10 SECONDS] GROUP BY k, w OUTPUT EVERY 2 SECONDS",  # panes
        "RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY k, w",  # instances
        "FROM v > 0 UNTIL v > 90] GROUP BY k, w OUTPUT ON CLOSE",  # instances, at the end
        "ROWS 6] GROUP BY k, w OUTPUT EVERY 5 EVENTS",  # sliding
    ],
)
@pytest.mark.parametrize("aggregate", ["sum(v)", "median(v)"])
def test_groups_of_an_evaluation_keep_their_order(window: str, aggregate: str) -> None:
    runner = Runner(f"SELECT k, w, {aggregate} AS a FROM s [PARTITION BY k ORDER BY ts {window}")
    rows = [(second / 2, "ab"[second % 2], 1 + second * 5 % 7) for second in range(40)]
    batches = [make_events(*rows[begin : begin + 5]) for begin in range(0, 40, 5)]
    alone, restored = runner.open(), runner.open()
    told = 0
    for batch in batches:
        told += len(expected := runner.push(alone, s=batch))
        assert by_key(runner.push(restored, s=batch)) == by_key(expected)
        restored = runner.open(restored.keep())
        restored = runner.merge(runner.split(restored))
    expected = finish(alone)
    assert by_key(finish(restored)) == by_key(expected)
    assert told + len(expected) > 0


def test_outer_join_reports_each_event_without_a_partner_once() -> None:
    runner = Runner(
        "SELECT x.k AS k, x.v AS xv, y.v AS yv FROM s AS x LEFT JOIN t AS y ON x.k = y.k "
        "AND y.ts BETWEEN x.ts - INTERVAL '1' SECOND AND x.ts + INTERVAL '2' SECOND"
    )
    keys = list("abcdef")
    steps = [
        {"s": make_events(*((1, key, 1) for key in keys)), "t": make_events((1.5, "a", 9), (1.5, "b", 9))},
        {"s": make_events((2, "c", 2)), "t": make_events((2.5, "c", 8))},
        {"s": make_events((9, "f", 3)), "t": make_events((9, "e", 7))},
    ]
    alone = runner.open()
    expected = [row for step in steps for row in runner.push(alone, **step)] + finish(alone)
    engine = runner.open()
    found = runner.push(engine, **steps[0])
    parts = runner.split(engine)
    found += runner.push_shared(parts, **steps[1])
    merged = runner.merge(parts)
    found += runner.push(merged, **steps[2])
    assert sorted(found + finish(merged), key=repr) == sorted(expected, key=repr)
    assert sum(row[-3:] == ("d", 1.0, None) for row in expected) == 1


def test_groups_move_between_engines() -> None:
    runner = Runner(PATTERN)
    engine = runner.open()
    keys = [f"key {number}" for number in range(20)]
    runner.push(engine, s=make_events(*((1, key, 1) for key in keys)))
    kept = split_state(runner.operator, engine.keep(), np.arange(64) % 3, 1, 3)
    moved = move_groups(runner.operator, kept, GROUPS, 1, 4)
    owners = make_owners(GROUPS, 1)
    for number, part in enumerate(moved):
        assert (owners(part.table) == number).all()
    rows = runner.push_shared([runner.open(part) for part in moved], s=make_events(*((2, key, 2) for key in keys)))
    assert sorted(rows) == sorted((key, 1, 2.0) for key in keys)


def test_parts_are_merged_at_one_horizon_only() -> None:
    runner = Runner(PATTERN)
    engine = runner.open()
    runner.push(engine, s=make_events((1, "a", 1), (1, "b", 1)))
    parts = runner.split(engine)
    parts[0].push(runner.read(), newest_time(make_events((9, "a", 1)).column("ts")))
    with pytest.raises(AssertionError, match="at one horizon"):
        runner.merge(parts)


def test_arrivals_that_engines_counted_by_themselves_are_counted_anew() -> None:
    runner = Runner(PATTERN)
    engine = runner.open()
    runner.push(engine, s=make_events((1, "a", 1), (1, "b", 1)))
    parts = runner.split(engine)
    runner.push_shared(parts, s=make_events(*((2, key, 0) for key in "abcdef")))
    kept = [part.keep() for part in parts]
    with pytest.raises(AssertionError, match="arrivals are unique"):
        runner.operator.merge(kept)
    merged = merge_states(runner.operator, kept)
    arrivals = merged.table.column("_arrival").to_pylist()
    assert len(set(arrivals)) == len(arrivals)
    assert max(arrivals) < merged.arrivals


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM s [ORDER BY ts ROWS 5]",
        "SELECT x.v FROM s [ROWS 5] AS x, t [RANGE 5 SECONDS] AS y WHERE x.k = y.k",
        "SELECT a.v AS x FROM PATTERN SEQ(s a, s b) ORDER BY ts WHERE a.k = b.k STRATEGY strict",
    ],
)
def test_what_needs_all_events_is_refused(text: str) -> None:
    runner = Runner(text)
    engine = runner.open()
    runner.push(engine, s=make_events((1, "a", 1)))
    kept = engine.keep()

    def owners(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.zeros(len(rows), dtype=np.int64)

    with pytest.raises(NotSupportedYet, match="depend on the events of all keys"):
        runner.operator.split(kept, owners, 2)
    with pytest.raises(NotSupportedYet, match="depend on the events of all keys"):
        runner.operator.merge([kept, kept])
    (same,) = runner.operator.split(kept, owners, 1)
    assert finish(runner.open(runner.operator.merge([same]))) == finish(engine)


def test_rows_waiting_in_a_queue_are_split_by_copies_of_the_key() -> None:
    runner = Runner(PATTERN)
    assert isinstance(runner.node, RowPattern)
    engine = Engine([with_places(runner.node, many=False)], [table.schema for table in runner.read()])
    events = runner.read(s=make_events(*((second, key, second) for second in range(6) for key in "abcd")))
    (rows,) = engine.push(events, newest_time(events[0].column("_time")))
    alone, copy = RowQueue(runner.node, False, rows.schema), runner.node.cells[0].name
    assert not len(alone.pass_on(rows, BEGINNING))
    parts = split_waiting(alone.waiting, [copy], make_owners(GROUPS, 1), 4)
    assert sum(len(part) > 0 for part in parts) > 1
    queues = [RowQueue(runner.node, False, rows.schema) for _ in parts]
    for queue, part in zip(queues, parts, strict=True):
        queue.waiting = part
    floor = newest_time(make_events((3, "a", 0)).column("ts"))
    merged = RowQueue(runner.node, False, rows.schema)
    passed = [queue.pass_on(rows.slice(0, 0), floor) for queue in queues]
    expected = list_rows(alone.pass_on(rows.slice(0, 0), floor))
    for part in passed:
        assert list_rows(part) == [row for row in expected if row in list_rows(part)], "in order"
    assert sum(map(len, passed)) == len(expected) > 0
    merged.waiting = merge_waiting([queue.waiting for queue in queues])
    late = floor + 10_000_000
    assert list_rows(merged.pass_on(rows.slice(0, 0), late)) == list_rows(alone.pass_on(rows.slice(0, 0), late))
