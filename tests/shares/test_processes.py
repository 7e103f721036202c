"""Queries in real processes: the rows of one, whoever dies, and nobody stays behind."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))
from late_readings import BOUND, QUERY, SCHEMA, cut, make_readings, net_of, play

import cepheid as cep
from cepheid.errors import InvalidInput, NotSupportedYet, RunFailed, SnapshotMismatch
from cepheid.testing import list_rows

KILLS = int(os.environ.get("CEPHEID_KILLS", "3"))
LATE = cep.Disorder(wait="0 s", bound=BOUND, emit="changes")


def lives(process: int) -> bool:
    """Is it there?  One that has ended and was not waited for is not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def list_processes(query: Any) -> list[int]:
    return [link.worker.process_id for link in query.links]


def answer_in_one(readings: pa.Table) -> Counter[Any]:
    return Counter(list_rows(cep.sql(QUERY, readings=readings.sort_by("ts"))))


def test_two_processes_give_the_rows_of_one_and_end() -> None:
    readings = make_readings(3000, seed=1)
    one, two = cep.open(QUERY, readings=SCHEMA), cep.open(QUERY, engines=2, readings=SCHEMA)
    for push in cut(readings.sort_by("ts"), 500):
        assert Counter(list_rows(two.push(readings=push))) == Counter(list_rows(one.push(readings=push)))
    workers = list_processes(two)
    assert len(set(workers)) == 2
    assert all(map(lives, workers))
    assert Counter(list_rows(two.finish())) == Counter(list_rows(one.finish()))
    assert not any(map(lives, workers))
    assert two.counts.rows == one.counts.rows > 50


def test_one_query_forgotten_leaves_no_process() -> None:
    query = cep.open(QUERY, engines=2, readings=SCHEMA)
    query.push(readings=make_readings(100, seed=2))
    workers = list_processes(query)
    del query
    gc.collect()
    assert not any(map(lives, workers))


def test_closed_and_finished_queries_say_so() -> None:
    with cep.open(QUERY, engines=1, readings=SCHEMA) as query:
        query.push(readings=make_readings(100, seed=3))
    with pytest.raises(InvalidInput, match="the query is closed"):
        query.push(readings=make_readings(100, seed=3))
    finished = cep.open(QUERY, engines=1, readings=SCHEMA)
    finished.finish()
    with pytest.raises(InvalidInput, match="the query is finished"):
        finished.finish()


@pytest.mark.parametrize("seed", range(KILLS))
def test_processes_are_killed_at_random_moments_while_late_events_come(seed: int) -> None:
    """One kill a push at most, however slow the machine is: who dies three times of one is given up."""
    random, readings = Random(seed), make_readings(4000, seed)
    pushes = list(cut(readings, 100))
    deadly = set(random.sample(range(len(pushes)), 4))
    with cep.open(QUERY, engines=random.randint(1, 3), disorder=LATE, readings=SCHEMA) as query:
        changes = []
        for number, push in enumerate(pushes):
            killer = threading.Timer(random.uniform(0, 0.01), _kill_one, (query, random.random()))
            if number in deadly:
                killer.start()
            changes.append(query.push(readings=push))
            if number in deadly:
                killer.join()
        changes.append(query.finish())
        assert sum(link.lives for link in query.links) > len(query.links), "nobody was killed"
    assert net_of(changes) == answer_in_one(readings)


def _kill_one(query: Any, which: float) -> None:
    processes = list_processes(query)
    os.kill(processes[int(which * len(processes))], signal.SIGKILL)


APPLICATION = """
import sys
sys.path.append(sys.argv[1])
from late_readings import play
play(*sys.argv[2:])
"""


@pytest.mark.parametrize("seed", range(KILLS))
def test_the_application_is_killed_at_a_random_moment_and_goes_on(seed: int, tmp_path: Path) -> None:
    """It writes its changes and its snapshot with one rename, as applications do that want each row once."""
    random, kept = Random(seed), tmp_path / "kept"
    command = [sys.executable, "-c", APPLICATION, str(Path(__file__).parent), str(kept), str(seed), "2"]
    for number in [*sorted(random.sample(range(20), 4)), None]:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as application:
            assert application.stdout is not None
            workers = json.loads(application.stdout.readline())
            ended = [os.pidfd_open(worker) for worker in workers]
            if number is not None:
                while not kept.with_name(f"kept.rows.{number:04}").exists() and application.poll() is None:
                    time.sleep(random.uniform(0, 0.02))
                os.kill(application.pid, signal.SIGKILL)
            code = application.wait(60)
            for each in ended:
                assert select.select([each], [], [], 20.0)[0], "its processes end with it"
                os.close(each)
            assert code == (0 if number is None else -signal.SIGKILL)
    changes = [pa.ipc.open_stream(path).read_all() for path in sorted(tmp_path.glob("kept.rows.*"))]
    assert net_of(changes) == answer_in_one(make_readings(3000, seed))


def test_who_dies_of_a_message_again_and_again_is_given_up() -> None:
    def die(values: pa.Array) -> pa.Array:
        if 13 in values.to_pylist():
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    query = cep.open(
        "SELECT a.ts AS at FROM PATTERN SEQ(readings a, readings b) WHERE a.k = b.k AND deadly(a.v) < b.v "
        "WITHIN INTERVAL '1' SECOND",
        engines=1,
        functions={"deadly": cep.Function(die, takes=["bigint"], gives="bigint")},
        readings={"k": "bigint", "v": "bigint", "ts": "timestamp"},
    )
    workers = list_processes(query)
    events = {"k": [1, 1], "v": [1, 2], "ts": pa.array([1, 2], pa.timestamp("us"))}
    query.push(readings=pa.table(events))
    with pytest.raises(RunFailed, match=r"died 3 times at the same place \(exit code -9\)"):
        query.push(readings=pa.table({**events, "v": [13, 14], "ts": pa.array([3, 4], pa.timestamp("us"))}))
    assert not any(map(lives, workers))


def test_what_a_function_raises_there_is_raised_here() -> None:
    def fail(values: pa.Array) -> pa.Array:  # noqa: ARG001
        raise ZeroDivisionError("of mine")

    query = cep.open(
        "SELECT a.ts AS at FROM PATTERN SEQ(readings a, readings b) WHERE a.k = b.k AND failing(a.v) < b.v "
        "WITHIN INTERVAL '1' SECOND",
        engines=2,
        functions={"failing": cep.Function(fail, takes=["bigint"], gives="bigint")},
        readings={"k": "bigint", "v": "bigint", "ts": "timestamp"},
    )
    with pytest.raises(cep.CepheidError, match="of mine"):
        query.push(readings=pa.table({"k": [1, 1], "v": [1, 2], "ts": pa.array([1, 2], pa.timestamp("us"))}))
    with pytest.raises(InvalidInput, match="closed"):
        query.push(readings=pa.table({"k": [1], "v": [1], "ts": pa.array([5], pa.timestamp("us"))}))


def test_a_function_that_cannot_travel_is_refused_at_once() -> None:
    lock = threading.Lock()

    def guarded(values: pa.Array) -> pa.Array:
        with lock:
            return values

    with pytest.raises(InvalidInput, match="cannot be sent to another process"):
        cep.open(
            "SELECT a.ts AS at FROM PATTERN SEQ(readings a, readings b) WHERE a.k = b.k AND guarded(a.v) < b.v "
            "WITHIN INTERVAL '1' SECOND",
            engines=2,
            functions={"guarded": cep.Function(guarded, takes=["bigint"], gives="bigint")},
            readings={"k": "bigint", "v": "bigint", "ts": "timestamp"},
        )


def test_an_ordinary_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import cepheid as cep
        print("begins")
        query = cep.open("SELECT k, count(*) AS c FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
                         engines=2, s={"k": "string", "ts": "timestamp"})
        feed = query.feed("s")
        rows = [feed.push(("a", 100_000 * i)) for i in range(15)]
        print([row for row in [*rows, query.finish().to_pylist()] if row])
        """)
    )
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[0] == "begins"
    assert found.stdout.count("begins") == 1
    assert "[('a', 10)]" in found.stdout
    assert "[{'k': 'a', 'c': 5}]" in found.stdout
    assert not found.stderr


def test_snapshots_go_on_in_as_many_processes() -> None:
    readings = make_readings(1000, seed=5).sort_by("ts")
    first, second = cut(readings, 500)
    with cep.open(QUERY, engines=2, readings=SCHEMA) as query:
        rows = [query.push(readings=first)]
        saved = query.snapshot()
    query = cep.open(QUERY, engines=2, snapshot=saved, readings=SCHEMA)
    rows += [query.push(readings=second), query.finish()]
    assert sum(map(Counter, map(list_rows, rows)), Counter()) == answer_in_one(readings)
    with pytest.raises(SnapshotMismatch, match="the snapshot is of 2 engines, and engines is 3") as told:
        cep.open(QUERY, engines=3, snapshot=saved, readings=SCHEMA)
    assert told.value.hint == "engines=2"
    with pytest.raises(SnapshotMismatch):
        cep.open(QUERY, snapshot=saved, readings=SCHEMA)
    with cep.open(QUERY, readings=SCHEMA) as alone, pytest.raises(SnapshotMismatch, match="in one process"):
        cep.open(QUERY, engines=2, snapshot=alone.snapshot(), readings=SCHEMA)


@pytest.mark.parametrize("engines", [0, 65, True, "2", 1.5])
def test_how_many_is_checked(engines: Any) -> None:
    with pytest.raises(InvalidInput, match="engines is"):
        cep.open(QUERY, engines=engines, readings=SCHEMA)


def test_streams_that_say_nothing_do_not_hold_up_the_others() -> None:
    text = (
        "SELECT a.n AS n, b.n AS m, TIMED_OUT() AS t FROM PATTERN SEQ(readings a, others b) WHERE a.k = b.k "
        "WITHIN INTERVAL '1' SECOND TIMEOUT ROWS"
    )
    readings = make_readings(2000, seed=6).sort_by("ts")
    given: dict[str, Any] = {"idle_after": {"others": "2 s"}, "readings": SCHEMA, "others": SCHEMA}
    counts = []
    for engines in (None, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            query = cep.open(text, engines=engines, **given)
            query.push(others=readings.slice(0, 1))
            rows = [query.push(readings=push) for push in cut(readings, 200)]
        counts.append([Counter(list_rows(each)) for each in rows])
        query.finish()
    assert counts[0] == counts[1]
    assert sum(map(len, counts[0])) > 1000


def test_what_processes_cannot_do_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "units.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE units AS SELECT 1 AS k, 'one' AS name")
    adaptive = cep.Disorder(bound=timedelta(seconds=2), emit="changes", speculation="adaptive")
    with pytest.raises(NotSupportedYet, match="adaptive"):
        cep.open(QUERY, engines=2, disorder=adaptive, readings=SCHEMA)
    with pytest.raises(NotSupportedYet, match="the database"):
        cep.open(
            "SELECT r.ts AS at, u.name AS name FROM readings AS r JOIN units AS u ON r.k = u.k",
            engines=2,
            readings=SCHEMA,
            units=cep.Database(f"duckdb:///{path}", "units"),
        )


def test_the_application_plays_the_same_without_deaths(tmp_path: Path) -> None:
    """Else the test with deaths would say less than it seems to."""
    play(str(tmp_path / "kept"), "11", "2")
    changes = [pa.ipc.open_stream(path).read_all() for path in sorted(tmp_path.glob("kept.rows.*"))]
    assert net_of(changes) == answer_in_one(make_readings(3000, 11))
    assert any("retract" in each.column("_change").to_pylist() for each in changes)
