"""Aggregates over the events of matches, for MEASURES: a match is a window that only gains events.

    match  ─▶  ADD, ADD, EMIT, ADD, EMIT, ..., CLEAR  ─▶  the banks of windows  ─▶  answers

So an aggregate in MEASURES is the aggregate of a window, by the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.kernel.columns import Column, Flags, Int64s, Interner
from cepheid.kernel.compiled.njit_options import njit
from cepheid.kernel.compiled.window_aggregates.banks import make_banks
from cepheid.kernel.compiled.window_steps import ADD, CLEAR, EMIT, StepList
from cepheid.kernel.matches import Matches
from cepheid.kernel.window import AnswerColumn, WindowedAggregate


class _MatchedEvents:
    """The columns of the events of all matches, one match behind another."""

    def __init__(self, columns: dict[str, Column]) -> None:
        self._columns = columns

    def column(self, name: str) -> Column:
        return self._columns[name]


def aggregate_matches(
    aggregate: WindowedAggregate, chosen: Flags, asked: Flags, matches: Matches, columns: dict[str, Column],
    interner: Interner,
) -> AnswerColumn:  # fmt: skip
    """The aggregate from the beginning of the match up to each event that is asked about, one answer for each of them.

    chosen: uint8[events of all matches], those it takes in; asked: uint8[events]; columns: of these events.
    """
    steps, items, rows = _write_steps(chosen, asked, matches.begins, matches.ends)
    step_list = StepList(steps, np.zeros(len(steps), dtype=np.int64), items, 1, rows)
    (answers,) = make_banks((aggregate,), interner).run(step_list, _MatchedEvents(columns))
    return answers


@njit()
def _write_steps(chosen: Flags, asked: Flags, begins: Int64s, ends: Int64s) -> Any:
    """Steps and items of the one slot that all matches use in turn, and how many answers there are."""
    steps = np.empty(2 * chosen.shape[0] + begins.shape[0], dtype=np.uint8)
    items = np.empty(steps.shape[0], dtype=np.int64)
    count, rows = 0, 0
    for match in range(begins.shape[0]):
        for event in range(begins[match], ends[match]):
            if chosen[event]:
                steps[count], items[count] = ADD, event
                count += 1
            if asked[event]:
                steps[count], items[count] = EMIT, rows
                count += 1
                rows += 1
        steps[count], items[count] = CLEAR, 0
        count += 1
    return steps[:count], items[:count], rows
