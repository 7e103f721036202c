"""Arrow columns become arrays without a change of meaning."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cepheid.kernel.columns import Interner, kind_of, read_column


def test_ranks_order_strings_by_their_utf8_bytes() -> None:
    random = Random(3)
    letters = ["", "a", "b", "B", "é", "\uffee", "\N{GRINNING FACE}"]
    interner = Interner()
    for _ in range(30):
        texts = ["".join(random.choices(letters, k=3)) for _ in range(20)]
        numbers = [interner.number_of(text) for text in texts]
        ranks = interner.ranks()
        by_rank = sorted(texts, key=lambda text: ranks[interner.number_of(text)])
        assert by_rank == sorted(texts, key=str.encode)
        assert [interner.texts()[number] for number in numbers] == texts


def test_there_is_a_rank_to_read_before_there_is_a_string() -> None:
    assert len(Interner().ranks()) == 1


@pytest.mark.parametrize(
    ("array", "kind", "values"),
    [
        (pa.array([True, None, False]), "bool", [1, None, 0]),
        (pa.array([1, None, -3], pa.int8()), "int", [1, None, -3]),
        (pa.array([1.5, None, -0.0], pa.float32()), "float", [1.5, None, 0.0]),
        (pa.array([1, None, 0], pa.date32()), "time", [86_400_000_000, None, 0]),
        (pa.array([1, None, -1], pa.timestamp("s", "Europe/Vienna")), "time", [1_000_000, None, -1_000_000]),
        (pa.array([1999, None, 0], pa.timestamp("ns")), "time", [1, None, 0]),
        (pa.array([2, None, 0], pa.duration("ms")), "duration", [2000, None, 0]),
    ],
    ids=str,
)
def test_values_and_nulls_are_read(array: pa.Array, kind: str, values: list[float | None]) -> None:
    assert kind_of(array.type) == kind
    column = read_column(pa.chunked_array([array.slice(0, 1), array.slice(1)]), Interner())
    assert column.valid is not None
    assert [value if valid else None for value, valid in zip(column.values, column.valid, strict=True)] == values
    assert column.values.dtype == (np.float64 if kind == "float" else np.int64)


def test_chunks_with_dictionaries_of_their_own_share_numbers() -> None:
    chunks = [pa.array(texts).dictionary_encode() for texts in (["a", "b"], ["b", None, "c"], ["c", "a"])]
    interner = Interner()
    column = read_column(pa.chunked_array(chunks), interner)
    assert column.valid is not None
    read = [interner.texts()[number] if ok else None for number, ok in zip(column.values, column.valid, strict=True)]
    assert read == ["a", "b", "b", None, "c", "c", "a"]


@pytest.mark.parametrize("kind", [pa.string(), pa.int32(), pa.float64(), pa.timestamp("us")], ids=str)
def test_a_column_without_chunks_is_empty(kind: pa.DataType) -> None:
    assert len(read_column(pa.chunked_array([], kind), Interner()).values) == 0
