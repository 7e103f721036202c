"""ISTREAM and DSTREAM on Spark: rows of one evaluation are gathered, then compared.

An engine tells the rows of an evaluation one behind another, and what lies between it and here keeps rows where they
are: so they are neighbours in one partition, if perhaps in several Arrow batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from cepheid.execution.changes import net_changes, result_schema
from cepheid.execution.spark.capabilities import from_arrow_schema
from cepheid.execution.spark.schemas import arrow_schema, number_columns
from cepheid.graph.operators import Changes


def run_changes(node: Changes, frame: DataFrame) -> DataFrame:
    schema = arrow_schema(frame)
    result = result_schema(node, schema)
    return number_columns(frame).mapInArrow(_make_netter(node, schema, result), from_arrow_schema(result))


def _make_netter(
    node: Changes, schema: pa.Schema, result: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow."""

    def net(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = (pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema) for batch in batches)
        for rows in gather_evaluations(tables):
            yield from net_changes(node, rows).cast(result).to_batches()

    return net


def gather_evaluations(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, cut between evaluations only."""
    waiting: list[pa.Table] = []
    for table in tables:
        if not len(table):
            continue
        evaluations = table.column("_evaluation").to_numpy()
        if waiting and waiting[-1].column("_evaluation")[-1].as_py() != evaluations[0]:
            yield pa.concat_tables(waiting)
            waiting = []
        changes = np.flatnonzero(np.diff(evaluations))
        if len(changes):
            cut = int(changes[-1]) + 1
            yield pa.concat_tables([*waiting, table.slice(0, cut)])
            waiting = [table.slice(cut)]
        else:
            waiting.append(table)
    if waiting:
        yield pa.concat_tables(waiting)
