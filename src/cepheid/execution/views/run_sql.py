"""SQL of DuckDB over the small tables that flow between the steps of a view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pyarrow as pa

from cepheid.execution.duck_sql import run_duckdb
from cepheid.schema import empty_table


def run_steps_sql(sql: str, tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of SQL over tables called _0, _1, ..."""
    return run_duckdb(sql, {f"_{number}": table for number, table in enumerate(tables)})


def describe_steps_sql(sql: str, schemas: Sequence[pa.Schema]) -> pa.Schema:
    return run_steps_sql(sql, [empty_table(schema) for schema in schemas]).schema


@cache
def list_aggregates() -> frozenset[str]:
    """The names of DuckDB's aggregates."""
    asked = "SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    return frozenset(run_duckdb(asked, {}).column("name").to_pylist())
