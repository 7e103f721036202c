"""Extras: what they bring, and what is told without them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheid.cli import app
from cepheid.cli.doctor import CORE
from cepheid.errors import MissingExtra
from cepheid.extras import EXTRAS, require_extra

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

# Makes modules unfindable, as if they were not installed.
HIDE = """\
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""
WITHOUT_EXTRAS = HIDE.format(
    hidden={"pyspark", "pandas", "matplotlib", "psycopg", "py4j", "grpc", "deltalake", "confluent_kafka"}
)


def run_without_extras(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_without_extras("from cepheid.cli import app; app()", *arguments)


def names_of(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}  # type: ignore[index]


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_bring_the_packages_that_are_looked_for(extra: str) -> None:
    assert names_of(PROJECT["optional-dependencies"][extra]) == set(EXTRAS[extra].packages)


def test_the_core_needs_no_package_of_an_extra() -> None:
    core = names_of(PROJECT["dependencies"])
    assert set(CORE) <= core
    assert core.isdisjoint(package for extra in EXTRAS.values() for package in extra.packages)


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_told_with_the_way_to_get_it(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.extras.find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(MissingExtra, match=r"error\[missing-extra\]: .* needs the package ") as told:
        require_extra(extra)
    assert told.value.hint == f'pip install "cepheid[{extra}]"'


def test_queries_run_without_any_extra() -> None:
    script = """
import warnings
import pyarrow as pa
import cepheid as cep
warnings.simplefilter("error")
ticks = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us")), "id": [1, 1, 1], "price": [1.0, 3.0, 2.0]})
rows = cep.sql("SELECT avg(price) AS mean FROM ticks [ROWS 2]", ticks=ticks)
query = cep.open("SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES b.price AS p "
                 "PATTERN (a b) DEFINE b AS b.price > a.price)", ticks=ticks.schema)
print(rows.column("mean").to_pylist(), query.push(ticks=ticks).to_pylist() + query.finish().to_pylist())
"""
    found = run_without_extras(script)
    assert found.stdout == "[1.0, 2.0, 2.5] [{'id': 1, 'p': 3.0}]\n", found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("bench", "spark"),
        ("bench", "patterns"),
        ("bench", "prediction"),
        ("calibrate", "--app", "docs/examples/study_app.toml", "--host", "spark"),
        ("run", "docs/examples/spark_app.toml"),
    ],
)
def test_commands_that_need_spark_say_so_at_once(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    found = run_command(*arguments)
    told = 'error[missing-extra]: Spark needs the package "pyspark", which is not installed\n\n'
    assert (found.returncode, found.stdout, found.stderr) == (2, "", f'{told}hint: pip install "cepheid[spark]"\n')


def test_commands_that_need_no_extra_run_without_them(tmp_path: Path) -> None:
    table = tmp_path / "ticks.csv"
    table.write_text("ts,price\n2026-01-01 00:00:00,5\n2026-01-01 00:00:20,9\n")
    text = "SELECT max(price) AS top FROM ticks [ROWS 2]"
    assert "top" in run_command("sql", text, "-t", f"ticks={table}").stdout
    assert "WindowAggregate" in run_command("explain", text, "-t", f"ticks={table}").stdout


def test_doctor_says_which_extras_are_missing_and_finds_nothing_wrong() -> None:
    found = run_command("doctor")
    assert "Queries in your process: ready" in found.stdout
    assert "Spark: not installed" in found.stdout
    assert '-> pip install "cepheid[plots]"' in found.stdout
    assert found.returncode == 0, found.stderr
    told = json.loads(run_command("doctor", "--json").stdout)
    extras = ("spark", "connect", "plots", "postgres", "delta", "kafka")
    assert told["ready"] == {"core": True, **dict.fromkeys(extras, False)}


def test_doctor_finds_an_extra_incomplete_that_lacks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its module: the name `cepheid.cli.doctor` is the command.
    monkeypatch.setattr(sys.modules["cepheid.cli.doctor"], "can_import", lambda module: module != "pandas")
    found = CliRunner().invoke(app, ["doctor"])
    assert "Spark: incomplete" in found.stdout
    assert found.exit_code == 1
