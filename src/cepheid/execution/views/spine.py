"""Rows found by the hash of their key, in sorted runs.

    add: a new run   ─▶  runs of like size are merged, so that there are few of them

An event is moved once for each doubling of what is kept, and looking up a key costs a binary search in each run: what a
batch costs hardly depends on how much there is.  Two kinds: of a `Trace` the weights of equal rows are added up; in
`Latest`, what is written for a key takes the place of all that was there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.execution.changing.change_rows import Flags
from cepheid.execution.changing.row_hash import Hashes
from cepheid.execution.views.delta import Delta, Int64s, add_equal, hash_content


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted by keys; content: hashes of whole rows; numbers: when each came."""

    keys: Hashes
    rows: pa.Table
    weights: Int64s
    content: tuple[Hashes, Hashes]
    numbers: Int64s

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, places: Int64s) -> _Run:
        return _Run(
            self.keys[places],
            self.rows.take(pa.array(places)),
            self.weights[places],
            (self.content[0][places], self.content[1][places]),
            self.numbers[places],
        )


class Trace:
    """A bag of rows, by key."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._runs: list[_Run] = []
        self._next = 0

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, keys: Hashes, delta: Delta) -> None:
        if not len(delta):
            return
        numbers = np.arange(self._next, self._next + len(delta))
        self._next += len(delta)
        run = _Run(keys, delta.rows, delta.weights, hash_content(delta.rows), numbers)
        self._push(run.take(np.argsort(keys, kind="stable")))

    def find(self, wanted: Hashes) -> Delta:
        """The rows of these keys, in the order in which they came; wanted: sorted, each once."""
        found = [part for run in self._runs if len(part := _pick(run, wanted))]
        if not found:
            return Delta.nothing(self.schema)
        run = _settled(_join(found))
        run = run.take(np.argsort(run.numbers, kind="stable"))
        return Delta(run.rows, run.weights)

    def rows(self) -> Delta:
        """All of them."""
        if not self._runs:
            return Delta.nothing(self.schema)
        run = _settled(_join(self._runs))
        run = run.take(np.argsort(run.numbers, kind="stable"))
        return Delta(run.rows, run.weights)

    def _push(self, run: _Run) -> None:
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = _settled(_join([self._runs.pop(), run]))
        if len(run):
            self._runs.append(run)


class Latest:
    """By key, the rows that were written last."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._runs: list[tuple[Hashes, Hashes, pa.Table]] = []  # what was written, then the rows by their keys, sorted

    def write(self, written: Hashes, keys: Hashes, rows: pa.Table) -> None:
        """written: the keys, sorted, each once, whose rows are these and no others."""
        order = np.argsort(keys, kind="stable")
        run = (written, keys[order], rows.take(pa.array(order)))
        while self._runs and len(self._runs[-1][0]) <= 2 * len(run[0]):
            run = self._merge(self._runs.pop(), run)
        self._runs.append(run)

    def find(self, wanted: Hashes) -> pa.Table:
        """The rows of these keys; wanted: sorted, each once."""
        found: list[pa.Table] = []
        for written, keys, rows in reversed(self._runs):
            if not len(wanted):
                break
            known = _are_in(wanted, written)
            if known.any():
                found.append(rows.take(pa.array(_ranges(keys, wanted[known]))))
                wanted = wanted[~known]
        return pa.concat_tables(found) if found else self.schema.empty_table()

    def rows(self) -> pa.Table:
        while len(self._runs) > 1:
            newer = self._runs.pop()
            self._runs.append(self._merge(self._runs.pop(), newer))
        return self._runs[0][2] if self._runs else self.schema.empty_table()

    def _merge(
        self, older: tuple[Hashes, Hashes, pa.Table], newer: tuple[Hashes, Hashes, pa.Table]
    ) -> tuple[Hashes, Hashes, pa.Table]:
        stays = ~_are_in(older[1], newer[0])
        keys = np.concatenate([older[1][stays], newer[1]])
        order = np.argsort(keys, kind="stable")
        rows = pa.concat_tables([older[2].filter(pa.array(stays)), newer[2]]).take(pa.array(order)).combine_chunks()
        written = np.union1d(older[0], newer[0])
        if not self._runs:  # nothing older is left that could shine through
            written = np.unique(keys)
        return written, keys[order], rows


def _are_in(values: Hashes, written: Hashes) -> Flags:
    places = np.searchsorted(written, values)
    inside = places < len(written)
    inside[inside] = written[places[inside]] == values[inside]
    return inside


def _ranges(keys: Hashes, wanted: Hashes) -> Int64s:
    """The places of all rows with one of these keys."""
    begins = np.searchsorted(keys, wanted, "left")
    counts = np.searchsorted(keys, wanted, "right") - begins
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(begins - (ends - counts), counts)


def _pick(run: _Run, wanted: Hashes) -> _Run:
    return run.take(_ranges(run.keys, wanted))


def _join(runs: list[_Run]) -> _Run:
    """All rows, sorted by key."""
    keys = np.concatenate([run.keys for run in runs])
    return _Run(
        keys,
        pa.concat_tables([run.rows for run in runs]),
        np.concatenate([run.weights for run in runs]),
        (np.concatenate([run.content[0] for run in runs]), np.concatenate([run.content[1] for run in runs])),
        np.concatenate([run.numbers for run in runs]),
    )


def _settled(run: _Run) -> _Run:
    """Equal rows once, sorted by key; rows of no weight are gone."""
    first, weights = add_equal(run.content, run.weights)
    settled = run.take(first[np.argsort(run.keys[first], kind="stable")])
    order = np.argsort(run.keys[first], kind="stable")
    return _Run(settled.keys, settled.rows.combine_chunks(), weights[order], settled.content, settled.numbers)
