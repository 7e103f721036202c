"""Rows are found by key, whatever the key is made of; null equals nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.kernel.columns import Column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.row_index import KeyNumbers, RowIndex
from cepheid.kernel.compiled.text_index import TextIndex


def as_texts(values: list[str | None], way: int) -> pa.ChunkedArray:
    """The same texts in one of the ways in which Arrow holds them."""
    array = pa.array(values, pa.large_string() if way == 1 else pa.string())
    if way == 2:
        return pa.chunked_array([array.dictionary_encode()])
    cut = len(values) // 3
    return pa.chunked_array([array[:cut], array[cut:]] if way == 3 else [array], type=array.type)


@pytest.mark.parametrize("seed", range(8))
def test_index_finds_what_a_nested_loop_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    letters = [None, "", "a", "b", "ab", "é", "a\0", "long enough for more than one word"]

    def draw(count: int) -> list[list[object]]:
        numbers = [None if random.random() < 0.1 else int(n) for n in random.integers(-3, 4, count)]
        texts = [letters[n] for n in random.integers(0, len(letters), count)]
        floats = [[None, 0.0, -0.0, float("nan"), 1.5][n] for n in random.integers(0, 5, count)]
        return [numbers, texts, floats]

    rows, events = draw(60), draw(200)
    width = 1 + seed % 3
    first = seed % 3
    chosen = [(first + place) % 3 for place in range(width)]

    def as_columns(drawn: list[list[object]], way: int) -> list[pa.ChunkedArray]:
        arrow = [pa.chunked_array([pa.array(drawn[0], pa.int64())]), as_texts(drawn[1], way),  # type: ignore[arg-type]
                 pa.chunked_array([pa.array(drawn[2], pa.float64())])]  # fmt: skip
        return [arrow[place] for place in chosen]

    def same(one: object, other: object) -> bool:
        return one is not None and other is not None and (one == other or (one != one and other != other))

    expected = [
        (e, r) for e in range(200) for r in range(60) if all(same(events[c][e], rows[c][r]) for c in chosen)
    ]  # fmt: skip
    for way in range(4):
        found = RowIndex(as_columns(rows, way)).find(as_columns(events, (way + seed) % 4))
        assert list(zip(*(side.tolist() for side in found), strict=True)) == expected
    assert expected, "the seed finds something"


def test_texts_keep_their_numbers_while_the_index_grows() -> None:
    random = np.random.default_rng(3)
    index, known = TextIndex(), {}
    for _ in range(20):
        texts = ["x" * int(n % 40) + str(n) for n in random.integers(0, 3000, 700)]
        expected = [known.setdefault(text, len(known)) for text in texts]
        assert index.number_texts(as_texts(texts, int(random.integers(4)))).tolist() == expected
        assert len(index) == len(known)
    assert index.find_texts(as_texts([*known, "new"], 0)).tolist() == [*known.values(), -1]
    assert len(index) == len(known)


def test_texts_that_look_alike_in_the_table_are_told_apart() -> None:
    texts = [f"t{n}" for n in range(1_500_000)]
    many = TextIndex()
    many.number_texts(pa.chunked_array([texts]))
    looks = many._hashes[: len(texts)] & 0x7FFFFFFF0000003F  # what a table of 64 slots sees of a hash
    order = np.argsort(looks, kind="stable")
    twins = np.flatnonzero(np.diff(looks[order]) == 0)
    assert len(twins) > 0
    for place in twins:
        one, other = texts[order[place]], texts[order[place + 1]]
        index = TextIndex()
        assert index.number_texts(pa.chunked_array([[one]])).tolist() == [0]
        assert index.find_texts(pa.chunked_array([[other, one]])).tolist() == [-1, 0]
        assert index.number_texts(pa.chunked_array([[other, one]])).tolist() == [1, 0]
        assert index.find_texts(pa.chunked_array([[other, one]])).tolist() == [1, 0]


def test_finding_a_key_does_not_give_it_a_number() -> None:
    index = KeyIndex(1)
    index.number_rows([Column(np.array([5, 6, 5]))], 3)
    assert index.find_rows([Column(np.array([6, 7, 5]))], 3).tolist() == [1, -1, 0]
    assert index.find_rows([Column(np.array([6, 5]), np.array([1, 0], dtype=np.uint8))], 2).tolist() == [1, -1]
    assert len(index) == 2


@pytest.mark.parametrize("before", [0, 10, 500])
def test_making_room_keeps_the_numbers(before: int) -> None:
    index = KeyIndex(1)
    values = np.arange(before) * 17
    index.number_rows([Column(values)], before)
    index.expect(5_000)
    assert index.find_rows([Column(values)], before).tolist() == list(range(before))
    numbers, _ = index.number_rows([Column(np.arange(5_000) * 17)], 5_000)
    assert numbers.tolist() == list(range(5_000))


def test_keys_with_a_null_take_no_number() -> None:
    numbers = KeyNumbers([pa.int64(), pa.string()])
    left, right = pa.chunked_array([[1, None, 1, 2]]), pa.chunked_array([["a", "b", None, "a"]])
    assert numbers.number_keys([left, right]).tolist() == [0, -1, -1, 1]
    assert len(numbers) == 2


def test_nanoseconds_of_one_microsecond_are_different_keys() -> None:
    table = pa.chunked_array([pa.array([1000, 1001], pa.timestamp("ns"))])
    assert [side.tolist() for side in RowIndex([table]).find([table[1:]])] == [[0], [1]]


def test_no_rows_and_no_events() -> None:
    empty = pa.chunked_array([], type=pa.int64())
    some = pa.chunked_array([[1, 2]])
    for rows, events in ((empty, some), (some, empty), (empty, empty)):
        assert [len(side) for side in RowIndex([rows]).find([events])] == [0, 0]
    texts = pa.chunked_array([pa.array([None, None], pa.string()).dictionary_encode()])
    assert [len(side) for side in RowIndex([texts]).find([texts])] == [0, 0]
