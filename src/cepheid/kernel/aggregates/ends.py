"""first and last: the value of the oldest and of the newest event, null or not.

In patterns FIRST and LAST are navigation, which is not an aggregate.
"""

from __future__ import annotations

from cepheid.kernel.aggregates.definition import WINDOW_ONLY, AggregateDefinition

FIRST = AggregateDefinition(
    name="first",
    sql_names=("FIRST", "FIRST_VALUE", "ANY_VALUE"),
    fold=lambda values, _: values[0],
    family="first",
    gives="value",
    places=WINDOW_ONLY,
    keeps_nulls=True,
)

LAST = AggregateDefinition(
    name="last",
    sql_names=("LAST", "LAST_VALUE"),
    fold=lambda values, _: values[-1],
    family="last",
    gives="value",
    places=WINDOW_ONLY,
    keeps_nulls=True,
)
