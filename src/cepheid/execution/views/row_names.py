"""Who the rows of a view are: the group that a row is about, however its values change; else its values.

Of rows that are equal, the second is another one than the first: it has a number behind its name.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.execution.changing.change_rows import Flags, Int64s, carry
from cepheid.execution.changing.row_hash import Hashes, hash_rows, hash_text, write_ids
from cepheid.execution.views.delta import Delta
from cepheid.execution.views.spine import Trace

_COUNTED = pa.schema([("name", pa.uint64())])


class RowNames:
    """digest: of the vertex, so that rows of two views differ; by_values: rows have no names but their values."""

    def __init__(self, digest: str, by_values: bool) -> None:
        self._seeds = (hash_text(f"{digest}/high"), hash_text(f"{digest}/low"))
        self._counted = Trace(_COUNTED) if by_values else None

    def name(self, delta: Delta, identity: pa.Table, version: int, place: int) -> pa.Table:
        """Rows that travel: each gone or come once; version: of the push; place: of the first.

        A row that goes is older than the one that takes its place: even, then odd, as engines count (given_rows.py)."""
        columns = delta.rows.columns if self._counted is not None else identity.columns
        high, low = (hash_rows(columns, len(delta), seed) for seed in self._seeds)
        rows, gone, copies, chosen = delta.rows, delta.weights < 0, np.ones(len(delta), dtype=np.int64), None
        if self._counted is not None:
            chosen, copies = self._number(high, delta.weights)
            rows, gone = rows.take(pa.array(chosen)), gone[chosen]
            high, low = high[chosen], low[chosen]
        names = _write_names(high, low, copies)
        places = np.arange(place, place + len(gone), dtype=np.int64)
        return carry(rows, gone, names, 2 * version + ~gone, places)

    def keep(self) -> pa.Table:
        return Delta.nothing(_COUNTED).weighted() if self._counted is None else self._counted.rows().weighted()

    def restore(self, kept: pa.Table) -> None:
        if self._counted is not None:
            delta = Delta.read(kept)
            self._counted.add(delta.rows.column("name").to_numpy(), delta)

    def _number(self, names: Hashes, weights: Int64s) -> tuple[Int64s, Int64s]:
        """The place of each row as often as it came or went, and which of its equals that is, from 1 on."""
        assert self._counted is not None, "rows that have names are not counted"
        before = self._count(names)
        self._counted.add(names, Delta(pa.table([pa.array(names)], schema=_COUNTED), weights))
        many = np.abs(weights)
        places = np.repeat(np.arange(len(weights)), many)
        steps = np.arange(len(places)) - np.repeat(np.cumsum(many) - many, many)
        copies = np.where(weights[places] > 0, before[places] + 1 + steps, before[places] - steps)
        return places, copies

    def _count(self, names: Hashes) -> Int64s:
        """How often each row is there."""
        assert self._counted is not None, "rows that have names are not counted"
        found = self._counted.find(np.unique(names))
        known = found.rows.column("name").to_numpy()
        order = np.argsort(known)
        known, counts = known[order], found.weights[order]
        if not len(known):
            return np.zeros(len(names), dtype=np.int64)
        places = np.minimum(np.searchsorted(known, names), len(known) - 1)
        return np.where(known[places] == names, counts[places], 0)


def _write_names(high: Hashes, low: Hashes, copies: Int64s) -> pa.Array:
    names = write_ids(high, low)
    again: Flags = copies > 1
    if not again.any():
        return names
    numbered = pc.binary_join_element_wise(names, pa.array(copies).cast(pa.string()), "-")
    return pc.if_else(pa.array(again), numbered, names)
