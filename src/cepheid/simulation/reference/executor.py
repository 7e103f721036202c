"""A tick of a placement as CEPSim runs it: one vertex after the other.

In each iteration producers take in what came, then the scheduler's steps are carried out; what a vertex gives is at
once with its successors here.  More processors are more instructions on the same, longer, time axis.
"""

from __future__ import annotations

from cepheid.simulation.clock import Tick, instructions_in, share_of_iteration
from cepheid.simulation.reference.placement import Message, PlacementRun
from cepheid.simulation.reference.scheduling import Arrival, Scheduler, Slice, Turn
from cepheid.simulation.scenario import Scenario


def run_in_turn(
    placement: PlacementRun, tick: Tick, scenario: Scenario, scheduler: Scheduler, arrived: list[Arrival[Message]]
) -> None:
    instructions = instructions_in(tick, placement.capacity, placement.pes)
    start = tick.start_s * 1000.0
    if instructions <= 0.0:
        return
    for iteration in range(scenario.iterations):
        amount = share_of_iteration(scenario, instructions, iteration)
        end = start + amount / (placement.capacity * 1000.0)
        placement.take_in(start, tick.number * scenario.iterations + iteration)
        due = [arrival for arrival in arrived if arrival.at < end]
        arrived = arrived[len(due) :]
        _run_iteration(placement, amount, start, scheduler, due)
        start = end


def _run_iteration(
    placement: PlacementRun, instructions: float, start: float, scheduler: Scheduler, due: list[Arrival[Message]]
) -> None:
    members = placement.members
    turn = Turn(
        start=start,
        instructions=instructions,
        capacity=placement.capacity,
        allotments=[member.allotment(instructions) for member in members],
        needed=lambda place: members[place].run.needed(),
        arrivals=due,
    )
    for step in scheduler(turn):
        if isinstance(step, Slice):
            for message in placement.carry_out(members[step.vertex], step):
                placement.enter(message)
        else:
            placement.enter(step.message)
