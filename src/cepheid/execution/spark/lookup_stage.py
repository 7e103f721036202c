"""Events of a DataFrame looked up in a database, batch of rows by batch of rows, in Spark's Python workers.

Each worker has a connection and a cache of its own; what is looked up is not kept in checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.execution.lookup.database import read_database_schema
from cepheid.execution.lookup.found import Lookup
from cepheid.execution.lookup.join_table import join_schema, join_table, open_lookup
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.graph.operators import TableJoin
from cepheid.lookups import Database

_lookups: dict[tuple[TableJoin, Database], Lookup] = {}  # of this worker


def run_lookup(node: TableJoin, frame: DataFrame, database: Database) -> DataFrame:
    """The cells of a TableJoin vertex."""
    schema = arrow_schema(frame)
    cells = join_schema(node, schema, read_database_schema(database))
    return number_columns(frame).mapInArrow(_make_joiner(node, schema, database, cells), from_arrow_schema(cells))


def _make_joiner(
    node: TableJoin, schema: pa.Schema, database: Database, cells: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow."""

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if (node, database) not in _lookups:
                _lookups[node, database] = open_lookup(node, database)
            events = pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema)
            yield from join_table(node, events, _lookups[node, database]).cast(cells).to_batches()

    return join
