"""Relational vertices on DuckDB: types of SQL, filters, projections and whole queries over Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cepheid.execution.duck_sql import run_sql
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Filter, Project, Relation
from cepheid.graph.operators.project import quote_name


def describe_sql(sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The schema of a query, as DuckDB sees it."""
    return run_sql(sql, {name: schema.empty_table() for name, schema in schemas.items()}).schema


def run_relational(node: PlanNode, inputs: list[pa.Table]) -> pa.Table:
    """One relational vertex over its inputs."""
    match node:
        case Filter(predicate=predicate):
            return run_sql(f"SELECT * FROM _input WHERE {predicate}", {"_input": inputs[0]})
        case Project(columns=columns):
            return project_table(columns, inputs[0])
        case Relation(sql=sql, inputs=names):
            return run_sql(sql, dict(zip(names, inputs, strict=True)))
    raise AssertionError(f"{type(node).__name__} is not relational")


def project_table(columns: tuple[tuple[str, str], ...], table: pa.Table) -> pa.Table:
    """Plain columns are picked without a query; the rest goes through DuckDB."""
    quoted = {quote_name(name): name for name in table.column_names}
    if all(sql in quoted for _, sql in columns):
        return pa.table([table.column(quoted[sql]) for _, sql in columns], names=[name for name, _ in columns])
    selected = ", ".join(f"{sql} AS {quote_name(name)}" for name, sql in columns)
    return run_sql(f"SELECT {selected} FROM _input", {"_input": table})
