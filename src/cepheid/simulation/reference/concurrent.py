"""A tick of a placement with several processors that really work at the same time.

Each processor has a cursor.  The earliest free one takes the next vertex that has work and is not busy; a run takes
its input at the start of its slice, and what it gives arrives at the end of it.  A processor that finds nothing waits
until something arrives, a vertex is done, or a window is due.
"""

from __future__ import annotations

import math

from cepheid.simulation.clock import Tick, instructions_in, share_of_iteration
from cepheid.simulation.reference.placement import Member, Message, PlacementRun
from cepheid.simulation.reference.scheduling import WORTH_RUNNING, Arrival, Slice
from cepheid.simulation.reference.window import WindowRun
from cepheid.simulation.scenario import Scenario


def run_concurrently(placement: PlacementRun, tick: Tick, scenario: Scenario) -> None:
    instructions = instructions_in(tick, placement.capacity, placement.pes)
    start = tick.start_s * 1000.0
    for iteration in range(scenario.iterations):
        amount = share_of_iteration(scenario, instructions, iteration)
        end = start + amount / (placement.capacity * placement.pes * 1000.0)
        placement.take_in(start, tick.number * scenario.iterations + iteration)
        if start >= placement.halted_until:
            if scenario.scheduler == "simple":
                _Processors(placement, amount, start, end).run_once_each()
            else:
                _Processors(placement, amount, start, end).run_in_rounds()
        start = end


class _Processors:
    """cursor: until when each is busy; left: how many instructions it still has."""

    def __init__(self, placement: PlacementRun, instructions: float, start: float, end: float) -> None:
        self.placement, self.end = placement, end
        self.speed = placement.capacity * 1000.0
        self.cursor = [start] * placement.pes
        self.left = [instructions / placement.pes] * placement.pes
        self.allotments = [member.allotment(instructions) for member in placement.members]

    def run_in_rounds(self) -> None:
        place = 0
        while (processor := self._earliest()) is not None:
            now = self.cursor[processor]
            self._receive(now)
            vertex = self._next_with_work(place, now)
            if vertex is None:
                self._wait(processor, now)
                continue
            needed = self.placement.members[vertex].run.needed()
            self._run(processor, vertex, min(max(needed, 0.0), self.allotments[vertex], self.left[processor]))
            place = vertex + 1 if vertex + 1 < len(self.allotments) else 0

    def run_once_each(self) -> None:
        """In placement order, for the whole allotment, needed or not."""
        for vertex, member in enumerate(self.placement.members):
            processor = self._earliest()
            if processor is None:
                return
            now = self.cursor[processor]
            self._receive(now)
            if member.blocked_until <= now:
                self._run(processor, vertex, min(self.allotments[vertex], self.left[processor]))

    def _earliest(self) -> int | None:
        found = None
        for processor, left in enumerate(self.left):
            if left > 0.0 and (found is None or self.cursor[processor] < self.cursor[found]):
                found = processor
        return found

    def _receive(self, now: float) -> None:
        arrivals = self.placement.arrivals
        while arrivals and arrivals[0].at <= now:
            message = arrivals.pop(0).message
            self.placement.channels[message.edge].under_way -= message.events.size
            self.placement.enter(message)

    def _next_with_work(self, place: int, now: float) -> int | None:
        members = self.placement.members
        for tried in range(place, place + len(members)):
            vertex = tried if tried < len(members) else tried - len(members)
            member = members[vertex]
            if member.busy_until <= now and member.blocked_until <= now:
                run = member.run
                if run.needed() > WORTH_RUNNING or (isinstance(run, WindowRun) and run.is_due(now)):
                    return vertex
        return None

    def _run(self, processor: int, vertex: int, instructions: float) -> None:
        member, start = self.placement.members[vertex], self.cursor[processor]
        piece = Slice(vertex, start, start + instructions / self.speed, instructions)
        for message in self.placement.carry_out(member, piece):
            self.placement.channels[message.edge].under_way += message.events.size
            put_in_order(self.placement.arrivals, Arrival(piece.end, message))
        member.busy_until = piece.end
        self.cursor[processor] = piece.end
        self.left[processor] -= instructions

    def _wait(self, processor: int, now: float) -> None:
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
