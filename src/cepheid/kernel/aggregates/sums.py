"""sum and avg: exact, rounded once.  avg(x) is sum(x) / count(x), to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cepheid.errors import MatchFailure
from cepheid.kernel.aggregates.definition import AggregateDefinition, FoldOptions
from cepheid.kernel.aggregates.exact_numbers import divide_rounded, sum_exactly, to_float


def _add_up(values: Sequence[Any], _: FoldOptions) -> Any:
    if isinstance(values[0], float):
        return to_float(sum_exactly(values))
    total = sum(values)
    if not -(2**63) <= total < 2**63:
        raise MatchFailure("a sum of integers left the range of 64 bits", hint="cast the column to DOUBLE")
    return total


def _take_mean(values: Sequence[Any], options: FoldOptions) -> Any:
    total = sum_exactly(values)
    return math.trunc(total / len(values)) if options.kind == "duration" else divide_rounded(total, len(values))


SUM = AggregateDefinition(
    name="sum",
    sql_names=("SUM",),
    fold=_add_up,
    family="sums",
    gives="sum",
    takes=("int", "float", "duration"),
)

AVG = AggregateDefinition(
    name="avg",
    sql_names=("AVG",),
    fold=_take_mean,
    family="sums",
    gives="mean",
    takes=("int", "float", "duration"),
)
