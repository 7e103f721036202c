"""Rows as a table is declared to have them: the columns of a query, in their order, by its names and types.

INSERT INTO busy SELECT ...        CREATE TABLE busy (auction BIGINT, bids BIGINT) WITH ('path' = 'busy.csv')
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.sinks.sink import Sink


class DeclaredRows:
    """A sink in front of another one, which gets the declared columns."""

    def __init__(self, sink: Sink, declared: pa.Schema) -> None:
        self.sink, self.declared = sink, declared

    def write(self, table: pa.Table, /) -> None:
        try:
            self.sink.write(table.rename_columns(self.declared.names).cast(self.declared))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            hint = "declare the columns that the query gives"
            raise InvalidInput(f"a row does not fit its table: {problem}", hint=hint) from problem

    def close(self) -> None:
        self.sink.close()


def check_declared(name: str, given: pa.Schema, declared: pa.Schema) -> None:
    """Has the table as many columns as the query?  Types are cast, row by row."""
    if len(given) != len(declared):
        raise InvalidInput(
            f'the table of query "{name}" has {len(declared)} columns and the query {len(given)}',
            hint=f"the query gives {', '.join(given.names)}",
        )
