"""A tick of a placement with several processors that really work at the same time.

Each processor has a cursor.  The earliest free one takes the next vertex that has work and is not busy; a run takes
its input at the start of its slice, and what it gives arrives at the end of it.  A processor that finds nothing waits
until something arrives, a vertex is done, or a window is due.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cepheid.simulation.clock import Tick
from cepheid.simulation.reference.placement import Member, Message, PlacementRun
from cepheid.simulation.reference.scheduling import WORTH_RUNNING
from cepheid.simulation.reference.slices import Arrival, Slice
from cepheid.simulation.reference.window import WindowRun
from cepheid.simulation.scenario import Scenario


def run_concurrently(
    run: Callable[[Processors], None], placement: PlacementRun, tick: Tick, scenario: Scenario
) -> None:
    """run: which vertices, in which order, until the processors have nothing left."""
    for each in placement.iterations(tick, scenario):
        if each.start >= placement.halted_until:
            run(Processors(placement, each.amount, each.start, each.end))


class Processors:
    """cursor: until when each is busy; left: how many instructions it still has."""

    def __init__(self, placement: PlacementRun, instructions: float, start: float, end: float) -> None:
        self.placement, self.end = placement, end
        self.speed = placement.capacity * 1000.0
        self.cursor = [start] * placement.pes
        self.left = [instructions / placement.pes] * placement.pes
        self.allotments = [member.allotment(instructions) for member in placement.members]

    def find_earliest(self) -> int | None:
        found = None
        for processor, left in enumerate(self.left):
            if left > 0.0 and (found is None or self.cursor[processor] < self.cursor[found]):
                found = processor
        return found

    def find_work(self, place: int, now: float) -> int | None:
        members = self.placement.members
        for tried in range(place, place + len(members)):
            vertex = tried if tried < len(members) else tried - len(members)
            member = members[vertex]
            if member.busy_until <= now and member.blocked_until <= now:
                run = member.run
                if run.needed() > WORTH_RUNNING or (isinstance(run, WindowRun) and run.is_due(now)):
                    return vertex
        return None

    def run(self, processor: int, vertex: int, instructions: float) -> None:
        member, start = self.placement.members[vertex], self.cursor[processor]
        piece = Slice(vertex, start, start + instructions / self.speed, instructions)
        for message in self.placement.carry_out(member, piece):
            self.placement.channels[message.edge].under_way += message.events.size
            put_in_order(self.placement.arrivals, Arrival(piece.end, message))
        member.busy_until = piece.end
        self.cursor[processor] = piece.end
        self.left[processor] -= instructions

    def wait(self, processor: int, now: float) -> None:
        until = self.placement.arrivals[0].at if self.placement.arrivals else math.inf
        for member in self.placement.members:
            until = min(until, _next_moment(member, now))
        if until >= self.end:
            self.left[processor] = 0.0
        else:
            self.left[processor] -= (until - now) * self.speed
            self.cursor[processor] = until


def _next_moment(member: Member, now: float) -> float:
    """When a vertex that has nothing to do now may have."""
    until = math.inf
    if member.busy_until > now:
        until = member.busy_until
    if member.blocked_until > now:
        until = min(until, member.blocked_until)
    if isinstance(member.run, WindowRun) and member.run.close_at > now:
        until = min(until, member.run.close_at)
    return until


def put_in_order(arrivals: list[Arrival[Message]], arrival: Arrival[Message]) -> None:
    """Behind all that arrive at the same time or before."""
    place = len(arrivals)
    while place > 0 and arrivals[place - 1].at > arrival.at:
        place -= 1
    arrivals.insert(place, arrival)
