"""The index of functions says what happens: each function is tried in each place, an eighth of them in `make test`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
from function_index import NO, PAGE, Trial, write_page

EVERY = 1 if os.environ.get("CEPHEID_CASES") == "all" else 8


def test_the_index_says_where_each_function_runs(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--golden-update"):
        PAGE.write_text(write_page(Trial()))
        return
    page = PAGE.read_text()
    found = write_page(Trial(EVERY, frozenset(page.splitlines())))
    assert found == page, "make golden writes docs/reference/function-index.md anew; read the difference"


def test_every_function_of_the_index_runs_somewhere() -> None:
    rows = [line.rsplit(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 200
    assert [row[0] for row in rows if all(mark.strip(" |") == NO for mark in row[2:])] == []
