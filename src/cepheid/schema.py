"""Tables and schemas as people have them, made into Arrow.

Anything that offers Arrow's C stream is a table: Arrow, pandas, Polars, DuckDB.  A schema may also be written
as a mapping from column to the name of a type: {"ts": "timestamp", "bus": "int", "delay": "double"}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from cepheid.errors import InvalidInput

CHANGE_COLUMNS = ("_change", "_match", "_version")  # of rows that come and go: see docs/reference/changes.md
INSERT, RETRACT = "insert", "retract"
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
    if isinstance(value, pa.RecordBatch):
        value = pa.Table.from_batches([value])
    if not isinstance(value, pa.Table | Mapping) and not hasattr(value, "__arrow_c_stream__"):
        raise InvalidInput(
            f'"{name}" is a {type(value).__name__}, not a table',
            hint="give an Arrow, pandas or Polars table, or a Spark DataFrame",
        )
    try:
        table = value if isinstance(value, pa.Table) else pa.table(value)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        hint = 'give lists of one length and type each, as in {"bus": [1, 2], "delay": [0.5, 3.0]}'
        raise InvalidInput(f'"{name}" is not a table: {problem}', hint=hint) from problem
    _check_columns(name, table.schema)
    plain = _with_usual_types(table.schema)
    table = table if plain is table.schema else table.cast(plain)
    return _without_hidden_nulls(table)


def _without_hidden_nulls(table: pa.Table) -> pa.Table:
    """A null inside a dictionary, which Arrow cannot merge with others, becomes a null of the column."""
    for number, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            values = table.column(number)
            if any(chunk.dictionary.null_count for chunk in values.chunks):
                table = table.set_column(number, column.name, values.cast(column.type.value_type).dictionary_encode())
    return table


def read_schema(name: str, value: Any) -> pa.Schema:
    """The schema a user handed over under `name`; a table stands for its schema."""
    if isinstance(value, Mapping) and all(isinstance(kind, str | pa.DataType) for kind in value.values()):
        value = pa.schema([(column, _read_type(name, column, kind)) for column, kind in value.items()])
    if not isinstance(value, pa.Schema):
        return read_table(name, value).schema
    _check_columns(name, value)
    return _with_usual_types(value)


def empty_table(schema: pa.Schema) -> pa.Table:
    """As Arrow's own, which loads pandas if that is installed: a fifth of a second, when a query is opened."""
    return pa.Table.from_arrays([pa.nulls(0, column.type) for column in schema], schema=schema)


def unify_schemas(schemas: list[pa.Schema]) -> pa.Schema:
    """One schema for the rows of all: times of several zones are those of UTC, and dictionaries are their values, where
    they meet others."""
    types: dict[str, set[pa.DataType]] = {}
    for schema in schemas:
        for field in schema:
            types.setdefault(field.name, set()).add(field.type)
    apart = {name for name, found in types.items() if len(found) > 1}
    fitted = [
        pa.schema([field.with_type(_common_type(field.type)) if field.name in apart else field for field in schema])
        for schema in schemas
    ]
    return pa.unify_schemas(fitted, promote_options="permissive")


def _common_type(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(arrow_type):
        return arrow_type.value_type
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        return pa.timestamp(arrow_type.unit, "UTC")
    return arrow_type


def is_plain_schema(schema: pa.Schema) -> bool:
    """Can a table of this schema be taken as it is?"""
    return not any(pa.types.is_dictionary(column.type) for column in schema)


def _with_usual_types(schema: pa.Schema) -> pa.Schema:
    """Polars hands over views of text, which much of Arrow cannot compute with yet; bytes of a fixed length come out of
    DuckDB as any bytes."""
    for number, column in enumerate(schema):
        types = pa.types
        if types.is_string_view(column.type) or types.is_binary_view(column.type):
            kind = pa.large_string() if types.is_string_view(column.type) else pa.large_binary()
            schema = schema.set(number, column.with_type(kind))
        elif types.is_fixed_size_binary(column.type):
            schema = schema.set(number, column.with_type(pa.binary()))
    return schema


def _check_columns(name: str, schema: pa.Schema) -> None:
    """SQL ignores the case of names, so two columns must differ in more than that."""
    if not schema.names:
        raise InvalidInput(f'"{name}" has no columns', hint="give it at least a time to order events by")
    seen: set[str] = set()
    for column in schema.names:
        if column.lower() in seen:
            raise InvalidInput(f'"{name}" has two columns called "{column}"', hint="case does not tell names apart")
        seen.add(column.lower())


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
    for given, wanted in zip(chosen.schema, schema, strict=True):
        if not pa.types.is_null(given.type) and _family(given.type) != _family(wanted.type):
            raise InvalidInput(
                f'a batch of "{name}" has "{given.name}" as {given.type} instead of {wanted.type}',
                hint="cast it before you push it",
            )
    try:
        return chosen.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as problem:
        hint = "cast it before you push it; batch.cast(schema, safe=False) cuts what does not fit"
        raise InvalidInput(f'a batch of "{name}" does not fit its schema: {problem}', hint=hint) from problem


def has_changes(name: str, schema: pa.Schema) -> bool:
    """Do rows of this stream or table come and go?  Then they say so in three columns, of which none may be missing."""
    there = [column for column in CHANGE_COLUMNS if column in schema.names]
    if not there:
        return False
    missing = [column for column in CHANGE_COLUMNS if column not in there]
    if missing:
        raise InvalidInput(
            f'"{name}" has "{there[0]}" but not "{missing[0]}"',
            hint=f"rows that come and go have all of {', '.join(CHANGE_COLUMNS)}; other columns need other names",
        )
    if len(schema.names) == len(CHANGE_COLUMNS):
        raise InvalidInput(f'"{name}" has no columns besides {", ".join(CHANGE_COLUMNS)}', hint="add those of the row")
    allowed = {"_change": ("text",), "_match": ("text", "integer"), "_version": ("integer",)}
    for column, families in allowed.items():
        given = schema.field(column).type
        family = "integer" if pa.types.is_integer(given) else _family(given)
        if family not in families:
            named = [{"text": "string", "integer": "bigint"}[each] for each in families]
            hint = f'"{column}" is of type {" or ".join(named)}'
            raise InvalidInput(f'"{name}.{column}" is of type {given}', hint=hint)
    return True


def without_changes(schema: pa.Schema) -> pa.Schema:
    """The columns that queries see."""
    return pa.schema([column for column in schema if column.name not in CHANGE_COLUMNS])


def _family(arrow_type: pa.DataType) -> str:
    """Types of one family are cast into one another; a string is never taken for a number."""
    types = pa.types
    if types.is_dictionary(arrow_type):
        return _family(arrow_type.value_type)
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "number"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "time"
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return "text"
    return str(arrow_type)
