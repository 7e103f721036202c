"""Aggregates of users, written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from cepheid.kernel.aggregates.definition import WINDOW_ONLY, AggregateDefinition, FoldOptions
from cepheid.kernel.expression import Kind

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (times without a zone, as in the tables)


def _run_python(values: Sequence[Any], options: FoldOptions) -> Any:
    """Only init, add and result: remove and merge are short cuts that must not change the answer."""
    assert options.python is not None, "an aggregate in Python has its functions"
    state = options.python.init()
    for value in values:
        state = options.python.add(state, as_python(value, options.column_kind))
    return options.python.result(state)


def as_python(value: Any, kind: Kind | None) -> Any:
    """Times and durations as Python knows them."""
    if kind == "time":
        return EPOCH + timedelta(microseconds=value)
    return timedelta(microseconds=value) if kind == "duration" else value


PYTHON = AggregateDefinition(
    name="python",
    sql_names=(),
    fold=_run_python,
    family="python",
    gives="float",
    places=WINDOW_ONLY,
    mergeable=False,
)
