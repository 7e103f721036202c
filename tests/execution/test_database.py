"""A stream joins with a table of a database: one query for the keys of a batch, remembered for a while."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from cepheid.errors import DatabaseAway, DriverMissing, InvalidInput, TypeMismatch, UnknownColumn
from cepheid.execution.lookup.connector import SourceAway
from cepheid.execution.lookup.database import DatabaseTable
from cepheid.execution.lookup.enrich import enrich
from cepheid.execution.lookup.found import Found
from cepheid.lookups import Database

NASTY = "x\"; DROP TABLE stops; --'%s {}"


class Clock:
    """Seconds, moved by hand or by waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.on_wait: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)
        self.on_wait()


class Host(Protocol):
    """A real database."""

    @property
    def url(self) -> str: ...
    def run(self, *statements: str) -> None: ...
    def stop(self) -> None: ...
    def start(self) -> None: ...


class DuckDBHost:
    """A file; it is away while it lies elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._file, self._elsewhere = folder / "a file.db", folder / "elsewhere.db"

    @property
    def url(self) -> str:
        return f"duckdb://{self._file}"

    def run(self, *statements: str) -> None:
        with duckdb.connect(self._file) as connection:
            for statement in statements:
                connection.execute(statement)

    def stop(self) -> None:
        self._file.rename(self._elsewhere)

    def start(self) -> None:
        self._elsewhere.rename(self._file)


@pytest.fixture(params=["duckdb", "postgres"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return request.getfixturevalue("postgres") if request.param == "postgres" else DuckDBHost(tmp_path)


@pytest.fixture
def stops(host: Host) -> Host:
    host.run(
        "CREATE TABLE stops (id INTEGER, name VARCHAR(40), since DATE)",
        "INSERT INTO stops VALUES (1, 'one', '2020-01-01'), (2, 'two', '2020-01-02'), (2, 'zwei', '2020-01-03'), "
        "(NULL, 'nowhere', NULL), (4, NULL, '2020-01-04')",
    )
    return host


def names(found: Found, column: str = "name") -> list[tuple[int, Any]]:
    """What each event found, in no order among the rows of one event: a database has none."""
    values = found.table[column].take(pa.array(found.rows)).to_pylist()
    return sorted(zip(found.events.tolist(), values, strict=True), key=repr)


def ask(table: DatabaseTable, *keys: list[Any]) -> list[tuple[int, Any]]:
    return names(table.find([pa.chunked_array([pa.array(key)]) for key in keys]))


def open_stops(
    host: Host, clock: Clock | None = None, keys: tuple[str, ...] = ("id",), **options: Any
) -> DatabaseTable:
    clock = clock or Clock()
    return DatabaseTable(Database(host.url, "stops", **options), keys, clock=clock, sleep=clock.sleep)


# What is found -------------------------------------------------------------------------------------------


def test_rows_are_found_by_key_and_null_finds_nothing(stops: Host) -> None:
    table = open_stops(stops)
    assert table.schema == pa.schema([("id", pa.int32()), ("name", pa.string()), ("since", pa.date32())])
    assert ask(table, [2, None, 1, 7, 2, 2**40]) == [(0, "two"), (0, "zwei"), (2, "one"), (4, "two"), (4, "zwei")]
    assert table.counts.fetches == 1
    assert (table.counts.hits, table.counts.misses) == (0, 3)
    table.close()


def test_joined_rows_are_those_of_a_table_in_memory(stops: Host) -> None:
    table = DatabaseTable(Database(stops.url, "stops"), ["id"], columns=["since", "name"])
    events, rows = enrich(pa.table({"stop": [4, 9, 1]}), ["stop"], table, "left")
    assert events.tolist() == [0, 1, 2]
    assert rows.to_pydict() == {"since": [date(2020, 1, 4), None, date(2020, 1, 1)], "name": [None, None, "one"]}
    table.close()


def test_only_needed_columns_are_fetched_and_the_key_need_not_be_one(stops: Host) -> None:
    table = DatabaseTable(Database(stops.url, "stops"), ["id"], columns=["name"])
    assert table.schema.names == ["name"]
    assert ask(table, [1, 3]) == [(0, "one")]
    table.close()


def test_query_that_reads_no_column_still_counts_rows(stops: Host) -> None:
    table = DatabaseTable(Database(stops.url, "stops"), ["id"], columns=[])
    assert enrich(pa.table({"k": [2, 7, 1]}), ["k"], table)[0].tolist() == [0, 0, 2]
    assert enrich(pa.table({"k": [2, 7, 1]}), ["k"], table, "left", columns=[])[0].tolist() == [0, 0, 1, 2]
    table.close()


def test_several_key_columns_of_strings_and_dates(stops: Host) -> None:
    table = open_stops(stops, keys=("name", "since"))
    moments = [datetime(2020, 1, 2), datetime(2020, 1, 3), datetime(2020, 1, 2, 5), datetime(2020, 1, 3)]  # noqa: DTZ001
    assert ask(table, ["two", "two", "two", "zwei"], moments) == [(0, "two"), (3, "zwei")]
    assert ask(table, ["two", None], [date(2020, 1, 2), date(2020, 1, 2)]) == [(0, "two")]
    assert (table.counts.fetches, table.counts.hits) == (1, 1)
    table.close()


def test_dictionary_strings_are_keys(stops: Host) -> None:
    table = open_stops(stops, keys=("name",))
    keys = pa.chunked_array([pa.array(["zwei", "three", "zwei", None]).dictionary_encode()])
    assert names(table.find([keys]), "id") == [(0, 2), (2, 2)]
    assert names(table.find([pa.chunked_array([["three", "zwei"]], type=pa.large_string())]), "id") == [(1, 2)]
    assert table.counts.fetches == 1
    table.close()


@pytest.mark.parametrize("seed", range(3))
def test_same_rows_as_a_nested_loop_whatever_is_remembered(host: Host, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = [(int(key), number) for number, key in enumerate(random.integers(0, 40, 60))]
    listed = ", ".join(f"({key}, {number})" for key, number in rows)
    host.run("CREATE TABLE stops (id BIGINT, name INTEGER)", f"INSERT INTO stops VALUES {listed}")
    clock = Clock()
    table = open_stops(host, clock, cache_rows=25, time_to_live=timedelta(seconds=3))
    for _ in range(25):
        keys = [int(key) if key < 60 else None for key in random.integers(0, 64, int(random.integers(1, 20)))]
        expected = [(event, name) for event, key in enumerate(keys) for row_key, name in rows if row_key == key]
        assert ask(table, keys) == sorted(expected, key=repr)
        assert table._cache.weight <= 25
        clock.now += float(random.integers(0, 3))
    assert table.counts.evictions > 0
    assert table.counts.hits > 0
    table.close()


def test_many_small_questions_leave_the_cache_tidy(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, time_to_live=timedelta(seconds=1))
    for _ in range(150):
        assert ask(table, [2]) == [(0, "two"), (0, "zwei")]
        clock.now += 2
    assert table._cache.rows.column(0).num_chunks <= 65
    assert (table.counts.fetches, table.remembered) == (150, 1)
    table.close()


def test_waste_of_renewed_answers_is_cleared_away(host: Host) -> None:
    host.run("CREATE TABLE stops AS SELECT 1 AS id, n AS name FROM generate_series(1, 900) AS g(n)")
    clock = Clock()
    table = open_stops(host, clock, time_to_live=timedelta(seconds=1))
    for _ in range(8):
        assert ask(table, [1]) == sorted(((0, n) for n in range(1, 901)), key=repr)
        assert table._cache.rows.num_rows <= 2 * 900 + 1024
        clock.now += 2
    table.close()


# What is remembered --------------------------------------------------------------------------------------


def test_answers_are_remembered_also_that_there_is_no_such_key(stops: Host) -> None:
    table = open_stops(stops)
    assert ask(table, [1, 7]) == [(0, "one")]
    assert ask(table, [7, 1, 7, 1]) == [(1, "one"), (3, "one")]
    assert ask(table, [7, 2]) == [(1, "two"), (1, "zwei")]
    assert (table.counts.fetches, table.counts.hits, table.counts.misses) == (2, 3, 3)
    table.close()


def test_changes_of_the_table_are_seen_when_answers_are_too_old(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, time_to_live=timedelta(seconds=60))
    assert ask(table, [1, 7]) == [(0, "one")]
    stops.run("UPDATE stops SET name = 'uno' WHERE id = 1", "INSERT INTO stops VALUES (7, 'seven', NULL)")
    clock.now += 59.9
    assert ask(table, [1, 7]) == [(0, "one")]
    clock.now += 0.1
    assert ask(table, [1, 7]) == [(0, "uno"), (1, "seven")]
    stops.run("DELETE FROM stops WHERE id = 1")
    clock.now += 60
    assert ask(table, [1, 7]) == [(1, "seven")]
    table.close()


def test_without_a_time_to_live_answers_stay_and_with_none_left_they_go(stops: Host) -> None:
    clock = Clock()
    for_ever = open_stops(stops, clock, time_to_live=None)
    never = open_stops(stops, clock, time_to_live=timedelta(0))
    no_room = open_stops(stops, clock, cache_rows=0)
    for _ in range(3):
        for table in (for_ever, never, no_room):
            assert ask(table, [1, 1]) == [(0, "one"), (1, "one")]
        clock.now += 1e9
    assert [table.counts.fetches for table in (for_ever, never, no_room)] == [1, 3, 3]
    assert no_room.remembered == 0
    for table in (for_ever, never, no_room):
        table.close()


def test_keys_not_asked_for_the_longest_leave_first(stops: Host) -> None:
    table = open_stops(stops, cache_rows=4)
    ask(table, [1])
    ask(table, [2])  # two rows: the weight is 3
    ask(table, [4])
    assert (table.remembered, table.counts.evictions) == (3, 0)
    ask(table, [1])
    ask(table, [9])  # no such key weighs 1: key 2 must go
    assert (table.remembered, table.counts.evictions) == (3, 1)
    before = table.counts.fetches
    ask(table, [1, 4, 9])
    assert table.counts.fetches == before
    ask(table, [2])
    assert table.counts.fetches == before + 1
    table.close()


def test_batch_larger_than_the_cache_is_answered_whole(host: Host) -> None:
    host.run("CREATE TABLE stops AS SELECT n AS id, n * 2 AS name FROM generate_series(0, 999) AS g(n)")
    table = open_stops(host, cache_rows=100)
    assert ask(table, list(range(1000))) == sorted(((n, n * 2) for n in range(1000)), key=repr)
    assert table.remembered <= 100
    assert table.counts.evictions >= 900
    table.close()


# When the database is away -------------------------------------------------------------------------------


def test_fail_tells_at_once_and_goes_on_when_it_is_back(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock)
    ask(table, [1])
    stops.stop()
    assert ask(table, [1]) == [(0, "one")]  # remembered
    with pytest.raises(DatabaseAway, match="does not answer"):
        ask(table, [1, 2])
    assert clock.waits == []
    assert table.counts.failures == 1
    stops.start()
    assert ask(table, [2]) == [(0, "two"), (0, "zwei")]
    table.close()


def test_connection_that_died_between_batches_is_no_failure(stops: Host) -> None:
    table = open_stops(stops)
    ask(table, [1])
    stops.stop()
    stops.start()
    assert ask(table, [2]) == [(0, "two"), (0, "zwei")]
    assert table.counts.failures == 0
    table.close()


def test_wait_tries_again_with_growing_pauses_until_it_is_back(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, when_away="wait")
    stops.stop()

    def come_back() -> None:
        if len(clock.waits) == 4:
            stops.start()

    clock.on_wait = come_back
    assert ask(table, [1]) == [(0, "one")]
    assert clock.waits == [0.1, 0.2, 0.4, 0.8]
    assert (table.counts.failures, table.counts.fetches) == (4, 1)
    table.close()


def test_wait_also_for_the_opening(stops: Host) -> None:
    stops.stop()
    clock = Clock()
    clock.on_wait = stops.start
    table = open_stops(stops, clock, when_away="wait")
    assert ask(table, [1]) == [(0, "one")]
    assert clock.waits == [0.1]
    table.close()


def test_wait_has_an_end(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, when_away="wait", wait_at_most=timedelta(seconds=20))
    stops.stop()
    with pytest.raises(DatabaseAway, match="does not answer"):
        ask(table, [1])
    assert sum(clock.waits) == pytest.approx(20)
    assert max(clock.waits) == 5
    stops.start()
    assert ask(table, [1]) == [(0, "one")]
    table.close()


def test_null_counts_events_as_not_found_and_forgets_that(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, when_away="null", time_to_live=timedelta(minutes=1))
    ask(table, [1])
    stops.stop()
    assert ask(table, [2, 1, 2]) == [(1, "one")]
    events, rows = enrich(pa.table({"k": [2]}), ["k"], table, "left")
    assert (events.tolist(), rows["name"].to_pylist()) == ([0], [None])
    assert table.counts.unanswered == 3
    clock.now += 61  # what was remembered is too old now
    assert ask(table, [1]) == []
    stops.start()
    clock.now += 10
    assert ask(table, [2, 1]) == [(0, "two"), (0, "zwei"), (1, "one")]
    assert (table.counts.unanswered, clock.waits) == (4, [])
    table.close()


def test_null_does_not_ask_again_with_every_batch(stops: Host) -> None:
    clock = Clock()
    table = open_stops(stops, clock, when_away="null")
    stops.stop()
    tries = []
    for _ in range(100):
        before = table.counts.failures
        ask(table, [1])
        tries.append(table.counts.failures - before)
        clock.now += 0.05
    assert tries[0] == 1
    assert 4 <= sum(tries) <= 7  # after 0.1, 0.2, 0.4, 0.8, 1.6 seconds
    assert table.counts.unanswered == 100
    stops.start()
    clock.now += 5
    assert ask(table, [1]) == [(0, "one")]
    table.close()


@pytest.mark.parametrize("when_away", ["fail", "null"])
def test_opening_needs_the_database(stops: Host, when_away: Any) -> None:
    stops.stop()
    with pytest.raises(DatabaseAway):
        open_stops(stops, when_away=when_away)
    stops.start()


class SlowConnector:
    """Answers, or is away, as told."""

    def __init__(self) -> None:
        self.problem: Exception | None = None

    def read_schema(self) -> pa.Schema:
        return pa.schema([("id", pa.int64()), ("name", pa.string())])

    def fetch(self, keys: pa.Table, columns: list[str]) -> pa.Table:
        if self.problem is not None:
            raise self.problem
        table = pa.table({"id": keys["id"], "name": [f"n{key}" for key in keys["id"].to_pylist()]})
        return pa.concat_tables([table, pa.table({"id": [-1], "name": ["nobody asked for this"]})]).select(columns)

    def close(self) -> None: ...


def test_rows_nobody_asked_for_are_left_out_and_secrets_stay_secret() -> None:
    database = Database("postgresql://me:p%40ss@host/db?sslpassword=other", "stops")
    connector = SlowConnector()
    table = DatabaseTable(database, ["id"], connector=connector)
    assert ask(table, [3, 5]) == [(0, "n3"), (1, "n5")]
    connector.problem = SourceAway("p@ss and p%40ss and other were refused")
    with pytest.raises(DatabaseAway) as told:
        ask(table, [6])
    assert 'database "postgresql://me@host/db" does not answer: *** and *** and *** were refused' in str(told.value)


# Names and values are never text of a statement ----------------------------------------------------------


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_names_and_keys_cannot_be_statements(stops: Host) -> None:
    table_name, column = NASTY, "k\" = 1 OR 1=1 --%s{}'"
    stops.run(
        f"CREATE TABLE {quoted(table_name)} ({quoted(column)} VARCHAR(80), name VARCHAR(80))".replace("%%", "%"),
        f"INSERT INTO {quoted(table_name)} VALUES ('harmless', 'h'), ('{NASTY.replace(chr(39), chr(39) * 2)}', 'n')",
    )
    table = DatabaseTable(Database(stops.url, table_name), [column])
    keys = [NASTY, "harmless", "' OR '1'='1", "%s", "$1", "{a,b}", 'quote " and \\ back', "nul \0 byte", ""]
    assert ask(table, keys) == [(0, "n"), (1, "h")]
    assert ask(open_stops(stops), [1]) == [(0, "one")]  # stops is still there
    for wrong in (f"stops{quoted(' ')}", "stops; DROP TABLE stops", "stops --", "(SELECT 1)", "/etc/passwd", "x.csv"):
        with pytest.raises(InvalidInput):
            DatabaseTable(Database(stops.url, wrong), ["id"])
    table.close()


def test_schema_is_a_name_too(stops: Host) -> None:
    stops.run(
        f"CREATE SCHEMA {quoted('other; one')}",
        f"CREATE TABLE {quoted('other; one')}.stops AS SELECT 1 AS id, 'elsewhere' AS name",
    )
    try:
        assert ask(open_stops(stops, schema="other; one"), [1]) == [(0, "elsewhere")]
        assert ask(open_stops(stops), [1]) == [(0, "one")]
        with pytest.raises(InvalidInput):
            open_stops(stops, schema="another")
    finally:
        stops.run(f"DROP SCHEMA {quoted('other; one')} CASCADE")


def test_mistakes_are_told(stops: Host) -> None:
    with pytest.raises(UnknownColumn, match='did you mean "id"'):
        open_stops(stops, keys=("ID",))
    with pytest.raises(InvalidInput, match="stopps"):
        DatabaseTable(Database(stops.url, "stopps"), ["id"])
    table = open_stops(stops)
    with pytest.raises(TypeMismatch):
        ask(table, ["1"])
    stops.run("ALTER TABLE stops DROP COLUMN name")
    with pytest.raises(InvalidInput, match="refuses this"):
        ask(table, [1])
    table.close()


# One database ---------------------------------------------------------------------------------------------


def test_postgres_types(postgres: Host) -> None:
    postgres.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE TABLE stops (id uuid, mood mood, code char(5), n numeric(10, 2), big numeric, at timestamptz, "
        "local timestamp, span interval, raw bytea, r real, s smallint, flag boolean, doc jsonb, tags text[])",
        "INSERT INTO stops VALUES ('00000000-0000-0000-0000-0000000000ab', 'sad', 'ab', 1.5, 2.25, "
        "'2020-01-01 12:00+02', '2020-01-01 12:00', '1 hour', '\\x00ff', 0.5, 7, true, '{\"a\": 1}', '{x,y}')",
    )
    expected = {
        "id": "00000000-0000-0000-0000-0000000000ab", "mood": "sad", "code": "ab", "n": Decimal("1.50"), "big": 2.25,
        "at": datetime(2020, 1, 1, 10, tzinfo=UTC), "local": datetime(2020, 1, 1, 12), "span": timedelta(hours=1),  # noqa: DTZ001
        "raw": b"\0\xff", "r": 0.5, "s": 7, "flag": True, "doc": '{"a": 1}', "tags": "{x,y}",
    }  # fmt: skip
    wrong: dict[str, Any] = {"id": "no uuid", "mood": "angry", "code": "ab ", "r": 0.1, "s": 2**20, "at": None}
    for key, value in expected.items():
        if key in ("n", "raw"):
            with pytest.raises(TypeMismatch):
                open_stops(postgres, keys=(key,))
            continue
        table = open_stops(postgres, keys=(key,))
        events, rows = enrich(pa.table({"k": [wrong.get(key), value]}), ["k"], table)
        assert events.tolist() == [1], key
        assert rows.to_pylist() == [expected], key
        table.close()


def test_postgres_question_that_takes_too_long_is_given_up(postgres: Host) -> None:
    postgres.run("CREATE VIEW stops AS SELECT 1 AS id, 'x' AS name, pg_sleep(30)::text AS slow")
    table = DatabaseTable(Database(postgres.url, "stops", timeout=timedelta(milliseconds=50)), ["id"])
    with pytest.raises(DatabaseAway, match="statement timeout"):
        ask(table, [1])
    table.close()


def test_postgres_reads_only(postgres: Host) -> None:
    postgres.run(
        "CREATE TABLE asked (at int)",
        "CREATE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO asked VALUES (1); SELECT 1'",
        "CREATE VIEW stops AS SELECT 1 AS id, note() AS name",
    )
    table = open_stops(postgres)
    with pytest.raises(InvalidInput, match="read-only transaction"):
        ask(table, [1])
    table.close()


def test_duckdb_file_can_be_written_by_other_processes_between_questions(tmp_path: Path) -> None:
    host = DuckDBHost(tmp_path)
    host.run("CREATE TABLE stops AS SELECT 1 AS id, 'one' AS name")
    table = open_stops(host, time_to_live=timedelta(0))
    assert ask(table, [1]) == [(0, "one")]
    script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(\"UPDATE stops SET name = 'uno'\")"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a file.db")], check=True)
    assert ask(table, [1]) == [(0, "uno")]


def test_duckdb_file_that_this_process_has_open_is_read_as_well(tmp_path: Path) -> None:
    host = DuckDBHost(tmp_path)
    host.run("CREATE TABLE stops AS SELECT 1 AS id, 'one' AS name")
    with duckdb.connect(tmp_path / "a file.db") as connection:
        table = open_stops(host, time_to_live=timedelta(0))
        assert ask(table, [1]) == [(0, "one")]
        connection.execute("UPDATE stops SET name = 'uno'")
        assert ask(table, [1]) == [(0, "uno")]


def test_duckdb_question_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    host = DuckDBHost(tmp_path)
    host.run(
        "CREATE VIEW stops AS SELECT 1 AS id, (SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 3) AS name"
    )
    table = open_stops(host, timeout=timedelta(milliseconds=300))
    with pytest.raises(DatabaseAway, match=r"(?i)interrupt"):
        ask(table, [1])


def test_duckdb_zone_of_the_users_connection_stays(tmp_path: Path) -> None:
    host = DuckDBHost(tmp_path)
    host.run("CREATE TABLE stops AS SELECT TIMESTAMPTZ '2020-01-01 12:00+02' AS id, 'x' AS name")
    with duckdb.connect(tmp_path / "a file.db") as connection:
        connection.execute("SET TimeZone = 'Pacific/Auckland'")
        assert ask(open_stops(host), [datetime(2020, 1, 1, 10)]) == [(0, "x")]  # noqa: DTZ001
        assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("Pacific/Auckland",)]


def test_duckdb_enums_and_uuids_are_compared_as_text(tmp_path: Path) -> None:
    host = DuckDBHost(tmp_path)
    host.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE TABLE stops AS SELECT 'sad'::mood AS id, '00000000-0000-0000-0000-0000000000ab'::uuid AS name",
    )
    assert ask(open_stops(host), ["angry", "sad"]) == [(1, "00000000-0000-0000-0000-0000000000ab")]
    by_uuid = open_stops(host, keys=("name",))
    assert names(by_uuid.find([pa.chunked_array([["x", "00000000-0000-0000-0000-0000000000ab"]])]), "id") == [
        (1, "sad")
    ]


# The record -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@host:5432/db",
        "postgresql://me:secret@one:5432,two:5433/db?password=secret&sslpassword=secret",
        "postgresql://host/db?user=me&password=secret",
    ],
)
def test_passwords_are_not_shown(url: str) -> None:
    database = Database(url, "stops")
    for text in (repr(database), str(database), database.address, f"{[database]}"):
        assert "secret" not in text
        assert "/db" in text
    assert database.url == url


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:sec/ret@host/db", "postgresql://me:sec?ret@host/db", "mysql://me:secret@host/db", "secret", ""],
)
def test_wrong_addresses_are_refused_without_showing_them(url: str) -> None:
    with pytest.raises(InvalidInput) as told:
        Database(url, "stops")
    assert "sec" not in str(told.value)


@pytest.mark.parametrize(
    "options",
    [
        {"table": ""}, {"table": "a\0b"}, {"schema": ""}, {"cache_rows": -1}, {"cache_rows": True},
        {"when_away": "maybe"}, {"time_to_live": timedelta(-1)}, {"wait_at_most": 5}, {"timeout": timedelta(0)},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Database(**{"url": "duckdb:///x.db", "table": "stops"} | options)


def test_record_can_be_sent_to_another_process() -> None:
    database = Database("postgresql://me:secret@host/db", "stops", cache_rows=5)
    assert pickle.loads(pickle.dumps(database)) == database


def test_missing_driver_is_told_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.execution.lookup.postgres.find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(DriverMissing, match=r'pip install "cepheid\[postgres\]"'):
        DatabaseTable(Database("postgresql://me@host/db", "stops"), ["id"])


def test_records_load_no_driver() -> None:
    script = "import sys, cepheid.lookups; print({'duckdb', 'psycopg', 'numba', 'pandas'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
