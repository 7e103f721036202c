"""Tables that are kept at the net answer: however changes come, and wherever a writer stops."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.errors import DatabaseAway, InvalidInput, NotSupportedYet
from cepheid.execution.merging.folder_table import _read_files, read_list, read_merged_folder
from cepheid.execution.merging.latest_changes import keep_latest, read_batch
from cepheid.execution.sinks.kinds import open_sink
from cepheid.execution.sources.kinds import open_source, read_whole
from cepheid.schema import without_changes

sys.path.append(str(Path(__file__).parent))  # the random deliveries lie beside this file
from random_deliveries import SCHEMA, ChangeMaker, make_deliveries, make_table

START = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = ["folder", "duckdb", "postgres"]
Reader = Callable[[str], list[tuple[Any, ...]]]


class Place:
    """A table somewhere: its address, its rows without what tells changes, and its tombstones."""

    def __init__(self, kind: str, folder: Path, postgres: Any) -> None:
        self.kind, self.folder, self.postgres = kind, folder, postgres
        self.target = {
            "folder": str(folder / "jam"),
            "duckdb": f"duckdb://{folder / 'shop.db'}#jam",
            "postgres": f"{postgres.url}#jam" if postgres else "",
        }[kind]

    def rows(self) -> list[tuple[Any, ...]]:
        """Sorted."""
        if self.kind == "folder":
            found = [tuple(row.values()) for row in read_merged_folder(self.folder / "jam").to_pylist()]
        else:
            found = self._ask("SELECT bus, delay, line FROM jam")
        return sorted(found, key=repr)

    def tombstones(self) -> int:
        if self.kind != "folder":
            return int(self._ask("SELECT count(*) FROM jam_retracted")[0][0])
        import pyarrow.parquet as pq

        files = [self.folder / "jam" / file.name for file in read_list(self.folder / "jam").files]
        return sum(pq.read_table(file).column("_change").to_pylist().count("retract") for file in files)

    def _ask(self, text: str) -> list[tuple[Any, ...]]:
        if self.kind == "duckdb":
            with duckdb.connect(str(self.folder / "shop.db"), read_only=True) as connection:
                return connection.execute(text).fetchall()
        import psycopg

        with psycopg.connect(self.postgres.url) as connection:
            return connection.execute(text.encode()).fetchall()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    postgres = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return Place(request.param, tmp_path, postgres)


def net(maker: ChangeMaker) -> list[tuple[Any, ...]]:
    return sorted(maker.alive.values(), key=repr)


def change(word: str, match: str, version: int, bus: int = 1) -> tuple[Any, ...]:
    return (word, match, version, bus, 0.5, "7")


# --- what becomes of a batch -------------------------------------------------------------------------------


def test_of_each_row_the_newest_change_is_kept() -> None:
    rows = [
        change("insert", "a", 1),
        change("retract", "a", 1),
        change("retract", "b", 2),
        change("insert", "b", 3),
        change("insert", "c", 5),
        change("insert", "c", 4),
        change("insert", "c", 5),
    ]
    kept = read_batch("jam", make_table(rows), ())
    assert [tuple(row.values())[:3] for row in kept.to_pylist()] == [
        ("retract", "a", 1),
        ("insert", "b", 3),
        ("insert", "c", 5),
    ]


@given(st.integers(0, 10_000))
def test_merging_is_a_maximum_so_that_neither_order_nor_repetition_matters(seed: int) -> None:
    random = Random(seed)
    rows = ChangeMaker(random).make(40)
    whole = keep_latest(make_table(rows), ())
    shuffled = random.sample(rows, len(rows)) + random.sample(rows, 9)
    halves = [keep_latest(make_table(part), ()) for part in (shuffled[:20], shuffled[20:])]
    merged = keep_latest(pa.concat_tables(halves), ())
    assert sorted(map(str, merged.to_pylist())) == sorted(map(str, whole.to_pylist()))


def test_a_null_in_a_key_is_a_value_like_others() -> None:
    rows = [("insert", "a", 1, bus, 0.5, "7") for bus in (None, 1, None)]
    assert read_batch("jam", make_table(rows), ("bus",)).column("bus").to_pylist() == [None, 1]


def test_several_rows_of_a_match_are_refused_until_columns_tell_them_apart(place: Place) -> None:
    rows = make_table([change("insert", "a", 1, bus) for bus in (1, 2)])
    sink = cep.MergeSink(place.target)
    with pytest.raises(InvalidInput, match="several rows for one _match, 'a'") as problem:
        sink.write(rows)
    assert 'key=("bus",)' in (problem.value.hint or "")
    assert place.rows() == []
    other = Place(place.kind, place.folder / "other", place.postgres)
    keyed = cep.MergeSink(other.target.replace("jam", "jam2") if place.kind == "postgres" else other.target, key="bus")
    keyed.write(rows)
    keyed.write(make_table([change("retract", "a", 1, 1)]))
    if place.kind != "postgres":
        assert other.rows() == [(2, 0.5, "7")]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("upsert", "a", 1, 1, 0.5, "7")], "has 'upsert' for _change"),
        ([("insert", None, 1, 1, 0.5, "7")], 'has no "_match"'),
        ([("insert", "a", None, 1, 0.5, "7")], 'has no "_version"'),
        ([(None, "a", 1, 1, 0.5, "7")], 'has no "_change"'),
    ],
)
def test_what_is_no_change_is_refused_with_all_of_its_batch(tmp_path: Path, rows: list[Any], told: str) -> None:
    sink = cep.MergeSink(tmp_path / "jam")
    with pytest.raises(InvalidInput, match=told):
        sink.write(make_table([change("insert", "x", 1), *rows]))
    assert not len(read_merged_folder(tmp_path / "jam"))


# --- tables ------------------------------------------------------------------------------------------------


def test_rows_come_change_and_go(place: Place) -> None:
    sink = cep.MergeSink(place.target)
    sink.write(make_table([change("insert", "a", 1, 1), change("insert", "b", 1, 2)]))
    assert place.rows() == [(1, 0.5, "7"), (2, 0.5, "7")]
    sink.write(make_table([change("retract", "a", 2, 1), change("insert", "a", 3, 9), change("retract", "b", 1, 2)]))
    sink.close()
    assert place.rows() == [(9, 0.5, "7")]
    assert place.tombstones() == 1


def test_an_older_insert_does_not_bring_back_what_was_retracted(place: Place) -> None:
    sink = cep.MergeSink(place.target)
    sink.write(make_table([change("retract", "a", 1)]))  # it has overtaken the insert
    sink.write(make_table([change("insert", "a", 1)]))
    assert place.rows() == []
    cep.MergeSink(place.target).write(make_table([change("insert", "a", 1)]))  # nor after a restart
    assert place.rows() == []
    sink.write(make_table([change("insert", "a", 2)]))
    assert place.rows() == [(1, 0.5, "7")]
    assert place.tombstones() == 0


@pytest.mark.parametrize("seed", range(6))
def test_however_batches_come_the_table_is_the_net_answer(place: Place, seed: int) -> None:
    """Some come twice, some late, some again after a restart; tombstones go once nothing of that age can come."""
    random, bound = Random(seed), timedelta(seconds=10)
    maker, clock = ChangeMaker(random), cep.ManualClock(START)
    batches = [maker.make(random.randrange(1, 12)) for _ in range(30)]
    sink = cep.MergeSink(place.target, bound=bound, clock=clock)
    for moment, table in make_deliveries(random, batches, overtaken=9):
        clock.move(to=START + timedelta(seconds=moment))
        sink.write(table)
        if random.random() < 0.1:
            sink = cep.MergeSink(place.target, bound=bound, clock=clock)
    assert place.rows() == net(maker)
    assert place.tombstones() > 0
    clock.move(seconds=21)
    sink.write(make_table(batches[-1]))
    assert place.rows() == net(maker)
    retracts_of_last = keep_latest(make_table(batches[-1]), ()).column("_change").to_pylist().count("retract")
    assert place.tombstones() <= retracts_of_last


@settings(max_examples=8)
@given(st.integers(0, 100_000))
def test_however_batches_come_a_folder_is_the_net_answer(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random, bound = Random(seed), timedelta(seconds=4)
    maker, clock = ChangeMaker(random), cep.ManualClock(START)
    batches = [maker.make(random.randrange(1, 9)) for _ in range(20)]
    place = Place("folder", tmp_path_factory.mktemp("merged"), None)
    sink = cep.MergeSink(place.target, bound=bound, clock=clock)
    for moment, table in make_deliveries(random, batches, overtaken=3):
        clock.move(to=START + timedelta(seconds=moment))
        sink.write(table)
    assert place.rows() == net(maker)


@pytest.mark.parametrize("place", ["folder", "postgres"], indirect=True)
def test_several_writers_share_a_table(place: Place) -> None:
    maker = ChangeMaker(Random(9))
    tables = [make_table(maker.make(4)) for _ in range(24)]
    with ThreadPoolExecutor(4) as pool:  # each has some of the changes of every row, and all of them begin at once
        sinks = [cep.MergeSink(place.target) for _ in range(4)]
        writes = [pool.submit(sinks[number % 4].write, table) for number, table in enumerate(tables)]
    for write in writes:
        write.result()
    assert place.rows() == net(maker)


def test_without_a_bound_tombstones_stay(place: Place) -> None:
    clock = cep.ManualClock(START)
    sink = cep.MergeSink(place.target, clock=clock)
    sink.write(make_table([change("insert", "a", 1), change("retract", "a", 1)]))
    clock.move(timedelta(days=999))
    for version in range(1, 9):
        sink.write(make_table([change("insert", "b", version)]))
    sink.write(make_table([change("insert", "a", 1)]))
    assert place.rows() == [(1, 0.5, "7")]
    assert place.tombstones() == 1


TIMED = pa.schema([("_change", pa.string()), ("_match", pa.int64()), ("_version", pa.int64()), ("bus", pa.int32()),
                   ("delay", pa.float64()), ("line", pa.string()), ("ts", pa.timestamp("us"))])  # fmt: skip


def timed(word: str, match: int, second: int) -> pa.Table:
    ts = START.replace(tzinfo=None) + timedelta(seconds=second)
    return pa.table([[word], [match], [1], [match], [0.5], ["7"], [ts]], schema=TIMED)


def test_by_event_time_tombstones_stay_while_nothing_happens(place: Place) -> None:
    """However long a replay comes later: time goes on with the rows, and a sink that is opened anew knows it."""
    clock = cep.ManualClock(START)
    options: dict[str, Any] = {"bound": timedelta(seconds=10), "time": "ts", "clock": clock}
    sink = cep.MergeSink(place.target, **options)
    sink.write(timed("insert", 1, 100))
    sink = cep.MergeSink(place.target, **options)
    sink.write(timed("retract", 2, 0))
    clock.move(timedelta(days=99))
    sink.write(timed("insert", 3, 109))
    sink.write(timed("insert", 2, 0))
    assert [row[0] for row in place.rows()] == [1, 3]
    for match, second in ((4, 121), (5, 132), (6, 143)):
        sink.write(timed("insert", match, second))
    assert place.tombstones() == 0


def test_a_result_without_rows_has_its_columns(place: Place) -> None:
    sink = cep.MergeSink(place.target, schema=SCHEMA)
    sink.close()
    assert place.rows() == []


def test_a_query_keeps_a_table(place: Place) -> None:
    text = "SELECT bus, avg(delay) AS delay, max(line) AS line FROM s GROUP BY bus HAVING count(*) < 5"
    stream = {"ts": "timestamp", "bus": "int", "delay": "double", "line": "string"}
    query, random = cep.open(text, s=stream, emit="changes"), Random(1)
    sink = cep.MergeSink(place.target, schema=query.schema)
    pushed: list[pa.Table] = []
    for second in range(8):
        buses = [random.randrange(6) for _ in range(3)]
        ts = [START.replace(tzinfo=None) + timedelta(seconds=second)] * 3
        pushed.append(pa.table({"ts": ts, "bus": pa.array(buses, pa.int32()), "delay": [float(second)] * 3,
                                "line": [str(random.random())] * 3}))  # fmt: skip
        sink.write(query.push(s=pushed[-1]))
        expected = cep.sql(text, s=pa.concat_tables(pushed))
        assert place.rows() == sorted((tuple(row.values()) for row in expected.to_pylist()), key=repr)


@pytest.mark.parametrize("seed", range(4))
def test_late_events_put_a_table_of_matches_right(tmp_path: Path, seed: int) -> None:
    """Events come late, and so do batches of changes: in the end the table is the answer over all events in order."""
    text = """SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY bus ORDER BY ts MEASURES a.d AS low, b.d AS high, b.ts AS at
        AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) DEFINE b AS b.d > a.d)"""
    random = Random(seed)
    start = START.replace(tzinfo=None)
    rows = [(start + timedelta(seconds=number), random.randrange(3), random.randrange(9)) for number in range(120)]
    arrived = sorted(rows, key=lambda row: row[0] + timedelta(seconds=random.choice((0, 0, 0, 4, 15))))
    names = ["ts", "bus", "d"]
    parts = [arrived[begin : begin + 3] for begin in range(0, len(arrived), 3)]
    tables = [pa.table([list(column) for column in zip(*part, strict=True)], names=names) for part in parts]
    late = cep.Disorder(wait="1 s", bound="1 minute", emit="changes")
    query = cep.open(text, s={"ts": "timestamp", "bus": "bigint", "d": "bigint"}, disorder=late)
    told = [query.push(s=table) for table in tables] + [query.finish()]
    assert sum("retract" in table.column("_change").to_pylist() for table in told) >= 3
    deliveries = [(number + random.randrange(4), table) for number, table in enumerate(told) for _ in range(2)]
    sink = cep.MergeSink(tmp_path / "jam", bound=timedelta(minutes=1), time="at")
    for _, table in sorted(deliveries, key=lambda delivery: delivery[0]):
        sink.write(table)
    found = read_merged_folder(tmp_path / "jam").to_pylist()
    expected = cep.sql(text, s=pa.concat_tables(tables)).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert len(expected) > 10


def test_a_table_of_all_types(place: Place) -> None:
    row = {
        "flag": pa.array([True, None]),
        "tiny": pa.array([-1, None], pa.int8()),
        "big": pa.array([2**63, None], pa.uint64()),
        "ratio": pa.array([float("inf"), None], pa.float32()),
        "money": pa.array(["1.25", None]).cast(pa.decimal128(12, 2)),
        "day": pa.array([20_000, None], pa.date32()),
        "at": pa.array([1, None], pa.timestamp("us")),
        "instant": pa.array([1, None], pa.timestamp("us", "UTC")),
        "coded": pa.array(["x", None]).dictionary_encode(),
        "select": pa.array(["", None]),
    }
    told = pa.table({"_change": ["insert"] * 2, "_match": [1, 2], "_version": [1, 1], **row})
    sink = cep.MergeSink(place.target, key=("select",))
    for _ in range(2):
        sink.write(told)
    if place.kind == "folder":
        assert read_merged_folder(place.folder / "jam").to_pylist() == told.select(list(row)).to_pylist()
    else:
        assert place._ask("SELECT count(*), count(instant), max(money), min(\"select\") FROM jam")[0] == (
            2, 1, told.column("money")[0].as_py(), "")  # fmt: skip


# --- what is refused ---------------------------------------------------------------------------------------


def test_final_rows_cannot_be_merged(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match='"jam" do not say which they are') as problem:
        open_sink(f"merge:{tmp_path}/jam", name="jam", schema=without_changes(SCHEMA))
    assert 'emit="changes"' in (problem.value.hint or "")


@pytest.mark.parametrize(
    ("target", "given", "told"),
    [
        ("jam", {"key": "buss"}, 'key is "buss"'),
        ("jam", {"time": "nothing"}, 'time is "nothing"'),
        ("jam", {"time": "bus"}, "time is .*int32"),
        ("jam", {"bound": timedelta(-1)}, "bound is"),
        ("jam?bound_s=soon", {}, 'bound_s is "soon"'),
        ("jam?keys=bus", {}, '"keys" is no option'),
        ("mysql://host/shop#jam", {}, '"mysql://..." cannot be merged into'),
    ],
)
def test_mistakes_are_told(tmp_path: Path, target: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        cep.MergeSink(target if "://" in target else f"{tmp_path}/{target}", schema=SCHEMA, **given)


def test_a_folder_that_was_told_apart_otherwise_is_refused(tmp_path: Path) -> None:
    cep.MergeSink(tmp_path / "jam", schema=SCHEMA).close()
    with pytest.raises(InvalidInput, match="told by _match alone"):
        cep.MergeSink(tmp_path / "jam", schema=SCHEMA, key="bus").close()


def test_columns_that_a_table_does_not_have_are_refused(place: Place) -> None:
    cep.MergeSink(place.target, schema=SCHEMA).close()
    other = make_table([change("insert", "a", 1)]).rename_columns([*SCHEMA.names[:-1], "other"])
    sink = cep.MergeSink(place.target)
    with pytest.raises(InvalidInput):
        sink.write(other)
    assert place.rows() == []


def test_a_sink_that_could_not_begin_takes_other_rows(tmp_path: Path) -> None:
    cep.MergeSink(tmp_path / "jam", schema=SCHEMA).close()
    sink = cep.MergeSink(tmp_path / "jam")
    rows = make_table([change("insert", "a", 1)])
    for name in ("other", "_since"):
        with pytest.raises(InvalidInput):
            sink.write(rows.rename_columns([*SCHEMA.names[:-1], name]))
    sink.write(rows)
    assert len(read_merged_folder(tmp_path / "jam")) == 1


def test_a_database_that_is_away_is_told_without_its_password() -> None:
    pytest.importorskip("psycopg")
    sink = cep.MergeSink("postgresql://writer:sesame@127.0.0.1:1/shop#jam")
    with pytest.raises(DatabaseAway) as problem:
        sink.write(make_table([change("insert", "a", 1)]))
    assert "sesame" not in str(problem.value)


def test_a_list_in_postgresql_is_refused() -> None:
    pytest.importorskip("psycopg")
    sink = cep.MergeSink("postgresql://writer@127.0.0.1:1/shop")
    with pytest.raises(NotSupportedYet, match="in PostgreSQL"):
        sink.write(pa.table({"_change": ["insert"], "_match": ["a"], "_version": [1], "list": [[1, 2]]}))


def test_a_duckdb_file_that_another_process_writes_is_away(tmp_path: Path) -> None:
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read(); c.close()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "shop.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        sink = cep.MergeSink(f"duckdb://{tmp_path / 'shop.db'}#jam")
        with pytest.raises(DatabaseAway):
            sink.write(make_table([change("insert", "a", 1)]))
        other.communicate()
    sink.write(make_table([change("insert", "a", 1)]))


# --- failures ----------------------------------------------------------------------------------------------


def test_what_fails_leaves_the_table_as_it_was(place: Place) -> None:
    if place.kind == "folder":
        pytest.skip("it has no constraints; where it stops is tested below")
    sink = cep.MergeSink(place.target)
    sink.write(make_table([change("insert", "a", 1)]))
    if place.kind == "duckdb":
        with duckdb.connect(str(place.folder / "shop.db")) as connection:
            connection.execute("DROP TABLE jam_retracted; CREATE TABLE jam_retracted(_match text, _version bigint, "
                               "_since bigint CHECK (_since < 0))")  # fmt: skip
    else:
        place.postgres.run("ALTER TABLE jam_retracted ADD CHECK (_since < 0)")
    with pytest.raises(InvalidInput, match="does not take the rows"):
        sink.write(make_table([change("retract", "a", 1), change("insert", "b", 1)]))
    assert place.rows() == [(1, 0.5, "7")]


KILLED = """
import os, sys
import pyarrow.parquet as pq
import cepheid as cep
from cepheid.execution.merging.folder_table import FolderTable
rows, last = pq.read_table(sys.argv[1]), int(sys.argv[3])
sink = cep.MergeSink(sys.argv[2])
sink.write(rows.slice(0, 0))
steps = 0
def stop(event, arguments):
    global steps
    if event in ("open", "os.rename", "os.remove", "os.scandir") and sys.argv[2] in str(arguments):
        steps += 1
        if steps == last:
            os.write(1, event.encode())
            os._exit(9)
sys.addaudithook(stop)
for begin in range(0, len(rows), 5):
    sink.write(rows.slice(begin, 5))
"""


def test_a_writer_that_is_killed_between_any_two_steps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    maker = ChangeMaker(Random(5))
    rows = make_table(maker.make(20))
    pq.write_table(rows, tmp_path / "rows.parquet")
    seen: set[str] = set()
    for last in range(1, 40, 3):
        folder = tmp_path / f"jam{last}"
        command = [sys.executable, "-c", KILLED, str(tmp_path / "rows.parquet"), str(folder), str(last)]
        killed = subprocess.run(command, capture_output=True, check=False)
        assert killed.returncode == 9, killed.stderr
        seen.add(killed.stdout.decode())
        before = read_list(folder)
        whole = keep_latest(rows.slice(0, 5 * before.commit), ())
        alive = [tuple(row.values())[3:] for row in whole.to_pylist() if row["_change"] == "insert"]
        found = [tuple(row.values()) for row in read_merged_folder(folder).to_pylist()]
        assert sorted(found, key=repr) == sorted(alive, key=repr), "a whole state"
        sink = cep.MergeSink(folder)
        for begin in range(0, len(rows), 5):  # nobody knows what was written: all comes again
            sink.write(rows.slice(begin, 5))
        found = [tuple(row.values()) for row in read_merged_folder(folder).to_pylist()]
        assert sorted(found, key=repr) == net(maker)
        listed = read_list(folder)
        assert {path.name for path in folder.glob("_*.parquet")} == {*listed.before, *(f.name for f in listed.files)}
    assert {"open", "os.rename", "os.remove"} <= seen


KILLED_IN_DATABASE = """
import os, sys
import duckdb, psycopg
import pyarrow.parquet as pq
import cepheid as cep
rows, last, steps = pq.read_table(sys.argv[1]), int(sys.argv[3]), 0
sink = cep.MergeSink(sys.argv[2])
sink.write(rows.slice(0, 0))
def count(ask):
    def counted(*given, **named):
        global steps
        steps += 1
        if steps == last:
            os._exit(9)
        return ask(*given, **named)
    return counted
class Counted:
    def __init__(self, connection):
        self._connection = connection
    def __getattr__(self, name):
        return count(getattr(self._connection, name))
connect = duckdb.connect
duckdb.connect = lambda *given, **named: Counted(connect(*given, **named))
psycopg.Connection.execute = count(psycopg.Connection.execute)
for begin in range(0, len(rows), 5):
    sink.write(rows.slice(begin, 5))
"""


@pytest.mark.parametrize("place", ["duckdb", "postgres"], indirect=True)
def test_a_writer_that_is_killed_between_statements_leaves_whole_batches(place: Place) -> None:
    import pyarrow.parquet as pq

    maker, path = ChangeMaker(Random(6)), place.folder / "rows.parquet"
    rows = make_table(maker.make(20))
    pq.write_table(rows, path)
    states = [
        [
            tuple(row.values())[3:]
            for row in keep_latest(rows.slice(0, end), ()).to_pylist()
            if row["_change"] == "insert"
        ]
        for end in range(0, len(rows) + 5, 5)
    ]
    whole = [sorted(state, key=repr) for state in states]
    for last in range(2, 19, 4):
        command = [sys.executable, "-c", KILLED_IN_DATABASE, str(path), place.target, str(last)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 9
        assert place.rows() in whole
    sink = cep.MergeSink(place.target)
    for begin in range(0, len(rows), 5):
        sink.write(rows.slice(begin, 5))
    assert place.rows() == net(maker) == whole[-1]


def test_whoever_reads_an_old_list_finds_its_files_or_the_new_list(tmp_path: Path) -> None:
    sink = cep.MergeSink(tmp_path / "jam")
    sink.write(make_table([change("insert", "a", 1)]))
    old = read_list(tmp_path / "jam")
    sink.write(make_table([change("insert", "b", 1)]))
    assert all((tmp_path / "jam" / file.name).exists() for file in old.files)
    sink.write(make_table([change("insert", "c", 1)]))
    sink.write(make_table([change("insert", "d", 1)]))
    text = (tmp_path / "jam" / "_merged.json").read_text()
    assert not all((tmp_path / "jam" / file.name).exists() for file in old.files)
    assert json.loads(text)["commit"] == 4
    assert sum(map(len, _read_files(tmp_path / "jam", old))) == 4, "who was too slow reads the new list"
    assert len(read_merged_folder(tmp_path / "jam")) == 4


def test_files_are_merged_as_they_grow(tmp_path: Path) -> None:
    """Few files for whoever reads, and few rows that are written again."""
    sink, most, written = cep.MergeSink(tmp_path / "jam"), 0, 0
    for number in range(256):
        sink.write(make_table([change("insert", f"m{number}", 1)]))
        files = read_list(tmp_path / "jam").files
        most, written = max(most, len(files)), written + files[-1].rows
    assert most <= 9
    assert written <= 256 * 9


# --- as other places name them -----------------------------------------------------------------------------


def test_a_text_names_a_table_and_its_options(tmp_path: Path) -> None:
    for text, found in (("merge:out/jam?key=bus&bound_s=60", "out/jam/_merged.json"), ("merge:duckdb://x.db", "x.db")):
        sink = open_sink(text, name="jam", schema=SCHEMA, folder=tmp_path)
        sink.write(make_table([change("insert", "a", 1)]))
        sink.close()
        assert (tmp_path / found).exists()
    assert read_list(tmp_path / "out" / "jam").key == ("bus",)
    with duckdb.connect(str(tmp_path / "x.db")) as connection:
        assert connection.execute("SELECT _match, bus FROM jam").fetchall() == [("a", 1)]
    both = open_sink("merge:duckdb://x.db#bus%20jam?key=bus,line&time=ts&bound_s=1.5", name="q", folder=tmp_path)
    assert isinstance(both, cep.MergeSink)
    assert (both.key, both.time, both.bound) == (("bus", "line"), "ts", timedelta(seconds=1.5))


def test_a_merged_folder_is_a_source_of_plain_rows(tmp_path: Path) -> None:
    sink = cep.MergeSink(tmp_path / "jam")
    sink.write(make_table([change("insert", "a", 1, 1), change("insert", "b", 1, 2), change("retract", "a", 1, 1)]))
    source = open_source(tmp_path / "jam", name="jam")
    assert source.schema == without_changes(SCHEMA)
    assert read_whole(source, "jam").to_pylist() == [{"bus": 2, "delay": 0.5, "line": "7"}]
    (tmp_path / "jam" / "_merged.json").write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        open_source(tmp_path / "jam", name="jam").schema  # noqa: B018 (it is read when it is asked for)
    with pytest.raises(InvalidInput, match="cannot be merged into"):
        cep.MergeSink(tmp_path / "jam").write(make_table([change("insert", "a", 1)]))
