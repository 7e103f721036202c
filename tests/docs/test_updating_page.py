"""The page about results that change: its example gives the rows that stand under it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import cepheid as cep

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "updating.md").read_text()


def test_the_example_gives_its_rows() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    start = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    names: dict[str, Any] = {"cep": cep, "pa": pa, "start": start, "later": start + timedelta(seconds=1)}
    exec(code, names)  # noqa: S102 (our own page)
    rows = [
        (str(push), row["_change"], *(str(row[name]) for name in ("auction", "bids", "top")))
        for push, table in enumerate((names["first"], names["second"]), 1)
        for row in sorted(table.to_pylist(), key=lambda row: (row["_change"] == "insert", row["auction"]))
    ]
    told = re.findall(r"^\| (\d) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert rows == told
