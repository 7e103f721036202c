"""CEPSim once more, from the description of its semantics: what the reference engine is compared with.

Written to be checked against the description line by line, not to be quick: sections are named in comments.  It shares
nothing with the engines but the scenario, not even the order of vertices or the division of instructions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cepheid.simulation.scenario import Query, Scenario, Vm
from cepheid.simulation.scenario import ScenarioVertex as Described

TINY = 1e-4
UNBOUNDED = float(2**63 - 1)
NO_SUCCESSOR = 1.7976931348623157e308
DEFAULT_LIMIT = 1e7
MOST_INT = 2**31 - 1


# ------------------------------------------------------------------------------------------------- 1.1 event sets
class Batch:
    def __init__(
        self, size: float = 0.0, ts: float = 0.0, latency: float = 0.0, totals: dict[str, float] | None = None
    ):
        self.size, self.ts, self.latency = size, ts, latency
        self.totals = dict(totals or {})

    def copy(self) -> Batch:
        return Batch(self.size, self.ts, self.latency, self.totals)

    def add(self, other: Batch) -> None:
        if other.size > 0.0:
            both = self.size + other.size
            self.ts = (self.size * self.ts + other.size * other.ts) / both
            self.latency = (self.size * self.latency + other.size * other.latency) / both
            self.size = both
        for producer, total in other.totals.items():
            self.totals[producer] = self.totals.get(producer, 0.0) + total

    def extract(self, size: float) -> Batch:
        share = size / self.size if self.size else 0.0
        taken = Batch(size, self.ts, self.latency, {key: share * total for key, total in self.totals.items()})
        self.size -= size
        for key, total in taken.totals.items():
            self.totals[key] -= total
        return taken

    def split(self, share: float) -> tuple[Batch, Batch]:
        first = Batch(share * self.size, self.ts, self.latency, {key: share * t for key, t in self.totals.items()})
        rest = Batch(self.size - first.size, self.ts, self.latency)
        rest.totals = {key: t - first.totals[key] for key, t in self.totals.items()}
        return first, rest

    def update(self, at: float) -> Batch:
        self.latency += at - self.ts
        self.ts = at
        return self


# ------------------------------------------------------------------------------------------ 1.2 queues of event sets
class Fifo:
    def __init__(self) -> None:
        self.sets: list[Batch] = []
        self.size = 0.0

    def put(self, events: Batch) -> None:
        self.sets.append(events.copy())
        self.size += events.size

    def take(self, size: float) -> Batch:
        if size > self.size:
            assert size - self.size < TINY, f"{size} of {self.size}"
            size = self.size
        taken, left = Batch(), size
        while left > 0.0 and self.sets:  # what is empty or less stays in front of what is asked for next
            if self.sets[0].size <= left:
                head = self.sets.pop(0)
                taken.add(head)
                left -= head.size
            else:
                taken.add(self.sets[0].extract(left))
                left = 0.0
                if self.sets[0].size < TINY:
                    self.sets.pop(0)
        self.size -= taken.size
        if self.size < TINY:
            self.size = 0.0
        return taken


@dataclass(eq=False)
class Link:
    """An edge: what its source has put out, what its target has not yet taken, and how much more may be put out."""

    source: Node
    target: Node
    selectivity: float
    limit: float
    out: Fifo = field(default_factory=Fifo)
    waiting: Fifo = field(default_factory=Fifo)


@dataclass(eq=False)
class Node:
    """A vertex at work."""

    described: Described
    id: str
    query: str
    copy: int
    inputs: list[Link] = field(default_factory=list)
    outputs: list[Link] = field(default_factory=list)
    place: Place | None = None
    works_for: set[tuple[str, int]] = field(default_factory=set)
    total_in: float = 0.0
    processed: float = 0.0
    # producers
    own: Fifo = field(default_factory=Fifo)
    outside: float = 0.0
    fraction: float = 0.0
    # windows
    close_at: float = 0.0
    slots: dict[int, list[Batch]] = field(default_factory=dict)
    slot: int = 0
    held_back: Fifo = field(default_factory=Fifo)
    # consumers
    consumed: list[tuple[float, float, float, dict[str, float]]] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------ 1.5 output side
    def room(self) -> float:
        room = NO_SUCCESSOR
        for link in self.outputs:
            room = min(room, link.limit / link.selectivity - link.out.size / link.selectivity)
        return room

    def send(self, events: Batch) -> None:
        for link in self.outputs:
            sent = events.copy()
            sent.size *= link.selectivity
            link.out.put(sent)

    # --------------------------------------------------------------------------------------------- 1.4 producers
    def generate(self, since: float, to: float) -> None:
        limit = DEFAULT_LIMIT
        if self.described.limited:
            limit = float(min(math.floor(max(0.0, self.room() - self.own.size)), MOST_INT))
        assert self.described.arrivals is not None
        self.outside += float(self.described.arrivals.amounts(np.array([since, to]), self.copy)[0])
        emitted = min(self.outside, limit)
        self.outside -= emitted
        whole = math.floor(emitted)
        self.fraction += emitted - whole
        if self.fraction + 0.001 > 1.0:
            whole += 1
            self.fraction -= 1.0
        if whole > 0:
            self.own.put(Batch(float(whole), to, 0.0, {self.id: float(whole)}))

    # ----------------------------------------------------------------------- 1.4, 1.6, 1.7 what a run would need
    def needed(self) -> float:
        match self.described.kind:
            case "producer":
                return min(self.own.size, self.room()) * self.described.ipe
            case "operator":
                return min(self.total_in, self.room()) * self.described.ipe
            case _:
                return self.total_in * self.described.ipe

    def receive(self, link: Link, events: Batch) -> None:
        link.waiting.put(events)
        self.total_in += events.size

    def retrieve(self, instructions: float, cap: float) -> list[Batch]:
        total = self.total_in
        events = min(total, instructions / self.described.ipe, cap)  # less than nothing, if a successor is overfull
        parts = []
        for link in self.inputs:
            asked = link.waiting.size / total * events if total else 0.0
            self.total_in -= asked
            if self.total_in < TINY:
                self.total_in = 0.0
            parts.append(link.waiting.take(asked))
        if events > 0.0 and not any(link.waiting.size for link in self.inputs):
            # The one departure from CEPSim: what it has lost of each queue by rounding may stay in the total, and the
            # dynamic scheduler would run the vertex millions of times in a tick, for nothing.
            self.total_in = 0.0
        return parts

    def run(self, instructions: float, start: float, end: float) -> None:
        match self.described.kind:
            case "producer":
                size = min(instructions / self.described.ipe, self.own.size, self.room())
                events = self.own.take(size).update(end)
                self.processed += events.size
                self.send(events)
            case "operator":
                events = add_up(self.retrieve(instructions, self.room())).update(end)
                self.processed += events.size
                self.send(events)
            case "consumer":
                events = add_up(self.retrieve(instructions, math.inf)).update(end)
                self.processed += events.size
                if events.size != 0.0:
                    self.consumed.append((end, events.size, events.latency, events.totals))
            case "window":
                self.run_window(instructions, start, end)

    # ----------------------------------------------------------------------------------------------- 1.7 windows
    def begin_windows(self, now: float) -> None:
        advance, size = self.described.advance_s * 1000.0, self.described.window_s * 1000.0
        self.close_at = now + advance
        self.slots = {place: [Batch() for _ in range(int(size / advance))] for place in range(len(self.inputs))}

    def run_window(self, instructions: float, start: float, end: float) -> None:
        space = self.room()
        if self.held_back.size > 0.0 and space > 0.0:
            sent = min(self.held_back.size, space)
            self.send(self.held_back.take(sent).update(end))
            space -= sent
        while start >= self.close_at:
            by_input = [add_up(slots) for slots in self.slots.values()]
            size = sum(events.size for events in by_input)
            if size > 0.0:
                space = self.give_out(add_up(by_input), size, space, end)
            self.close_at += self.described.advance_s * 1000.0
            self.slot = (self.slot + 1) % len(self.slots[0])
            for slots in self.slots.values():
                slots[self.slot] = Batch()
        for place, part in enumerate(self.retrieve(instructions, math.inf)):
            self.processed += part.size
            self.slots[place][self.slot].add(part)

    def give_out(self, events: Batch, size: float, space: float, end: float) -> float:
        n = size if self.described.output is None else self.described.output
        events.size = n
        events.totals = add_up(slots[self.slot] for slots in self.slots.values()).totals
        if self.described.limits_output:
            events.extract(max(link.waiting.size / link.selectivity for link in self.outputs))
        sent = min(n, space)
        if sent > 0.0:
            first, rest = events.split(sent / n)
            self.send(first.update(end))
            if sent < n:
                self.held_back.put(rest)
        else:
            self.held_back.put(events)
        return space - sent


def add_up(sets: Iterable[Batch]) -> Batch:
    result = Batch()
    for each in sets:
        result.add(each)
    return result


# ----------------------------------------------------------------------------------------------- 1.12 placements
@dataclass(eq=False)
class Message:
    at_s: float
    sent_s: float
    delivered_s: float
    link: Link
    events: Batch


@dataclass(eq=False)
class Place:
    vm: Vm
    members: list[Node]
    order: list[Node] = field(default_factory=list)
    allotments: dict[float, dict[str, float]] = field(default_factory=dict)
    last_execution: float | None = None
    inbox: list[Message] = field(default_factory=list)


class SecondOpinion:
    """`run`, then look at the nodes."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.nodes: dict[tuple[str, int, str], Node] = {}
        for query in scenario.queries:
            for copy in range(query.copies):
                for vertex in query.vertices:
                    suffix = str(copy + 1) if query.copies > 1 else ""
                    node = Node(vertex, vertex.id + suffix, query.name, copy, works_for={(query.name, copy)})
                    self.nodes[query.name, copy, vertex.id] = node
        for query in scenario.queries:
            for copy in range(query.copies):
                for edge in query.edges:
                    source, target = (
                        self.nodes[query.name, copy, edge.source],
                        self.nodes[query.name, copy, edge.target],
                    )
                    limit = target.described.queue if target.described.queue > 0.0 else UNBOUNDED
                    link = Link(source, target, edge.selectivity, limit)
                    source.outputs.append(link)
                    target.inputs.append(link)
        self.places = self.place_nodes()
        for place in self.places:
            place.order = order_members(place)
        # 1.14: machines are there one tick after zero
        for node in self.nodes.values():
            if node.described.kind == "window":
                node.begin_windows(scenario.tick_s * 1000.0)

    def place_nodes(self) -> list[Place]:
        places: list[Place] = []
        for vm in self.scenario.vms:
            groups: dict[str, list[Node]] = {}
            for node in self.nodes.values():
                query: Query = next(each for each in self.scenario.queries if each.name == node.query)
                if query.placement[node.described.id] == vm.name:
                    key = "" if self.scenario.placements == "vm" else node.query
                    groups.setdefault(key, []).append(node)
            places += [Place(vm, members) for members in groups.values()]
        for place in places:
            for node in place.members:
                node.place = place
        return places

    # ------------------------------------------------------------------------------------ 1.14 the cloud around it
    def run(self) -> SecondOpinion:
        tick, duration, asked = self.scenario.tick_s, self.scenario.duration_s, self.scenario.cloudlet_pes or 1
        executed, last = 0.0, tick
        finished = False
        while not finished:
            clock = last + tick
            passed = clock - last
            executed += passed
            finished = executed + 0.01 >= duration
            for place in self.places:
                vm = place.vm
                on_vm = sum(each.vm is vm for each in self.places)
                capacity = vm.pes * vm.mips / max(on_vm * asked, vm.pes)
                instructions = float(int(capacity * passed * asked * 1e6))
                if finished:
                    instructions = float(int(instructions - ((executed - duration) * instructions) / passed))
                self.run_tick(place, instructions, last, clock, capacity)
            last = clock
        return self

    def run_tick(self, place: Place, instructions: float, start_s: float, clock: float, capacity: float) -> None:
        if instructions <= 0.0:
            return
        arrived = [m for m in place.inbox if m.at_s < start_s and m.delivered_s <= clock]
        place.inbox = [m for m in place.inbox if not (m.at_s < start_s and m.delivered_s <= clock)]
        pending: dict[tuple[float, str], Message] = {}
        arrived.sort(key=lambda m: (m.at_s, m.sent_s, m.link.source.id, m.link.target.id))
        for message in arrived:  # equal in time and vertex: the first one stays
            pending.setdefault((message.at_s * 1000.0, message.link.target.id), message)
        iterations = self.scenario.iterations
        each = float(math.floor(instructions / iterations))
        start = start_s * 1000.0
        for iteration in range(iterations):
            amount = each if iteration < iterations - 1 else instructions - each * (iterations - 1)
            since = start if place.last_execution is None else place.last_execution
            for node in place.members:
                if node.described.kind == "producer":
                    node.generate(since, start)
            place.last_execution = start
            end = start + amount / (capacity * 1000.0)
            for key in sorted(pending):
                if key[0] < end:
                    message = pending.pop(key)
                    message.link.target.receive(message.link, message.events)
            self.schedule(place, amount, start, capacity, clock)
            start = end

    # ------------------------------------------------------------------------------------------- 1.10 schedulers
    def schedule(self, place: Place, amount: float, start: float, capacity: float, clock: float) -> None:
        cursor = start
        if amount not in place.allotments:
            place.allotments[amount] = divide(amount, place, self.scenario.allocation)
        allotment = place.allotments[amount]
        if self.scenario.scheduler == "simple":
            for node in place.order:
                given = allotment[node.id]
                end = cursor + given / (capacity * 1000.0)
                self.run_node(place, node, given, cursor, end, clock)
                cursor = end
            return
        remaining, index = amount, 0
        while remaining > 0.0:
            around = [*range(index, len(place.order)), *range(index)]
            chosen = next((i for i in around if place.order[i].needed() > 1.0), None)
            if chosen is None:
                return
            node = place.order[chosen]
            given = min(node.needed(), allotment[node.id], remaining)
            end = cursor + given / (capacity * 1000.0)
            self.run_node(place, node, given, cursor, end, clock)
            cursor = end
            remaining -= given
            index = chosen + 1

    def run_node(self, place: Place, node: Node, given: float, start: float, end: float, clock: float) -> None:
        node.run(given, start, end)
        # 1.8 backpressure
        if node.described.queue > 0.0:
            for link in node.inputs:
                link.limit = node.described.queue - link.waiting.size
        for link in node.outputs:
            if link.target.place is not place:
                delay = self.scenario.network_delay_s
                events = link.out.take(link.out.size)
                if events.size > 0.0:
                    assert link.target.place is not None
                    sent = Message(end / 1000.0 + delay, end / 1000.0, clock + delay, link, events)
                    link.target.place.inbox.append(sent)
        for link in node.outputs:
            if link.target.place is place and link.out.size > 0.0:
                link.target.receive(link, link.out.take(link.out.size))

    # ---------------------------------------------------------------------------------------------- 1.13 metrics
    def minutes(self, consumer: Node) -> dict[int, tuple[float, float]]:
        """Latency and throughput by minute."""
        paths = count_paths(consumer)
        size: dict[int, float] = {}
        latency: dict[int, float] = {}
        origins: dict[int, float] = {}
        for end, events, mean, totals in consumer.consumed:
            minute = math.floor(end / 60000.0)
            size[minute] = size.get(minute, 0.0) + events
            latency[minute] = latency.get(minute, 0.0) + events * mean
            passed = sum(total / paths[producer] for producer, total in totals.items())
            origins[minute] = origins.get(minute, 0.0) + passed
        return {minute: (latency[minute] / size[minute], origins[minute] / 60.0) for minute in size}

    def overall(self, consumer: Node) -> tuple[float | None, float]:
        """Latency and throughput of the whole run: the latter over the seconds that have a record."""
        paths = count_paths(consumer)
        seconds = {math.floor(end / 1000.0) for end, *_ in consumer.consumed}
        size = sum(events for _, events, _, _ in consumer.consumed)
        latency = sum(events * mean for _, events, mean, _ in consumer.consumed)
        origins = sum(t / paths[p] for *_, totals in consumer.consumed for p, t in totals.items())
        return latency / size if size else None, origins / len(seconds) if seconds else 0.0

    def consumers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.described.kind == "consumer"]


def order_members(place: Place) -> list[Node]:
    """1.11: after each vertex, all those seen so far that wait for nobody any more, in the order they were seen."""
    here = {node.id for node in place.members}
    starts = [node for node in place.members if not any(link.source.id in here for link in node.inputs)]
    order = sorted(starts, key=lambda node: node.id)
    seen: list[Node] = []
    position = 0
    while position < len(order):
        for link in order[position].outputs:
            if link.target.id in here and link.target not in order and link.target not in seen:
                seen.append(link.target)
        ready = [node for node in seen if all(link.source in order for link in node.inputs)]
        seen = [node for node in seen if node not in ready]
        order += ready
        position += 1
    return order


def divide(amount: float, place: Place, allocation: str) -> dict[str, float]:
    """1.9"""
    if allocation == "uniform":
        return {node.id: amount / len(place.members) for node in place.members}
    queries = sorted({query for node in place.members for query in node.works_for})
    each = amount / len(queries)
    given = {node.id: 0.0 for node in place.members}
    for query in queries:
        members = [node for node in place.members if query in node.works_for]
        whole = 0.0
        for node in members:
            whole += node.described.weight * node.described.ipe
        for node in members:
            given[node.id] += node.described.ipe * node.described.weight / whole * each
    return given


def count_paths(node: Node) -> dict[str, int]:
    if node.described.kind == "producer":
        return {node.id: 1}
    paths: dict[str, int] = {}
    for link in node.inputs:
        for producer, count in count_paths(link.source).items():
            paths[producer] = paths.get(producer, 0) + count
    return paths
