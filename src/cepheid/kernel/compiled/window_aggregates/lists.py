"""array_agg, and the members of windows without aggregates."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Interner
from cepheid.kernel.compiled.window_aggregates.cells import NO_CELLS, NO_FLAGS, Columns, as_values, read_cells
from cepheid.kernel.compiled.window_aggregates.member_chains import MemberChains
from cepheid.kernel.compiled.window_steps import StepList
from cepheid.kernel.window import ListColumn, WindowedAggregate


class ListBank:
    """array_agg of one column: nulls stay, and of no members the list is null."""

    def __init__(self, aggregates: list[WindowedAggregate], interner: Interner) -> None:  # noqa: ARG002 - as all banks
        self._aggregate = aggregates[0]
        self._chains = MemberChains(firsts_only=False)

    def run(self, step_list: StepList, store: Columns) -> tuple[ListColumn, ...]:
        assert self._aggregate.column is not None, "array_agg is of a column"
        cells = read_cells(store, self._aggregate.column)
        ends, listed, valid = self._chains.run(step_list, cells.values, cells.valid)
        some = (np.diff(ends, prepend=0) > 0).view(np.uint8)
        items = Column(as_values(listed, cells.mode), None if valid.all() else valid)
        return (ListColumn(ends, items, some),)


class MemberBank:
    """The events themselves, by their number, oldest first."""

    def __init__(self) -> None:
        self._chains = MemberChains(firsts_only=False)

    def run(self, step_list: StepList, store: Columns) -> ListColumn:  # noqa: ARG002 - as all banks
        ends, listed, _ = self._chains.run(step_list, NO_CELLS, NO_FLAGS)
        return ListColumn(ends, Column(listed))
