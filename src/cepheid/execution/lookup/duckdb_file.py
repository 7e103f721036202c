"""Tables in a DuckDB file.

The file is opened for each question and closed after it: DuckDB lets either one process write or several read, so
that a file kept open here could never be written by others.  The price is about 15 ms for opening, and that DuckDB
reads the file anew: for a million rows of ten columns 150 ms instead of 50.  Who minds copies it: cep.Table.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.errors import InvalidInput
from cepheid.execution.lookup.connector import SourceAway
from cepheid.lookups import Database
from cepheid.scalars.show import quote_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ASKED = "_cepheid_asked"


class DuckDBFile:
    """The connector for duckdb:///path/file.db."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._place = (database.schema or "main", database.table)

    def read_schema(self) -> pa.Schema:
        with self._open() as connection:
            # Asked by value first: FROM would take a name that is no table for a file, "x.csv", and read it.
            found = connection.execute(
                "SELECT count(*) FROM information_schema.tables "
                "WHERE table_catalog = current_database() "
                "AND lower(table_schema) = lower(?) AND lower(table_name) = lower(?)",
                self._place,
            ).fetchall()  # DuckDB counts a result as open until it is read to its end
            if not found[0][0]:
                raise InvalidInput(
                    f'table "{self._database.table}" does not exist in "{self._database.address}"',
                    hint="SHOW ALL TABLES in DuckDB lists what there is; schema= names a schema other than main",
                )
            return connection.sql(f"SELECT * FROM {self._name(connection)} LIMIT 0").to_arrow_table().schema

    def fetch(self, keys: pa.Table, columns: list[str]) -> pa.Table:
        selected = ", ".join(f"t.{quote_name(name)}" for name in columns)
        same = " AND ".join(_compare(column) for column in keys.schema)
        with self._open() as connection:
            connection.register(_ASKED, keys)
            return connection.sql(
                f"SELECT {selected} FROM {self._name(connection)} AS t SEMI JOIN {_ASKED} AS k ON {same}"
            ).to_arrow_table()

    def close(self) -> None:
        """Nothing is held."""

    def _name(self, connection: DuckDBPyConnection) -> str:
        """With the name of the database, which keeps our own view of the keys from being taken for the table."""
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        return ".".join(quote_name(part) for part in (database, *self._place))

    @contextmanager
    def _open(self) -> Iterator[DuckDBPyConnection]:
        import duckdb

        try:
            connection = self._connect()
            watch = threading.Timer(self._database.timeout.total_seconds(), connection.interrupt)
            watch.start()
            try:
                yield connection
            finally:
                watch.cancel()
                watch.join()  # it must not interrupt a connection that is closed
                connection.close()
        except (duckdb.OperationalError, duckdb.InterruptException) as problem:
            raise SourceAway(_first_line(problem)) from None
        except duckdb.Error as problem:
            hint = f"see in DuckDB what SELECT * FROM {self._database.table} says"
            raise InvalidInput(f'"{self._database.address}" refuses this: {_first_line(problem)}', hint=hint) from None

    def _connect(self) -> DuckDBPyConnection:
        import duckdb

        path = Path(self._database.path)
        try:
            connection = duckdb.connect(path, read_only=True)
        except duckdb.ConnectionException:
            # This process has it open for writing; then there is only that way, and the changes made there are seen.
            connection = duckdb.connect(path)
        connection.execute("SET TimeZone = 'UTC'").fetchall()
        return connection


def _compare(column: pa.Field) -> str:
    name = quote_name(column.name)
    # Also an enum or a UUID is held as text here; the other way round, text that is no UUID would be an error.
    is_text = pa.types.is_string(column.type)
    return f"t.{name}::VARCHAR = k.{name}" if is_text else f"t.{name} = k.{name}"


def _first_line(problem: Exception) -> str:
    return str(problem).split("\n", 1)[0]
