"""When ticks begin and end, and how many instructions a placement has in each.

Times are added up tick by tick, in seconds, as CloudSim does: the rounding decides whether a window closes in this
tick or the next. Machines start one tick after zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.simulation.scenario import Scenario

SOON_ENOUGH_S = 0.01  # CloudSim ends a run that is this near to its end


@dataclass(frozen=True, slots=True)
class Tick:
    """surplus_s: in the last tick, by how much it is longer than what is left of the duration."""

    number: int
    start_s: float
    end_s: float
    surplus_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


def ticks_of(duration_s: float, tick_s: float) -> Iterator[Tick]:
    start, ran, number = tick_s, 0.0, 0
    while True:
        end = start + tick_s
        length = end - start
        ran += length
        last = ran + SOON_ENOUGH_S >= duration_s
        yield Tick(number, start, end, ran - duration_s if last else 0.0)
        if last:
            return
        start, number = end, number + 1


def instructions_in(tick: Tick, capacity: float, pes: float) -> float:
    """Whole ones."""
    whole = float(int(capacity * tick.length_s * pes * 1e6))
    return float(int(whole - tick.surplus_s * whole / tick.length_s))


@dataclass(frozen=True, slots=True)
class Iteration:
    """number: of the whole run.  start, end: ms.  amount: the instructions that a placement has in it."""

    number: int
    start: float
    end: float
    amount: float


def iterations_of(tick: Tick, scenario: Scenario, capacity: float, pes: int) -> Iterator[Iteration]:
    """CEPSim has several processors work one after the other: they take longer, not more at a time."""
    instructions = instructions_in(tick, capacity, pes)
    speed = capacity * pes * 1000.0 if scenario.fidelity == "corrected" else capacity * 1000.0
    start = tick.start_s * 1000.0
    for number in range(scenario.iterations):
        amount = share_of_iteration(scenario, instructions, number)
        end = start + amount / speed
        yield Iteration(tick.number * scenario.iterations + number, start, end, amount)
        start = end


def iteration_edges(ticks: list[Tick], scenario: Scenario, capacity: float, pes: int) -> npt.NDArray[np.float64]:
    """The times at which producers of a placement take in the events that have arrived, in ms."""
    return np.array([each.start for tick in ticks for each in iterations_of(tick, scenario, capacity, pes)])


def share_of_iteration(scenario: Scenario, instructions: float, iteration: int) -> float:
    """CEPSim gives each iteration whole instructions, the last one the rest."""
    count = scenario.iterations
    if scenario.fidelity == "corrected":
        return instructions / count
    each = float(int(instructions / count))
    return each if iteration < count - 1 else instructions - each * (count - 1)
