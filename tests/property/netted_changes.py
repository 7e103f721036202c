"""Rows that come and go, added up as who reads them would."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from cepheid.testing import list_rows


class Netted:
    """What is left of the rows that were given out; each retract must take back a row that is there."""

    def __init__(self) -> None:
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self._versions: dict[Any, int] = {}
        self.retracts = 0

    def take(self, table: pa.Table) -> None:
        assert table.column_names[:3] == ["_change", "_match", "_version"]
        fresh: dict[Any, int] = {}
        for change, match, version, *row in list_rows(table):
            if change == "retract":
                self.retracts += 1
                assert self.rows[match, *row] > 0, f"retract of a row that is not there: {match} {row}"
                assert version >= self._versions[match], f"the version of {match} falls to {version}"
                self.rows[match, *row] -= 1
            else:
                known = self._versions.get(match)
                assert known is None or version > known or fresh.get(match) == version, (
                    f"{match} comes again as {version}"
                )
                self.rows[match, *row] += 1
                fresh[match] = version
                self._versions[match] = version

    def plain_rows(self) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        for (_, *row), count in self.rows.items():
            found[tuple(row)] += count
        return +found

    def matches(self) -> Counter[Any]:
        """How many rows there are of each `_match`."""
        found: Counter[Any] = Counter()
        for (match, *_), count in self.rows.items():
            found[match] += count
        return +found
