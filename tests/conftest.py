"""The flag of the golden tests; and how tests run on several cores (pytest --numprocesses, `make test`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMPILE = """
from cepheid.kernel.compiled.warm_up import compile_kernels
from cepheid.simulation.compiled.warm_up import compile_engine
compile_kernels()
compile_engine()
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="renew the expected part of the golden files")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Once, before the workers start: they find kernels in Numba's cache, instead of each compiling the same."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first: one that starts last would keep a single core busy."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: "property" not in item.path.parts)
