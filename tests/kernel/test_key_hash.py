"""Keys hash alike wherever and however they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.kernel.key_hash import group_keys, hash_keys


def hash_one(*columns: pa.Array) -> list[int]:
    return hash_keys([pa.chunked_array([column]) for column in columns], len(columns[0])).tolist()


def test_types_of_one_kind_hash_alike() -> None:
    assert hash_one(pa.array([7, -1, None], pa.int8())) == hash_one(pa.array([7, -1, None], pa.int64()))
    assert hash_one(pa.array([0.0, float("nan")])) == hash_one(pa.array([-0.0, -float("nan")]))
    words = pa.array(["a", None, "b", "a"])
    assert hash_one(words) == hash_one(words.dictionary_encode()) == hash_one(words.cast(pa.large_string()))


def test_hashes_never_change() -> None:
    found = hash_one(pa.array([1, None]), pa.array(["bus", "é"]))
    assert found == [2111169334585888672, 12222237451541619675]


def test_columns_are_told_apart_by_their_order() -> None:
    left, right = pa.array([1, 2]), pa.array([2, 1])
    assert hash_one(left, right)[0] != hash_one(right, left)[0]


@pytest.mark.parametrize("groups", [2, 64])
def test_groups_are_filled_evenly(groups: int) -> None:
    counts = np.bincount(group_keys([pa.chunked_array([pa.array(range(64_000))])], 64_000, groups), minlength=groups)
    assert counts.min() > 0.85 * 64_000 / groups


def test_without_keys_and_without_rows() -> None:
    assert group_keys([], 3, 64).tolist() == [hash_keys([], 1)[0] % 64] * 3
    assert hash_one(pa.array([], pa.string())) == []
