"""Merging as statements that PostgreSQL and DuckDB both understand, to be run in one transaction.

    cepheid_changes  the newest changes of a batch            jam            _match, _version, row: the net answer
    (temporary)      _change, _match, _version, row           jam_retracted  _match, _version, _since: tombstones

What is not newer than what is there leaves the batch; what is left takes the place of the rows and tombstones of its
`_match`.  DELETE and INSERT, not MERGE: tables need no unique index, and rows and tombstones change places.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.execution.merging.merged_table import Tombstones
from cepheid.scalars.show import quote_name
from cepheid.schema import INSERT, RETRACT

STAGED = "cepheid_changes"


@dataclass(frozen=True, slots=True)
class MergeStatements:
    """place: of the table, as parts of its name.  columns: of the rows, as the database calls their types, `_match`
    first, then `_version`.  key: columns that tell rows of one `_match` apart."""

    place: tuple[str, ...]
    columns: dict[str, str]
    key: tuple[str, ...]

    @property
    def table(self) -> str:
        return ".".join(map(quote_name, self.place))

    @property
    def tombstones(self) -> str:
        return ".".join(map(quote_name, (*self.place[:-1], f"{self.place[-1]}_retracted")))

    def make_tables(self) -> list[str]:
        identity = {name: self.columns[name] for name in ("_match", *self.key)}
        gone = {**identity, "_version": "bigint NOT NULL", "_since": "bigint NOT NULL"}
        return [
            f"CREATE TABLE IF NOT EXISTS {name} ({_list_columns(columns)})"
            for name, columns in ((self.table, self.columns), (self.tombstones, gone))
        ]

    def stage(self) -> str:
        return f"CREATE TEMPORARY TABLE {STAGED} ({_list_columns({'_change': 'text', **self.columns})})"

    def merge(self, tombstones: Tombstones) -> list[str]:
        """What is staged is taken in."""
        table, gone, same = self.table, self.tombstones, self._same()
        names = ", ".join(map(quote_name, self.columns))
        identity = ", ".join(map(quote_name, ("_match", *self.key)))
        is_older = f"t._version > s._version OR (t._version = s._version AND s._change = '{INSERT}')"
        buried = f"SELECT {identity}, _version, {tombstones.now_us} FROM {STAGED} WHERE _change = '{RETRACT}'"
        statements = [
            f"DELETE FROM {STAGED} AS s USING {table} AS t WHERE {same} AND ({is_older})",
            f"DELETE FROM {STAGED} AS s USING {gone} AS t WHERE {same} AND t._version >= s._version",
            f"DELETE FROM {table} AS t USING {STAGED} AS s WHERE {same}",
            f"DELETE FROM {gone} AS t USING {STAGED} AS s WHERE {same}",
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {STAGED} WHERE _change = '{INSERT}'",
            f"INSERT INTO {gone} ({identity}, _version, _since) {buried}",
        ]
        if tombstones.forgotten_us is not None:
            statements.append(f"DELETE FROM {gone} WHERE _since < {tombstones.forgotten_us}")
        return statements

    def find_clock(self, time: str | None) -> str:
        since = f"SELECT max(_since) AS moment FROM {self.tombstones}"
        if time is None:
            return since
        newest = f"CAST(extract(epoch FROM max({quote_name(time)})) * 1000000 AS bigint)"
        return f"SELECT max(moment) FROM ({since} UNION ALL SELECT {newest} FROM {self.table}) AS moments"

    def _same(self) -> str:
        """Is t what s is about?  Keys may be null; `_match` never is, and equality finds it by an index."""
        keys = (f"t.{quote_name(name)} IS NOT DISTINCT FROM s.{quote_name(name)}" for name in self.key)
        return " AND ".join(["t._match = s._match", *keys])


def _list_columns(columns: dict[str, str]) -> str:
    return ", ".join(f"{quote_name(name)} {kind}" for name, kind in columns.items())
