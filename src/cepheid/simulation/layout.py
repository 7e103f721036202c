"""A scenario as tables of numbers: what both engines read.

Every copy of a query becomes vertices and edges of its own, numbered through.  `name` of an edge's end may be
`other.vertex`: a vertex of another query, which both then share.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.allocation import Share, find_allocation
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.placement_order import order_placement
from cepheid.simulation.scenario import Query, Scenario, ScenarioVertex

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
KINDS = ("producer", "operator", "window", "consumer")
PRODUCER, OPERATOR, WINDOW, CONSUMER = range(4)


@dataclass(frozen=True, slots=True)
class Instance:
    """A vertex of one copy of a query.  name: unique, and what orders vertices, as in CEPSim."""

    vertex: ScenarioVertex
    query: str
    copy: int
    name: str


@dataclass(frozen=True, slots=True)
class Layout:
    """n vertices, e edges, p placements.

    inputs_of[v], outputs_of[v]: edges, in the order of the query; nothing goes out to what is not deployed.
    slot[v]: the place of a producer among those of its family, the queries that share vertices with its own;
    width[v]: how many producers that family has.
    order[p]: the vertices of a placement in the order of their turns; part, whole: see allocation.py.
    paths[v]: of a consumer, how many ways lead from each producer of its family to it.
    """

    instances: list[Instance]
    rank: Ints  # of each vertex, in the alphabetical order of names
    kind: Ints
    source: Ints
    target: Ints
    selectivity: Floats
    inputs_of: list[list[int]]
    outputs_of: list[list[int]]
    slot: Ints
    width: Ints
    deployed: npt.NDArray[np.bool_]  # a query that is deployed needs the vertex
    placement: Ints  # of each vertex; -1: it does not run (its machine is not there, its query not deployed)
    vm: list[int]  # of each placement
    order: list[list[int]]
    part: Floats
    whole: Floats
    paths: dict[int, Floats]
    pes: Ints  # processors of each placement
    capacity: Floats  # of each placement: MIPS of one processor

    def producers(self) -> list[int]:
        return [int(v) for v in np.flatnonzero(self.kind == PRODUCER)]

    def consumers(self) -> list[int]:
        return [int(v) for v in np.flatnonzero(self.kind == CONSUMER)]

    def upstream(self, vertex: int) -> list[int]:
        """The vertex and all that leads to it, each after those that it leads to."""
        return find_upstream(vertex, self.inputs_of, self.source)

    def arrivals(self, vertex: int) -> ArrivalProcess:
        arrivals = self.instances[vertex].vertex.arrivals
        assert arrivals is not None, "a producer has arrivals"
        return arrivals


def lay_out(scenario: Scenario, undeployed: Collection[str] = (), absent: Collection[str] = ()) -> Layout:
    """undeployed: queries that do not run now; absent: machines that are not there.  What is placed on an absent
    machine, or belongs to an undeployed query and is needed by no other, keeps its numbers, and does not run."""
    instances: list[Instance] = []
    number: dict[tuple[str, int, str], int] = {}
    for query in scenario.queries:
        for copy in range(query.copies):
            for vertex in query.vertices:
                suffix = str(copy + 1) if query.copies > 1 else ""
                number[query.name, copy, vertex.id] = len(instances)
                instances.append(Instance(vertex, query.name, copy, vertex.id + suffix))
    edges = _wire(scenario.queries, number)
    source = np.array([edge[0] for edge in edges], np.int64)
    target = np.array([edge[1] for edge in edges], np.int64)
    deployed = _find_deployed(scenario.queries, number, edges, undeployed)
    runs: list[bool] = deployed.tolist()  # quicker than an array, one by one
    inputs_of, outputs_of = _connect(edges, runs)
    kind = np.array([KINDS.index(each.vertex.kind) for each in instances], np.int64)
    family, members = _find_families(scenario.queries, edges)
    slot, width = _number_producers(kind, family)
    placement, vms, groups = _place(scenario, number, runs, absent)
    pes, capacity = _share_machines(scenario, vms, groups)
    order = [
        order_placement(
            group,
            lambda v: [int(source[e]) for e in inputs_of[v]],
            lambda v: [int(target[e]) for e in outputs_of[v]],
            lambda v: instances[v].name,
            waits_for_all=scenario.fidelity == "cepsim",
        )
        for group in groups
    ]
    part, whole = _allocate(scenario.allocation, instances, groups, members)
    return Layout(
        instances=instances,
        rank=_rank_names(instances),
        kind=kind,
        source=source,
        target=target,
        selectivity=np.array([edge[2] for edge in edges], np.float64),
        inputs_of=inputs_of,
        outputs_of=outputs_of,
        slot=slot,
        width=width,
        deployed=deployed,
        placement=placement,
        vm=vms,
        order=order,
        part=part,
        whole=whole,
        paths={
            int(v): _count_paths(int(v), slot, int(width[v]), inputs_of, source, kind)
            for v in np.flatnonzero(kind == CONSUMER)
        },
        pes=pes,
        capacity=capacity,
    )


def _allocate(
    name: str, instances: list[Instance], groups: list[list[int]], members: list[tuple[int, ...]]
) -> tuple[Floats, Floats]:
    """members: the queries that each vertex works for."""
    part, whole = np.zeros(len(instances)), np.ones(len(instances))
    allocate = find_allocation(name)
    for group in groups:
        shares = [Share(v.ipe, v.weight, members[i], v.queue) for i in group for v in [instances[i].vertex]]
        for i, (upper, lower) in zip(group, allocate(shares), strict=True):
            if not (upper > 0.0 and lower > 0.0):
                raise InvalidInput(
                    f'allocation "{name}" gives vertex "{instances[i].name}" {upper:g} of {lower:g}',
                    hint="every vertex needs a part above 0: without one it would never run",
                )
            part[i], whole[i] = upper, lower
    return part, whole


def _rank_names(instances: list[Instance]) -> Ints:
    rank = np.zeros(len(instances), np.int64)
    rank[sorted(range(len(instances)), key=lambda number: instances[number].name)] = np.arange(len(instances))
    return rank


def _wire(queries: tuple[Query, ...], number: dict[tuple[str, int, str], int]) -> list[tuple[int, int, float]]:
    copies = {query.name: query.copies for query in queries}
    wired = []
    for query in queries:
        for copy in range(query.copies):
            for edge in query.edges:
                start, end = (_find(query, copy, name, number, copies) for name in (edge.source, edge.target))
                wired.append((start, end, edge.selectivity))
    return wired


def _find(query: Query, copy: int, name: str, number: dict[tuple[str, int, str], int], copies: dict[str, int]) -> int:
    found = number.get((query.name, copy, name))
    if found is None and "." in name:
        other, _, vertex = name.partition(".")
        found = number.get((other, copy if copies.get(other, 1) > 1 else 0, vertex))
    if found is None:
        known = [vertex.id for vertex in query.vertices]
        raise InvalidInput(f'query "{query.name}": vertex "{name}" does not exist', hint=suggest_name(name, known))
    return found


def _connect(edges: list[tuple[int, int, float]], deployed: list[bool]) -> tuple[list[list[int]], list[list[int]]]:
    inputs_of: list[list[int]] = [[] for _ in deployed]
    outputs_of: list[list[int]] = [[] for _ in deployed]
    for edge, (start, end, _) in enumerate(edges):
        inputs_of[end].append(edge)
        if deployed[end] or not deployed[start]:
            outputs_of[start].append(edge)
    return inputs_of, outputs_of


def _find_deployed(
    queries: tuple[Query, ...],
    number: dict[tuple[str, int, str], int],
    edges: list[tuple[int, int, float]],
    undeployed: Collection[str],
) -> npt.NDArray[np.bool_]:
    """Vertices of queries that are deployed, what they keep of earlier versions, and what leads to them."""
    deployed = np.array([query not in undeployed for query, _, _ in number], np.bool_)
    for query in queries:
        for address in query.keeps if query.name not in undeployed else ():
            other, _, kept = address.partition(".")
            deployed[[number[other, copy, kept] for copy in range(query.copies)]] = True
    if deployed.all():
        return deployed
    before: dict[int, list[int]] = {}
    for start, end, _ in edges:
        before.setdefault(end, []).append(start)
    waiting = [int(vertex) for vertex in np.flatnonzero(deployed)]
    while waiting:
        for vertex in before.get(waiting.pop(), ()):
            if not deployed[vertex]:
                deployed[vertex] = True
                waiting.append(vertex)
    return deployed


def _find_families(
    queries: tuple[Query, ...], edges: list[tuple[int, int, float]]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """For each vertex the family (queries that share vertices are one), and the queries that it works for."""
    own: list[int] = []
    for number, each in enumerate(query for query in queries for _ in range(query.copies)):
        own += [number] * len(each.vertices)
    parent = list(range(own[-1] + 1)) if own else []

    def root(query: int) -> int:
        while parent[query] != query:
            parent[query] = parent[parent[query]]
            query = parent[query]
        return query

    shared = [(start, end) for start, end, _ in edges if own[start] != own[end]]
    for start, end in shared:
        parent[root(own[start])] = root(own[end])
    families = [root(query) for query in own]
    works_for: list[tuple[int, ...]] = [(query,) for query in own]
    return families, _find_sharers(works_for, shared, edges) if shared else works_for


def _find_sharers(
    works_for: list[tuple[int, ...]], shared: list[tuple[int, int]], edges: list[tuple[int, int, float]]
) -> list[tuple[int, ...]]:
    """What leads to a vertex of another query works for that query too."""
    before: dict[int, list[int]] = {}
    for start, end, _ in edges:
        before.setdefault(end, []).append(start)
    sharers = [set(queries) for queries in works_for]
    waiting = [(start, query) for start, end in shared for query in works_for[end]]
    while waiting:
        vertex, query = waiting.pop()
        if query not in sharers[vertex]:
            sharers[vertex].add(query)
            waiting += [(each, query) for each in before.get(vertex, ())]
    return [tuple(sorted(queries)) for queries in sharers]


def _number_producers(kind: Ints, family: list[int]) -> tuple[Ints, Ints]:
    slot = np.full(len(kind), -1, np.int64)
    counts: dict[int, int] = {}
    for vertex, each in enumerate(family):
        if kind[vertex] == PRODUCER:
            slot[vertex] = counts.get(each, 0)
            counts[each] = counts.get(each, 0) + 1
    return slot, np.array([counts.get(each, 0) for each in family], np.int64)


def _place(
    scenario: Scenario,
    number: dict[tuple[str, int, str], int],
    deployed: list[bool],
    absent: Collection[str],
) -> tuple[Ints, list[int], list[list[int]]]:
    """One placement for each machine, also for those that hold nothing, or one for each query on it."""
    vm_number = {vm.name: place for place, vm in enumerate(scenario.vms)}
    grouped: dict[tuple[int, ...], list[int]] = {}
    if scenario.placements == "vm":
        grouped = {(place,): [] for place in range(len(scenario.vms))}
    for query_number, query in enumerate(scenario.queries):
        homes: list[tuple[str, tuple[int, ...]]] = []
        for vertex in query.vertices:
            name = query.placement.get(vertex.id)
            if name is None:
                hint = "name its machine in the placement of the query"
                raise InvalidInput(f'query "{query.name}": vertex "{vertex.id}" is placed nowhere', hint=hint)
            if name not in vm_number:
                hint = suggest_name(name, vm_number)
                raise InvalidInput(f'query "{query.name}": machine "{name}" does not exist', hint=hint)
            if name not in absent:
                vm = vm_number[name]
                homes.append((vertex.id, (vm,) if scenario.placements == "vm" else (vm, query_number)))
        for copy in range(query.copies):
            for vertex_id, home in homes:
                instance = number[query.name, copy, vertex_id]
                if deployed[instance]:
                    grouped.setdefault(home, []).append(instance)
    placement = np.full(len(number), -1, np.int64)
    homes_in_order = sorted(grouped)
    for place, home in enumerate(homes_in_order):
        placement[grouped[home]] = place
    return placement, [home[0] for home in homes_in_order], [grouped[home] for home in homes_in_order]


def _share_machines(scenario: Scenario, vms: list[int], groups: list[list[int]]) -> tuple[Ints, Floats]:
    """CloudSim's time sharing: what a machine has, divided by the processors that are asked for or there."""
    holders = [0] * len(scenario.vms)
    for number, group in zip(vms, groups, strict=True):
        holders[number] += 1 if group else 0
    pes, capacity = np.ones(len(vms), np.int64), np.zeros(len(vms))
    for place, number in enumerate(vms):
        vm = scenario.vms[number]
        asked = scenario.cloudlet_pes or (1 if scenario.fidelity == "cepsim" else vm.pes)
        pes[place] = asked
        capacity[place] = vm.pes * vm.mips / max(asked * max(holders[number], 1), vm.pes)
    return pes, capacity


def _count_paths(consumer: int, slot: Ints, width: int, inputs_of: list[list[int]], source: Ints, kind: Ints) -> Floats:
    """From each producer of the family to the consumer; at least 1, so that nothing is divided by zero."""
    ways: dict[int, int] = {}
    for vertex in find_upstream(consumer, inputs_of, source):  # successors before their predecessors
        ways[vertex] = ways.get(vertex, 0) or int(vertex == consumer)
        for edge in inputs_of[vertex]:
            before = int(source[edge])
            ways[before] = ways.get(before, 0) + ways[vertex]
    paths = np.zeros(width)
    for vertex, count in ways.items():
        if kind[vertex] == PRODUCER:
            paths[slot[vertex]] = count
    return np.maximum(paths, 1.0)


def find_upstream(last: int, inputs_of: list[list[int]], source: Ints) -> list[int]:
    """A vertex and all that leads to it, each after those that it leads to."""
    order: list[int] = []
    seen: set[int] = set()
    stack: list[tuple[int, bool]] = [(last, False)]
    while stack:
        vertex, done = stack.pop()
        if done:
            order.append(vertex)
        elif vertex not in seen:
            seen.add(vertex)
            stack.append((vertex, True))
            stack += [(int(source[edge]), False) for edge in inputs_of[vertex]]
    return order[::-1]
