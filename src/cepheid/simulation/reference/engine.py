"""The whole simulation in plain objects: slow, and meant to be read.  compiled/ does the same on arrays, bit for
bit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cepheid.errors import NotSupportedYet
from cepheid.simulation.clock import Tick, instructions_in, iteration_edges
from cepheid.simulation.layout import CONSUMER, PRODUCER, WINDOW, Layout
from cepheid.simulation.network import build_network
from cepheid.simulation.reference.concurrent import put_in_order
from cepheid.simulation.reference.consumer import ConsumerRun
from cepheid.simulation.reference.event_set import EventSet
from cepheid.simulation.reference.in_turn import run_in_turn
from cepheid.simulation.reference.operator import OperatorRun
from cepheid.simulation.reference.placement import Member, Message, PlacementRun, VertexRun
from cepheid.simulation.reference.ports import Bounds, Channel, Inputs, Outputs
from cepheid.simulation.reference.producer import PatientProducerRun, ProducerRun
from cepheid.simulation.reference.schedulers import find_scheduler
from cepheid.simulation.reference.slices import Arrival, Slice
from cepheid.simulation.reference.window import WindowRun, give_all, give_constant
from cepheid.simulation.scenario import Scenario
from cepheid.simulation.tally import Floats, Tally, find_bin


class ReferenceEngine:
    """ticks: all of the run; `run` goes through some of them, between two changes."""

    def __init__(self, scenario: Scenario, layout: Layout, ticks: list[Tick]) -> None:
        self.ticks = ticks
        self.corrected = scenario.fidelity == "corrected"
        self.tally = Tally.of(scenario, layout, ticks[-1])
        self.channels: list[Channel] = []
        self.members: list[Member] = []
        self.placements: list[PlacementRun] = []
        self.link_free_at: list[float] = []
        self.outbox: list[tuple[float, Message]] = []
        self.adopt(scenario, layout, 0)

    def run(self, first: int, last: int) -> None:
        for tick in self.ticks[first:last]:
            for placement in self.placements:
                self._run_placement(placement, tick)
            for at, message in self.outbox:
                self._hand_over(at, message)
            self.outbox = []
            self._look(tick)
        for member in self.members:
            self.tally.dropped[member.number] += member.run.dropped
            member.run.dropped = 0.0

    def adopt(self, scenario: Scenario, layout: Layout, tick: int) -> None:
        """Go on with other placements from that tick; vertices keep their numbers and what they hold, new ones may
        follow them."""
        self.scenario, self.layout, self.network = scenario, layout, build_network(scenario)
        self.tally.grow(layout)
        self.link_free_at += [0.0] * (len(scenario.links) - len(self.link_free_at))
        for edge in range(len(self.channels), len(layout.source)):
            target = int(layout.target[edge])
            queue = layout.instances[target].vertex.queue
            self.channels.append(Channel(float(layout.selectivity[edge]), queue, int(layout.width[target])))
        for vertex in range(len(self.members), len(layout.instances)):
            self.members.append(self._make_member(vertex))
        for member in self.members:
            member.part, member.whole = float(layout.part[member.number]), float(layout.whole[member.number])
            self._connect_outputs(member)
            member.run.ipe = layout.instances[member.number].vertex.ipe
        for place in range(len(self.placements), len(layout.order)):
            self.placements.append(self._make_placement(place))
        for place, placement in enumerate(self.placements):
            placement.pes, placement.capacity = int(layout.pes[place]), float(layout.capacity[place])
            old, placement.members = placement.members, [self.members[vertex] for vertex in layout.order[place]]
            placement.is_rearranged |= placement.members != old
        self._begin_producers(tick)
        self._reroute()

    def discard(self, vertices: Iterable[int]) -> None:
        """Empty what these vertices hold; it counts as dropped."""
        for vertex in vertices:
            run = self.members[vertex].run
            lost = run.waiting()
            if isinstance(run, ProducerRun):
                run.queue.clear()
            else:
                for channel in run.inputs.channels:
                    channel.incoming.clear()
                    channel.update_limits()
                run.inputs.total = 0.0
            if isinstance(run, WindowRun):
                run.unsent.clear()
                for slot in run.slots:
                    for events in slot:
                        lost += events.size
                        events.reset()
            self.tally.dropped[vertex] += lost

    def block(self, vertex: int, until_ms: float) -> None:
        self.members[vertex].blocked_until = until_ms

    def halt(self, vm: int, until_ms: float) -> None:
        for placement in self.placements:
            if self.layout.vm[placement.number] == vm:
                placement.halted_until = until_ms

    def waiting(self) -> Floats:
        """Events in the queues of each vertex, now."""
        return np.array([member.run.waiting() for member in self.members])

    def _run_placement(self, placement: PlacementRun, tick: Tick) -> None:
        scenario = self.scenario
        minute = int(tick.start_s / 60.0)
        self.tally.offered[placement.number, minute] += instructions_in(tick, placement.capacity, placement.pes)
        if not placement.members:
            return
        scheduler = find_scheduler(scenario.scheduler, scenario.fidelity)
        if self.corrected and scheduler.run_tick is not None:
            scheduler.run_tick(placement, tick, scenario)
            return
        assert scheduler.steps is not None, "a scheduler has steps, or a way to run a tick"
        arrived = self._receive(placement, tick) if self.corrected else self._collect(placement, tick)
        run_in_turn(placement, tick, scenario, scheduler.steps, arrived)

    def _receive(self, placement: PlacementRun, tick: Tick) -> list[Arrival[Message]]:
        """For a scheduler that only has steps: they are those of one processor."""
        if placement.pes > 1:
            raise NotSupportedYet("a scheduler of your own on more than one processor", hint="set cloudlet_pes = 1")
        end = tick.end_s * 1000.0
        arrived = [arrival for arrival in placement.arrivals if arrival.at < end]
        placement.arrivals = placement.arrivals[len(arrived) :]
        for arrival in arrived:
            self.channels[arrival.message.edge].under_way -= arrival.message.events.size
        return arrived

    def _look(self, tick: Tick) -> None:
        """Sample the queues, once a second."""
        if int(tick.start_s) == int(tick.end_s):
            return
        minute = int(tick.start_s / 60.0)
        self.tally.looks[minute] += 1
        for member in self.members:
            waiting = member.run.waiting()
            self.tally.waiting[member.number, minute] += waiting
            self.tally.most_waiting[member.number, minute] = max(
                self.tally.most_waiting[member.number, minute], waiting
            )

    def _collect(self, placement: PlacementRun, tick: Tick) -> list[Arrival[Message]]:
        """Messages that have arrived before the tick.  Of two for one vertex at one instant CEPSim loses one: that of
        the source whose name comes later."""
        arrived = [arrival for arrival in placement.arrivals if arrival.at < tick.start_s]
        placement.arrivals = placement.arrivals[len(arrived) :]
        arrived.sort(key=lambda each: (each.at, self.layout.rank[self.layout.source[each.message.edge]]))
        taken: list[Arrival[Message]] = []
        seen: set[tuple[float, int]] = set()
        for arrival in arrived:
            target, at_ms = int(self.layout.target[arrival.message.edge]), arrival.at * 1000.0
            if (at_ms, target) in seen:
                self.tally.dropped[target] += arrival.message.events.size
            else:
                seen.add((at_ms, target))
                taken.append(Arrival(at_ms, arrival.message))
        return taken

    def _send(self, message: Message, end: float) -> None:
        """CEPSim: a fixed delay, in seconds.  Corrected: the link takes one message after the other; nobody sees it
        in this tick."""
        self.tally.sent[message.edge] += message.events.size
        if not self.corrected:
            self._hand_over(end / 1000.0 + self.scenario.network_delay_s, message)
            return
        self.channels[message.edge].under_way += message.events.size
        source, target = (int(end_of[message.edge]) for end_of in (self.layout.source, self.layout.target))
        places = [int(self.layout.placement[vertex]) for vertex in (source, target)]
        link = -1
        if self.scenario.links and min(places) >= 0:
            link = int(self.network.link[self.layout.vm[places[0]], self.layout.vm[places[1]]])
        begin = end
        if link >= 0:
            begin = max(end, self.link_free_at[link])
            size = message.events.size * self.layout.instances[source].vertex.bytes
            begin += size * float(self.network.ms_per_byte[link])
            self.link_free_at[link] = begin
        self.outbox.append((begin + float(self.network.latency_ms[link]), message))

    def _hand_over(self, at: float, message: Message) -> None:
        target = int(self.layout.target[message.edge])
        place = int(self.layout.placement[target])
        if place >= 0:
            put_in_order(self.placements[place].arrivals, Arrival(at, message))
        else:
            self.tally.dropped[target] += message.events.size
            self.channels[message.edge].under_way = 0.0

    def _reroute(self) -> None:
        """What is on its way follows its vertex."""
        for placement in self.placements:
            arrivals, placement.arrivals = placement.arrivals, []
            for arrival in arrivals:
                self.outbox.append((arrival.at, arrival.message))
        for at, message in self.outbox:
            self._hand_over(at, message)
        self.outbox = []

    def _observe(self, member: Member, events: EventSet, piece: Slice) -> None:
        tally, minute = self.tally, int(piece.end / 60000.0)
        self._use(int(self.layout.placement[member.number]), piece.instructions, piece.end)
        tally.processed[member.number, minute] += events.size
        if isinstance(member.run, ConsumerRun) and events.size != 0.0:
            consumer = tally.consumer_of[member.number]
            tally.consumed[consumer, minute] += events.size
            tally.latency[consumer, minute] += events.size * events.latency
            paths = self.layout.paths[member.number]
            origins = 0.0
            for slot, total in enumerate(events.totals):
                origins += total / float(paths[slot])
            tally.origins[consumer, minute] += origins
            tally.seconds[consumer, int(piece.end / 1000.0)] = 1
            tally.bins[consumer, find_bin(events.latency)] += events.size

    def _use(self, place: int, instructions: float, end: float) -> None:
        self.tally.used[place, int(end / 60000.0)] += instructions

    def _make_member(self, number: int) -> Member:
        layout = self.layout
        vertex, width = layout.instances[number].vertex, int(layout.width[number])
        inputs, outputs = layout.inputs_of[number], layout.outputs_of[number]
        bounds: Bounds = find_scheduler(self.scenario.scheduler).bounds if self.corrected else "announced"
        sends = Outputs([self.channels[edge] for edge in outputs], bounds)
        takes = Inputs([self.channels[edge] for edge in inputs], width)
        run: VertexRun
        if layout.kind[number] == PRODUCER:
            producer = PatientProducerRun if self.corrected else ProducerRun
            run = producer(vertex.ipe, sends, int(layout.slot[number]), width, vertex.limited, vertex.sheds)
        elif layout.kind[number] == CONSUMER:
            run = ConsumerRun(vertex.ipe, takes, width)
        elif layout.kind[number] == WINDOW:
            run = WindowRun(
                vertex.ipe,
                takes,
                sends,
                width,
                vertex.window_s * 1000.0,
                vertex.advance_s * 1000.0,
                give_all if vertex.output is None else give_constant(vertex.output),
                vertex.limits_output,
            )
        else:
            run = OperatorRun(vertex.ipe, takes, sends, width)
        return Member(number, run, inputs, outputs)

    def _connect_outputs(self, member: Member) -> None:
        """Queries that come and go read what is there already."""
        member.outputs = self.layout.outputs_of[member.number]
        if not isinstance(member.run, ConsumerRun):
            member.run.outputs.channels = [self.channels[edge] for edge in member.outputs]

    def _begin_producers(self, tick: int) -> None:
        """Producers and windows that run from now on: the first time that they are placed, their time begins."""
        for member in self.members:
            place = int(self.layout.placement[member.number])
            if place < 0 or member.has_begun:
                continue
            member.has_begun = True
            if isinstance(member.run, WindowRun):
                member.run.begin(self.ticks[tick].start_s * 1000.0)
            if isinstance(member.run, ProducerRun):
                placement = self.placements[place]
                edges = iteration_edges(self.ticks[tick:], self.scenario, placement.capacity, placement.pes)
                copy = self.layout.instances[member.number].copy
                amounts = self.layout.arrivals(member.number).amounts(edges, copy)
                member.came = [0.0] * (tick * self.scenario.iterations + 1) + list(map(float, amounts))

    def _make_placement(self, place: int) -> PlacementRun:
        return PlacementRun(
            place,
            [],
            self.channels,
            lambda edge: int(self.layout.placement[self.layout.target[edge]]) == place,
            lambda edge: self.members[int(self.layout.target[edge])],
            self._send,
            self._observe,
            self._use,
        )
