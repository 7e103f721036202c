"""The general evaluator: functions of several events that the kernel has not, answered by DuckDB.

    b.name LIKE a.name || '%'                        rows of (a.name, b.name) in, one bool each out
    cardinality(array_agg(CLASSIFIER())) > 2         the same, with what is read about the match so far as columns

Slow beside compiled conditions (a query for some hundred rows at a time); `explain` says where it is used.
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.execution.cells import write_classifier
from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.event_log import EventLog
from cepheid.execution.measured_aggregates import Stretches
from cepheid.execution.row_aggregates import write_row_aggregate
from cepheid.kernel.columns import Column, Int64s, Interner, read_column
from cepheid.kernel.expression import Classifier, HostAggregate, HostCall, MatchNumber
from cepheid.kernel.matches import Paths
from cepheid.scalars.value import Column as ColumnValue


def evaluate_call(
    call: HostCall, events: list[Int64s], paths: Paths | None, log: EventLog, interner: Interner
) -> Column:
    """The values of a call, one for each row of events; an event that is not there reads as null."""
    columns = {
        f"_{number}": log.take(column, wanted)
        for number, ((column, _), wanted) in enumerate(zip(call.arguments, events, strict=True))
    }
    if paths is not None:
        columns |= {f"_f{number}": _write_fact(fact, paths, log) for number, fact in enumerate(call.facts)}
    if isinstance(call.value, ColumnValue):
        found = columns[call.value.name]
    else:
        asked = f"SELECT {write_duckdb(call.value)} AS x FROM _input"
        found = run_duckdb(asked, {"_input": pa.table(columns)}).column(0)
    column = read_column(found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found]), interner)
    return Column(column.values.astype(float), column.valid) if call.kind == "float" else column


def _write_fact(fact: Classifier | MatchNumber | HostAggregate, paths: Paths, log: EventLog) -> pa.Array:
    match fact:
        case Classifier(position=position):
            return write_classifier(position, paths)
        case MatchNumber():
            return pa.array(paths.numbers)
    return write_row_aggregate(fact, Stretches(paths.begins, paths.ends), paths.matches, log)
