"""The page about changes: each form of the example gives the rows that stand under its name."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.execution.changelogs.kinds import CHANGELOGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "changes.md").read_text()
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None)
HEADS = {"cepheid": "Matches are shortened:"} | {form.name: f"**{form.name}**" for form in CHANGELOGS[1:]}


def show(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(map(show, value.values())) + "}"
    if isinstance(value, datetime):
        return f"{value:%H:%M}"
    return re.sub("^([0-9a-f]{4})[0-9a-f]{28}$", r"\1", "null" if value is None else str(value))


@pytest.mark.parametrize("form", HEADS)
def test_the_example_gives_its_rows(form: str) -> None:
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def watch" in block)
    names: dict[str, Any] = {"cep": cep, "pa": pa, "noon": NOON, "later": NOON + timedelta(minutes=1)}
    exec(code, names)  # noqa: S102 (our own page)
    rows = names["watch"](form)
    told = re.search(r"^(\|.*?)\n\n", PAGE[PAGE.index(HEADS[form]) :], re.MULTILINE | re.DOTALL)
    assert told is not None
    head, _, *shown = told[1].split("\n")
    assert re.findall(r"`(\w+)`", head) == list(rows[0])
    found = [f"| {' | '.join(map(show, row.values()))} |" for row in rows]
    assert sorted(shown) == sorted(found), "groups of one push have no order"


def test_every_form_has_its_table() -> None:
    assert all(f"`{form.name}`" in PAGE and HEADS[form.name] in PAGE for form in CHANGELOGS)
