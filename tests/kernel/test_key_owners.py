"""Events are parted as their key groups say, and places are put in order, like the plain ways to do it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.kernel.compiled.key_owners import count_groups, order_places, part_events
from cepheid.kernel.key_hash import group_keys

NUMBERS = [3, -1, 0, 2**31 - 1, -(2**31), 7, 7, 3] * 5
KEYS = {
    "int32": [pa.chunked_array([pa.array(NUMBERS, pa.int32())])],
    "int32 in chunks": [pa.chunked_array([pa.array(NUMBERS[:7], pa.int32()), pa.array(NUMBERS[7:], pa.int32())])],
    "int32, sliced": [pa.chunked_array([pa.array([5, *NUMBERS], pa.int32())]).slice(1)],
    "int8": [pa.chunked_array([pa.array([number % 100 for number in NUMBERS], pa.int8())])],
    "int64": [pa.chunked_array([pa.array(NUMBERS, pa.int64())])],
    "with nulls": [pa.chunked_array([pa.array([None if number == 7 else number for number in NUMBERS])])],
    "float": [pa.chunked_array([pa.array([0.0, -0.0, float("nan"), 1.5, 2.0, 3.0, 4.0, 5.0] * 5)])],
    "text": [pa.chunked_array([pa.array(["a", "b", None, "", "é", "a", "c", "d"] * 5)])],
    "time": [pa.chunked_array([pa.array(NUMBERS, pa.int64()).cast(pa.timestamp("us"))])],
    "two": [pa.chunked_array([pa.array(NUMBERS)]), pa.chunked_array([pa.array(["a", "b"] * 20)])],
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("groups", [1, 60, 64])
@pytest.mark.parametrize("ways", [1, 2, 5])
def test_events_go_to_the_owners_of_their_key_groups(kind: str, groups: int, ways: int) -> None:
    columns, count = KEYS[kind], len(KEYS[kind][0])
    owners = np.random.default_rng(1).integers(0, ways, groups)
    group = group_keys(columns, count, groups)
    parts = part_events(columns, count, owners, ways, base=100)
    assert len(parts) == ways
    for way, part in enumerate(parts):
        assert part.tolist() == (100 + np.flatnonzero(owners[group] == way)).tolist()
    assert count_groups(columns, count, groups).tolist() == np.bincount(group, minlength=groups).tolist()


@pytest.mark.parametrize("spread", [1, 5, 1000])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_places_are_put_in_order_and_equal_ones_stay_as_they_are(spread: int, count: int) -> None:
    random = np.random.default_rng(spread)
    several = [np.sort(random.integers(-50, 50, 40)) * spread, np.array([7, 7, 7]), np.array([], dtype=np.int64)]
    parts = (several + [np.sort(random.integers(-9, 90, 30)) for _ in range(2)])[:count]
    assert order_places(parts).tolist() == np.argsort(np.concatenate(parts), kind="stable").tolist()


def test_places_that_are_in_no_order_are_sorted() -> None:
    parts = [np.array([5, 3, 9]), np.array([4, 4])]
    assert order_places(parts).tolist() == np.argsort(np.concatenate(parts), kind="stable").tolist()
