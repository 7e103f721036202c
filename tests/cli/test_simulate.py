"""cepheid simulate: one JSON object on stdout, mistakes on stderr, and a light start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cepheid.cli import app
from cepheid.simulation.reference.schedulers import SCHEDULERS

SCENARIO = """\
[simulation]
duration_s = 130.0
tick_s = 1.0

[[vm]]
name = "vm1"
price_per_hour = 0.5

[[query]]
name = "chain"
vertices = [
  { id = "in", kind = "producer", ipe = 1000, rate_per_s = 1000 },
  { id = "work", kind = "operator", ipe = 99000 },
  { id = "out", kind = "consumer", ipe = 1000 },
]
edges = [["in", "work"], ["work", "out", 0.5]]
placement = "vm1"
"""
HEAVY = ("pyarrow", "duckdb", "pyspark", "matplotlib", "pandas", "sqlglot")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return str(path)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["simulate", "--engine", "reference", *arguments])


def run_json(*arguments: str) -> Any:
    found = run(*arguments, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


def test_json_is_the_contract(scenario: str) -> None:
    told = run_json(scenario)
    assert {"consumers", "elapsed_s", "peak_memory_mb"} <= told.keys()
    (consumer,) = told["consumers"]
    assert (consumer["query"], consumer["copy"], consumer["consumer"]) == ("chain", 0, "out")
    assert {"minute", "latency_ms", "throughput_per_s"} <= consumer["minutes"][1].keys()
    assert consumer["minutes"][1]["throughput_per_s"] == pytest.approx(1000.0)
    assert 0.0 < consumer["latency_ms"] < 1000.0


def test_the_rate_and_the_fidelity_may_be_given_beside_the_file(scenario: str) -> None:
    faster = run_json(scenario, "--rate", "2000", "--fidelity", "corrected")
    assert faster["consumers"][0]["minutes"][1]["throughput_per_s"] == pytest.approx(2000.0, rel=1e-2)


def test_fidelity_decides_what_a_file_may_say(tmp_path: Path) -> None:
    path = tmp_path / "batches.toml"
    path.write_text(SCENARIO.replace("tick_s = 1.0", 'tick_s = 1.0\nscheduler = "micro_batch"'))
    assert "fidelity" in run(str(path)).stderr
    assert run_json(str(path), "--fidelity", "corrected")["consumers"]


def test_a_file_may_look_like_a_goal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rate=5.toml").write_text(SCENARIO)
    assert run_json("rate=5.toml")["consumers"]


def test_a_sweep_is_a_list_of_points(scenario: str) -> None:
    told = run_json(scenario, "--sweep", "rate=10000:30000:10000", "--sweep", "engines=1:2")
    assert [(point["rate"], point["engines"]) for point in told["sweep"]] == [
        (rate, engines) for rate in (10000, 20000, 30000) for engines in (1, 2)
    ]
    assert [bool(point["behind"]) for point in told["sweep"]] == [False, False, False, False, True, False]


@pytest.mark.parametrize(
    "words",
    [
        ["{}", "--plan", "latency_p99=2s", "rate=60000"],
        ["--plan", "latency_p99=2s", "rate=60000", "{}"],
        ["--plan", "rate=60000", "--no-merge", "latency_p99=2s", "{}"],
        ["--plan", "rate=60000", "--plan", "latency_p99=2s", "{}"],
    ],
)
def test_a_plan_takes_the_words_that_belong_to_it(scenario: str, words: list[str]) -> None:
    plan = run_json(*(word.format(scenario) for word in words))["plan"]
    assert plan["goals"] == {"latency_p99": 2000.0}
    assert (plan["rate"], plan["engines"], plan["cost_per_hour"]) == (60000.0, 3, 1.5)
    assert plan["too_few"]["engines"] == 2
    assert "2 engines are too few" in plan["reason"]


def test_a_plan_may_end_without_an_answer(scenario: str) -> None:
    plan = run_json(scenario, "--plan", "latency=2s", "rate=60000", "--most-engines", "2")["plan"]
    assert plan["engines"] is None
    assert "not enough" in plan["reason"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "nothing to simulate"),
        (["absent.toml"], '"absent.toml" does not exist'),
        (["{}", "{}"], "one scenario at a time"),
        (["{}", "--app", "app.toml"], "a scenario and an application at once"),
        (["{}", "rate=5"], '"rate=5" belongs to a plan'),
        (["{}", "--engine", "steam"], 'engine "steam" does not exist'),
        (["{}", "--fidelity", "blind"], 'fidelity "blind" does not exist'),
        (["{}", "--sweep", "rat=5"], 'did you mean "rate"?'),
        (["{}", "--sweep", "rate=5", "--plan", "latency=2s"], "a sweep and a plan at once"),
        (["{}", "--plan", "latencey=2s"], 'did you mean "latency"?'),
        (["{}", "--plan", "latency=2s", "colour=red"], '"colour" is no goal'),
        (["{}", "--rate", "-3"], "rate must be above 0"),
        (["{}", "--rate", "3", "--plan", "latency=2s", "rate=5"], "given twice"),
        (["{}", "--report", "report.txt"], "does not end in .html"),
        (["{}", "--picture", "picture.gif"], "does not end in .png"),
    ],
)
def test_mistakes_are_told_on_stderr_without_a_traceback(scenario: str, arguments: list[str], told: str) -> None:
    found = run(*(word.format(scenario) for word in arguments), "--json")
    assert found.exit_code == 2
    assert told in found.stderr
    assert found.stdout == ""


def test_a_mistake_in_the_file_is_shown_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(SCENARIO.replace("ipe = 99000", "ipe = -99000"))
    found = run(str(path))
    assert found.exit_code == 2
    assert f"--> {path}:13:" in found.stderr
    assert "ipe = -99000" in found.stderr


def test_an_application_is_simulated_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    path.write_text(
        """\
[source.events]
schema = { id = "int", a1 = "double", ts = "timestamp" }
rate_per_s = 1000.0
keys = 10

[query.average]
sql = "SELECT id, avg(a1) AS f FROM events [ROWS 500 SLIDE 1] GROUP BY id"

[cluster]
host = "embedded"
engines = 2

[simulation]
duration_s = 60.0
"""
    )
    (consumer,) = run_json("--app", str(path))["consumers"]
    assert consumer["throughput_per_s"] == pytest.approx(1000.0, rel=0.05)
    (sweep, _) = run_json("--app", str(path), "--sweep", "rate=500,2000")["sweep"]
    assert sweep["offered_per_s"] == pytest.approx(500.0)


def test_starting_is_light(scenario: str) -> None:
    """Nothing of this is needed to simulate a file, and a second of start would be longer than the simulation."""
    program = (
        "import sys\n"
        "from cepheid.cli import app\n"
        f"app(['simulate', {scenario!r}, '--json', '--engine', 'reference'], standalone_mode=False)\n"
        f"sys.exit(','.join(name for name in {HEAVY!r} if name in sys.modules) or 0)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.stderr == ""
    assert json.loads(found.stdout)["consumers"]


def test_a_person_sees_tables_and_gets_files(scenario: str, tmp_path: Path) -> None:
    report, picture = tmp_path / "new" / "report.html", tmp_path / "picture.png"
    for more in ([], ["--sweep", "rate=1000,2000"], ["--plan", "latency=2s"]):
        found = run(scenario, *more, "--report", str(report), "--picture", str(picture))
        assert found.exit_code == 0, found.stderr
        assert len(found.stdout) > 100
        assert report.stat().st_size > 1000
        assert picture.read_bytes()[:4] == b"\x89PNG"
        report.unlink()
        picture.unlink()


def test_strategies_of_ones_own_are_loaded_by_the_name_of_their_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_strategies.py").write_text(
        "from cepheid.simulation import register_scheduler\n\n\n"
        '@register_scheduler("lazy")\n'
        "def run_nothing(turn):\n"
        "    yield from turn.arrivals\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(SCHEDULERS, "lazy", SCHEDULERS["simple"])  # so that it is gone behind the test
    (tmp_path / "lazy.toml").write_text(SCENARIO.replace("tick_s = 1.0", 'tick_s = 1.0\nscheduler = "lazy"'))
    ran = CliRunner().invoke(app, ["simulate", "lazy.toml", "--json", "--strategies", "lazy_strategies"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert told["engine"] == "reference"
    assert told["consumers"][0]["throughput_per_s"] == 0.0
    missing = CliRunner().invoke(app, ["simulate", "lazy.toml", "--strategies", "no_such_module"])
    assert missing.exit_code == 2
    assert 'module "no_such_module" cannot be imported' in missing.stderr
