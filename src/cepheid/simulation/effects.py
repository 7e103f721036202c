"""What an action does to a running simulation, decided without touching it: it gives the next situation, and what the
engine has to do beside adopting that.

Deploy, Alter, Retire    query_versions.py
Move                     vertices go to another machine; they stand still for `pause_s` and while their state is on the
                         network
AddMachine               a machine is there from now on
RemoveMachine            it is gone, and what was placed on it stands still
Scale                    a machine, or the cluster of an application, has another number of cores
MoveGroups, Replan       are refused: there are no key groups here, and nothing that is measured anew

A failure is no action, but happens likewise: a machine stands still for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from cepheid.cost.profile import NOMINAL_MIPS
from cepheid.deployment import (
    Action,
    AddMachine,
    Alter,
    Deploy,
    Move,
    MoveGroups,
    RemoveMachine,
    Replan,
    Retire,
    Scale,
    TimedAction,
)
from cepheid.errors import InvalidInput, NotSupportedYet, suggest_name
from cepheid.simulation.layout import Layout
from cepheid.simulation.network import build_network
from cepheid.simulation.query_versions import Situation, alter, deploy, retire
from cepheid.simulation.scenario import Failure, Query, Scenario, Vm


@dataclass(frozen=True, slots=True)
class Effects:
    """discard: vertices that lose what they hold, beside those that run no more.  block: vertices and for how many
    ms; halt: a machine likewise."""

    situation: Situation
    discard: tuple[int, ...] = ()
    block: tuple[tuple[int, float], ...] = field(default=())
    halt: tuple[tuple[int, float], ...] = field(default=())


def first_situation(scenario: Scenario) -> Situation:
    """Of what comes and goes, what comes first is not there before."""
    comes: dict[str, bool] = {}
    is_added: dict[str, bool] = {}
    for timed in in_order(scenario.actions):
        match timed.action:
            case Deploy(name=name) | Retire(name=name):
                comes.setdefault(name, isinstance(timed.action, Deploy))
            case AddMachine(name=name) | RemoveMachine(name=name):
                is_added.setdefault(name, isinstance(timed.action, AddMachine))
    return Situation(
        scenario,
        frozenset(query.name for query in scenario.queries if comes.get(query.title)),
        frozenset(vm.name for vm in scenario.vms if is_added.get(vm.name)),
    )


def in_order(actions: tuple[TimedAction, ...]) -> list[TimedAction]:
    return sorted(actions, key=lambda timed: timed.at_s)


def decide_effects(what: Action | Failure, now: Situation, layout: Layout) -> Effects:
    match what:
        case Deploy():
            return Effects(deploy(what, now, layout))
        case Alter():
            return Effects(alter(what, now, layout))
        case Retire():
            return Effects(retire(what, now))
        case Move():
            return _move(what, now, layout)
        case AddMachine():
            return Effects(_add_machine(what, now))
        case RemoveMachine(name=name):
            vm = _find_vm(now.scenario, name)
            lost = _vertices_on(layout, vm) if what.loses else ()
            return Effects(replace(now, absent=now.absent | {name}), lost)
        case Scale():
            return Effects(_scale(what, now, layout))
        case MoveGroups():
            raise NotSupportedYet(
                f'moving key groups of "{what.vertex}" in a simulation',
                hint="events are counted there and have no keys; Move takes the whole vertex to another machine",
            )
        case Replan():
            raise NotSupportedYet(
                "planning again in a simulation",
                hint="its costs and selectivities are given and none is measured anew; Alter gives it another query",
            )
        case Failure():
            vm = _find_vm(now.scenario, what.machine)
            lost = _vertices_on(layout, vm) if what.loses else ()
            return Effects(now, lost, halt=((vm, what.for_s * 1000.0),))


def _move(action: Move, now: Situation, layout: Layout) -> Effects:
    scenario, target = now.scenario, _find_vm(now.scenario, action.machine)
    queries = {query.name: query for query in now.versions(action.query)}
    if not 0.0 <= action.pause_s < math.inf:
        raise InvalidInput(f"a pause of {action.pause_s:g} s", hint="pause_s is 0 or more")
    known = list(dict.fromkeys(vertex.id for query in queries.values() for vertex in query.vertices))
    if action.vertex and action.vertex not in known:
        hint = suggest_name(action.vertex, known)
        raise InvalidInput(f'query "{action.query}": vertex "{action.vertex}" does not exist', hint=hint)
    moved = {action.vertex} if action.vertex else set(known)
    network = build_network(scenario)
    vm_number = {vm.name: number for number, vm in enumerate(scenario.vms)}
    blocked = []
    for number, instance in enumerate(layout.instances):
        if instance.query not in queries:
            continue
        vertex = instance.vertex
        source = vm_number[queries[instance.query].placement[vertex.id]]
        if vertex.id in moved and source != target:
            link = int(network.link[source, target]) if scenario.links else -1
            took = network.latency_ms[link] + vertex.state_bytes * network.ms_per_byte[link]
            blocked.append((number, action.pause_s * 1000.0 + float(took)))

    def place(query: Query) -> Query:
        placement = {vertex: action.machine if vertex in moved else vm for vertex, vm in query.placement.items()}
        return replace(query, placement=placement)

    placed = tuple(place(query) if query.name in queries else query for query in scenario.queries)
    return Effects(replace(now, scenario=replace(scenario, queries=placed)), block=tuple(blocked))


def _add_machine(action: AddMachine, now: Situation) -> Situation:
    scenario, name = now.scenario, action.name
    known = next((vm for vm in scenario.vms if vm.name == name), None)
    if known is not None and name not in now.absent:
        hint = f'Scale(machine="{name}", engines=...) gives it other cores'
        raise InvalidInput(f'machine "{name}" is there already', hint=hint)
    before = known or Vm(name=name, mips=NOMINAL_MIPS)
    vm = replace(
        before,
        pes=before.pes if action.cores is None else action.cores,
        mips=before.mips if action.speed is None else action.speed * NOMINAL_MIPS,
        price_per_hour=before.price_per_hour if action.price_per_hour is None else action.price_per_hour,
    )
    if not (vm.pes >= 1 and 0.0 < vm.mips < math.inf and 0.0 <= vm.price_per_hour < math.inf):
        hint = "cores are 1 or more, speed is above 0, price_per_hour is 0 or more"
        raise InvalidInput(f'machine "{name}" cannot be of that kind', hint=hint)
    vms = tuple(vm if each.name == name else each for each in scenario.vms) if known else (*scenario.vms, vm)
    return replace(now, scenario=replace(scenario, vms=vms), absent=now.absent - {name})


def _scale(action: Scale, now: Situation, layout: Layout) -> Situation:
    if action.engines < 1:
        raise InvalidInput(f"{action.engines} engines", hint="give 1 or more; Retire ends a query")
    if action.vertex and not action.query:
        raise InvalidInput(f'vertex "{action.vertex}" of which query?', hint="give query as well")
    if action.query or action.machine:
        name = _find_machine_of(action, now, layout) if action.query else action.machine
        _find_vm(now.scenario, name)
        return _with_cores(now, name, action.engines)
    if now.scenario.planner is not None:
        scaled = now.scenario.planner.scale(action.engines)
        queries = tuple(
            replace(query, vertices=tuple(replace(v, ipe=scaled.costs[v.id]) for v in query.vertices))
            if query.name in scaled.queries
            else query
            for query in now.scenario.queries
        )
        scenario = replace(now.scenario, queries=queries, planner=scaled.planner)
        return _with_cores(replace(now, scenario=scenario), scaled.machine, scaled.cores)
    there = [vm.name for vm in now.scenario.vms if vm.name not in now.absent]
    if len(there) != 1:
        hint = f'name one, as in Scale(machine="{there[0]}", engines=4)' if there else "AddMachine first"
        raise InvalidInput(f"{len(there)} machines to be scaled at once", hint=hint)
    return _with_cores(now, there[0], action.engines)


def _with_cores(now: Situation, machine: str, cores: int) -> Situation:
    vms = tuple(replace(vm, pes=cores) if vm.name == machine else vm for vm in now.scenario.vms)
    return replace(now, scenario=replace(now.scenario, vms=vms))


def _find_machine_of(action: Scale, now: Situation, layout: Layout) -> str:
    """The machine that a query or vertex has for itself."""
    queries = {query.name for query in now.versions(action.query)}
    places = [int(place) for place in layout.placement]
    own = {
        number
        for number, instance in enumerate(layout.instances)
        if instance.query in queries and places[number] >= 0 and action.vertex in ("", instance.vertex.id)
    }
    what = f'vertex "{action.vertex}" of query "{action.query}"' if action.vertex else f'query "{action.query}"'
    if not own:
        known = [vertex.id for query in now.versions(action.query) for vertex in query.vertices]
        hint = suggest_name(action.vertex, known) if action.vertex else "Deploy lets it begin"
        raise InvalidInput(f"{what} does not run", hint=hint)
    machines = {layout.vm[places[number]] for number in own}
    beside = {number for number, place in enumerate(places) if place >= 0 and layout.vm[place] in machines} - own
    if len(machines) > 1 or beside:
        raise NotSupportedYet(
            f"scaling {what}, which has no machine for itself, in a simulation",
            hint="Move it to a machine of its own, or scale a machine with all that is on it",
        )
    if action.vertex and now.scenario.scheduler != "micro_batch":
        raise NotSupportedYet(
            f'scaling {what} with scheduler "{now.scenario.scheduler}"',
            hint="there a vertex runs on one core at a time; the scheduler micro_batch lets it use all of them",
        )
    return now.scenario.vms[machines.pop()].name


def _find_vm(scenario: Scenario, name: str) -> int:
    for number, vm in enumerate(scenario.vms):
        if vm.name == name:
            return number
    raise InvalidInput(f'machine "{name}" does not exist', hint=suggest_name(name, [vm.name for vm in scenario.vms]))


def _vertices_on(layout: Layout, vm: int) -> tuple[int, ...]:
    return tuple(
        number for number, place in enumerate(map(int, layout.placement)) if place >= 0 and layout.vm[place] == vm
    )
