"""min, max, and the value where another column is least or greatest.

Of equals the earliest is taken.  bool_and and bool_or are min and max: false is less than true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.kernel.aggregates.definition import AggregateDefinition, FoldOptions
from cepheid.kernel.aggregates.value_order import in_order


def _plain(value: Any) -> Any:
    """-0.0 and 0.0 are equal: the answer is 0.0, whichever came first."""
    return value + 0.0 if isinstance(value, float) else value


def _pick_by(choose: Any, pairs: Sequence[Any]) -> Any:
    """Nulls may be picked, too: only the measure decides."""
    return choose(pairs, key=lambda pair: in_order(pair[1]))[0]


def _take_min(values: Sequence[Any], _: FoldOptions) -> Any:
    return _plain(min(values, key=in_order))


def _take_max(values: Sequence[Any], _: FoldOptions) -> Any:
    return _plain(max(values, key=in_order))


MIN = AggregateDefinition(
    name="min",
    sql_names=("MIN", "LOGICAL_AND", "BOOL_AND", "BOOLAND_AGG", "EVERY"),
    fold=_take_min,
    family="extreme",
    gives="value",
)

MAX = AggregateDefinition(
    name="max",
    sql_names=("MAX", "LOGICAL_OR", "BOOL_OR", "BOOLOR_AGG"),
    fold=_take_max,
    family="extreme",
    gives="value",
)

MIN_BY = AggregateDefinition(
    name="min_by",
    sql_names=("MIN_BY", "ARG_MIN", "ARGMIN"),
    fold=lambda pairs, _: _pick_by(min, pairs),
    family="extreme",
    gives="value",
    has_measure=True,
)

MAX_BY = AggregateDefinition(
    name="max_by",
    sql_names=("MAX_BY", "ARG_MAX", "ARGMAX"),
    fold=lambda pairs, _: _pick_by(max, pairs),
    family="extreme",
    gives="value",
    has_measure=True,
)
