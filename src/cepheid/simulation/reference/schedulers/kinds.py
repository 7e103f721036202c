"""The schedulers, by the names that scenarios call them; users add theirs."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.reference.schedulers.dynamic import DYNAMIC
from cepheid.simulation.reference.schedulers.micro_batch import MICRO_BATCH
from cepheid.simulation.reference.schedulers.simple import SIMPLE
from cepheid.simulation.reference.scheduling import Scheduler, Steps
from cepheid.simulation.scenario import Fidelity

SCHEDULERS: dict[str, Scheduler] = {"simple": SIMPLE, "dynamic": DYNAMIC, "micro_batch": MICRO_BATCH}


def register_scheduler(name: str) -> Callable[[Steps], Steps]:
    """Put above a generator of steps, which scenarios then find as `scheduler = name`."""

    def register(steps: Steps) -> Steps:
        SCHEDULERS[name] = Scheduler(steps=steps)
        return steps

    return register


def find_scheduler(name: str, fidelity: Fidelity = "corrected") -> Scheduler:
    if name not in SCHEDULERS:
        raise InvalidInput(f'scheduler "{name}" does not exist', hint=suggest_name(name, SCHEDULERS))
    if fidelity == "cepsim" and SCHEDULERS[name].steps is None:
        raise InvalidInput(f'scheduler "{name}" is not one of CEPSim', hint='set fidelity = "corrected"')
    return SCHEDULERS[name]
