"""Random scenarios, from idle to overloaded: for comparing engines with one another.

A scenario is made of its seed alone.  Queries are graphs with splits and merges (every vertex is on a way from a
producer to a consumer), in one or several copies, with or without windows, on one to three machines; rates are chosen
so that about a third of the scenarios has nothing to wait for, a third is near its limit, and a third is overloaded.
With fidelity "corrected" there are links, micro-batches, and actions and failures while it runs.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from cepheid.deployment import Deploy, Move, Retire, TimedAction
from cepheid.simulation.arrivals.arrivals import ArrivalProcess
from cepheid.simulation.arrivals.increase import Increase
from cepheid.simulation.arrivals.poisson import Poisson
from cepheid.simulation.arrivals.uniform import Uniform
from cepheid.simulation.scenario import (
    Failure,
    Fidelity,
    Link,
    MicroBatch,
    Query,
    Scenario,
    ScenarioEdge,
    ScenarioVertex,
    Vm,
)

SELECTIVITIES = (1.0, 1.0, 1.0, 0.95, 0.5, 0.1, 2.0)
TICKS_S = (0.01, 0.1, 0.1, 0.25, 1.0)


def make_scenario(seed: int, fidelity: Fidelity = "cepsim", ticks: int = 60, only_uniform: bool = False) -> Scenario:
    """ticks: how long it runs.  only_uniform: no other arrivals."""
    random = Random(f"{seed} {fidelity}")
    tick_s = random.choice(TICKS_S)
    vms = tuple(
        Vm(name=f"vm{number}", pes=random.choice((1, 1, 2, 4)), mips=random.choice((100.0, 1000.0, 2500.0)))
        for number in range(random.choice((1, 1, 2, 3)))
    )
    load = random.choice((0.05, 0.3, 0.8, 1.0, 1.3, 4.0))  # 1: what the slowest machine could do alone, about
    queries = [_make_query(random, f"q{number}", vms, tick_s) for number in range(random.choice((1, 1, 2, 3)))]
    scenario = Scenario(
        queries=tuple(_give_arrivals(random, query, queries, vms, load, only_uniform) for query in queries),
        vms=vms,
        duration_s=ticks * tick_s,
        tick_s=tick_s,
        iterations=random.choice((1, 1, 1, 2, 3, 10)),
        fidelity=fidelity,
        scheduler=random.choice(("simple", "dynamic", "dynamic")),
        allocation=random.choice(("uniform", "weighted")),
        network_delay_s=random.choice((0.0, 0.001, 0.001, 0.3 * tick_s, tick_s, 2.5 * tick_s)),
        cloudlet_pes=random.choice((None, 1, 1, 2, 3)),
        placements=random.choice(("vm", "vm", "query")),
    )
    return scenario if fidelity == "cepsim" else _add_what_cepsim_lacks(random, scenario)


def _add_what_cepsim_lacks(random: Random, scenario: Scenario) -> Scenario:
    names, tick_s = [vm.name for vm in scenario.vms], scenario.tick_s
    links = tuple(
        Link(
            source=a,
            target=b,
            latency_s=random.choice((0.0, 0.002, 1.7 * tick_s)),
            bandwidth_mbps=random.choice((0.0, 0.1, 10.0)),
        )
        for a in names
        for b in names
        if a != b and random.random() < 0.5
    )
    if random.random() < 0.3:
        batch = MicroBatch(
            interval_s=random.choice((0.0, 0.5 * tick_s, 3.0 * tick_s)),
            overhead_s=random.choice((0.0, 0.2 * tick_s, 2.0 * tick_s)),
            max_events=random.choice((0.0, 0.0, 100.0)),
        )
        scenario = replace(scenario, scheduler="micro_batch", micro_batch=batch)
    if random.random() < 0.4:
        changes = [_make_change(random, scenario) for _ in range(random.randint(1, 4))]
        failures = tuple(each for each in changes if isinstance(each, Failure))
        actions = tuple(each for each in changes if isinstance(each, TimedAction))
        scenario = replace(scenario, failures=failures, actions=actions, placements="vm")
    queries = tuple(_let_shed(random, query) for query in scenario.queries)
    return replace(scenario, links=links, queries=queries)


def _let_shed(random: Random, query: Query) -> Query:
    """Some producers turn away what there is no room for."""
    vertices = tuple(
        replace(vertex, sheds=vertex.kind == "producer" and random.random() < 0.2) for vertex in query.vertices
    )
    return replace(query, vertices=vertices)


def _make_change(random: Random, scenario: Scenario) -> TimedAction | Failure:
    """At some time of the run: a vertex or a query moves, a query is retired or deployed, a machine fails."""
    query, vm = random.choice(scenario.queries), random.choice(scenario.vms)
    at_s = random.uniform(0.0, scenario.duration_s)
    match random.choice(("move", "move_query", "retire", "deploy", "fail")):
        case "move":
            return TimedAction(
                at_s,
                Move(
                    query=query.name,
                    vertex=random.choice(query.vertices).id,
                    machine=vm.name,
                    pause_s=random.choice((0.0, 2.3 * scenario.tick_s)),
                ),
            )
        case "move_query":
            return TimedAction(at_s, Move(query=query.name, machine=vm.name))
        case "retire":
            return TimedAction(at_s, Retire(name=query.name))
        case "deploy":
            return TimedAction(at_s, Deploy(name=query.name))
        case _:
            for_s = random.uniform(0.5, 20.0) * scenario.tick_s
            return Failure(
                at_s=at_s, machine=vm.name, for_s=for_s, loses=random.choice(("queues", "nothing")) == "queues"
            )


def _make_query(random: Random, name: str, vms: tuple[Vm, ...], tick_s: float) -> Query:
    """Vertices in layers; edges lead to later layers only.  Ids are unique in the scenario, as CEPSim asks."""
    kinds = ["producer"] * random.choice((1, 1, 2, 3))
    middle = random.randint(0, 6)
    kinds += [random.choice(("operator", "operator", "window")) for _ in range(middle)]
    kinds += ["consumer"] * random.choice((1, 1, 2))
    random_names = random.sample([f"{letter}{number}" for letter in "abcxyz" for number in range(4)], len(kinds))
    ids = [f"{each}_{name}" for each in random_names]
    queue = random.choice((0.0, 20.0, 200.0, 2048.0))
    vertices = [_make_vertex(random, vertex, kind, queue, tick_s) for vertex, kind in zip(ids, kinds, strict=True)]
    return Query(
        name=name,
        vertices=tuple(vertices),
        edges=tuple(_join_vertices(random, vertices)),
        placement=_place(random, ids, vms),
        copies=random.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 11)),
    )


def _make_vertex(random: Random, name: str, kind: str, queue: float, tick_s: float) -> ScenarioVertex:
    ipe = random.choice((1000.0, 2000.0, 18000.0, 41250.0, 90000.0, 12345.678))
    weight = random.choice((1.0, 1.0, 2.0, 5.0))
    if random.random() < 0.2:
        queue = random.choice((0.0, 50.0, 1000.0))
    match kind:
        case "producer":
            return ScenarioVertex(id=name, kind="producer", ipe=ipe, weight=weight, limited=random.random() < 0.8)
        case "window":
            advance_s = tick_s * random.choice((0.5, 1.0, 3.0, 10.0, 17.0))
            return ScenarioVertex(
                id=name,
                kind="window",
                ipe=ipe,
                queue=queue,
                weight=weight,
                window_s=advance_s * random.choice((1, 1, 2, 5)),
                advance_s=advance_s,
                output=random.choice((None, 1.0, 10.0, 100.0, 1000.0)),
                limits_output=random.random() < 0.6,
            )
        case "operator":
            return ScenarioVertex(id=name, kind="operator", ipe=ipe, queue=queue, weight=weight)
        case _:
            return ScenarioVertex(id=name, kind="consumer", ipe=ipe, queue=queue, weight=weight)


def _join_vertices(random: Random, vertices: list[ScenarioVertex]) -> list[ScenarioEdge]:
    """Every vertex that may have inputs gets one, every one that may have outputs too, and some get more."""
    pairs: dict[tuple[int, int], None] = {}
    targets = [place for place, vertex in enumerate(vertices) if vertex.kind != "producer"]
    sources = [place for place, vertex in enumerate(vertices) if vertex.kind != "consumer"]
    for place in targets:
        before = [each for each in sources if each < place]
        for source in random.sample(before, min(len(before), random.choice((1, 1, 1, 2, 3)))):
            pairs[source, place] = None
    for place in sources:
        if not any(source == place for source, _ in pairs):
            pairs[place, random.choice([each for each in targets if each > place])] = None
    return [ScenarioEdge(vertices[a].id, vertices[b].id, random.choice(SELECTIVITIES)) for a, b in pairs]


def _place(random: Random, ids: list[str], vms: tuple[Vm, ...]) -> dict[str, str]:
    """All on one machine, or a part of the graph on each, or anywhere."""
    way = random.choice(("together", "cut", "anywhere"))
    if way == "together":
        return dict.fromkeys(ids, random.choice(vms).name)
    if way == "cut":
        return {each: vms[place * len(vms) // len(ids)].name for place, each in enumerate(ids)}
    return {each: random.choice(vms).name for each in ids}


def _give_arrivals(
    random: Random, query: Query, queries: list[Query], vms: tuple[Vm, ...], load: float, only_uniform: bool
) -> Query:
    """An event costs about as much as everything that it may reach, once."""
    cost = sum(vertex.ipe for vertex in query.vertices) * query.copies * len(queries)
    rate = load * min(vm.mips for vm in vms) * 1e6 / cost
    vertices = []
    for vertex in query.vertices:
        if vertex.kind == "producer":
            exact = max(round(rate * random.choice((0.5, 1.0, 1.0)), random.choice((0, 3))), 0.5)
            kind = random.choice(("uniform", "uniform", "poisson", "increase"))
            arrivals: ArrivalProcess = Uniform(exact)
            if kind == "poisson" and not only_uniform:
                arrivals = Poisson(exact, seed=random.randint(1, 9))
            elif kind == "increase" and not only_uniform:
                arrivals = Increase(exact, duration_s=random.uniform(0.1, 10.0))
            vertices.append(replace(vertex, arrivals=arrivals))
        else:
            vertices.append(vertex)
    return replace(query, vertices=tuple(vertices))


def double(scenario: Scenario) -> Scenario:
    """The same once more beside it, on machines of its own; without links and what happens, which name machines."""

    def rename(name: str) -> str:
        return name + "_too"

    others = tuple(
        replace(
            query,
            name=rename(query.name),
            placement={vertex: rename(vm) for vertex, vm in query.placement.items()},
        )
        for query in scenario.queries
    )
    return replace(
        scenario,
        queries=scenario.queries + others,
        vms=scenario.vms + tuple(replace(vm, name=rename(vm.name)) for vm in scenario.vms),
        placements="vm",
        links=(),
        failures=(),
        actions=(),
    )
