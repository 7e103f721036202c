"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import cepheid as cep

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def test_the_ten_line_example_prints_what_is_shown() -> None:
    place = next(number for number, (language, _) in enumerate(BLOCKS) if language == "python")
    found = subprocess.run([sys.executable, "-c", BLOCKS[place][1]], capture_output=True, text=True, check=True)
    assert found.stdout == BLOCKS[place + 1][1]


def test_the_error_is_told_as_shown() -> None:
    text = """SELECT * FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts
  PATTERN (up+)
  DEFINE up AS up.dely > PREV(up.delay))"""
    shown = next(block for _, block in BLOCKS if block.startswith("error["))
    with pytest.raises(cep.CepheidError) as told:
        cep.sql(text, buses={"ts": [1], "bus": [1], "delay": [1.0]})
    assert f"{told.value}\n" == shown


def test_the_continuous_example_runs() -> None:
    code = next(block for language, block in BLOCKS if language == "python" and "query.snapshot()" in block)
    names = {
        "cep": cep,
        "text": "SELECT * FROM buses MATCH_RECOGNIZE (PARTITION BY bus ORDER BY ts "
        "MEASURES up.delay AS d PATTERN (up) DEFINE up AS up.delay > PREV(up.delay))",
        "batch": {"ts": [0, 1, 2], "bus": [1, 1, 1], "delay": [1.0, 2.0, 1.0]},
    }
    import pyarrow as pa

    names["batch"] = pa.table({**names["batch"], "ts": pa.array([0, 1, 2], pa.timestamp("us"))})  # type: ignore[dict-item]
    exec(code, names)  # noqa: S102 (our own README)
    assert names["rows"].to_pylist() == [{"bus": 1, "d": 2.0}]  # type: ignore[attr-defined]


STREAMS = {
    "bids": {"ts": "timestamp", "id": "int", "price": "double"},
    "asks": {"ts": "timestamp", "id": "int", "price": "double"},
    "trades": {"ts": "timestamp", "id": "int", "price": "double"},
    "cancels": {"ts": "timestamp", "id": "int", "kind": "string"},
    "orders": {"ts": "timestamp", "id": "int", "kind": "string"},
}


@pytest.mark.parametrize("text", [block for language, block in BLOCKS if language == "sql"])
def test_every_query_shown_can_run(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.UnboundedStateWarning)
        query = cep.open(text, **STREAMS)
    assert query.finish().num_rows == 0


def test_the_pattern_in_python_runs() -> None:
    import pyarrow as pa

    code = next(block for language, block in BLOCKS if language == "python" and "cep.pattern(" in block)
    times = pa.array(range(6), pa.timestamp("s"))
    bids = pa.table({"ts": times, "id": [1] * 6, "price": [20.0, 21.0, 22.0, 23.0, 9.0, 8.0]})
    names: dict[str, object] = {
        "cep": cep,
        "is_serious": lambda cancels: [True] * len(cancels),
        "bids": bids,
        "cancels": pa.table({"ts": times[:1], "id": [2], "kind": ["all"]}),
        "asks": pa.table({"ts": times[5:], "id": [1], "price": [22.0]}),
    }
    exec(f"{code}\nrows = cep.sql(rising, bids=bids, cancels=cancels, asks=asks)", names)  # noqa: S102 (our own README)
    assert [row["n"] for row in names["rows"].to_pylist()] == [3, 2, 1, 1]  # type: ignore[attr-defined]


def test_the_aggregate_in_python_runs() -> None:
    import pyarrow as pa

    code = next(block for language, block in BLOCKS if language == "python" and "cep.Aggregate(" in block)
    bids = pa.table({"ts": pa.array(range(3), pa.timestamp("s")), "id": [1] * 3, "price": [2.0, 3.0, 4.0]})
    names: dict[str, object] = {"cep": cep, "bids": bids}
    exec(code.replace("cep.sql(", "rows = cep.sql("), names)  # noqa: S102 (our own README)
    assert names["rows"].column("p").to_pylist() == [2.0, 6.0, 24.0]  # type: ignore[attr-defined]


def test_results_that_change_are_told_as_shown() -> None:
    import pyarrow as pa

    code = next(block for language, block in BLOCKS if language == "python" and 'emit="changes"' in block)
    times = pa.array(range(4), pa.timestamp("s"))
    names: dict[str, object] = {
        "cep": cep,
        "schema": STREAMS["bids"],
        "batch": pa.table({"ts": times, "id": [1, 1, 1, 2], "price": [5.0, 7.0, 6.0, 1.0]}),
    }
    exec(code, names)  # noqa: S102 (our own README)
    changes = names["changes"].to_pylist()  # type: ignore[attr-defined]
    assert {each["_change"] for each in changes} == {"insert"}
    assert sorted((each["id"], each["place"], each["price"]) for each in changes) == [
        (1, 1, 7.0),
        (1, 2, 6.0),
        (2, 1, 1.0),
    ]
    assert [*changes[0]] == code.partition("# ")[2].strip().split(", ")


def test_the_query_of_another_system_runs() -> None:
    import pyarrow as pa

    code = next(block for language, block in BLOCKS if language == "python" and 'dialect="flink"' in block)
    times = pa.array([1, 2, 3, 12], pa.timestamp("s"))
    names: dict[str, object] = {"cep": cep, "bids": pa.table({"ts": times, "id": [1, 1, 2, 1]})}
    exec(code, names)  # noqa: S102 (our own README)
    rows = names["busy"].to_pylist()  # type: ignore[attr-defined]
    assert sorted((row["window_end"].second, row["id"], row["n"]) for row in rows) == [
        (10, 1, 2),
        (10, 2, 1),
        (20, 1, 1),
    ]


def test_the_simulated_deployment_in_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    code = next(block for language, block in BLOCKS if language == "python" and "SimulatedDeployment" in block)
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 (our own README)
    assert names["deployment"].now_s == pytest.approx(60.1)  # type: ignore[attr-defined]
    exec(code.replace("> 0.8", ">= 0.0"), names)  # noqa: S102 (whatever was observed: what is done then runs too)
    assert [each.cores for each in names["deployment"].observe().machines][-1:] == [4]  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", re.findall(r"^cepheid (simulate .*?)(?:\s+#.*)?$", README, re.MULTILINE))
def test_the_simulations_shown_run(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from cepheid.cli import app

    monkeypatch.chdir(Path(__file__).parents[2])
    words = command.replace("page.html", str(tmp_path / "page.html")).replace("sweep.png", str(tmp_path / "sweep.png"))
    found = CliRunner().invoke(app, words.split())
    assert found.exit_code == 0, found.output


def test_the_session_runs_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.json

    monkeypatch.chdir(tmp_path)
    code = next(block for language, block in BLOCKS if language == "python" and "cep.Session()" in block)
    times = pa.array([0, 1, 2], pa.timestamp("us"))
    batch = pa.table({"ts": times, "bus": pa.array([1, 1, 1], pa.int32()), "delay": [100.0, 500.0, 300.0]})
    names: dict[str, object] = {"cep": cep, "batch": batch}
    exec(code, names)  # noqa: S102 (our own README)
    assert names["rows"].column("delay").to_pylist() == [100.0, 300.0, 300.0]  # type: ignore[attr-defined]
    assert [each["delay"] for each in pyarrow.json.read_json("late.jsonl").to_pylist()] == [500.0]
