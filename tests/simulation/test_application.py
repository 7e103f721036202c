"""APP.toml: what is read from it, and how mistakes in it are told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.application import Cluster, compile_application, read_application
from cepheid.errors import CepheidError, InvalidInput, UnknownColumn
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS, open_application_sink, open_application_source
from cepheid.execution.sinks.kinds import open_sink
from cepheid.graph.operators import TableJoin
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.replay import Replay
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenarios.application_scenario import scenario_of_application

PLAIN = """
[source.buses]
schema = { ts = "timestamp", bus = "int", delay = "double" }
rate_per_s = 100

[query.late]
sql = "SELECT bus, delay FROM buses WHERE delay > 300"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "app.toml"
    path.write_text(text)
    return path


def test_defaults_are_one_engine_in_this_process(tmp_path: Path) -> None:
    application = read_application(write(tmp_path, PLAIN), ENDPOINTS)
    assert application.cluster == Cluster() == Cluster(engines=1, pes=1, mips=2500.0, host="embedded")
    assert application.profile is None
    assert application.sources["buses"].schema.names == ["ts", "bus", "delay"]
    assert application.sources["buses"].arrivals == {"rate_per_s": 100.0}
    assert application.queries["late"].text.startswith("SELECT bus")


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "name": ["centre"]}), tmp_path / "stops.parquet")
    pq.write_table(
        pa.table({"ts": pa.array([], pa.timestamp("us")), "stop": pa.array([], pa.int32())}), tmp_path / "feed.parquet"
    )
    (tmp_path / "named.sql").write_text("SELECT b.ts, s.name FROM buses AS b JOIN stops AS s ON b.stop = s.id")
    (tmp_path / "profile.toml").write_text(
        'host = "spark"\noverhead_s = 0.2\n[vertices.table_join_1]\nipe = 5000.0\nselectivity = 0.9\n'
    )
    path = write(
        tmp_path,
        """
profile = "profile.toml"
[source.buses]
path = "feed.parquet"
arrivals = { kind = "poisson", rate_per_s = 20, seed = 4 }
keys = 911
[table.stops]
path = "stops.parquet"
[query.named]
file = "named.sql"
[cluster]
engines = 3
pes = 2
mips = 1000
host = "spark"
trigger_s = 5
price_per_hour = 0.1
[simulation]
duration_s = 30
tick_s = 0.5
iterations = 2
allocation = "weighted"
network_delay_s = 0
""",
    )
    application = read_application(path, ENDPOINTS)
    assert application.sources["buses"].keys == 911.0
    assert application.cluster == Cluster(
        engines=3, pes=2, mips=1000.0, host="spark", trigger_s=5.0, price_per_hour=0.1
    )
    placed = compile_application(application, describe_sql).placed
    assert any(isinstance(node, TableJoin) for node in placed.graph.vertices.values())
    scenario = scenario_of_application(path, describe_sql, ENDPOINTS)
    assert (scenario.duration_s, scenario.tick_s, scenario.allocation) == (30.0, 0.5, "weighted")
    assert scenario.micro_batch.overhead_s == 0.2
    vertices = {vertex.id: vertex for vertex in scenario.queries[0].vertices}
    assert vertices["source_1"].arrivals == Poisson(20.0, 4)
    assert vertices["table_join_1"].ipe == 5000.0


@pytest.mark.parametrize("name", ["feed.parquet", "feed.csv", "feed.csv.gz", "feed.jsonl", "feed.arrow", "f*.csv"])
def test_a_source_is_any_file_that_can_be_read_and_a_query_names_its_sink(tmp_path: Path, name: str) -> None:
    events = pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "bus": [1, 2], "delay": [0.5, 400.5]})
    for sink, rows in (("feed.parquet", events), ("feed.csv", events), ("feed.jsonl", events), ("feed.arrow", events)):
        written = open_sink(sink, name="feed", folder=tmp_path)
        written.write(rows)
        written.close()
    (tmp_path / "feed.csv.gz").write_bytes(gzip.compress((tmp_path / "feed.csv").read_bytes()))
    text = PLAIN.replace("schema = {", f'path = "{name}" #').replace("sql =", 'sink = "out/late.jsonl"\nsql =')
    application = read_application(write(tmp_path, text), ENDPOINTS)
    assert application.sources["buses"].path == name
    assert application.sources["buses"].schema.names == ["ts", "bus", "delay"]
    assert application.queries["late"].sink == "out/late.jsonl"
    (table,) = open_application_source(application, "buses").read()
    assert table.select(["bus", "delay"]).to_pylist() == events.select(["bus", "delay"]).to_pylist()
    assert pa.types.is_timestamp(table.schema.field("ts").type)
    opened = open_application_sink(application, "late", table.schema)
    assert opened is not None
    opened.write(table)
    opened.close()
    assert len((tmp_path / "out" / "late.jsonl").read_text().splitlines()) == 2
    assert scenario_of_application(application.path, describe_sql, ENDPOINTS).queries, "sinks are not simulated"


def test_a_declared_schema_is_what_files_are_read_with(tmp_path: Path) -> None:
    """Beside a path that need not be there yet."""
    text = PLAIN.replace("rate_per_s = 100", 'path = "feed.csv"')
    application = read_application(write(tmp_path, text), ENDPOINTS)
    (tmp_path / "feed.csv").write_text("bus,delay,ts,more\n1,2,2026-01-01 00:00:00,x\n")
    (table,) = open_application_source(application, "buses").read()
    assert table.schema == application.sources["buses"].schema
    assert table.schema.types == [pa.timestamp("us"), pa.int32(), pa.float64()]


def test_what_an_application_does_not_say_is_told_when_it_is_needed(tmp_path: Path) -> None:
    application = read_application(write(tmp_path, PLAIN), ENDPOINTS)
    assert open_application_sink(application, "late", application.sources["buses"].schema) is None
    with pytest.raises(InvalidInput, match="does not say where its events are"):
        open_application_source(application, "buses")


def test_several_queries_may_write_to_the_terminal(tmp_path: Path) -> None:
    text = PLAIN.replace("sql =", 'sink = "stdout:jsonl"\nsql =')
    again = text[text.index("[query.late]") :].replace("[query.late]", "[query.later]")
    application = read_application(write(tmp_path, text + again), ENDPOINTS)
    assert {query.sink for query in application.queries.values()} == {"stdout:jsonl"}


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("time_s,rate_per_s\n0,5\n10,7\n")
    text = PLAIN.replace("rate_per_s = 100", 'arrivals = { kind = "replay", path = "rates.csv" }')
    scenario = scenario_of_application(write(tmp_path, text), describe_sql, ENDPOINTS)
    assert scenario.queries[0].vertices[0].arrivals == Replay((0.0, 10.0), (5.0, 7.0))


def test_the_selectivity_of_a_query_reaches_the_scenario(tmp_path: Path) -> None:
    path = write(tmp_path, f"{PLAIN}selectivity = 0.125\n")
    scenario = scenario_of_application(path, describe_sql, ENDPOINTS)
    shares = [edge.selectivity for edge in scenario.queries[0].edges]
    assert min(shares) == pytest.approx(0.125)
    assert scenario.queries[0].vertices[0].arrivals == Uniform(100.0)


@pytest.mark.parametrize(
    ("old", "new", "told", "line"),
    [
        ("[source.buses]", "[sources.buses]", 'did you mean "source"', 2),
        ("rate_per_s = 100", "rates_per_s = 100", 'did you mean "rate_per_s"', 4),
        ("rate_per_s = 100", "rate_per_s = -1", "of at least 0 for rate_per_s, not -1", 4),
        ("rate_per_s = 100", "rate_per_s = nan", "finite for rate_per_s, not nan", 4),
        ("rate_per_s = 100", 'rate_per_s = "many"', 'a number for rate_per_s, not "many"', 4),
        ("rate_per_s = 100", "rate_per_s = 100\narrivals = {}", "both a rate and arrivals", 5),
        ("rate_per_s = 100", "arrivals = 3", 'what arrives at source "buses" must be a table, not 3', 4),
        ("rate_per_s = 100", "keys = 0", "above 0 for keys, not 0", 4),
        ("rate_per_s = 100", "keys = { bus = 0 }", "above 0 for bus, not 0", 4),
        ("rate_per_s = 100", "keys = { buss = 3 }", 'did you mean "bus"', 4),
        ('delay = "double"', 'delay = "dubble"', 'unknown type "dubble"', 3),
        ("schema = {", "schema = 5 #", "must be a table, not 5", 3),
        ("schema = {", "#", "has no schema", 2),
        ("schema = {", 'path = "gone.parquet" #', '"gone.parquet", which cannot be read', 3),
        ("schema = {", 'path = "feeds/*.csv" #', "no file fits", 3),
        ("schema = {", 'path = "app.toml" #', "error[unknown-kind]", 3),
        ("[query.late]", '[query.late]\nsink = "late.doc"', 'the sink of "late" is "late.doc"', 7),
        ("[query.late]", "[query.late]\nsink = 3", "a text for sink, not 3", 7),
        ("[query.late]", '[query.late]\nsinks = "late.csv"', 'did you mean "sink"', 7),
        (
            "[query.late]",
            '[query.all]\nsql = "SELECT bus FROM buses"\nsink = "a.csv"\n[query.late]\nsink = "./a.csv"',
            'query "late" writes to "./a.csv", which belongs to query "all"',
            10,
        ),
        (
            "rate_per_s = 100\n\n[query.late]",
            'path = "a.csv"\n[query.late]\nsink = "a.csv"',
            'query "late" writes to "a.csv", which belongs to source "buses"',
            6,
        ),
        (
            "rate_per_s = 100\n\n[query.late]",
            'path = "feeds/*.csv"\n[query.late]\nsink = "feeds/late.csv"',
            'which belongs to source "buses"',
            6,
        ),
        ("rate_per_s = 100\n\n[query.late]", 'path = "in"\n[query.late]\nsink = "in/a/b.csv"', "belongs to source", 6),
        ("[query.late]", '[query."a.b"]', 'query "a.b" cannot be called so', 6),
        ("[query.late]", "[query.late]\nselectivity = -1", "at least 0 for selectivity, not -1", 7),
        ("[source.buses]", "profile = 3\n[source.buses]", "a text for profile, not 3", 2),
        ("[source.buses]", "cluster = 3\n[source.buses]", "[cluster] must be a table", 2),
        ("sql = ", "sqls = ", 'did you mean "sql"', 7),
        ("sql = ", 'file = "x.sql"\nsql = ', "either sql or a file", 6),
        ("sql = ", "file = ", "cannot be read", 7),
        ('sql = "', 'sql = 3 # "', "a text for sql, not 3", 7),
        ("[query.late]", "[cluster]\nengines = 0\n[query.late]", "from 1 to 1,000,000 for engines, not 0", 7),
        ("[query.late]", "[cluster]\nengines = 1.5\n[query.late]", "a whole number for engines, not 1.5", 7),
        ("[query.late]", '[cluster]\nhost = "sparks"\n[query.late]', 'did you mean "spark"', 7),
        ("[query.late]", "[cluster]\nmips = 0\n[query.late]", "above 0 for mips, not 0", 7),
        ("[query.late]", "[simulation]\ntick_s = 0\n[query.late]", "above 0 for tick_s, not 0", 7),
        ("[query.late]", '[simulation]\nfidelity = "exact"\n[query.late]', 'unknown fidelity: "exact"', 7),
        ("[query.late]", "[simulation]\nscheduler = 3\n[query.late]", "a text for scheduler, not 3", 7),
        ("[query.late]", "[simulation]\nspeed = 3\n[query.late]", 'has no key "speed"', 7),
        ("[query.late]", "[query.late", "no TOML", 6),
        ("[query.late]", "[table.buses]\nschema = { a = 'int' }\n[query.late]", "a source and a table", 6),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, old: str, new: str, told: str, line: int) -> None:
    assert old in PLAIN
    path = write(tmp_path, PLAIN.replace(old, new, 1))
    with pytest.raises(InvalidInput) as problem:
        read_application(path, ENDPOINTS)
    assert told in str(problem.value)
    assert f"--> {path}:{line}:" in str(problem.value)


@pytest.mark.parametrize(("part", "told"), [("source", "no source"), ("query", "no query")])
def test_an_application_needs_sources_and_queries(tmp_path: Path, part: str, told: str) -> None:
    tables = PLAIN.split("\n\n")
    path = write(tmp_path, "\n\n".join(table for table in tables if f"[{part}." not in table))
    with pytest.raises(InvalidInput) as problem:
        read_application(path, ENDPOINTS)
    assert told in str(problem.value)
    assert str(path) in str(problem.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r'the application ".*none\.toml" does not exist'):
        read_application(tmp_path / "none.toml", ENDPOINTS)


def test_mistakes_in_sql_name_the_query_and_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN.replace("delay > 300", "dely > 300"))
    with pytest.raises(UnknownColumn) as problem:
        compile_application(read_application(path, ENDPOINTS), describe_sql)
    assert f"--> {path}, query late:1:" in str(problem.value)


def test_mistakes_in_arrivals_name_the_source(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN.replace("rate_per_s = 100", 'arrivals = { kind = "poison", rate_per_s = 1 }'))
    with pytest.raises(CepheidError, match=r'source "buses".*poison'):
        scenario_of_application(path, describe_sql, ENDPOINTS)


def test_a_source_without_a_rate_cannot_be_simulated(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN.replace("rate_per_s = 100", ""))
    with pytest.raises(InvalidInput, match='how many events come from "buses"'):
        scenario_of_application(path, describe_sql, ENDPOINTS)


def test_a_profile_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, f'profile = "none.toml"\n{PLAIN}')
    with pytest.raises(CepheidError, match=r"none\.toml"):
        scenario_of_application(path, describe_sql, ENDPOINTS)
