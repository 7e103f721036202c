"""count, count of DISTINCT values."""

from __future__ import annotations

from cepheid.kernel.aggregates.definition import WINDOW_ONLY, AggregateDefinition, drop_equals

COUNT = AggregateDefinition(
    name="count",
    sql_names=("COUNT", "COUNT_IF", "COUNTIF"),
    fold=lambda values, _: len(values),
    family="count",
    gives="count",
    of_none=0,
)

# In patterns DISTINCT is a part of every aggregate, in windows the count has a structure of its own.
COUNT_DISTINCT = AggregateDefinition(
    name="count_distinct",
    sql_names=("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT"),
    fold=lambda values, _: len(drop_equals(values)),
    family="distinct",
    gives="count",
    of_none=0,
    places=WINDOW_ONLY,
    mergeable=False,
)
