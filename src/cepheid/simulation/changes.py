"""What happens while a simulation runs, decided without touching it: a change gives the next scenario and what to do
to the engine.

deploy      a query begins; one that has a deploy later on is undeployed until then
retire      it ends; what it still had waiting is dropped, and counted
move        vertices go to another machine; they stand still for `pause_s` and while their state is on the network
fail        a machine stands still for `for_s`; what its vertices had waiting is lost, or (`loses = "nothing"`) kept
add_vm      a machine is there from now on; it is absent before
remove_vm   it is gone, with what was placed on it
resize      it has another number of processors
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheid.errors import InvalidInput, suggest_name
from cepheid.simulation.layout import Layout
from cepheid.simulation.network import build_network
from cepheid.simulation.scenario import Query, Scenario, ScenarioChange


@dataclass(frozen=True, slots=True)
class Situation:
    """A scenario as it is now.  undeployed: queries that do not run; absent: machines that are not there."""

    scenario: Scenario
    undeployed: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Effects:
    """What an engine has to do beside adopting the new situation.  block: vertices and for how many ms; halt: a machine
    likewise."""

    situation: Situation
    discard: tuple[int, ...] = ()
    block: tuple[tuple[int, float], ...] = field(default=())
    halt: tuple[tuple[int, float], ...] = field(default=())


def first_situation(scenario: Scenario) -> Situation:
    return Situation(
        scenario,
        frozenset(change.query for change in scenario.changes if change.action == "deploy"),
        frozenset(change.vm for change in scenario.changes if change.action == "add_vm"),
    )


def decide_effects(change: ScenarioChange, now: Situation, layout: Layout) -> Effects:
    scenario = now.scenario
    match change.action:
        case "deploy":
            _find_query(scenario, change.query)
            return Effects(replace(now, undeployed=now.undeployed - {change.query}))
        case "retire":
            _find_query(scenario, change.query)
            return Effects(replace(now, undeployed=now.undeployed | {change.query}), _vertices_of(layout, change.query))
        case "move":
            return _move(change, now, layout)
        case "fail":
            vm = _find_vm(scenario, change.vm)
            lost = _vertices_on(layout, vm) if change.loses == "queues" else ()
            return Effects(now, lost, halt=((vm, change.for_s * 1000.0),))
        case "add_vm":
            _find_vm(scenario, change.vm)
            return Effects(replace(now, absent=now.absent - {change.vm}))
        case "remove_vm":
            vm = _find_vm(scenario, change.vm)
            lost = _vertices_on(layout, vm) if change.loses == "queues" else ()
            return Effects(replace(now, absent=now.absent | {change.vm}), lost)
        case "resize":
            vm = _find_vm(scenario, change.vm)
            vms = tuple(replace(each, pes=change.pes) if n == vm else each for n, each in enumerate(scenario.vms))
            return Effects(replace(now, scenario=replace(scenario, vms=vms)))


def _move(change: ScenarioChange, now: Situation, layout: Layout) -> Effects:
    scenario = now.scenario
    query, target = _find_query(scenario, change.query), _find_vm(scenario, change.vm)
    known = [vertex.id for vertex in query.vertices]
    if change.vertex and change.vertex not in known:
        hint = suggest_name(change.vertex, known)
        raise InvalidInput(f'query "{query.name}": vertex "{change.vertex}" does not exist', hint=hint)
    moved = {change.vertex} if change.vertex else set(known)
    placement = {vertex: change.vm if vertex in moved else vm for vertex, vm in query.placement.items()}
    queries = tuple(
        replace(each, placement=placement) if each.name == query.name else each for each in scenario.queries
    )
    network = build_network(scenario)
    vm_number = {vm.name: number for number, vm in enumerate(scenario.vms)}
    blocked = []
    for number in _vertices_of(layout, query.name):
        vertex = layout.instances[number].vertex
        source = vm_number[query.placement[vertex.id]]
        if vertex.id in moved and source != target:
            link = int(network.link[source, target]) if scenario.links else -1
            took = network.latency_ms[link] + vertex.state_bytes * network.ms_per_byte[link]
            blocked.append((number, change.pause_s * 1000.0 + float(took)))
    return Effects(replace(now, scenario=replace(scenario, queries=queries)), block=tuple(blocked))


def _find_query(scenario: Scenario, name: str) -> Query:
    for query in scenario.queries:
        if query.name == name:
            return query
    hint = suggest_name(name, [query.name for query in scenario.queries])
    raise InvalidInput(f'query "{name}" does not exist', hint=hint)


def _find_vm(scenario: Scenario, name: str) -> int:
    for number, vm in enumerate(scenario.vms):
        if vm.name == name:
            return number
    raise InvalidInput(f'machine "{name}" does not exist', hint=suggest_name(name, [vm.name for vm in scenario.vms]))


def _vertices_of(layout: Layout, query: str) -> tuple[int, ...]:
    return tuple(number for number, instance in enumerate(layout.instances) if instance.query == query)


def _vertices_on(layout: Layout, vm: int) -> tuple[int, ...]:
    return tuple(
        number for number, place in enumerate(map(int, layout.placement)) if place >= 0 and layout.vm[place] == vm
    )
