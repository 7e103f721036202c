"""Variance and standard deviation, of a sample (divided by n - 1) and of a population (by n).

The sum of squared distances from the mean is exact and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cepheid.kernel.aggregates.definition import NUMBERS, AggregateDefinition, Fold, FoldOptions
from cepheid.kernel.aggregates.exact_numbers import SCALE, square_deviations, to_float


def _vary(values: Sequence[Any], spared: int, is_root: bool) -> float:
    squares = square_deviations(values)
    if squares is None:
        return math.nan
    divisor, rounded = len(values) - spared, to_float(squares)
    if not math.isinf(rounded):
        return math.sqrt(rounded / divisor) if is_root else rounded / divisor
    scaled = to_float(squares / SCALE / SCALE) / divisor
    return math.sqrt(scaled) * float(SCALE) if is_root else scaled * float(SCALE) * float(SCALE)


def _define(name: str, sql_names: tuple[str, ...], spared: int, is_root: bool) -> AggregateDefinition:
    def fold(values: Sequence[Any], _: FoldOptions) -> float:
        return _vary(values, spared, is_root)

    typed: Fold = fold
    return AggregateDefinition(
        name=name, sql_names=sql_names, fold=typed, family="variances", gives="float", takes=NUMBERS,
        least_count=1 + spared,
    )  # fmt: skip


STDDEV_SAMP = _define("stddev_samp", ("STDDEV", "STDEV", "STDDEV_SAMP"), spared=1, is_root=True)
STDDEV_POP = _define("stddev_pop", ("STDDEV_POP",), spared=0, is_root=True)
VAR_SAMP = _define("var_samp", ("VARIANCE", "VARIANCE_SAMP", "VAR_SAMP"), spared=1, is_root=False)
VAR_POP = _define("var_pop", ("VARIANCE_POP", "VAR_POP"), spared=0, is_root=False)
