"""A live session: sources, queries that come and go, sinks, measurements, what is refused."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.deployment import AddMachine, Deploy, Replan, Retire
from cepheid.errors import CepheidError, InvalidInput, NotSupportedYet

SCHEMA = {"bus": "int", "delay": "double", "ts": "timestamp"}
AVERAGE = "SELECT bus, avg(delay) AS delay FROM buses [ROWS 3] GROUP BY bus"
RISING = """SELECT * FROM buses MATCH_RECOGNIZE (PARTITION BY bus ORDER BY ts MEASURES LAST(b.delay) AS worst
            PATTERN (a b) DEFINE b AS b.delay > a.delay)"""


def events(*delays: float, at: int = 0, bus: int = 1) -> pa.Table:
    return pa.table(
        {
            "bus": pa.array([bus] * len(delays), pa.int32()),
            "delay": list(delays),
            "ts": pa.array([1_000_000 * (at + number) for number in range(len(delays))], pa.timestamp("us")),
        }
    )


@pytest.fixture
def session() -> cep.Session:
    made = cep.Session()
    made.source("buses", SCHEMA)
    return made


def test_rows_come_by_query(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.deploy("rising", RISING)
    rows = session.push(buses=events(1.0, 3.0))
    assert rows["average"].to_pylist() == [{"bus": 1, "delay": 1.0}, {"bus": 1, "delay": 2.0}]
    assert rows["rising"].to_pylist() == [{"bus": 1, "worst": 3.0}]
    assert session.schemas["rising"].names == ["bus", "worst"]


def test_a_new_query_begins_empty_though_an_equal_one_runs(session: cep.Session) -> None:
    session.deploy("first", AVERAGE)
    session.push(buses=events(1.0))
    session.deploy("second", AVERAGE)
    rows = session.push(buses=events(3.0, at=1))
    assert rows["first"].column("delay").to_pylist() == [2.0]
    assert rows["second"].column("delay").to_pylist() == [3.0]


def test_equal_queries_of_one_moment_run_once(session: cep.Session) -> None:
    session.deploy("first", AVERAGE)
    session.deploy("second", AVERAGE)
    assert len({each.vertex for each in session.watch().observation.vertices}) == 2  # a source, a window
    assert session.push(buses=events(1.0))["second"].column("delay").to_pylist() == [1.0]
    assert session.counts.events == 1  # taken in by one engine
    session.retire("first")
    assert session.push(buses=events(3.0, at=1))["second"].column("delay").to_pylist() == [2.0]


def test_altering_keeps_what_stays_the_same(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.push(buses=events(1.0))
    session.alter("average", "SELECT bus AS line, avg(delay) * 60 AS seconds FROM buses [ROWS 3] GROUP BY bus")
    assert session.push(buses=events(3.0, at=1))["average"].to_pylist() == [{"line": 1, "seconds": 120.0}]
    session.alter("average", AVERAGE.replace("ROWS 3", "ROWS 2"))
    assert session.push(buses=events(9.0, at=2))["average"].to_pylist() == [{"bus": 1, "delay": 9.0}]


def test_a_query_that_is_refused_changes_nothing(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.push(buses=events(1.0))
    before = set(session._host._made)
    with pytest.raises(CepheidError):
        session.deploy("wrong", "SELECT nothing FROM buses [ROWS 3]")
    with pytest.raises(NotSupportedYet):
        session.deploy("sorted", "SELECT bus, count(*) AS n FROM buses GROUP BY bus")
    with pytest.raises(CepheidError):
        session.alter("average", "SELECT nothing FROM buses [ROWS 3]")
    assert set(session._host._made) == before
    assert session.queries == {"average": AVERAGE}
    assert session.push(buses=events(3.0, at=1))["average"].column("delay").to_pylist() == [2.0]


def test_mistakes_are_named(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    with pytest.raises(InvalidInput, match='there is a query "average" already'):
        session.deploy("average", AVERAGE)
    with pytest.raises(InvalidInput, match='there is no query "other"'):
        session.retire("other")
    with pytest.raises(InvalidInput, match='there is no query "other"'):
        session.alter("other", AVERAGE)
    with pytest.raises(InvalidInput, match='there is a source "buses" already'):
        session.source("buses", SCHEMA)
    with pytest.raises(InvalidInput, match='no stream "trams"'):
        session.push(trams=events(1.0))
    with pytest.raises(InvalidInput, match="can be read"):
        session.run()
    with pytest.raises(InvalidInput, match='there was no query "new"'):
        session.apply(Deploy(name="new"))
    with pytest.raises(NotSupportedYet, match="AddMachine"):
        session.apply(AddMachine(name="vm2"))
    with pytest.raises(InvalidInput, match="a session on Spark needs a checkpoint"):
        cep.Session(object())
    session.finish()
    with pytest.raises(InvalidInput, match="finished"):
        session.push(buses=events(1.0))
    with pytest.raises(InvalidInput, match="finished"):
        session.deploy("late", AVERAGE)


def test_a_retired_query_is_deployed_again_by_name(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.apply(Retire(name="average"))
    assert session.push(buses=events(1.0)) == {}
    session.apply(Deploy(name="average"))
    assert len(session.push(buses=events(3.0, at=1))["average"]) == 1
    assert [type(each.action).__name__ for each in session.watch().actions] == ["Deploy", "Retire", "Deploy"]


def test_planning_again_keeps_state(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.deploy("rising", RISING)
    session.push(buses=events(1.0))
    session.apply(Replan())
    rows = session.push(buses=events(3.0, at=1))
    assert rows["average"].column("delay").to_pylist() == [2.0]
    assert len(rows["rising"]) == 1


KEYED = "SELECT bus, sum(delay) AS s FROM buses [PARTITION BY bus ROWS 5] GROUP BY bus"


def test_key_groups_are_shared_out_and_moved_in_mid_stream(session: cep.Session) -> None:
    session.deploy("keyed", KEYED)
    (vertex,) = (each.vertex for each in session.observe().vertices if each.vertex.startswith("window"))
    expected = cep.open(KEYED, buses=SCHEMA)
    for number, action in enumerate(
        (
            cep.Scale(engines=3, query="keyed", vertex=vertex),
            cep.MoveGroups(query="keyed", vertex=vertex, groups=tuple(range(64)), engine=2),
            cep.Scale(engines=8),
            cep.Scale(engines=1, query="keyed"),
        )
    ):
        batch = pa.concat_tables([events(float(number), at=2 * number, bus=bus) for bus in range(20)])
        assert session.push(buses=batch)["keyed"].equals(expected.push(buses=batch))
        session.apply(action)
        owners = session.owners("keyed", vertex)
        assert len(set(owners)) == (3, 1, 8, 0)[number]
    batch = pa.concat_tables([events(7.0, at=9, bus=bus) for bus in range(20)])
    assert session.push(buses=batch)["keyed"].equals(expected.push(buses=batch))


def test_what_cannot_be_scaled_is_named(session: cep.Session) -> None:
    session.deploy("whole", "SELECT avg(delay) AS d FROM buses [ROWS 3]")
    session.deploy("keyed", KEYED)
    vertices = {each.query: each.vertex for each in session.observe().vertices if each.vertex.startswith("window")}
    with pytest.raises(NotSupportedYet, match="more than one engine"):
        session.apply(cep.Scale(engines=2, query="whole", vertex=vertices["whole"]))
    with pytest.raises(InvalidInput, match="engines is 0"):
        session.apply(cep.Scale(engines=0))
    with pytest.raises(InvalidInput, match="no vertex"):
        session.apply(cep.Scale(engines=2, query="whole", vertex="window_9"))
    with pytest.raises(InvalidInput, match="one engine"):
        session.apply(cep.MoveGroups(query="keyed", vertex=vertices["keyed"], groups=(1,), engine=0))
    session.apply(cep.Scale(engines=2))  # those that can be
    with pytest.raises(InvalidInput, match="cannot go to engine 5"):
        session.apply(cep.MoveGroups(query="keyed", vertex=vertices["keyed"], groups=(1,), engine=5))
    assert len(session.watch().actions) == 3


def test_rows_go_to_sinks(session: cep.Session, tmp_path: Path) -> None:
    seen: list[pa.Table] = []
    session.deploy("file", AVERAGE, sink=str(tmp_path / "average.parquet"))
    session.deploy("function", AVERAGE, sink=seen.append)
    session.deploy("given", AVERAGE)
    assert set(session.push(buses=events(1.0, 3.0))) == {"given"}
    session.finish()
    assert pq.read_table(tmp_path / "average.parquet").column("delay").to_pylist() == [1.0, 2.0]
    assert pa.concat_tables(seen).column("delay").to_pylist() == [1.0, 2.0]


def test_a_query_that_no_longer_fits_its_file_is_refused_and_nothing_changes(
    session: cep.Session, tmp_path: Path
) -> None:
    session.deploy("file", AVERAGE, sink=str(tmp_path / "average.parquet"))
    session.deploy("given", AVERAGE)
    session.push(buses=events(1.0))
    before = set(session._host._made)
    with pytest.raises(InvalidInput, match='the file of "file" has other columns'):
        session.alter("file", "SELECT bus FROM buses WHERE delay > 0")
    assert set(session._host._made) == before
    assert session.push(buses=events(3.0, at=1))["given"].column("delay").to_pylist() == [2.0]
    session.alter("file", AVERAGE.replace("ROWS 3", "ROWS 2"))
    session.push(buses=events(9.0, at=2))
    session.finish()
    assert pq.read_table(tmp_path / "average.parquet").column("delay").to_pylist() == [1.0, 2.0, 9.0]


def test_a_sink_that_fails_does_not_keep_rows_from_others(session: cep.Session) -> None:
    seen: list[pa.Table] = []

    def fail(table: pa.Table) -> None:
        raise OSError(f"no room for {len(table)} rows")

    session.deploy("failing", AVERAGE, sink=fail)
    session.deploy("function", AVERAGE, sink=seen.append)
    with pytest.raises(OSError, match="no room for 2 rows"):
        session.push(buses=events(1.0, 3.0))
    assert pa.concat_tables(seen).column("delay").to_pylist() == [1.0, 2.0]


def test_an_unknown_sink_leaves_no_query(session: cep.Session) -> None:
    with pytest.raises(CepheidError):
        session.deploy("average", AVERAGE, sink="average.unknown")
    assert session.queries == {}
    with pytest.raises(InvalidInput, match="there was no query"):
        session.apply(Deploy(name="average"))


def test_sources_are_read_to_their_end(tmp_path: Path) -> None:
    pq.write_table(events(1.0, 3.0, 2.0, 4.0), tmp_path / "buses.parquet")
    with cep.Session() as session:
        session.source("buses", str(tmp_path / "buses.parquet"))
        session.source("names", cep.Table(pa.table({"bus": pa.array([1], pa.int32()), "name": ["one"]})))
        session.deploy("rising", RISING)
        session.deploy("named", "SELECT n.name, b.delay FROM buses b JOIN names n ON b.bus = n.bus WHERE b.delay > 2")
        rows = session.run(rows_at_once=1)
    assert rows["rising"].column("worst").to_pylist() == [3.0, 4.0]
    assert rows["named"].to_pylist() == [{"name": "one", "delay": 3.0}, {"name": "one", "delay": 4.0}]


def test_a_snapshot_goes_on_in_a_new_session(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.push(buses=events(1.0))
    session.deploy("same, later", AVERAGE)
    session.push(buses=events(3.0, at=1))
    again = cep.Session(snapshot=session.snapshot())
    again.source("buses", SCHEMA)
    again.deploy("same, later", AVERAGE)
    again.deploy("average", AVERAGE)
    again.deploy("new", AVERAGE)
    assert set(again.restored.kept) == {"average", "same, later"}
    rows = again.push(buses=events(8.0, at=2))
    found = {name: table.column("delay").to_pylist() for name, table in rows.items()}
    assert found == {"average": [4.0], "same, later": [5.5], "new": [8.0]}


def test_a_changed_query_is_refused_or_begins_anew(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    session.push(buses=events(1.0))
    blob = session.snapshot()
    changed = AVERAGE.replace("ROWS 3", "ROWS 2")
    strict, lenient = cep.Session(snapshot=blob), cep.Session(snapshot=blob, on_change="restart")
    for each in (strict, lenient):
        each.source("buses", SCHEMA)
    with pytest.raises(CepheidError, match="has changed"):
        strict.deploy("average", changed)
    lenient.deploy("average", changed)
    assert lenient.restored.restarted == ("average",)
    assert lenient.push(buses=events(8.0, at=2))["average"].column("delay").to_pylist() == [8.0]


def test_measurements_are_of_the_time_since_the_last_look() -> None:
    now = [0.0]
    session = cep.Session(clock=lambda: now[0])
    session.source("buses", SCHEMA)
    session.source("trams", SCHEMA)
    session.deploy("average", AVERAGE)
    session.deploy("trams", AVERAGE.replace("buses", "trams"))
    session.push(buses=events(1.0, 3.0))
    now[0] = 4.0
    observation = session.observe()
    (average, trams) = observation.queries
    assert (average.throughput_per_s, trams.throughput_per_s, trams.latency_ms) == (0.5, 0.0, None)
    assert [vertex.processed_per_s for vertex in observation.vertices] == [0.5, 0.5, 0.0, 0.0]
    now[0] = 6.0
    again = session.observe()
    assert (again.since_s, again.at_s, again.queries[0].throughput_per_s) == (4.0, 6.0, 0.0)


def test_events_flow_while_queries_change(session: cep.Session) -> None:
    """Pushes from another thread: no row of the query that stays is lost or doubled."""
    session.deploy("average", AVERAGE)
    found: list[float] = []

    def push() -> None:
        for number in range(200):
            found.extend(session.push(buses=events(float(number), at=number))["average"].column("delay").to_pylist())

    thread = threading.Thread(target=push)
    thread.start()
    for number in range(20):
        session.deploy(f"q{number}", RISING)
        session.alter(f"q{number}", AVERAGE)
        session.retire(f"q{number}")
    thread.join()
    assert found == [0.0, 0.5, *(float(number - 1) for number in range(2, 200))]


def test_late_events_are_told() -> None:
    session = cep.Session()
    session.source("buses", SCHEMA)
    session.deploy("average", AVERAGE)
    session.push(buses=events(1.0, at=9))
    session.push(buses=events(2.0, at=3))
    assert session.counts.late == 1
    assert session.late_events().column("delay").to_pylist() == [2.0]


def test_explain_shows_a_query(session: cep.Session) -> None:
    session.deploy("average", AVERAGE)
    assert "WindowAggregate" in session.explain("average") or "window" in session.explain("average").lower()
