"""What hints tell people to write can be written: each window and each FROM that a string of ours shows is parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cepheid
from cepheid.language.parsing.parser import parse_query

SOURCE = Path(cepheid.__file__).parent / "language"
WINDOW = r"\[(?:ROWS|RANGE|SESSION|FROM|ORDER BY|PARTITION BY) [^\]]*\]"
FROM = re.compile(rf"FROM \w+ {WINDOW}(?: AS \w+)?(?:, \w+ {WINDOW} AS \w+)?")


def list_hints() -> Iterator[str]:
    """The strings that stand behind hint= or in a name with "hint"; what is put into them later is an x."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            named = isinstance(node, ast.keyword) and node.arg == "hint"
            if isinstance(node, ast.Assign):
                named = any(isinstance(target, ast.Name) and "hint" in target.id.lower() for target in node.targets)
            if named and isinstance(node, ast.keyword | ast.Assign):
                for part in ast.walk(node.value):
                    if isinstance(part, ast.JoinedStr):
                        yield "".join(
                            str(each.value) if isinstance(each, ast.Constant) else "x" for each in part.values
                        )
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


@cache
def list_examples() -> list[str]:
    hints = list(list_hints())
    windows = {f"SELECT * FROM s {found}" for hint in hints for found in re.findall(WINDOW, hint) if "..." not in found}
    sources = {f"SELECT * {found}" for hint in hints for found in FROM.findall(hint) if "..." not in found}
    return sorted(windows | sources)


def test_there_are_examples_in_hints() -> None:
    assert len(list_examples()) > 10


@pytest.mark.parametrize("text", list_examples())
def test_example_of_a_hint_can_be_parsed(text: str) -> None:
    parse_query(text)
