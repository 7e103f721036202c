"""Relational vertices on DuckDB: types of SQL, filters, projections and whole queries over Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from cepheid.execution.changes import net_changes
from cepheid.execution.duck_sql import run_duckdb, run_query, write_duckdb
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Changes, Filter, Project, Relation, Union
from cepheid.language.relations.arrival_order import ARRIVAL, SUFFIX, keep_arrival
from cepheid.language.relations.sql_values import translate_text
from cepheid.scalars.show import quote_name
from cepheid.scalars.value import Column, Scalar
from cepheid.schema import unify_schemas


def describe_sql(sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The schema of a query that is text between our own parts, as DuckDB sees it."""
    tables = {name: schema.empty_table() for name, schema in schemas.items()}
    return run_duckdb(translate_text(sql, "duckdb"), tables).schema


def stays_in_duckdb(arrow_type: pa.DataType) -> bool:
    """Does a column of this type come out of DuckDB as it went in?"""
    types = pa.types
    is_number = types.is_signed_integer(arrow_type) or types.is_float32(arrow_type) or types.is_float64(arrow_type)
    is_time = types.is_date32(arrow_type) or arrow_type in (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
    return is_number or is_time or types.is_boolean(arrow_type) or types.is_string(arrow_type)


def run_relational(node: PlanNode, inputs: list[pa.Table]) -> pa.Table:
    """One relational vertex over its inputs."""
    match node:
        case Filter(predicate=predicate):
            return run_duckdb(f"SELECT * FROM _input WHERE {write_duckdb(predicate)}", {"_input": inputs[0]})
        case Project(columns=columns):
            return project_table(columns, inputs[0])
        case Union(columns=names):
            chosen = [table.select(names) for table in inputs]
            united = unify_schemas([table.schema for table in chosen])
            return pa.concat_tables([table.cast(united) for table in chosen])
        case Changes():
            return net_changes(node, inputs[0])
        case Relation(query=query, inputs=names):
            ordered, read = keep_arrival(query, names)
            tables = dict(zip(names, inputs, strict=True))
            return run_query(ordered, tables | {f"{name}{SUFFIX}": _with_arrival(tables[name]) for name in read})
    raise AssertionError(f"{type(node).__name__} is not relational")


def _with_arrival(table: pa.Table) -> pa.Table:
    return table.append_column(ARRIVAL, pa.array(np.arange(len(table))))


def project_table(columns: tuple[tuple[str, Scalar], ...], table: pa.Table) -> pa.Table:
    """Plain columns are picked without a query; the rest goes through DuckDB."""
    picked = [value.name for _, value in columns if isinstance(value, Column) and value.name in table.column_names]
    if len(picked) == len(columns):
        return pa.table([table.column(name) for name in picked], names=[name for name, _ in columns])
    selected = ", ".join(f"{write_duckdb(value)} AS {quote_name(name)}" for name, value in columns)
    return run_duckdb(f"SELECT {selected} FROM _input", {"_input": table})
