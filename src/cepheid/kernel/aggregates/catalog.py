"""The list of all aggregates, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.kernel.aggregates.counts import COUNT, COUNT_DISTINCT
from cepheid.kernel.aggregates.definition import AggregateDefinition, Place
from cepheid.kernel.aggregates.ends import FIRST, LAST
from cepheid.kernel.aggregates.extremes import MAX, MAX_BY, MIN, MIN_BY
from cepheid.kernel.aggregates.lists import ARRAY_AGG
from cepheid.kernel.aggregates.python_functions import PYTHON
from cepheid.kernel.aggregates.ranked_values import GREATEST, LEAST, PERCENTILE_CONT, PERCENTILE_DISC
from cepheid.kernel.aggregates.sums import AVG, SUM
from cepheid.kernel.aggregates.variances import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP

AGGREGATES: tuple[AggregateDefinition, ...] = (
    COUNT,
    SUM,
    AVG,
    MIN,
    MAX,
    STDDEV_SAMP,
    STDDEV_POP,
    VAR_SAMP,
    VAR_POP,
    MIN_BY,
    MAX_BY,
    ARRAY_AGG,
    FIRST,
    LAST,
    PERCENTILE_CONT,
    PERCENTILE_DISC,
    COUNT_DISTINCT,
    LEAST,
    GREATEST,
    PYTHON,
)

_BY_NAME = {definition.name: definition for definition in AGGREGATES}


def find_aggregate(name: str) -> AggregateDefinition:
    """By the name that it has in the kernel."""
    return _BY_NAME[name]


def find_written(names: Iterable[str], place: Place) -> AggregateDefinition | None:
    """By one of the names that a call has in SQL; None: there is no such aggregate in this place."""
    wanted = {name.upper() for name in names}
    for definition in AGGREGATES:
        if place in definition.places and not wanted.isdisjoint(definition.sql_names):
            return definition
    return None


def list_names(place: Place) -> tuple[str, ...]:
    """The kernel's names of the aggregates that can stand in a place."""
    return tuple(definition.name for definition in AGGREGATES if place in definition.places)
