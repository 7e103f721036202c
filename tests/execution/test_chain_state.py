"""The state of a chain in a store: what is kept of it is the snapshot, and only what is new is written."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.execution.blob import read_blob, write_blob
from cepheid.execution.changing.content_pieces import ROWS, cut_by_content
from cepheid.execution.spark.chain_state import PIECE, SMALL, list_numbers, load_chain, plan_chain
from cepheid.testing import list_rows


def make_rows(count: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table({"mark": random.integers(0, 1 << 62, count), "text": [f"row {each}" for each in range(count)]})


def cut(table: pa.Table) -> list[pa.Table]:
    return cut_by_content(table, table.column("mark").to_numpy())


class Store:
    """What a store would hold, batch after batch."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.small: list[bytes] = []
        self.pieces: dict[int, bytes] = {}

    def save(self, state: dict[str, Any], parts: list[bytes]) -> int:
        """How many bytes were written beside the index."""
        change = plan_chain(state, parts, self.header, {"version": "v"})
        assert not change.puts.keys() & self.pieces.keys(), "a number is never used again"
        self.pieces |= change.puts
        for number in change.deletes:
            del self.pieces[number]
        self.header, self.small = read_blob(change.index)
        assert list_numbers(self.header) == sorted(self.pieces)
        return sum(map(len, change.puts.values()))

    def load(self) -> bytes:
        return load_chain(self.header, self.small, self.pieces.__getitem__)


def test_pieces_are_the_table_and_the_same_rows_are_cut_in_the_same_way() -> None:
    rows = make_rows(20 * ROWS)
    pieces = cut(rows)
    assert pa.concat_tables(pieces).equals(rows)
    assert 10 < len(pieces) < 40
    assert all(map(len, pieces))
    without_some = pa.concat_tables([rows.slice(100, 7 * ROWS), rows.slice(7 * ROWS + 101)])
    known = [piece.combine_chunks() for piece in pieces]
    fresh = [piece for piece in cut(without_some) if not any(piece.combine_chunks().equals(each) for each in known)]
    assert len(fresh) == 2, "the first one lacks rows at its begin, and one in the middle lacks one"


@pytest.mark.parametrize("count", [0, 1])
def test_a_table_of_nothing_is_one_piece_with_its_columns(count: int) -> None:
    pieces = cut(make_rows(count))
    assert [piece.num_rows for piece in pieces] == [count]
    assert pieces[0].column_names == ["mark", "text"]


def test_what_was_stored_is_the_snapshot_whatever_came_before() -> None:
    random, store = Random(2), Store()
    sizes = (0, 1, SMALL, SMALL + 1, PIECE, PIECE + 1, 3 * PIECE)
    parts = [random.randbytes(size) for size in sizes]
    for turn in range(12):
        parts[random.randrange(len(parts))] = random.randbytes(random.choice(sizes))
        if turn % 3 == 0:
            parts.insert(random.randrange(len(parts)), parts[random.randrange(len(parts))])
        store.save({"turn": turn}, parts)
        assert store.load() == write_blob({"turn": turn}, parts)
    assert store.save({"turn": 12}, parts) == 0, "nothing is new"


def test_a_snapshot_of_before_is_read_and_given_up_piece_by_piece() -> None:
    snapshot = Random(3).randbytes(3 * PIECE + 5)
    store = Store()
    store.header = {"version": "v", "pieces": 4}
    store.pieces = {number: snapshot[number * PIECE : (number + 1) * PIECE] for number in range(4)}
    assert store.load() == snapshot
    store.save({"now": 1}, [snapshot])
    assert min(store.pieces) == 4
    assert store.load() == write_blob({"now": 1}, [snapshot])


def test_a_batch_writes_what_changed_and_not_what_is_kept() -> None:
    text = (
        "SELECT a.k AS k, b.n AS n FROM PATTERN SEQ(s a, s b) WHERE a.k = b.k AND b.v < a.v WITHIN INTERVAL '1' SECOND"
    )
    random, store = np.random.default_rng(4), Store()
    disorder = cep.Disorder(wait="0 s", bound="1 hour", emit="changes")
    schema = pa.schema({"ts": pa.timestamp("us"), "k": "int64", "v": "float64", "n": "int64"})
    query = cep.open(text, disorder=disorder, s=schema)
    for batch in range(30):
        numbers = np.arange(batch * 2000, (batch + 1) * 2000)
        times = numbers * 1000 - np.where(random.random(2000) < 0.01, random.integers(0, 100_000, 2000), 0)
        columns = [pa.array(times, pa.timestamp("us")), numbers % 50, random.random(2000), numbers]
        query.push(s=pa.table(columns, schema=schema))
        state, parts = query.write_state()
        written = store.save(state, parts)
    assert sum(map(len, parts)) > 3_000_000
    assert written < 800_000
    again = cep.open(text, disorder=disorder, s=schema, snapshot=store.load())
    assert list_rows(again.finish()) == list_rows(query.finish())
