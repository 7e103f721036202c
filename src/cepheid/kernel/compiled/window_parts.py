"""A snapshot of windows taken apart by key, and parts put together again: on its arrays, not on a policy at work.

    keys      2 5 7      whose: 0 1 0        part 0: keys 2 7, key_rows a c
    key_rows  a b c                          part 1: keys 5, key_rows b

Every array of a snapshot has a row for each number of a list of keys or groups, or for each event that is kept: a
policy says for which (`told_by`).  What an array holds beside that are places among the kept events (`places_in`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.window_policy import EVENTS, Policy, State
from cepheid.kernel.partition_rows import list_rows


@dataclass(frozen=True)
class Owners:
    """Whose everything is.

    count: how many parts; keys, groups: int64, the part of each number that occurs; events: int64[kept events].
    """

    count: int
    keys: Int64s
    groups: Int64s
    events: Int64s
    _rows: dict[str, list[Int64s]] = field(default_factory=dict)

    def rows_of(self, state: State, told_by: str) -> list[Int64s]:
        """The rows of each part, of the arrays that one list tells the owners of."""
        if told_by not in self._rows:
            if told_by == EVENTS:
                owner = self.events
            else:
                owner = (self.keys if told_by.endswith("keys") else self.groups)[state[told_by]]
            self._rows[told_by] = list_rows(owner, self.count)
        return self._rows[told_by]


def split_policy(policy: Policy, state: State, owners: Owners) -> list[State]:
    """What each part has of what `keep` gave."""
    parts: list[State] = [{} for _ in range(owners.count)]
    events = owners.rows_of(state, EVENTS)
    for name, array in state.items():
        for number, rows in enumerate(owners.rows_of(state, policy.told_by[name])):
            taken = array[rows]
            for column in policy.places_in(name):
                _move_places(taken, column, _count_before(events[number]))
            parts[number][name] = taken
    return parts


def merge_policy(policy: Policy, states: list[State], places: list[Int64s]) -> State:
    """What `keep` would have given of one; places: where the kept events of each part are among all of them."""
    merged: State = {}
    total = sum(map(len, places))
    for name in states[0]:
        arrays = [state[name] for state in states]
        for column in policy.places_in(name):
            arrays = [array.copy() for array in arrays]
            for array, of_part in zip(arrays, places, strict=True):
                beyond = np.append(of_part, total)  # behind the last event of a part: behind all events
                _move_places(array, column, beyond.__getitem__)
        merged[name] = np.concatenate(arrays)
        if policy.told_by[name] == EVENTS:
            merged[name][np.concatenate(places)] = merged[name].copy()
    return merged


def _count_before(kept: Int64s) -> Callable[[Int64s], Int64s]:
    def count(places: Int64s) -> Int64s:
        found: Int64s = np.searchsorted(kept, places)
        return found

    return count


def _move_places(array: npt.NDArray[Any], column: int | None, move: Callable[[Int64s], Int64s]) -> None:
    """In the array itself; negative numbers are no places."""
    told = array if column is None else array[:, column]
    is_place = told >= 0
    told[is_place] = move(told[is_place])
