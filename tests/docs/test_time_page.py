"""What the pages about time, late events, several processes and functions of one's own show is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("page", ["time.md", "own-functions.md", "late-events.md", "engines.md"])
def test_the_examples_of_a_page_hold(page: str) -> None:
    """One after the other; what they claim, they assert."""
    blocks = re.findall(r"```python\n(.*?)```", (REFERENCE / page).read_text(), re.DOTALL)
    assert sum(block.count("assert ") for block in blocks) >= 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # noqa: S102 (our own page)
