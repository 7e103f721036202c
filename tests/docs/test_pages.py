"""The pages for those who work on Cepheid speak of what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cepheid

ROOT = Path(__file__).parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`((?:src|tests)/[\w./-]+)`", text) + re.findall(r"\]\(([\w./-]+)\)", text)
    named += re.findall(r"\.venv/bin/pytest .*?(tests/[\w./]+)", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_folder_has_its_line_in_the_architecture() -> None:
    package = Path(cepheid.__file__).parent
    names = {path.name for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w.]+)`", row)} == names - {"__init__.py"}


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
def test_every_target_that_is_named_is_one(target: str) -> None:
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
