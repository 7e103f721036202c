"""SQL over Arrow tables, by DuckDB in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.errors import InvalidQuery
from cepheid.execution.user_functions import make_functions, take_failure
from cepheid.language.relations.sql_values import write_query, write_sql
from cepheid.scalars.show import quote_name
from cepheid.scalars.value import Scalar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


BARE_MAP = 'MAP("NULL"'
_OPERATORS = {
    "~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "array_extract": "element [n]",
}  # fmt: skip


def run_query(query: Scalar, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of a query; each call sees its own tables only."""
    return run_duckdb(write_duckdb_query(query), tables)


def run_duckdb(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of a query in DuckDB's own SQL."""
    import duckdb

    database = _database(os.getpid())
    make_functions(database)
    cursor = database.cursor()
    try:
        for name, table in tables.items():
            cursor.register(name, _without_offsets(table))
        found = cursor.sql(sql)
        if "map" in sql.lower():
            found = _with_typed_maps(found)
        return _with_plain_lists(found.to_arrow_table())
    except duckdb.Error as problem:
        failure = take_failure(str(problem))
        if failure is not None:
            raise failure from failure.__cause__
        told = f"the host's SQL engine refuses this: {_first_line(problem)}"
        raise InvalidQuery(told, hint=_suggest_repair(str(problem))) from None
    finally:
        cursor.close()


def _with_typed_maps(found: DuckDBPyRelation) -> DuckDBPyRelation:
    """map() has keys without a type, which make Arrow end the process: they become whole numbers."""
    types = [str(kind) for kind in found.types]
    if not any(BARE_MAP in kind for kind in types):
        return found
    names = [quote_name(name) for name in found.columns]
    typed = (
        f"CAST({name} AS {kind.replace(BARE_MAP, 'MAP(INTEGER')}) AS {name}"
        for name, kind in zip(names, types, strict=True)
    )
    return found.project(", ".join(typed))


def _with_plain_lists(table: pa.Table) -> pa.Table:
    """DuckDB calls the elements of lists otherwise than Arrow does."""
    if not any(pa.types.is_nested(each) for each in table.schema.types):
        return table
    return table.cast(pa.schema([each.with_type(_plain_type(each.type)) for each in table.schema]))


def _plain_type(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_list(arrow_type):
        return pa.list_(_plain_type(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct([each.with_type(_plain_type(each.type)) for each in arrow_type])
    if pa.types.is_map(arrow_type):
        return pa.map_(_plain_type(arrow_type.key_type), _plain_type(arrow_type.item_type))
    return arrow_type


def _without_offsets(table: pa.Table) -> pa.Table:
    """DuckDB refuses structs that are a part of a longer array, as slices of a table are: they are copied."""
    for number, column in enumerate(table.schema):
        chunks = table.column(number).chunks if pa.types.is_nested(column.type) else []
        if any(chunk.offset for chunk in chunks):
            copied = [chunk.take(pa.array(np.arange(len(chunk)))) for chunk in chunks]
            table = table.set_column(number, column, pa.chunked_array(copied, column.type))
    return table


@cache
def _database(process: int) -> DuckDBPyConnection:  # noqa: ARG001 (a forked process needs its own)
    """One empty database for all queries: opening one takes 13 ms, a cursor on it 1 ms."""
    import duckdb

    database = duckdb.connect(":memory:", config={"threads": 2})
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    database.execute("SET GLOBAL preserve_insertion_order = true")
    database.execute("SET GLOBAL python_enable_replacements = false")
    database.execute("SET GLOBAL enable_external_access = false")
    return database


def write_duckdb(value: Scalar) -> str:
    """A value as DuckDB writes it."""
    return write_sql(value, "duckdb")


@lru_cache(maxsize=1024)
def write_duckdb_query(query: Scalar) -> str:
    """A whole query as DuckDB writes it."""
    return write_query(query, "duckdb")


def _suggest_repair(told: str) -> str:
    """DuckDB adds the nearest name, however far it is, or what the arguments of a function may be."""
    unknown, nearest = re.search(r"with name (\w+)", told), re.search(r'Did you mean "(\w+)"', told)
    if unknown and nearest and get_close_matches(unknown[1], [nearest[1]]):
        return f'did you mean "{nearest[1]}"?'
    _, _, candidates = told.partition("Candidate functions:\n")
    if candidates:
        first = candidates.split(" ->", 1)[0].strip().replace('"', "").replace(", /", "")
        is_call = first[:1].isalpha()
        return f"it takes for instance {first}; cast what you have" if is_call else "cast one side to the other's type"
    if "must appear in the GROUP BY clause" in told:
        return "add it to GROUP BY, or put it into an aggregate"
    owners = re.search(r"Ambiguous reference .*\(use: '?\"?([^'\")]+)", told)
    if owners:
        return f"say which one, for instance {owners[1]}"
    if unknown:
        return "write it with functions and types that DuckDB knows, too"
    return "DuckDB runs this part of the query: write it so that DuckDB takes it"


def _first_line(problem: Exception) -> str:
    """Its sentence, without names that are ours."""
    line = re.sub(r" when casting from source column _\w+", "", str(problem).split("\n", 1)[0])
    called = re.search(r"'(\S+)\((.*)\)'\. You might need to add explicit type casts", line)
    if called:
        return f"there is no {_OPERATORS.get(called[1], called[1])} of ({called[2].replace('_LITERAL', '')})"
    return line
