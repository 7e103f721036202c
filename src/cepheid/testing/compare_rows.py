"""Are two tables the same rows?  As SQL has it: how often each row is there counts, the order does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

MOST_SHOWN = 5


def list_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as tuples, in the order of the table; NaN is told as text, since it equals nothing; lists are tuples."""
    columns = [[_show_plainly(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def assert_same_rows(found: pa.Table, expected: pa.Table, told: str = "") -> None:
    """Raises AssertionError, with the rows that are too many or missing, unless the tables say the same."""
    names = (found.schema.names, expected.schema.names)
    assert names[0] == names[1], f"{told}: columns {names[0]} instead of {names[1]}"
    types = (found.schema.types, expected.schema.types)
    assert types[0] == types[1], f"{told}: types {types[0]} instead of {types[1]}"
    rows = (Counter(list_rows(found)), Counter(list_rows(expected)))
    surplus, missing = rows[0] - rows[1], rows[1] - rows[0]
    assert not surplus + missing, (
        f"{told}: {surplus.total()} rows too many: {list(surplus.elements())[:MOST_SHOWN]}, "
        f"{missing.total()} missing: {list(missing.elements())[:MOST_SHOWN]}"
    )


def _show_plainly(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_show_plainly, value))
    return "NaN" if isinstance(value, float) and value != value else value
