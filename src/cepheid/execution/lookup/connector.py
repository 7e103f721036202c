"""What a database has to offer so that streams can be joined with its tables."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa


class SourceAway(Exception):
    """The database did not answer; asking again may help.  The message is the driver's."""


class Connector(Protocol):
    """One table of one database.  Connects when it is first asked, and again after every failure.

    Names are quoted and values are bound: neither is ever text of a statement.  What asking again cannot mend
    (no such table, no permission, a type that cannot be compared) is an `InvalidInput`.
    """

    def read_schema(self) -> pa.Schema:
        """The columns in the types in which `fetch` gives them."""

    def fetch(self, keys: pa.Table, columns: list[str]) -> pa.Table:
        """`columns` of all rows whose key is in `keys`, in any order.

        keys: columns of the table, by their names and in their types; no key is there twice, none has a null.
        """

    def close(self) -> None:
        """Give back what it holds; asked again, it connects again."""
