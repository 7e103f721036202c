"""Events of all streams of a query, made before anything is measured.

A position in the feed counts the events of all streams; each stream has its even share of every part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from cepheid.errors import InvalidInput


@dataclass(frozen=True)
class Feed:
    """tables: by the name of the stream, in order of event time."""

    tables: Mapping[str, pa.Table]

    def __len__(self) -> int:
        return sum(map(len, self.tables.values()))

    def take(self, begin: int, count: int) -> dict[str, pa.Table]:
        """The events of a part of the feed; nothing is copied."""
        total = len(self)
        if begin + count > total:
            raise InvalidInput(
                f"{begin + count:,} events are needed, and there are {total:,}",
                hint="give more events, or ask for fewer",
            )
        parts = {}
        for name, table in self.tables.items():
            first, last = begin * len(table) // total, (begin + count) * len(table) // total
            parts[name] = table.slice(first, last - first)
        return parts
