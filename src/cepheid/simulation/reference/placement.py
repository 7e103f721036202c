"""The vertices of one machine, and what they need of the rest of the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.simulation.clock import Iteration, Tick, iterations_of
from cepheid.simulation.reference.consumer import ConsumerRun
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.operator import OperatorRun
from cepheid.simulation.reference.ports import Channel
from cepheid.simulation.reference.producer import ProducerRun
from cepheid.simulation.reference.slices import Arrival, Slice
from cepheid.simulation.reference.window import WindowRun
from cepheid.simulation.scenario import Scenario

VertexRun = ProducerRun | OperatorRun | WindowRun | ConsumerRun


@dataclass(slots=True)
class Message:
    """Events on their way over an edge."""

    edge: int
    events: EventSet


@dataclass(slots=True)
class Member:
    """A vertex in its placement.  inputs, outputs: the numbers of its edges; part / whole: see allocation.py.

    came[n]: of a producer, how many events came between iterations n - 1 and n.  busy_until, blocked_until: it runs,
    or was moved.
    """

    number: int
    run: VertexRun
    inputs: Sequence[int]
    outputs: Sequence[int]
    came: list[float] = field(default_factory=list)
    has_begun: bool = False
    part: float = 0.0
    whole: float = 1.0
    busy_until: float = 0.0
    blocked_until: float = 0.0

    def allotment(self, instructions: float) -> float:
        return self.part * (instructions / self.whole)


@dataclass(slots=True)
class PlacementRun:
    """arrivals: messages on their way to it; corrected: also what its own vertices send each other.

    last_asked: when its producers last took in what had come.  scheduler_state: what its scheduler keeps from tick to
    tick; is_rearranged: its members are others than in the tick before.
    """

    number: int
    members: list[Member]
    channels: Sequence[Channel]
    is_here: Callable[[int], bool]  # does this edge end in the placement?
    target: Callable[[int], Member]
    send: Callable[[Message, float], None]
    observe: Callable[[Member, EventSet, Slice], None]
    use: Callable[[int, float, float], None]  # placement, instructions, until when
    pes: int = 1
    capacity: float = 0.0
    last_asked: float | None = None
    halted_until: float = 0.0
    arrivals: list[Arrival[Message]] = field(default_factory=list)
    scheduler_state: Any = None
    is_rearranged: bool = False

    def iterations(self, tick: Tick, scenario: Scenario) -> Iterator[Iteration]:
        """Of a tick; in each, producers have taken in what had come by its start."""
        for each in iterations_of(tick, scenario, self.capacity, self.pes):
            self.take_in(each.start, each.number)
            yield each

    def take_in(self, now: float, iteration: int) -> None:
        """Producers take in the events that have arrived."""
        since = now if self.last_asked is None else self.last_asked
        for member in self.members:
            if isinstance(member.run, ProducerRun):
                member.run.take_in(member.came[iteration], since, now)
        self.last_asked = now

    def carry_out(self, member: Member, piece: Slice) -> list[Message]:
        """Run a vertex; what it sends to other placements is on its way, what stays here is given back."""
        events = member.run.run(piece.instructions, piece.start, piece.end)
        if not isinstance(member.run, ProducerRun):
            member.run.inputs.update_limits()
        self.observe(member, events, piece)
        local = []
        for edge in member.outputs:
            outgoing, is_here = self.channels[edge].outgoing, self.is_here(edge)
            if is_here and not outgoing.size > 0.0:
                continue  # nothing, or less: it goes with what comes next
            message = Message(edge, outgoing.dequeue_all())
            if is_here:
                local.append(message)
            elif message.events.size > 0.0:
                self.send(message, piece.end)
        return local

    def receive_until(self, now: float) -> None:
        while self.arrivals and self.arrivals[0].at <= now:
            message = self.arrivals.pop(0).message
            self.channels[message.edge].under_way -= message.events.size
            self.enter(message)

    def enter(self, message: Message) -> None:
        target = self.target(message.edge).run
        assert not isinstance(target, ProducerRun), "no edge leads to a producer"
        target.inputs.receive(self.channels[message.edge], message.events)
