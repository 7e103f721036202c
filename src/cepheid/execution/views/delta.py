"""Rows that came or went: a table, and how many of each row came (more than 0) or went (less).

What is equal is one: `settle` adds up the weights of equal rows and leaves out those that came to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.execution.changing.row_hash import Hashes, hash_rows

Int64s = npt.NDArray[np.int64]
WEIGHT = "_change.weight"
_SEEDS = (1, 2)


@dataclass(frozen=True, slots=True)
class Delta:
    rows: pa.Table
    weights: Int64s

    def __len__(self) -> int:
        return len(self.weights)

    @staticmethod
    def nothing(schema: pa.Schema) -> Delta:
        return Delta(schema.empty_table(), np.zeros(0, dtype=np.int64))

    @staticmethod
    def inserts(rows: pa.Table) -> Delta:
        return Delta(rows, np.ones(len(rows), dtype=np.int64))

    def weighted(self) -> pa.Table:
        """The rows with a column more: their weights."""
        return self.rows.append_column(WEIGHT, pa.array(self.weights, pa.int64()))

    @staticmethod
    def read(table: pa.Table) -> Delta:
        """What `weighted` writes."""
        weights = table.column(WEIGHT).to_numpy().astype(np.int64, copy=False)
        return Delta(table.drop_columns([WEIGHT]), weights)

    def single(self) -> Delta:
        """Each row as often as it came or went."""
        many = np.abs(self.weights)
        if not len(many) or many.max() == 1:
            return self
        places = np.repeat(np.arange(len(many)), many)
        return Delta(self.rows.take(pa.array(places)), np.sign(self.weights[places]))

    def negated(self) -> Delta:
        return Delta(self.rows, -self.weights)


def stack(parts: Sequence[Delta]) -> Delta:
    """All of them, under the names of the first."""
    if len(parts) == 1:
        return parts[0]
    rows = pa.concat_tables([part.rows for part in parts])
    return Delta(rows, np.concatenate([part.weights for part in parts]))


def settle(delta: Delta) -> Delta:
    """Equal rows once, in the order in which they first came."""
    if len(delta) < 2:
        return delta if len(delta) and delta.weights[0] else Delta(delta.rows.slice(0, 0), delta.weights[:0])
    first, weights = add_equal(hash_content(delta.rows), delta.weights)
    if len(first) == len(delta):
        return delta
    return Delta(delta.rows.take(pa.array(first)), weights)


def hash_content(rows: pa.Table) -> tuple[Hashes, Hashes]:
    """128 bits for each row."""
    high, low = (hash_rows(rows.columns, len(rows), seed) for seed in _SEEDS)
    return high, low


def add_equal(hashes: tuple[Hashes, Hashes], weights: Int64s) -> tuple[Int64s, Int64s]:
    """The place of the first of each kind of row whose weights do not come to nothing, and what they come to."""
    order = np.argsort(hashes[0], kind="stable")
    high, low = hashes[0][order], hashes[1][order]
    begins = np.flatnonzero(np.concatenate([[True], (high[1:] != high[:-1]) | (low[1:] != low[:-1])]))
    sums = np.add.reduceat(weights[order], begins)
    first, sums = order[begins][sums != 0], sums[sums != 0]
    back = np.argsort(first, kind="stable")
    return first[back], sums[back]
