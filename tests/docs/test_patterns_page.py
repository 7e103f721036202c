"""Every query of the page about patterns gives the rows that stand under it, on the table that the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import cepheid as cep

sys.path.append(str(Path(__file__).parents[1] / "golden"))
from golden_files import read_events, split_rows, write_rows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/patterns.md").read_text()
TABLES = re.findall(r"```text\n(\w+: .*?)\n```", PAGE, re.DOTALL)
EXAMPLES = re.findall(r"```sql\n(.*?)\n```\n\n```text\n(.*?)\n```", PAGE, re.DOTALL)


def test_the_page_has_examples_and_each_has_rows() -> None:
    assert len(TABLES) == 1
    assert len(EXAMPLES) == PAGE.count("```sql") >= 4


@pytest.mark.parametrize(("query", "rows"), EXAMPLES)
def test_a_query_of_the_page_gives_its_rows(query: str, rows: str) -> None:
    found = cep.sql(query, **read_events(TABLES[0]))
    assert split_rows(write_rows(found)) == split_rows(rows)
