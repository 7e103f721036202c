"""cepheid run: an application from its sources to its sinks."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cepheid.cli import app

APPLICATION = """
[source.buses]
path = "buses.csv"

[query.slow]
sql = "SELECT bus, max(delay) AS worst FROM buses [ROWS 3] GROUP BY bus"

[query.late]
sql = "SELECT * FROM buses WHERE delay > 100"
sink = "late.parquet"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    times = pa.array(range(4), pa.timestamp("s"))
    table = pa.table({"ts": times, "bus": [7, 7, 8, 7], "delay": [20.0, 130.0, 400.0, 90.0]})
    pyarrow.csv.write_csv(table, tmp_path / "buses.csv")
    (tmp_path / "app.toml").write_text(APPLICATION)
    return tmp_path


def test_rows_go_to_sinks_and_others_are_printed(folder: Path) -> None:
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml"), "--json", "--rows", "3"])
    assert found.exit_code == 0, found.output
    *rows, counted = map(json.loads, found.stdout.splitlines())
    assert [row["worst"] for row in rows] == [20.0, 130.0, 400.0, 130.0]
    assert counted == {"events": 4, "late": 0, "rejected": 0, "rows of slow": 4, "rows of late": 2}
    assert pq.read_table(folder / "late.parquet").column("delay").to_pylist() == [130.0, 400.0]


def test_a_mistake_in_a_query_is_shown_where_it_stands(folder: Path) -> None:
    (folder / "app.toml").write_text(APPLICATION.replace("delay > 100", "dely > 100"))
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml")])
    assert found.exit_code == 2
    assert "query late:1:27" in found.stderr
    assert 'did you mean "delay"' in found.stderr
    assert not (folder / "late.parquet").exists()


def test_a_broken_source_leaves_no_half_written_file(folder: Path) -> None:
    with (folder / "buses.csv").open("a") as file:
        file.write("not a time,1,2,3\n")
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml"), "--rows", "1"])
    assert found.exit_code == 2
    assert not (folder / "late.parquet").exists()


def test_what_only_spark_can_do_is_refused_here(folder: Path) -> None:
    (folder / "app.toml").write_text(APPLICATION.replace('"buses.csv"', '"buses.csv"\ndead_letters = "bad"'))
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml")])
    assert found.exit_code == 2
    assert "[cluster] host" in found.stderr


def test_streams_are_joined_with_tables(folder: Path) -> None:
    (folder / "names.csv").write_text("bus,name\n7,seven\n9,nine\n")
    table = '\n[table.names]\npath = "names.csv"\n'
    query = '[query.named]\nsql = "SELECT b.delay, n.name FROM buses AS b JOIN names AS n ON b.bus = n.bus"\n'
    (folder / "app.toml").write_text('[source.buses]\npath = "buses.csv"\n' + table + query)
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml"), "--json", "--rows", "2"])
    assert found.exit_code == 0, found.output
    *rows, counted = map(json.loads, found.stdout.splitlines())
    assert rows == [{"delay": delay, "name": "seven"} for delay in (20.0, 130.0, 90.0)]
    assert counted["rows of named"] == 3


def test_a_table_without_rows_says_where_to_put_them(folder: Path) -> None:
    table = '\n[table.names]\nschema = { bus = "int", name = "string" }\n'
    (folder / "app.toml").write_text(APPLICATION + table)
    found = CliRunner().invoke(app, ["run", str(folder / "app.toml")])
    assert found.exit_code == 2
    assert '[table.names] path = "names.parquet"' in found.stderr
