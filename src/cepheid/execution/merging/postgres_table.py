"""postgresql://user@host/database#table: a table of PostgreSQL, merged in one transaction.

    BEGIN; LOCK jam_retracted; COPY the newest changes into cepheid_changes; DELETE, INSERT ...; COMMIT

Whether a transaction that a broken connection cut short was committed need not be known: the batch is written again.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.database_url import hide_secrets, show_address
from cepheid.errors import DatabaseAway, InvalidInput, NotSupportedYet
from cepheid.execution.merging.merge_statements import STAGED, MergeStatements
from cepheid.execution.merging.merged_table import Tombstones
from cepheid.extras import require_extra
from cepheid.scalars.show import quote_name

if TYPE_CHECKING:
    from psycopg import Connection

CONNECT_S = 10
LOCK = "SELECT pg_advisory_xact_lock(hashtext('cepheid_merge'))"  # two that make tables at once would fail
TYPES: list[tuple[Any, str]] = [
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "smallint"),
    (pa.types.is_uint8, "smallint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_uint16, "integer"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_uint32, "bigint"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_uint64, "numeric(20)"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_date, "date"),
]


class PostgresTable:
    def __init__(self, url: str, table: str, key: tuple[str, ...]) -> None:
        require_extra("postgres")
        self._url, self._table, self._key = url, table, key
        self._statements: MergeStatements | None = None

    def prepare(self, schema: pa.Schema) -> None:
        columns = {field.name: find_type(field.name, field.type) for field in schema if field.name != "_change"}
        self._statements = statements = MergeStatements(tuple(self._table.split(".")), columns, self._key)
        with self._open() as connection, connection.transaction():
            for statement in (LOCK, *statements.make_tables(), _lock(statements), *_make_indices(statements)):
                connection.execute(statement.encode())

    def merge(self, latest: pa.Table, tombstones: Tombstones) -> None:
        assert self._statements is not None, "a table is prepared before it is written"
        names = ", ".join(map(quote_name, latest.column_names))
        copy_into = f"COPY {STAGED} ({names}) FROM STDIN (FORMAT csv)"
        with self._open() as connection, connection.transaction():
            connection.execute(_lock(self._statements).encode())
            connection.execute(f"{self._statements.stage()} ON COMMIT DROP".encode())
            with connection.cursor() as cursor, cursor.copy(copy_into.encode()) as copy:
                copy.write(_write_csv(latest))
            for statement in self._statements.merge(tombstones):
                connection.execute(statement.encode())

    def read_clock(self, time: str | None) -> int | None:
        assert self._statements is not None, "a table is prepared before it is written"
        with self._open() as connection:
            found = connection.execute(self._statements.find_clock(time).encode()).fetchone()
        return None if found is None or found[0] is None else int(found[0])

    @contextmanager
    def _open(self) -> Iterator[Connection[Any]]:
        import psycopg

        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_S, autocommit=True) as connection:
                yield connection
        except psycopg.OperationalError as problem:
            raise DatabaseAway(show_address(self._url), self._tell(problem)) from None
        except psycopg.Error as problem:
            hint = "the columns of the query are those of the table, with types that take them"
            raise InvalidInput(
                f'table "{self._table}" does not take the rows: {self._tell(problem)}', hint=hint
            ) from None

    def _tell(self, problem: Exception) -> str:
        return hide_secrets(self._url, next(iter(str(problem).splitlines()), type(problem).__name__))


def find_type(name: str, kind: pa.DataType) -> str:
    """What PostgreSQL calls it."""
    if pa.types.is_dictionary(kind):
        return find_type(name, kind.value_type)
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    for is_kind, called in TYPES:
        if is_kind(kind):
            return called
    raise NotSupportedYet(f'column "{name}", a {kind}, in PostgreSQL', hint=f"cast {name} to text in the query")


def _lock(statements: MergeStatements) -> str:
    """One writer at a time.  All take this lock before they touch the table: an index that is made locks it as well."""
    return f"LOCK TABLE {statements.tombstones} IN EXCLUSIVE MODE"


def _make_indices(statements: MergeStatements) -> list[str]:
    """In the schema of their tables, where PostgreSQL puts them."""
    tables = {statements.place[-1]: statements.table, f"{statements.place[-1]}_retracted": statements.tombstones}
    return [
        f"CREATE INDEX IF NOT EXISTS {quote_name(f'{name}_match')} ON {table} (_match)"
        for name, table in tables.items()
    ]


def _write_csv(rows: pa.Table) -> bytes:
    """As PostgreSQL reads it: texts in quotes, and nothing at all for null."""
    from pyarrow import csv

    for number, column in enumerate(rows.schema):
        if pa.types.is_dictionary(column.type):
            rows = rows.set_column(number, column.name, rows.column(number).cast(column.type.value_type))
    text = io.BytesIO()
    csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
    return text.getvalue()
