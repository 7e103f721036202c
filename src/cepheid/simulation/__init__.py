"""Run a query graph on simulated machines.

    from cepheid.simulation import read_scenario, simulate
    outcome = simulate(read_scenario("scenario.toml"))

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "simulate": "cepheid.simulation.simulate",
    "read_scenario": "cepheid.simulation.scenarios.scenario_file",
    "Scenario": "cepheid.simulation.scenario",
    "Query": "cepheid.simulation.scenario",
    "Failure": "cepheid.simulation.scenario",
    "SimulatedDeployment": "cepheid.simulation.simulated_deployment",
    "register_allocation": "cepheid.simulation.allocation",
    "register_arrivals": "cepheid.simulation.arrivals",
    "register_scheduler": "cepheid.simulation.reference.schedulers",
}
__all__ = [*_HOMES]  # noqa: PLE0604 (names, all of them strings)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cepheid.simulation' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
