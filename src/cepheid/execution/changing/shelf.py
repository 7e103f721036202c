"""Rows that can be found by whom they are about and when, at a cost that does not depend on how many there are.

    tables ─▶ [ rows in the order in which they came ]        chains by scope and stretch of time (time_links.py)
                             ▲                                                    │
                             └────────────── numbers of rows in some spans ◀──────┘

Rows that are taken away only lose their mark: whoever has the shelf makes a new one once that is worth it.

How long a stretch is, is given, or hangs on how dense rows are: then a stretch has about so many rows of a scope, and
is looked for anew when there are many more of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.event_time import END
from cepheid.execution.changing.change_rows import Flags, Int64s
from cepheid.execution.changing.spans import Spans
from cepheid.execution.log_column import make_column
from cepheid.kernel.columns import Column
from cepheid.kernel.compiled.key_index import KeyIndex
from cepheid.kernel.compiled.time_links import link_rows, walk_chains
from cepheid.kernel.compiled.window_store import GrowingArray

DENSE = 4  # rows of a scope in a stretch
GROWN = 8  # times as many rows: the stretch is looked for anew


class Shelf:
    def __init__(self, schema: pa.Schema, stretch_us: int) -> None:
        """stretch_us: of a chain; about as long as the spans that are asked for; 0: it hangs on the rows."""
        self._schema = schema
        self._columns = [make_column(field.type) for field in schema]
        self.stretch = max(1, stretch_us)
        self._is_found, self._found_of = stretch_us == 0, 0
        self._forget_chains()
        self._links, self._scopes, self._times = (GrowingArray(np.int64) for _ in range(3))
        self._is_there = GrowingArray(np.bool_)
        self._count = 0
        self._gone = 0
        self.oldest = END  # time of a row, though it be gone

    def __len__(self) -> int:
        """Rows that are there."""
        return self._count - self._gone

    def count_numbers(self) -> int:
        """The number of the row that comes next."""
        return self._count

    def append(self, table: pa.Table, scopes: Int64s, times: Int64s) -> None:
        count = len(table)
        if not count:
            return
        first, self._count = self._count, self._count + count
        self.oldest = min(self.oldest, int(times.min()))
        for kept, column in zip(self._columns, table.columns, strict=True):
            kept.append(column)
        self._scopes.write(first, scopes, count)
        self._times.write(first, times, count)
        self._is_there.write(first, True, count)
        self._links.make_room(first, count)
        if self._is_found and self._count > GROWN * self._found_of:
            first, scopes, times = self._find_stretch()
        self._link(first, scopes, times)

    def _find_stretch(self) -> tuple[int, Int64s, Int64s]:
        """From now on, for all rows: the first of them, their scopes and times."""
        scopes, times = self._scopes.data[: self._count], self._times.data[: self._count]
        numbers, _ = KeyIndex(1).number_rows([Column(scopes)], self._count)
        self.stretch = int(times.max() - times.min()) // self._count * (int(numbers.max()) + 1) * DENSE + 1
        self._found_of = self._count
        self._forget_chains()
        return 0, scopes, times

    def _forget_chains(self) -> None:
        self._chains = KeyIndex(2)
        self._heads: Int64s = np.full(64, -1, dtype=np.int64)

    def _link(self, first: int, scopes: Int64s, times: Int64s) -> None:
        chains, _ = self._chains.number_rows([Column(scopes), Column(times // self.stretch)], len(times))
        if len(self._chains) > len(self._heads):
            wider = np.full(max(len(self._chains), 2 * len(self._heads)), -1, dtype=np.int64)
            wider[: len(self._heads)] = self._heads
            self._heads = wider
        link_rows(chains, first, self._heads, self._links.data)

    def find(self, spans: Spans) -> Int64s:
        """int64[n]: the numbers of the rows in these spans, in no order."""
        firsts = spans.begins // self.stretch
        counts = (spans.ends - 1) // self.stretch - firsts + 1
        if int(np.minimum(counts, self._count + 1).sum()) > self._count:  # longer than all that is here
            all_rows = slice(0, self._count)
            return np.flatnonzero(self._marks & spans.hold(self._scopes.data[all_rows], self._times.data[all_rows]))
        whose = np.repeat(np.arange(len(spans)), counts)
        stretches = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts) + firsts[whose]
        chains = self._chains.find_rows([Column(spans.scopes[whose]), Column(stretches)], len(whose))
        found: Int64s = walk_chains(
            chains, whose, spans.scopes, spans.begins, spans.ends,
            self._heads, self._links.data, self._scopes.data, self._times.data, self._is_there.data,
        )  # fmt: skip
        return found

    def list_since(self, time: int) -> Int64s:
        """int64[n]: the numbers of the rows that are not older."""
        return np.flatnonzero(self._marks & (self._times.data[: self._count] >= time))

    def take(self, numbers: Int64s) -> pa.Table:
        return pa.Table.from_arrays([column.take(numbers, None) for column in self._columns], schema=self._schema)

    def where(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] each: scopes and times of some rows."""
        return self._scopes.data[numbers], self._times.data[numbers]

    def read(self, name: str, numbers: Int64s) -> pa.ChunkedArray:
        """One column of some rows."""
        return self._columns[self._schema.get_field_index(name)].take(numbers, None)

    def remove(self, numbers: Int64s) -> None:
        """Each of them is there."""
        self._is_there.data[numbers] = False
        self._gone += len(numbers)

    def take_all(self) -> pa.Table:
        """The rows that are there, in the order in which they came."""
        return pa.Table.from_arrays([column.filter(self._marks) for column in self._columns], schema=self._schema)

    @property
    def _marks(self) -> Flags:
        marks: Flags = self._is_there.data[: self._count]
        return marks
