"""A built-in scheduler, allocation or kind of arrivals is complete when all that belongs to it is there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from cepheid.simulation import arrivals
from cepheid.simulation.allocation import ALLOCATIONS
from cepheid.simulation.arrivals import ARRIVALS
from cepheid.simulation.reference import schedulers
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.reference.scheduling import Scheduler

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "simulation.md"
NOT_A_KIND = {"arrivals", "arrivals_table", "field_checks", "kinds", "randomised", "rate_curve"}


def list_missing(name: str, scheduler: Scheduler) -> list[str]:
    missing = []
    if scheduler.steps is None and scheduler.run_tick is None:
        missing.append("neither steps nor a way to run a tick")
    if scheduler.steps is None and "cepsim" in scheduler.kernels:
        missing.append("a kernel for CEPSim, but no steps")
    for path in scheduler.kernels.values():
        module, _, function = path.partition(":")
        if not callable(getattr(import_module(module), function, None)):
            missing.append(f"no kernel {path}")
    return missing + list_undocumented([name])


def list_undocumented(names: list[str]) -> list[str]:
    text = REFERENCE.read_text()
    return [f'"{name}" is not in docs/reference/simulation.md' for name in names if f"`{name}`" not in text]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_is_complete(name: str) -> None:
    assert list_missing(name, SCHEDULERS[name]) == []


def test_what_a_scheduler_lacks_is_named() -> None:
    assert list_missing("idle", Scheduler(kernels={"cepsim": "cepheid.simulation.compiled.cepsim:idle"})) == [
        "neither steps nor a way to run a tick",
        "a kernel for CEPSim, but no steps",
        "no kernel cepheid.simulation.compiled.cepsim:idle",
        '"idle" is not in docs/reference/simulation.md',
    ]


def test_every_file_of_a_scheduler_is_listed() -> None:
    found = {each.name for each in iter_modules(schedulers.__path__)} - {"kinds"}
    assert found == set(SCHEDULERS), "schedulers/kinds.py lists each file of the folder"


def test_every_file_of_a_kind_of_arrivals_is_listed() -> None:
    found = {each.name for each in iter_modules(arrivals.__path__)} - NOT_A_KIND
    assert found == set(ARRIVALS), "arrivals/kinds.py lists each file of the folder"


def test_allocations_and_arrivals_are_documented() -> None:
    assert list_undocumented([*ALLOCATIONS, *ARRIVALS]) == []
