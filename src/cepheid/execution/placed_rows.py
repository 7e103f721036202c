"""Rows that know their place among those of other operators, and how they are put in order.

    operator 0   rows, places ┐
    operator 1   rows, places ┴─▶ the rows that one operator over all events would have given, in its order

A place is one or more numbers.  Most rows come out because of an event, and no two operators see the same event: its
ordinal, counted over all events in order, is place enough.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.log_column import take_values
from cepheid.execution.operator import PlacedRows
from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.key_owners import order_places
from cepheid.schema import empty_table

Places = tuple[Int64s, ...]
MOST_PARTS = 64  # arrays of ordinals


class Ordinals:
    """The ordinals of the events that an operator was given, by its own index of them.

    They are kept as they come, and put into one array when somebody asks: mostly there are few rows, about few events.
    """

    def __init__(self) -> None:
        self._parts: list[Int64s] = []
        self._firsts: list[int] = []  # to be added to those of each part
        self._begins: list[int] = []
        self._count = 0

    def append(self, ordinals: Int64s, first: int = 0) -> None:
        """first: to be added to each."""
        if len(ordinals):
            self._parts.append(ordinals)
            self._firsts.append(first)
            self._begins.append(self._count)
            self._count += len(ordinals)
        if len(self._parts) > MOST_PARTS:
            whole = np.concatenate([part + first for part, first in zip(self._parts, self._firsts, strict=True)])
            self._parts, self._firsts, self._begins = [whole], [0], self._begins[:1]

    def forget(self) -> None:
        """Nobody will ask about the events so far."""
        self._parts, self._firsts, self._begins = [], [], []

    def take(self, events: Int64s) -> Int64s:
        if not len(events):
            return events
        begin = self._begins[-1]
        if int(events.min()) >= begin:  # as mostly
            return self._parts[-1][events - begin] + self._firsts[-1]
        homes = np.searchsorted(self._begins, events, side="right") - 1
        taken = np.empty(len(events), dtype=np.int64)
        for home in np.unique(homes).tolist():
            here = homes == home
            taken[here] = self._parts[home][events[here] - self._begins[home]] + self._firsts[home]
        return taken


class KeyOrders:
    """Which key came first: what decides between keys when time brings something about for several of them."""

    def __init__(self) -> None:
        self._of_keys: Int64s = np.zeros(0, dtype=np.int64)
        self._of_groups: Int64s = np.zeros(0, dtype=np.int64)

    def learn(self, keys: Int64s, groups: Int64s, ordinals: Int64s) -> None:
        """Keys and groups of events, by the numbers that they have, counted from 0 as they come."""
        fresh = np.flatnonzero(keys >= len(self._of_keys))[::-1]
        if len(fresh):
            self._of_keys = _widen(self._of_keys, int(keys.max()) + 1)
            self._of_keys[keys[fresh]] = ordinals[fresh]  # of several, the one written last stays: the first
        fresh = np.flatnonzero(groups >= len(self._of_groups))
        if len(fresh):
            self._of_groups = _widen(self._of_groups, int(groups.max()) + 1)
            self._of_groups[groups[fresh]] = self._of_keys[keys[fresh]]

    def take(self, groups: Int64s) -> Int64s:
        return self._of_groups[groups]


def _widen(values: Int64s, count: int) -> Int64s:
    return np.concatenate([values, np.zeros(count - len(values), dtype=np.int64)])


def merge_rows(parts: list[PlacedRows]) -> pa.Table:
    """The rows of several operators in the order of their places."""
    some = [part for part in parts if len(part.table)]
    if len(some) < 2:
        return (some or parts)[0].table
    if len(some[0].places) == 1:
        order = order_places([part.places[0] for part in some])
    else:
        places = [np.concatenate(numbers) for numbers in zip(*(part.places for part in some), strict=True)]
        order = np.lexsort(places[::-1])
    whole = pa.concat_tables([part.table for part in some])
    return pa.Table.from_arrays([take_values(column, order) for column in whole.columns], schema=whole.schema)


def take_events(table: pa.Table, columns: list[str], events: npt.NDArray[np.int64]) -> pa.Table:
    """Some columns of some events."""
    chosen = table.select(columns)
    if not len(events):
        return empty_table(chosen.schema)
    return pa.Table.from_arrays([take_values(column, events) for column in chosen.columns], schema=chosen.schema)
