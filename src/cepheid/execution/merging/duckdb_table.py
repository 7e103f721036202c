"""duckdb://path/of/the/file.db#table: a table of a DuckDB file, merged in one transaction.

The file is opened for each batch and closed after it, as for look-ups (lookup/duckdb_file.py): DuckDB lets either one
process write or several read, so that a file kept open here could never be read by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.errors import DatabaseAway, InvalidInput
from cepheid.execution.merging.merge_statements import STAGED, MergeStatements
from cepheid.execution.merging.merged_table import Tombstones
from cepheid.schema import empty_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_GIVEN = "_cepheid_given"


class DuckDBTable:
    def __init__(self, path: Path, table: str, key: tuple[str, ...]) -> None:
        self._path, self._table, self._key = path, table, key
        self._statements: MergeStatements | None = None

    def prepare(self, schema: pa.Schema) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            connection.register(_GIVEN, empty_table(schema))
            described = connection.execute(f"DESCRIBE SELECT * FROM {_GIVEN}").fetchall()
            columns = {name: kind for name, kind, *_ in described if name != "_change"}
            self._statements = MergeStatements(tuple(self._table.split(".")), columns, self._key)
            for statement in self._statements.make_tables():
                connection.execute(statement)

    def merge(self, latest: pa.Table, tombstones: Tombstones) -> None:
        assert self._statements is not None, "a table is prepared before it is written"
        with self._open() as connection:
            connection.begin()
            connection.execute(self._statements.stage())
            connection.register(_GIVEN, latest)
            connection.execute(f"INSERT INTO {STAGED} BY NAME SELECT * FROM {_GIVEN}")
            for statement in self._statements.merge(tombstones):
                connection.execute(statement)
            connection.execute(f"DROP TABLE {STAGED}")
            connection.commit()

    def read_clock(self, time: str | None) -> int | None:
        assert self._statements is not None, "a table is prepared before it is written"
        with self._open() as connection:
            ((moment,),) = connection.execute(self._statements.find_clock(time)).fetchall()
        return None if moment is None else int(moment)

    @contextmanager
    def _open(self) -> Iterator[DuckDBPyConnection]:
        import duckdb

        try:
            connection = duckdb.connect(str(self._path))
        except duckdb.Error as problem:
            raise DatabaseAway(f"duckdb://{self._path}", _first_line(problem)) from None
        try:
            yield connection
        except duckdb.Error as problem:
            hint = "the columns of the query are those of the table, with types that take them"
            raise InvalidInput(
                f'table "{self._table}" does not take the rows: {_first_line(problem)}', hint=hint
            ) from None
        finally:
            connection.close()  # what was not committed is not there


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0]
