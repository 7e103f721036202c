"""The general evaluator: functions of several events that the kernel has not, answered by DuckDB.

    b.name LIKE a.name || '%'        rows of (a.name, b.name) in, one bool each out

Slow beside compiled conditions (a query for some hundred rows at a time); `explain` says where it is used.
"""

from __future__ import annotations

import pyarrow as pa

from cepheid.execution.duck_sql import run_duckdb, write_duckdb
from cepheid.execution.event_log import EventLog
from cepheid.kernel.columns import Column, Int64s, Interner, read_column
from cepheid.kernel.expression import HostCall


def evaluate_call(call: HostCall, events: list[Int64s], log: EventLog, interner: Interner) -> Column:
    """The values of a call, one for each row of events; an event that is not there reads as null."""
    columns = [log.take(column, wanted) for (column, _), wanted in zip(call.arguments, events, strict=True)]
    names = [f"_{number}" for number in range(len(columns))]
    found = run_duckdb(
        f"SELECT {write_duckdb(call.value)} AS x FROM _input", {"_input": pa.table(columns, names=names)}
    )
    column = read_column(found.column(0), interner)
    return Column(column.values.astype(float), column.valid) if call.kind == "float" else column
