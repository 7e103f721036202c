"""A stream joins with a table in memory: each event with the table as it is then."""

from __future__ import annotations

import gc
import pickle
import threading
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cepheid.errors import InvalidInput, TypeMismatch, UnknownColumn
from cepheid.execution.lookup.enrich import enrich
from cepheid.execution.lookup.in_memory import MemoryTable, open_memory_table
from cepheid.execution.lookup.key_types import fit_keys
from cepheid.lookups import Table

STOPS = pa.table({"id": [1, 2, 2, None], "name": ["one", "two", "zwei", "none"]})


def find(table: MemoryTable, *keys: pa.Array) -> list[tuple[int, int]]:
    found = table.find([pa.chunked_array([key]) for key in keys])
    return list(zip(found.events.tolist(), found.rows.tolist(), strict=True))


def test_every_row_with_the_key_is_found_and_null_finds_nothing() -> None:
    assert find(MemoryTable(STOPS, ["id"]), pa.array([2, None, 7, 1, 2])) == [(0, 1), (0, 2), (3, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize(
    ("table", "events", "expected"),
    [
        (pa.array([1, 2], pa.int64()), pa.array([2, 3], pa.int8()), [(0, 1)]),
        (pa.array([1, -1], pa.int32()), pa.array([2**32 + 1, 1, 2**32 - 1], pa.int64()), [(1, 0)]),
        (pa.array([1, -1], pa.int32()), pa.array([2**32 - 1, 1], pa.uint32()), [(1, 0)]),
        (pa.array([2**64 - 1, 5], pa.uint64()), pa.array([-1, 5], pa.int64()), [(1, 1)]),
        (pa.array([-1, 5], pa.int64()), pa.array([2**64 - 1, 5], pa.uint64()), [(1, 1)]),
        (pa.array([1, 2**53], pa.int64()), pa.array([1.0, 1.5, 2.0**53, float("nan"), 1e300]), [(0, 0), (2, 1)]),
        (pa.array([2**63 - 1, -(2**63)]), pa.array([2.0**63, -(2.0**63)]), [(1, 1)]),
        (pa.array([2**63, 1], pa.uint64()), pa.array([2.0**63, -1.0, 2.0**64, 1.0]), [(0, 0), (3, 1)]),
        (pa.array([1.0, 2.0**53]), pa.array([1, 2**53 + 1, 2**53]), [(0, 0), (2, 1)]),
        (pa.array([0.1, 0.5], pa.float32()), pa.array([0.1, 0.5], pa.float64()), [(1, 1)]),
        (pa.array([float("nan")], pa.float32()), pa.array([float("nan"), None], pa.float64()), [(0, 0)]),
        (pa.array([date(2026, 1, 2)]), pa.array([datetime(2026, 1, 2), datetime(2026, 1, 2, 1)]), [(0, 0)]),  # noqa: DTZ001
        (pa.array([1_000], pa.timestamp("us")), pa.array([1_000_000, 1_000_001], pa.timestamp("ns")), [(0, 0)]),
        (pa.array([7], pa.timestamp("us", tz="UTC")), pa.array([7], pa.timestamp("us")), [(0, 0)]),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c", None], pa.large_string()), [(0, 1)]),
        (pa.array(["a", "b"]), pa.array(["b", None, "x", "b"]).dictionary_encode(), [(0, 1), (3, 1)]),
        (pa.array([True]), pa.array([False, True, None]), [(1, 0)]),
        (pa.array([1]), pa.nulls(3), []),
    ],
)
def test_equal_values_meet_whatever_their_types(
    table: pa.Array, events: pa.Array, expected: list[tuple[int, int]]
) -> None:
    assert find(MemoryTable(pa.table({"k": table}), ["k"]), events) == expected


def test_several_key_columns() -> None:
    table = pa.table({"line": ["a", "a", "b"], "x": [0, 1, 2], "day": pa.array([1, 2, 1], pa.date32())})
    lookup = MemoryTable(table, ["day", "line"])
    assert find(lookup, pa.array([1, 1, 2, 2], pa.date32()), pa.array(["b", "a", "b", None])) == [(0, 2), (1, 0)]


def test_keys_that_cannot_be_compared_are_told() -> None:
    with pytest.raises(TypeMismatch, match=r'"table.id" is string, the key it is compared with is int64'):
        find(MemoryTable(STOPS, ["id"]), pa.array(["1"]))
    with pytest.raises(TypeMismatch, match="rows cannot be looked up by that"):
        MemoryTable(pa.table({"k": [[1]]}), ["k"])
    with pytest.raises(UnknownColumn, match='did you mean "name"'):
        MemoryTable(STOPS, ["nam"])


@pytest.mark.parametrize("seed", range(5))
def test_fitted_integers_are_those_that_both_types_hold(seed: int) -> None:
    random = np.random.default_rng(seed)
    types = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
    given, wanted = (types[n] for n in random.integers(0, 8, 2))
    low, high = (np.iinfo(given.to_pandas_dtype()).min, np.iinfo(given.to_pandas_dtype()).max)
    values = [low, high, 0, 1, high // 2, high // 2 + 1, 127, *([-1, -128] if low else [])]
    fitted = fit_keys("k", pa.chunked_array([pa.array(values, given)]), wanted).to_pylist()
    bounds = np.iinfo(wanted.to_pandas_dtype())
    assert fitted == [value if bounds.min <= value <= bounds.max else None for value in values]


def test_inner_join_drops_events_that_find_nothing_and_left_join_keeps_them() -> None:
    batch = pa.table({"stop": [7, 2, None, 1]})
    lookup = MemoryTable(STOPS, ["id"])
    events, rows = enrich(batch, ["stop"], lookup, "inner")
    assert (events.tolist(), rows["name"].to_pylist()) == ([1, 1, 3], ["two", "zwei", "one"])
    events, rows = enrich(batch, ["stop"], lookup, "left", columns=["name"])
    assert events.tolist() == [0, 1, 1, 2, 3]
    assert rows.to_pydict() == {"name": [None, "two", "zwei", None, "one"]}


def test_further_condition_of_a_left_join_leaves_nulls() -> None:
    batch = pa.table({"stop": [2, 1], "text": ["zwei", "two"]})

    def fits(events: Any, rows: pa.Table) -> Any:
        return batch["text"].take(pa.array(events)).to_numpy() == rows["name"].to_numpy()

    events, rows = enrich(batch, ["stop"], MemoryTable(STOPS, ["id"]), "left", fits=fits)
    assert (events.tolist(), rows["name"].to_pylist()) == ([0, 1], ["zwei", None])


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_empty_batches_and_tables(kind: Any) -> None:
    batch = pa.table({"stop": pa.array([1, 2])})
    for events, table in ((batch[:0], STOPS), (batch, STOPS[:0]), (batch[:0], STOPS[:0])):
        positions, rows = enrich(events, ["stop"], MemoryTable(table, ["id"]), kind)
        expected = len(events) if kind == "left" and not len(table) else 0
        assert len(positions) == rows.num_rows == expected
        assert rows.schema == STOPS.schema


def test_answer_stays_whole_when_the_table_is_refreshed_before_it_is_read() -> None:
    lookup = MemoryTable(STOPS, ["id"])
    found = lookup.find([pa.chunked_array([[2]])])
    lookup.refresh(pa.table({"id": [5], "name": ["five"]}))
    assert found.table.take(pa.array(found.rows))["name"].to_pylist() == ["two", "zwei"]
    assert find(lookup, pa.array([2, 5])) == [(1, 0)]


def test_readers_see_the_old_table_or_the_new_one_whole() -> None:
    count = 2_000

    def version(number: int) -> pa.Table:
        """Every row says which version it is of; the rows stand in another order each time."""
        order = np.random.default_rng(number).permutation(count)
        return pa.table({"id": order, "check": order * 1_000 + number})

    table = Table(version(0))
    lookup = open_memory_table(table, ["id"])
    batch = pa.table({"id": np.arange(count)})
    wrong: list[str] = []
    seen: set[int] = set()
    enough = threading.Event()

    def read() -> None:
        while not enough.is_set():
            _, rows = enrich(batch, ["id"], lookup, "left")
            versions = set((rows["check"].to_numpy() - np.arange(count) * 1_000).tolist())
            seen.update(versions)
            if len(versions) != 1:
                wrong.append(f"versions {versions} in one answer")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, 60):
        table.refresh(version(number))
    enough.set()
    for reader in readers:
        reader.join()
    read_last = enrich(batch, ["id"], lookup, "inner")[1]
    assert not wrong
    assert len(seen) > 1
    assert set((read_last["check"].to_numpy() - np.arange(count) * 1_000).tolist()) == {59}


def test_refresh_reaches_every_index_in_use_and_keeps_none_alive() -> None:
    table = Table(STOPS)
    by_id, by_name = open_memory_table(table, ["id"]), open_memory_table(table, ["name"])
    table.refresh({"id": pa.array([9], pa.int32()), "name": ["nine"]})
    assert find(by_id, pa.array([9, 1])) == [(0, 0)]
    assert find(by_name, pa.array(["nine", "one"])) == [(0, 0)]
    assert find(open_memory_table(table, ["id"]), pa.array([9])) == [(0, 0)]
    assert table.data.schema == STOPS.schema
    del by_id
    gc.collect()
    assert len(table._followers) == 1


def test_refresh_with_other_columns_is_refused_and_changes_nothing() -> None:
    table = Table(STOPS)
    lookup = open_memory_table(table, ["id"])
    with pytest.raises(InvalidInput, match='lacks the column "name"'):
        table.refresh({"id": [5]})
    assert find(lookup, pa.array([1])) == [(0, 0)]
    assert table.data.equals(STOPS)


@pytest.mark.parametrize(
    "data", [STOPS, pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}), pl.DataFrame({"id": [1, 2], "name": ["a", "b"]})]
)
def test_tables_of_all_makers(data: Any) -> None:
    assert find(open_memory_table(Table(data), ["id"]), pa.array([1])) == [(0, 0)]
    assert find(open_memory_table(Table(data), ["name"]), pa.array(["nobody"])) == []


def test_table_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(Table(STOPS)))
    again.refresh(STOPS[:1])
    assert again.data.num_rows == 1
    assert repr(again) == "Table(1 rows: id, name)"
