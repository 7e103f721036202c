"""changelog=... on Spark: changes in the words of others, written where they come out.

    engines ─▶ changes in our own form ─partition by partition─▶ updates, in the words of a form

A retract and the insert of one `_match` are of one key, and what lies between its engine and here keeps rows where they
are: so both are in one partition.  A commit is a micro-batch: its number, and the time that Spark has written down for
it, which are the same when the batch is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.event_time import order_values
from cepheid.execution.changelogs.changelog import Commit
from cepheid.execution.changelogs.kinds import find_changelog
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.settings import ChangelogName

MOMENT = "_told_at"


def tell_changes(changes: DataFrame, name: ChangelogName) -> DataFrame:
    schema = arrow_schema(changes)
    told = find_changelog(name).make_schema(schema)
    moments = changes.withColumn(MOMENT, F.current_timestamp())
    given = arrow_schema(moments)
    return number_columns(moments).mapInArrow(_make_teller(name, given, told), from_arrow_schema(told))


def _make_teller(
    name: ChangelogName, given: pa.Schema, told: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow."""

    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [pa.Table.from_batches([batch]).rename_columns(given.names).cast(given) for batch in batches]
        changes = pa.concat_tables([given.empty_table(), *parts])
        if not len(changes):
            return
        moments, _ = order_values(changes.column(MOMENT))
        batch = int(TaskContext.get().getLocalProperty("streaming.sql.batchId") or 0)  # type: ignore[union-attr]
        rows = changes.drop_columns([MOMENT]).combine_chunks()
        yield from find_changelog(name).write(rows, Commit(batch, int(moments[0]))).cast(told).to_batches()

    return tell
