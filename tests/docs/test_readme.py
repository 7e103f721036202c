"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
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
