"""cepheid calibrate on the embedded host, small."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cepheid.calibration.sample_events import StreamShape, sample_events
from cepheid.cli import app
from cepheid.cost.profile import NOMINAL_MIPS
from cepheid.cost.profile_file import read_profile
from cepheid.execution.embedded.relations import describe_sql
from cepheid.execution.endpoints import ENDPOINTS
from cepheid.simulation.scenarios.application_scenario import scenario_of_application

APP = '''
[source.events]
schema = { id = "int", a1 = "double", ts = "timestamp" }
rate_per_s = 50000.0
keys = 100

[query.pair]
sql = """SELECT a.id, b.ts AS last_ts FROM PATTERN SEQ(events a, events b)
         WHERE a.id = b.id AND b.a1 > 90 WITHIN INTERVAL '1' SECOND STRATEGY skip_till_next"""
'''
SMALL = ["--events", "1000000", "--batch", "100000"]


@pytest.fixture
def application(tmp_path: Path) -> str:
    path = tmp_path / "app.toml"
    path.write_text(APP)
    return str(path)


def test_profile_is_written_and_shown_as_json(application: str, tmp_path: Path) -> None:
    written = tmp_path / "profile.toml"
    found = CliRunner().invoke(app, ["calibrate", "--app", application, *SMALL, "--output", str(written), "--json"])
    assert found.exit_code == 0, found.stderr
    told, profile = json.loads(found.stdout), read_profile(written)
    assert (told["host"], profile.host, profile.pes) == ("embedded", "embedded", 1)
    assert told["vertices"]["sequence_1"]["ipe"] == profile.vertices["sequence_1"].ipe > 0.0
    assert profile.queries["pair"].largest_batch == 100_000
    assert profile.queries["pair"].selectivity == pytest.approx(1.0, rel=0.1)  # nearly every event finds a successor


def test_the_simulator_reads_the_profile_of_an_application(tmp_path: Path) -> None:
    path, written = tmp_path / "app.toml", tmp_path / "profile.toml"
    path.write_text(APP.replace("b.a1 > 90", "a.a1 > 40 AND b.a1 > 90"))  # others need not come to the pattern
    found = CliRunner().invoke(app, ["calibrate", "--app", str(path), *SMALL, "--output", str(written)])
    assert found.exit_code == 0, found.stderr
    profile = read_profile(written)
    assert profile.vertices["filter_1"].selectivity == pytest.approx(0.6, abs=0.02)
    path.write_text(f'profile = "profile.toml"\n{path.read_text()}')
    scenario = scenario_of_application(path, describe_sql, ENDPOINTS)
    (query,) = scenario.queries
    costs = {vertex.id: vertex.ipe for vertex in query.vertices}
    assert costs["sequence_1"] == profile.vertices["sequence_1"].ipe
    assert scenario.micro_batch.overhead_s == profile.overhead_s
    whole = costs["sequence_1"] * 0.6 / (NOMINAL_MIPS * 1e6)
    assert whole == pytest.approx(profile.queries["pair"].regression_s, rel=0.2)


def test_without_output_the_profile_goes_to_stdout(application: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["calibrate", "--app", application, *SMALL, "--method", "throughput"])
    assert found.exit_code == 0, found.stderr
    (tmp_path / "shown.toml").write_text(found.stdout)
    profile = read_profile(tmp_path / "shown.toml")
    assert profile.vertices["sequence_1"].method == "throughput"
    assert profile.overhead_s == 0.0


def test_real_events_are_used_where_given(application: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int32()), ("a1", pa.float64()), ("ts", pa.timestamp("us"))])
    events = sample_events(StreamShape(schema, 50_000.0, 100), 1_500_000)
    never = events.set_column(1, "a1", pa.nulls(len(events), pa.float64()).fill_null(1.0))
    pq.write_table(never, tmp_path / "events.parquet")
    data = f"events={tmp_path / 'events.parquet'}"
    found = CliRunner().invoke(app, ["calibrate", "--app", application, *SMALL, "--data", data, "--json"])
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["queries"]["pair"]["selectivity"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "flink"], 'there is no host "flink"'),
        (["--method", "guess"], 'there is no method "guess"'),
        (["--data", "trades=absent.parquet"], "does not exist"),
    ],
)
def test_mistakes_are_told_on_stderr(application: str, arguments: list[str], told: str) -> None:
    found = CliRunner().invoke(app, ["calibrate", "--app", application, *SMALL, *arguments])
    assert found.exit_code == 2
    assert told in found.stderr
    assert found.stdout == ""


def test_too_few_real_events_are_told(application: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int32()), ("a1", pa.float64()), ("ts", pa.timestamp("us"))])
    pq.write_table(sample_events(StreamShape(schema), 500), tmp_path / "few.parquet")
    found = CliRunner().invoke(
        app, ["calibrate", "--app", application, *SMALL, "--data", f"events={tmp_path / 'few.parquet'}"]
    )
    assert found.exit_code == 2
    assert "there are 500 events" in found.stderr
