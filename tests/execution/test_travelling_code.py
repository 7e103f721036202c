"""Objects of modules that nobody finds by name travel with their code."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import ModuleType

import pytest

from cepheid.execution.processes.travelling_code import write_code

SOURCE = """
STEP = 2

def double(value):
    return STEP * value

class Doubling:
    def use(self, value):
        return double(value)
"""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Loaded from nowhere, as plugins are."""
    module = ModuleType("nobody_finds_this")
    exec(compile(SOURCE, "<plugin>", "exec"), module.__dict__)  # noqa: S102 (a text of this test)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_an_object_of_a_module_that_cannot_be_imported_works_elsewhere(loaded: ModuleType) -> None:
    written = write_code(loaded.Doubling(), 7)
    program = "import pickle, sys; made, given = pickle.loads(sys.stdin.buffer.read()); print(made.use(given))"
    found = subprocess.run([sys.executable, "-c", program], input=written, capture_output=True, check=True)
    assert found.stdout.split() == [b"14"]


def test_what_can_be_imported_travels_by_name() -> None:
    written = write_code(pickle.PickleBuffer(b"x").__class__, ModuleType)
    assert len(written) < 300
