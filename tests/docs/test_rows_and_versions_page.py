"""What the page about rows and versions shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "rows-and-versions.md").read_text()


@pytest.mark.filterwarnings("ignore::cepheid.errors.UnboundedStateWarning")
def test_every_example_gives_the_rows_that_it_shows() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)  # noqa: S102 (our own page)
