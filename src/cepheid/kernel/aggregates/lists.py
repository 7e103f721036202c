"""array_agg: all values, oldest first; nulls are values too."""

from __future__ import annotations

from cepheid.kernel.aggregates.definition import AggregateDefinition

ARRAY_AGG = AggregateDefinition(
    name="array_agg",
    sql_names=("ARRAY_AGG",),
    fold=lambda values, _: list(values),
    family="list",
    gives="value",
    places=frozenset(("window", "measures")),
    gives_list=True,
    keeps_nulls=True,
    mergeable=False,
)
