"""Compile the kernels of all banks, or load them from Numba's cache, before time matters."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.columns import Column, Interner
from cepheid.kernel.compiled.window_aggregates.banks import make_banks
from cepheid.kernel.compiled.window_steps import ADD, EMIT, StepList
from cepheid.kernel.window import WindowedAggregate

_OF_NUMBERS = ("sum", "var_pop", "min", "percentile_disc", "count_distinct", "first", "last")


class _OneEvent:
    def column(self, name: str) -> Column:
        return Column(np.zeros(1) if name == "float" else np.zeros(1, dtype=np.int64))


def compile_aggregates() -> None:
    """One event and one answer: the kernels take the same types whatever the columns are."""
    aggregates = [WindowedAggregate(function=function, column="float", column_kind="float") for function in _OF_NUMBERS]
    aggregates += [
        WindowedAggregate(function="sum", column="int", column_kind="int"),
        WindowedAggregate(function="count"),
    ]
    step_list = StepList(
        np.array([ADD, EMIT], dtype=np.uint8), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), 1, 1
    )
    make_banks(tuple(aggregates), Interner()).run(step_list, _OneEvent())
