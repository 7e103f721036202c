"""What a user types after `cep.`: loaded when used, and known to type checkers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import cepheid as cep

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import cepheid as cep

reveal_type(cep.open)
reveal_type(cep.open("SELECT 1", buses={"ts": "timestamp"}))
reveal_type(cep.explain("SELECT 1"))
reveal_type(cep.pattern("a").then("b"))
reveal_type(cep.__version__)
cep.sql()
cep.sql("SELECT 1", strict="yes")
cep.sqll("SELECT 1")
problem: cep.CepheidError = cep.UnboundedStateWarning()
"""
SEEN = [
    r'note: Revealed type is "def \(.*lateness: .*timedelta \| None =.*\) -> .*ContinuousQuery \| .*SharedQuery"',
    r'note: Revealed type is ".*ContinuousQuery \| .*SharedQuery"',
    r'note: Revealed type is "(builtins\.)?str"',
    r'note: Revealed type is ".*Pattern"',
    r'note: Revealed type is "(builtins\.)?str"',
    r"error: .*\[call-arg\]",
    r'error: .*"strict".*"bool".*\[arg-type\]',
    r'error: Module has no attribute "sqll".*\[attr-defined\]',
    r"error: .*\[assignment\]",
]


def test_what_type_checkers_read_is_what_is_loaded() -> None:
    tree = ast.parse(Path(cep.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    read = {
        alias.asname: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert read == cep._HOMES


def test_every_public_name_can_be_loaded() -> None:
    assert all(getattr(cep, name) is not None for name in cep.__all__)
    assert set(dir(cep)) == set(cep.__all__)


def test_a_type_checker_knows_signatures_and_finds_mistakes(tmp_path: Path) -> None:
    script = tmp_path / "user_script.py"
    script.write_text(SCRIPT)
    # With our own settings, so that mypy's cache of `make lint` is of use.
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(script)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    told = {int(line): text for line, text in re.findall(r"user_script\.py:(\d+): (.*)", found.stdout)}
    for line, expected in enumerate(SEEN, start=3):
        assert re.fullmatch(expected, told.get(line, "")), f"line {line}: {found.stdout}{found.stderr}"
