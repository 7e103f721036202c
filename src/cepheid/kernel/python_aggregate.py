"""An aggregate that a user writes in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.schema import read_schema


@dataclass(frozen=True, slots=True)
class PythonAggregate:
    """An aggregate of the user: with `remove` values leave one by one, with `merge` two states become one.

    type: of its result.
    """

    init: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    remove: Callable[[Any, Any], Any] | None = None
    merge: Callable[[Any, Any], Any] | None = None
    type: pa.DataType = pa.float64()  # noqa: RUF009 - types of Arrow are values

    def __post_init__(self) -> None:
        """A type may be told by its name, as in schemas: "bigint"."""
        if isinstance(self.type, str):
            object.__setattr__(self, "type", read_schema("aggregate", {"value": self.type}).field(0).type)
