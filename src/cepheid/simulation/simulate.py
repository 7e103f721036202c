"""Run a scenario: the one call behind the command line, sweeps, plans and simulated deployments."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable

from cepheid.simulation.equal_machines import merge_equal, spread
from cepheid.simulation.hosting import find_unhosted
from cepheid.simulation.layout import lay_out
from cepheid.simulation.outcome import Outcome
from cepheid.simulation.run import EngineName, SimulationRun, choose_engine
from cepheid.simulation.scenario import Scenario

Progress = Callable[[float], None]  # called with how much is done, 0 to 1
STEPS = 100  # how often progress is reported


def simulate(
    scenario: Scenario,
    engine: EngineName = "compiled",
    progress: Progress | None = None,
    merges_equal: bool = True,
) -> Outcome:
    """merges_equal: machines that are equal in everything are simulated once."""
    load_engine(engine, scenario)
    began = time.perf_counter()
    merged = merge_equal(scenario, find_unhosted(scenario)) if merges_equal else None
    run = SimulationRun(merged.scenario if merged else scenario, engine)
    play(run, progress)
    situation, layout, tally, alive_s = run.situation, run.layout, run.engine.tally, run.alive_s
    if merged is not None:
        layout = lay_out(scenario, situation.undeployed, find_unhosted(scenario))
        tally, alive_s = spread(merged, tally, run.layout, layout), alive_s[merged.model_of_vm]
    return Outcome(
        scenario if merged else situation.scenario,
        layout,
        tally,
        run.engine_name,
        len(run.situation.scenario.vms),
        round(time.perf_counter() - began, 6),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
        alive_s,
    )


def load_engine(name: EngineName, scenario: Scenario) -> None:
    """Compiled code is read from its file, or compiled if that was never done here; not a part of what is timed."""
    if choose_engine(name, scenario) == "compiled":
        from cepheid.simulation.compiled.warm_up import load_kernel

        load_kernel(scenario.fidelity, scenario.scheduler)


def play(run: SimulationRun, progress: Progress | None = None) -> None:
    """To the end, with all that the scenario has planned."""
    step = max(1, len(run.ticks) // STEPS)
    while not run.is_over:
        run.advance_to(math.inf, run.tick + step)
        if progress is not None:
            progress(run.tick / len(run.ticks))
