"""A tick of a placement as CEPSim runs it: one vertex after the other.

In each iteration producers take in what came, then the scheduler's steps are carried out; what a vertex gives is at
once with its successors here.  More processors are more instructions on the same, longer, time axis.
"""

from __future__ import annotations

from cepheid.simulation.clock import Iteration, Tick, instructions_in
from cepheid.simulation.reference.placement import Message, PlacementRun
from cepheid.simulation.reference.scheduling import Steps, Turn
from cepheid.simulation.reference.slices import Arrival, Slice
from cepheid.simulation.scenario import Scenario


def run_in_turn(
    placement: PlacementRun, tick: Tick, scenario: Scenario, steps: Steps, arrived: list[Arrival[Message]]
) -> None:
    if instructions_in(tick, placement.capacity, placement.pes) <= 0.0:
        return
    for each in placement.iterations(tick, scenario):
        due = [arrival for arrival in arrived if arrival.at < each.end]
        arrived = arrived[len(due) :]
        _run_iteration(placement, each, steps, due)


def _run_iteration(placement: PlacementRun, iteration: Iteration, steps: Steps, due: list[Arrival[Message]]) -> None:
    members = placement.members
    turn = Turn(
        start=iteration.start,
        instructions=iteration.amount,
        capacity=placement.capacity,
        allotments=[member.allotment(iteration.amount) for member in members],
        needed=lambda place: members[place].run.needed(),
        arrivals=due,
    )
    for step in steps(turn):
        if isinstance(step, Slice):
            for message in placement.carry_out(members[step.vertex], step):
                placement.enter(message)
        else:
            placement.enter(step.message)
