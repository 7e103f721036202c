"""Equal keys get equal numbers, in the order in which they first appear."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.kernel.columns import Interner, read_column
from cepheid.kernel.compiled.key_index import KeyIndex

NAN = float("nan")


def number_keys(index: KeyIndex, interner: Interner, *columns: pa.Array) -> tuple[list[int], list[bool]]:
    read = [read_column(pa.chunked_array([column]), interner) for column in columns]
    numbers, has_null = index.number_rows(read, len(columns[0]))
    return numbers.tolist(), has_null.tolist()


def test_keys_keep_their_numbers_while_the_index_grows() -> None:
    random = np.random.default_rng(7)
    index, known = KeyIndex(2), {}
    for _ in range(20):
        left, right = random.integers(-50, 50, 500), random.integers(0, 40, 500)
        numbers, _ = number_keys(index, Interner(), pa.array(left), pa.array(right))
        expected = [known.setdefault(key, len(known)) for key in zip(left.tolist(), right.tolist(), strict=True)]
        assert numbers == expected
        assert len(index) == len(known)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([0.0, -0.0, NAN, -NAN, 1.0, NAN]), [0, 0, 1, 1, 2, 1]),
        (pa.array([0, None, 0, None, 1]), [0, 1, 0, 1, 2]),
        (pa.array(["a", None, "", "a", ""]), [0, 1, 2, 0, 2]),
        (pa.array(["a", "b", None, "a"]).dictionary_encode(), [0, 1, 2, 0]),
        (pa.array([True, False, None, True]), [0, 1, 2, 0]),
    ],
    ids=["floats", "integers", "strings", "dictionary", "bools"],
)
def test_null_is_a_key_of_its_own(column: pa.Array, expected: list[int]) -> None:
    numbers, has_null = number_keys(KeyIndex(1), Interner(), column)
    assert numbers == expected
    assert has_null == [value is None for value in column.to_pylist()]


def test_nulls_in_different_columns_are_different_keys() -> None:
    numbers, has_null = number_keys(KeyIndex(2), Interner(), pa.array([None, 0, None, 0]), pa.array([0, None, None, 0]))
    assert numbers == [0, 1, 2, 3]
    assert has_null == [True, True, True, False]
