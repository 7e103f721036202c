"""Relational vertices on DuckDB: types of SQL, filters, projections and whole queries over Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import sqlglot
from sqlglot import exp

from cepheid.execution.changes import net_changes
from cepheid.execution.duck_sql import run_sql
from cepheid.graph.node import PlanNode
from cepheid.graph.operators import Changes, Filter, Project, Relation, Union
from cepheid.graph.operators.project import quote_name


def describe_sql(sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The schema of a query, as DuckDB sees it.

    Queries that only pick columns are answered without it: to load and start it takes a tenth of a second.
    """
    return (
        _describe_pick(sql, schemas)
        or run_sql(sql, {name: schema.empty_table() for name, schema in schemas.items()}).schema
    )


def _describe_pick(sql: str, schemas: Mapping[str, pa.Schema]) -> pa.Schema | None:
    """The schema of SELECT x, y AS z FROM t, if DuckDB leaves the types of these columns as they are."""
    query = sqlglot.parse_one(sql, dialect="trino")
    if not isinstance(query, exp.Select) or any(
        value for part, value in query.args.items() if part not in ("expressions", "from_")
    ):
        return None
    table = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(table, exp.Table) or table.alias or table.name not in schemas:
        return None
    schema = schemas[table.name]
    picked = [(output.alias_or_name, output.unalias()) for output in query.expressions]
    for _, column in picked:
        if not isinstance(column, exp.Column) or column.table or column.name not in schema.names:
            return None
        if not stays_in_duckdb(schema.field(column.name).type):
            return None
    return pa.schema([(name, schema.field(column.name).type) for name, column in picked])


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
            return run_sql(f"SELECT * FROM _input WHERE {predicate}", {"_input": inputs[0]})
        case Project(columns=columns):
            return project_table(columns, inputs[0])
        case Union(columns=names):
            united = pa.unify_schemas([table.schema for table in inputs], promote_options="permissive")
            return pa.concat_tables([table.select(names).cast(united) for table in inputs])
        case Changes():
            return net_changes(node, inputs[0])
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
