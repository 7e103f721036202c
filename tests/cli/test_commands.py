"""The command line: data on stdout, mistakes on stderr with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cepheid
from cepheid.cli import app
from cepheid.graph.json_form import read_json

QUERY = """SELECT * FROM buses MATCH_RECOGNIZE (PARTITION BY bus ORDER BY ts
    MEASURES a.delay AS before, b.delay AS after PATTERN (a b) DEFINE b AS b.delay > a.delay)"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "feed.csv"
    path.write_text("ts,bus,delay\n2026-01-01 00:00:00,1,5\n2026-01-01 00:00:20,1,9\n2026-01-01 00:00:40,1,3\n")
    return f"buses={path}"


def test_sql_prints_rows_as_a_table_and_as_json(table: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["sql", QUERY, "-t", table])
    assert found.exit_code == 0
    assert "\n1 row\n" in found.stdout
    (tmp_path / "query.sql").write_text(QUERY)
    found = CliRunner().invoke(app, ["sql", str(tmp_path / "query.sql"), "-t", table, "--json"])
    assert [json.loads(line) for line in found.stdout.splitlines()] == [{"bus": 1, "before": 5, "after": 9}]


def test_explain_prints_every_step_and_format(table: str) -> None:
    for step in ("parsed", "bound", "rewritten", "placed"):
        assert CliRunner().invoke(app, ["explain", QUERY, "-t", table, "--step", step]).exit_code == 0
    rewritten = CliRunner().invoke(app, ["explain", QUERY, "-t", table]).stdout
    assert "rules applied:" in rewritten
    written = CliRunner().invoke(app, ["explain", QUERY, "-t", table, "--format", "json"]).stdout
    assert read_json(written).of_role("consumer")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sql", "SELECT * FROM nothing"], "error[unknown-stream]"),
        (["sql", "SELECT 1", "-t", "buses"], "NAME=FILE"),
        (["sql", "SELECT 1", "-t", "buses=absent.parquet"], "does not exist"),
        (["sql", "absent.sql"], "does not exist"),
        (["explain", "SELECT 1 AS x", "--step", "cooked"], "steps: parsed"),
        (["explain", "SELECT 1 AS x", "--format", "poem"], "formats: text"),
    ],
)
def test_mistakes_are_told_on_stderr_without_a_traceback(arguments: list[str], told: str) -> None:
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 2
    assert told in found.stderr
    assert found.stdout == ""


def test_version_is_the_one_of_the_package() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"cepheid {cepheid.__version__}\n"


def test_doctor_speaks_json() -> None:
    found = CliRunner().invoke(app, ["doctor", "--json"])
    assert json.loads(found.stdout)["found"]["pyarrow"]


def test_bench_kernel_gives_a_ratio(tmp_path: Path) -> None:
    found = CliRunner().invoke(
        app, ["bench", "kernel", "--events", "20000", "--repeats", "1", "--json", "--save", str(tmp_path)]
    )
    result = json.loads(found.stdout)
    assert result["sequences"] > 0
    assert result["ratio_to_argsort"] > 0
    assert json.loads((tmp_path / "kernel.json").read_text()) == result
