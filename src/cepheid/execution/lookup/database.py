"""A table of a database that events are joined with.

keys of a batch ─▶ RowCache ─▶ those not remembered, each once ─▶ Connector.fetch: one query ─▶ RowCache ─▶ Found

when the database is away   "fail"   DatabaseAway at once
                            "wait"   asked again after 0.1, 0.2, 0.4 ... 5 s; DatabaseAway after wait_at_most
                            "null"   not found, counted; asked again with a later batch, after the same growing pauses
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cepheid.errors import DatabaseAway, InvalidInput, UnknownColumn
from cepheid.execution.lookup.connector import Connector, SourceAway
from cepheid.execution.lookup.duckdb_file import DuckDBFile
from cepheid.execution.lookup.found import Found
from cepheid.execution.lookup.key_types import fit_keys, key_type
from cepheid.execution.lookup.postgres import PostgresTable
from cepheid.execution.lookup.row_cache import RowCache
from cepheid.kernel.columns import Int64s
from cepheid.lookups import Database

T = TypeVar("T")

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


@dataclass(slots=True)
class LookupCounts:
    """What a table of a database was asked, and how it went.

    hits, misses: keys, each counted once for a batch, that were remembered, or were not; evictions: keys that had to
    leave; fetches: queries that were answered; failures: those that were not; unanswered: events that count as not
    found because the database was away.
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    fetches: int = 0
    failures: int = 0
    unanswered: int = 0


class DatabaseTable:
    """Answers from what it remembers, and asks for the rest.  Threads may share it; they take turns."""

    def __init__(
        self,
        database: Database,
        keys: Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        connector: Connector | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """columns: those that the query reads, all by default.  clock, sleep: in seconds."""
        assert keys, "a table is joined by at least one key"
        self.counts = LookupCounts()
        self._database = database
        self._clock, self._sleep = clock, sleep
        self._connector = _make_connector(database) if connector is None else connector
        self._turn = threading.Lock()
        self._pause = _FIRST_PAUSE_S
        self._rest_until = -np.inf
        whole = self._wait_for(self._connector.read_schema) if database.when_away == "wait" else self._read_schema()
        for name in (*keys, *(columns or ())):
            if name not in whole.names:
                raise UnknownColumn(name, database.table, whole.names)
        self._keys = tuple(keys)
        self._key_types = [key_type(f"{database.table}.{key}", whole.field(key).type) for key in keys]
        # A query may read no column at all; rows without columns could not be counted.
        chosen = whole.names if columns is None else dict.fromkeys(columns or keys)
        self._schema = pa.schema([whole.field(name) for name in chosen])
        # The keys are fetched in any case, to tell whose row it is.
        self._fetched = list(dict.fromkeys((*self._schema.names, *keys)))
        self._cache = RowCache(
            pa.schema(list(zip(keys, self._key_types, strict=True))), self._schema, database.cache_rows
        )

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def remembered(self) -> int:
        """How many keys are remembered."""
        return len(self._cache)

    def find(self, keys: list[pa.ChunkedArray]) -> Found:
        """As `Lookup` says; asks the database for keys that are not remembered."""
        with self._turn:
            cache, now = self._cache, self._clock()
            numbers, asked = cache.enter(self._fit(keys))
            stale = cache.stale(asked, now)
            self.counts.hits += len(asked) - len(stale)
            self.counts.misses += len(stale)
            try:
                if len(stale):
                    self._renew(stale, numbers)
                events, rows = cache.match(numbers)
                return Found(events, rows, cache.rows)
            finally:  # also if nobody answered: the keys have entered
                if len(stale):
                    cache.trim()
                    self.counts.evictions = cache.evictions

    def close(self) -> None:
        with self._turn:
            self._connector.close()

    def _fit(self, keys: list[pa.ChunkedArray]) -> pa.Table:
        named = zip(self._keys, keys, self._key_types, strict=True)
        fitted = [
            # Texts keep their type when they are fitted; what is remembered and asked has one type.
            fit_keys(f"{self._database.table}.{name}", column, wanted).cast(wanted)
            for name, column, wanted in named
        ]
        return pa.table(fitted, names=list(self._keys))

    def _renew(self, stale: Int64s, numbers: Int64s) -> None:
        """Ask for entries, or know nothing about them if nobody answers and that is allowed."""
        cache = self._cache
        rows = self._ask(cache.keys_of(stale))
        if rows is None:
            cache.forget(stale)
            self.counts.unanswered += int(np.isin(numbers, stale).sum())
            return
        lifetime = self._database.time_to_live
        expires = np.inf if lifetime is None else self._clock() + lifetime.total_seconds()
        owners = self._fit([rows.column(key) for key in self._keys])
        try:
            wanted = rows.select(self._schema.names).cast(self._schema)
        except (pa.ArrowException, ValueError):
            raise InvalidInput(
                f'the columns of "{self._database.table}" have changed since the query began', hint="start it again"
            ) from None
        cache.renew(stale, wanted, owners.columns, expires)

    def _ask(self, keys: pa.Table) -> pa.Table | None:
        """The rows for these keys; None: the database is away, and that is no failure."""
        if self._database.when_away == "wait":
            return self._wait_for(lambda: self._fetch(keys))
        if self._database.when_away == "null" and self._clock() < self._rest_until:
            return None  # else every batch would wait for a database that was away a moment ago
        try:
            rows = self._fetch(keys)
        except SourceAway as problem:
            self.counts.failures += 1
            if self._database.when_away == "fail":
                raise self._away(problem) from None
            self._rest_until = self._clock() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
            return None
        self._pause = _FIRST_PAUSE_S
        return rows

    def _wait_for(self, ask: Callable[[], T]) -> T:
        begun, pause = self._clock(), _FIRST_PAUSE_S
        while True:
            try:
                return ask()
            except SourceAway as problem:
                self.counts.failures += 1
                left = begun + self._database.wait_at_most.total_seconds() - self._clock()
                if left <= 0:
                    raise self._away(problem) from None
                self._sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _fetch(self, keys: pa.Table) -> pa.Table:
        rows = self._connector.fetch(keys, self._fetched)
        self.counts.fetches += 1
        return rows

    def _read_schema(self) -> pa.Schema:
        """Without it no query can be made, so that "null" does not help here."""
        try:
            return self._connector.read_schema()
        except SourceAway as problem:
            self.counts.failures += 1
            raise self._away(problem) from None

    def _away(self, problem: SourceAway) -> DatabaseAway:
        return DatabaseAway(self._database.address, self._database.hide_secrets(str(problem)))


def _make_connector(database: Database) -> Connector:
    if database.scheme == "duckdb":
        return DuckDBFile(database)
    return PostgresTable(database)


def read_database_schema(database: Database) -> pa.Schema:
    """The columns of the table; waits for the database if it is declared so."""
    connector, pause = _make_connector(database), _FIRST_PAUSE_S
    begun = time.monotonic()
    try:
        while True:
            try:
                return connector.read_schema()
            except SourceAway as problem:
                left = begun + database.wait_at_most.total_seconds() - time.monotonic()
                if database.when_away != "wait" or left <= 0:
                    raise DatabaseAway(database.address, database.hide_secrets(str(problem))) from None
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE_S)
    finally:
        connector.close()
