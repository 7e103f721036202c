"""Rows of a database that are remembered for a while, by key.

    entry         0       1       2 ...           one for each key that was asked for
    starts        0       3       3               its rows are rows[starts:starts + counts]
    counts        3       0       1               0: the database has no such key, which is remembered too
    expires       12.5    12.5    -inf            from then on it must be asked for again
    used          7       9       9               number of the batch that asked for it last

All of it are arrays, so that a batch is answered without a step of Python for each event.  Rows of answers that were
renewed stay behind as waste until there is more of it than of others; entries leave an eighth of the cache at a time,
for making room costs as much as the cache is large.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.kernel.columns import Int64s
from cepheid.kernel.compiled.row_index import KeyNumbers, match_ranges

_MANY_CHUNKS = 64
_SPARE_ROWS = 1024


class RowCache:
    """Entries that weigh at most `bound` together after each `trim`: a row 1, a key without rows 1."""

    def __init__(self, keys: pa.Schema, rows: pa.Schema, bound: int) -> None:
        self._bound = bound
        self._numbers = KeyNumbers(keys.types)
        self._keys = keys.empty_table()
        self._rows = rows.empty_table()
        self._starts: Int64s = np.empty(0, dtype=np.int64)
        self._counts: Int64s = np.empty(0, dtype=np.int64)
        self._used: Int64s = np.empty(0, dtype=np.int64)
        self._expires: npt.NDArray[np.float64] = np.empty(0, dtype=np.float64)
        self._batch = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def rows(self) -> pa.Table:
        """What `match` tells positions of."""
        return self._rows

    @property
    def weight(self) -> int:
        return int(np.maximum(self._counts, 1).sum())

    def enter(self, keys: pa.Table) -> tuple[Int64s, Int64s]:
        """int64[n]: the entry of each key, -1 where it has a null; int64[m]: the entries among them, each once."""
        self._batch += 1
        before = len(self._numbers)
        numbers = self._numbers.number_keys(keys.columns)
        asked, first = np.unique(numbers, return_index=True)
        if len(asked) and asked[0] < 0:
            asked, first = asked[1:], first[1:]
        if new := len(self._numbers) - before:
            # Entries are numbered in order of appearance, so the new ones are the last of `asked`, in order.
            self._keys = pa.concat_tables([self._keys, keys.take(pa.array(first[-new:]))])
            self._starts = np.append(self._starts, np.zeros(new, dtype=np.int64))
            self._counts = np.append(self._counts, np.zeros(new, dtype=np.int64))
            self._used = np.append(self._used, np.zeros(new, dtype=np.int64))
            self._expires = np.append(self._expires, np.full(new, -np.inf))
        self._used[asked] = self._batch
        return numbers, asked

    def stale(self, asked: Int64s, now: float) -> Int64s:
        """Those of the entries that have to be asked for."""
        return asked[self._expires[asked] <= now]

    def keys_of(self, entries: Int64s) -> pa.Table:
        return self._keys.take(pa.array(entries))

    def renew(self, entries: Int64s, rows: pa.Table, keys: list[pa.ChunkedArray], expires: float) -> None:
        """What the database has for these entries: rows, and the key of each row."""
        owners = self._numbers.find_keys(keys)
        is_asked = np.zeros(len(self) + 1, dtype=np.bool_)  # the last one stands for -1: a key nobody asked for
        is_asked[entries] = True
        order = np.argsort(owners, kind="stable")
        order = order[is_asked[owners[order]]]
        counts = np.bincount(owners[order], minlength=len(self))[entries]
        self._counts[entries] = counts
        self._starts[entries] = self._rows.num_rows + np.cumsum(counts) - counts
        self._expires[entries] = expires
        self._rows = pa.concat_tables([self._rows, rows.take(pa.array(order))])

    def forget(self, entries: Int64s) -> None:
        """Nothing is known about these any more."""
        self._counts[entries] = 0
        self._expires[entries] = -np.inf

    def match(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """int64[m], int64[m]: positions in `numbers`, and positions of their rows."""
        return match_ranges(numbers, self._starts, self._counts)

    def trim(self) -> None:
        """Let entries go that were not used for the longest, and clear away waste."""
        weights = np.maximum(self._counts, 1)
        if weights.sum() > self._bound:
            newest = np.argsort(-self._used, kind="stable")
            fits = np.cumsum(weights[newest]) <= self._bound - self._bound // 8
            self.evictions += int(len(fits) - fits.sum())
            self._keep(np.sort(newest[fits]))
        elif self._rows.num_rows > 2 * int(self._counts.sum()) + _SPARE_ROWS:
            self._keep(np.arange(len(self)))
        # Many small answers make many chunks, and taking rows from many chunks is slow.
        if self._rows.column(0).num_chunks > _MANY_CHUNKS:
            self._rows = self._rows.combine_chunks()
        if self._keys.column(0).num_chunks > _MANY_CHUNKS:
            self._keys = self._keys.combine_chunks()

    def _keep(self, entries: Int64s) -> None:
        """Only these entries, numbered anew."""
        _, places = match_ranges(entries, self._starts, self._counts)
        self._rows = self._rows.take(pa.array(places))
        self._keys = self.keys_of(entries)
        self._counts, self._used, self._expires = self._counts[entries], self._used[entries], self._expires[entries]
        self._starts = np.cumsum(self._counts) - self._counts
        self._numbers = KeyNumbers(self._keys.schema.types)
        self._numbers.number_keys(self._keys.columns)
