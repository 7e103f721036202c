"""array_agg, and the members of windows without aggregates."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Interner
from cepheid.kernel.compiled.summaries.cells import NO_CELLS, NO_FLAGS, Columns, as_values, read_cells
from cepheid.kernel.compiled.summaries.member_chains import MemberChains
from cepheid.kernel.compiled.window_script import Script
from cepheid.kernel.window import ListColumn, Summary


class ListBank:
    """array_agg of one column: nulls stay, and of no members the list is null."""

    def __init__(self, summaries: list[Summary], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._summary = summaries[0]
        self._chains = MemberChains(firsts_only=False)

    def run(self, script: Script, store: Columns) -> tuple[ListColumn, ...]:
        assert self._summary.column is not None, "array_agg is of a column"
        cells = read_cells(store, self._summary.column)
        ends, told, valid = self._chains.run(script, cells.values, cells.valid)
        some = (np.diff(ends, prepend=0) > 0).view(np.uint8)
        items = Column(as_values(told, cells.mode), None if valid.all() else valid)
        return (ListColumn(ends, items, some),)


class MemberBank:
    """The events themselves, by the number they were told with, oldest first."""

    def __init__(self) -> None:
        self._chains = MemberChains(firsts_only=False)

    def run(self, script: Script, store: Columns) -> ListColumn:  # noqa: ARG002 - as all banks
        ends, told, _ = self._chains.run(script, NO_CELLS, NO_FLAGS)
        return ListColumn(ends, Column(told))
