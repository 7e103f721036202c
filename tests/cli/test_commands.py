"""The command line: data on stdout, mistakes on stderr with exit code 2."""

from __future__ import annotations

import gzip
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


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_sql_writes_rows_to_a_file(table: str, tmp_path: Path, ending: str) -> None:
    target = tmp_path / "out" / f"rows{ending}"
    found = CliRunner().invoke(app, ["sql", QUERY, "-t", table, "--output", str(target)])
    assert found.exit_code == 0
    assert found.stdout == ""
    assert found.stderr == f"written: {target}, 1 row\n"
    again = CliRunner().invoke(app, ["sql", "SELECT * FROM rows", "-t", f"rows={target}", "--sink", "stdout:jsonl"])
    assert json.loads(again.stdout) == {"bus": 1, "before": 5, "after": 9}


def test_sql_reads_patterns_and_compressed_files(tmp_path: Path) -> None:
    for day in (2, 1, 3):
        with gzip.open(tmp_path / f"day-{day}.csv.gz", "wt") as file:
            file.write(f"ts,bus\n2026-01-0{day} 00:00:00,{day}\n")
    found = CliRunner().invoke(app, ["sql", "SELECT bus FROM days", "-t", f"days={tmp_path}/day-*.csv.gz", "--json"])
    assert [json.loads(line)["bus"] for line in found.stdout.splitlines()] == [1, 2, 3]


def test_sql_takes_types_that_fit_all_rows_of_a_file(tmp_path: Path) -> None:
    """Also where the first thousands of rows look like something else."""
    path = tmp_path / "feed.csv"
    path.write_text("n\n" + "1\n" * 600_000 + "0.5\n")
    found = CliRunner().invoke(app, ["sql", "SELECT sum(n) AS total FROM feed", "-t", f"feed={path}", "--json"])
    assert json.loads(found.stdout) == {"total": 600_000.5}


def test_a_table_of_many_rows_shows_the_first_and_counts_all(tmp_path: Path) -> None:
    path = tmp_path / "feed.csv"
    path.write_text("n\n" + "1\n" * 50)
    found = CliRunner().invoke(app, ["sql", "SELECT n FROM feed", "-t", f"feed={path}"])
    assert found.stdout.endswith("\n50 rows (40 shown, --json gives all)\n")


def test_a_query_that_fails_leaves_the_earlier_result(table: str, tmp_path: Path) -> None:
    for ending in (".parquet", ".csv"):
        target = tmp_path / f"rows{ending}"
        target.write_text("an earlier result")
        found = CliRunner().invoke(app, ["sql", "SELECT dely FROM buses", "-t", table, "-o", str(target)])
        assert found.exit_code == 2
        assert target.read_text() == "an earlier result"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed.csv", "rows.csv", "rows.parquet"]


def test_explain_needs_no_rows(tmp_path: Path) -> None:
    """It reads a first piece: a file with rows that are wrong further down can be explained."""
    path = tmp_path / "feed.csv"
    path.write_text("ts,bus\n" + "2026-01-01 00:00:00,1\n" * 900_000 + "wrong\n")
    found = CliRunner().invoke(app, ["explain", "SELECT bus FROM buses", "-t", f"buses={path}"])
    assert found.exit_code == 0
    found = CliRunner().invoke(app, ["sql", "SELECT bus FROM buses", "-t", f"buses={path}"])
    assert found.exit_code == 2
    assert "Expected 2 columns, got 1" in found.stderr


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
        (["sql", "SELECT 1", "-t", "buses=absent/*.csv"], 'no file fits "absent/*.csv"'),
        (["sql", "SELECT 1", "-t", "buses=pyproject.toml"], "error[unknown-kind]"),
        (["sql", "SELECT 1 AS x", "-o", "rows.xlsx"], "error[unknown-kind]"),
        (["sql", "SELECT 1 AS x", "-o", "rows.csv", "--json"], "not to both"),
        (["explain", "SELECT 1 AS x", "--step", "cooked"], "steps: parsed"),
        (["explain", "SELECT 1 AS x", "--format", "poem"], "formats: text"),
    ],
)
def test_mistakes_are_told_on_stderr_without_a_traceback(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
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
