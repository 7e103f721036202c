"""A function of the user, called with each table that has rows.  What it raises reaches whoever pushed the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from cepheid.execution.sinks.sink import SinkKind


class FunctionSink:
    def __init__(self, function: Callable[[pa.Table], object]) -> None:
        self.function = function

    def write(self, table: pa.Table, /) -> None:
        if len(table):
            self.function(table)

    def close(self) -> None:
        """There is nothing to close."""


def _recognises(given: Any) -> bool:
    return callable(given) and not isinstance(given, type)


def _open(given: Any, name: str, schema: pa.Schema | None) -> FunctionSink:  # noqa: ARG001 (it has none)
    return FunctionSink(given)


KIND = SinkKind("function", "a function that takes tables", _recognises, _open)
