"""How fast clouds are simulated, and in how much memory; beside what the authors of CEPSim published.

Each row is a new process that has its kernels compiled already: what is timed is `simulate`, tables and all.
"""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Console
from rich.progress import track

from cepheid.bench.machine import describe_machine
from cepheid.bench.new_process import measure_in_new_process
from cepheid.bench.simulated_clouds import many_machines, networked, one_machine
from cepheid.simulation.compiled.warm_up import compile_engine
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.simulate import simulate

CLOUDS: dict[str, tuple[Any, tuple[Any, ...], bool]] = {
    "100 x q2, one machine": (one_machine, (100,), False),
    "10 x 10 different": (many_machines, (10, 10, False), False),
    "10 x 100 different": (many_machines, (100, 10, False), False),
    "10 x 1,000 different": (many_machines, (1000, 10, False), False),
    "10 x 1,000 different, overloaded": (many_machines, (1000, 10, False, 3000.0), False),
    "100 x 100 different": (many_machines, (100, 100, False), False),
    "100 networked pairs, tick 10 ms": (networked, (100,), False),
    "10 x 1,000 equal, each run": (many_machines, (1000, 10, True), False),
    "10 x 1,000 equal, run once": (many_machines, (1000, 10, True), True),
}
PUBLISHED_S = {"100 x q2, one machine": 7.0, "10 x 1,000 different": 420.0, "100 x 100 different": 420.0}


def measure_simulation(repeats: int) -> dict[str, Any]:
    found = {}
    for name, (make, arguments, merges) in track(CLOUDS.items(), "simulation", console=Console(stderr=True)):
        runs = repeats if name in PUBLISHED_S and "1,000" not in name else 1
        measured = measure_in_new_process(_measure, make(*arguments), merges, runs)
        published = PUBLISHED_S.get(name)
        found[name] = {
            **measured,
            "published_s": published or "-",
            "times_as_fast": round(published / measured["seconds"], 1) if published else "-",
        }
    return {
        "benchmark": "simulation",
        "question": "5 simulated minutes, tick 0.1 s, 100 events/s a query unless said; published: the paper of CEPSim",
        **describe_machine(),
        "seed": 1,
        "clouds": found,
    }


def _measure(scenario: Scenario, merges_equal: bool, runs: int) -> dict[str, Any]:
    compile_engine()
    seconds, peak_mb, machines = [], 0.0, 0
    for _ in range(runs):
        outcome = simulate(scenario, merges_equal=merges_equal)
        seconds.append(outcome.elapsed_s)
        peak_mb, machines = outcome.peak_memory_mb, outcome.ran
        del outcome
    return {
        "queries": sum(query.copies for query in scenario.queries),
        "simulated_machines": machines,
        "seconds": round(statistics.median(seconds), 3),
        "spread": [round(min(seconds), 3), round(max(seconds), 3)],
        "peak_mb": round(peak_mb),
    }
