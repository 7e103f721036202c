"""Tables and schemas as people have them, made into Arrow.

Anything that offers Arrow's C stream is a table: Arrow, pandas, Polars, DuckDB.  A schema may also be written
as a mapping from column to the name of a type: {"ts": "timestamp", "bus": "int", "delay": "double"}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput

TYPE_NAMES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "binary": pa.binary(),
}


def read_table(name: str, value: Any) -> pa.Table:
    """The table a user handed over under `name`."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if hasattr(value, "__arrow_c_stream__"):
        return pa.table(value)
    if isinstance(value, Mapping):
        try:
            return pa.table(dict(value))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as problem:
            raise InvalidInput(f'"{name}" is not a table: {problem}') from problem
    raise InvalidInput(
        f'"{name}" is a {type(value).__name__}, not a table',
        hint="give an Arrow, pandas or Polars table, or a Spark DataFrame",
    )


def read_schema(name: str, value: Any) -> pa.Schema:
    """The schema a user handed over under `name`; a table stands for its schema."""
    if isinstance(value, pa.Schema):
        return value
    if isinstance(value, Mapping) and all(isinstance(kind, str | pa.DataType) for kind in value.values()):
        return pa.schema([(column, _read_type(name, column, kind)) for column, kind in value.items()])
    return read_table(name, value).schema


def _read_type(name: str, column: str, kind: str | pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    found = TYPE_NAMES.get(kind.lower())
    if found is None:
        raise InvalidInput(
            f'"{name}.{column}" has the unknown type "{kind}"', hint=f"known types: {', '.join(TYPE_NAMES)}"
        )
    return found


def fit_schema(name: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns of the schema, in its order and types; extra columns are left out."""
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise InvalidInput(
            f'a batch of "{name}" lacks the column "{missing[0]}"',
            hint=f"it has: {', '.join(table.column_names)}",
        )
    chosen = table.select(schema.names)
    if chosen.schema.equals(schema):
        return chosen
    try:
        return chosen.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as problem:
        raise InvalidInput(f'a batch of "{name}" does not fit its schema: {problem}') from problem
