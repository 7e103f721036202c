"""What may be varied in a scenario: pure functions, each from a scenario and a value to another scenario.

VARIATIONS is in the order in which several are applied: `rate` before `engines`, so that engines share that rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cepheid.deployment import (
    Action,
    AddMachine,
    Alter,
    Deploy,
    Move,
    RemoveMachine,
    Retire,
    Scale,
    TimedAction,
    describe_action,
)
from cepheid.errors import InvalidInput, NotSupportedYet, suggest_name
from cepheid.simulation.allocation import ALLOCATIONS
from cepheid.simulation.reference.schedulers import SCHEDULERS
from cepheid.simulation.scenario import Link, Query, Scenario, ScenarioEdge, ScenarioVertex
from cepheid.simulation.scenarios.scenario_checks import check_scenario

Value = int | float | str
HARMLESS = {"rate", "engines", "mips", "pes", "queue"}  # a scenario that fits together still does


@dataclass(frozen=True, slots=True)
class Variation:
    """kind: what its values are.  zero: may be 0.  known: the names it may be, of a kind `str`."""

    change: Callable[[Scenario, Any], Scenario]
    kind: type[int] | type[float] | type[str]
    zero: bool = False
    known: Callable[[], list[str]] = list

    def read(self, name: str, text: str) -> Value:
        """A value as written on the command line."""
        if self.kind is str:
            if text not in self.known():
                raise InvalidInput(f'"{text}" is no {name}', hint=suggest_name(text, self.known()))
            return text
        try:
            number = float(text)
        except ValueError:
            hint = f"write digits, as in {name}=100"
            raise InvalidInput(f'"{text}" is no number, as {name} needs', hint=hint) from None
        whole = math.isfinite(number) and number == int(number)
        if self.kind is int and not whole:
            hint = f"write it without decimals, as in {name}=4"
            raise InvalidInput(f'"{text}" is no whole number, as {name} needs', hint=hint)
        if not math.isfinite(number) or number < 0.0 or (number == 0.0 and not self.zero):
            least = "at least" if self.zero else "above"
            raise InvalidInput(f"{name} must be {least} 0, not {text}", hint=f"write for instance {name}=1")
        return int(number) if whole else number


def vary(scenario: Scenario, values: Mapping[str, Value]) -> Scenario:
    """By several at once, in the order of VARIATIONS."""
    for name in values:
        find_variation(name)
    for name, variation in VARIATIONS.items():
        if name in values:
            scenario = variation.change(scenario, values[name])
    if not values.keys() <= HARMLESS:
        check_scenario(scenario)
    return scenario


def find_variation(name: str) -> Variation:
    if name not in VARIATIONS:
        raise InvalidInput(f'"{name}" cannot be varied', hint=suggest_name(name, VARIATIONS))
    return VARIATIONS[name]


def rate_into(scenario: Scenario, query: Query) -> float:
    """Events per second that come into a copy of the query, over the whole run."""
    return sum(
        vertex.arrivals.mean_rate(scenario.duration_s) for vertex in query.vertices if vertex.arrivals is not None
    )


def with_rate(scenario: Scenario, rate_per_s: float) -> Scenario:
    """So many events per second into each copy of each query; its producers keep their proportions and their ways."""

    def change(query: Query) -> Query:
        before = rate_into(scenario, query)
        if not before:  # it lives on what other queries share with it
            return query
        return _with_vertices(query, lambda vertex: _scale_arrivals(vertex, rate_per_s / before))

    return _with_queries(scenario, change)


def with_engines(scenario: Scenario, engines: int) -> Scenario:
    """Everything `engines` times, each for its part of the events.

    Windows give out as many fewer events: the constant is a number of keys, and keys are divided among engines.  A
    server that fails is one server: only the first engine loses it.  Servers of datacentres are multiplied too.
    """
    if engines == 1:
        return scenario
    numbers = range(1, engines + 1)
    vms = {vm.name for vm in scenario.vms}
    return replace(
        scenario,
        queries=tuple(_take_part(query, number, engines) for number in numbers for query in scenario.queries),
        vms=tuple(replace(vm, name=_numbered(vm.name, number)) for number in numbers for vm in scenario.vms),
        datacentres=tuple(
            replace(centre, hosts=tuple(replace(host, count=host.count * engines) for host in centre.hosts))
            for centre in scenario.datacentres
        ),
        links=tuple(dict.fromkeys(_number_link(link, number, vms) for number in numbers for link in scenario.links)),
        failures=tuple(replace(each, machine=_numbered(each.machine, 1)) for each in scenario.failures),
        actions=tuple(
            TimedAction(timed.at_s, _number_action(timed.action, number, engines))
            for timed in scenario.actions
            for number in numbers
        ),
        planner=None,
    )


def _take_part(query: Query, number: int, engines: int) -> Query:
    ids = {vertex.id for vertex in query.vertices}

    def divide(vertex: ScenarioVertex) -> ScenarioVertex:
        output = vertex.output / engines if vertex.output is not None else None
        return replace(_scale_arrivals(vertex, 1.0 / engines), output=output)

    def rename(end: str) -> str:
        other, _, vertex = end.partition(".")
        return end if end in ids else f"{_numbered(other, number)}.{vertex}"

    return replace(
        _with_vertices(query, divide),
        name=_numbered(query.name, number),
        edges=tuple(ScenarioEdge(rename(edge.source), rename(edge.target), edge.selectivity) for edge in query.edges),
        placement={vertex: _numbered(vm, number) for vertex, vm in query.placement.items()},
    )


def _number_link(link: Link, number: int, vms: set[str]) -> Link:
    """Machines have become many, datacentres and clouds have not."""
    source, target = (_numbered(end, number) if end in vms else end for end in (link.source, link.target))
    return replace(link, source=source, target=target)


def _number_action(action: Action, number: int, engines: int) -> Action:
    """As one of the engines sees it."""
    match action:
        case Deploy(query=Query()) | Alter(query=Query()):
            assert isinstance(action.query, Query), "as the case says"
            return replace(action, name=_numbered(action.name, number), query=_take_part(action.query, number, engines))
        case Deploy(query=None) | Retire() | AddMachine() | RemoveMachine():
            return replace(action, name=_numbered(action.name, number))
        case Move():
            return replace(action, query=_numbered(action.query, number), machine=_numbered(action.machine, number))
        case Scale() if action.query or action.machine:
            query, machine = (_numbered(name, number) if name else "" for name in (action.query, action.machine))
            return replace(action, query=query, machine=machine)
    raise NotSupportedYet(
        f"more engines for a scenario that has the action {describe_action(action)}",
        hint="leave the action out, or vary something else",
    )


def _numbered(name: str, number: int) -> str:
    return f"{name}#{number}"


def _scale_arrivals(vertex: ScenarioVertex, factor: float) -> ScenarioVertex:
    return vertex if vertex.arrivals is None else replace(vertex, arrivals=vertex.arrivals.scaled(factor))


def _with_queries(scenario: Scenario, change: Callable[[Query], Query]) -> Scenario:
    """Also those that are deployed later on.  A planner would not know of it, so there is none any more."""

    def change_action(timed: TimedAction) -> TimedAction:
        action = timed.action
        if isinstance(action, Deploy | Alter) and isinstance(action.query, Query):
            return TimedAction(timed.at_s, replace(action, query=change(action.query)))
        return timed

    return replace(
        scenario,
        queries=tuple(change(query) for query in scenario.queries),
        actions=tuple(change_action(timed) for timed in scenario.actions),
        planner=None,
    )


def _with_vertices(query: Query, change: Callable[[ScenarioVertex], ScenarioVertex]) -> Query:
    return replace(query, vertices=tuple(change(vertex) for vertex in query.vertices))


def _bound_queue(vertex: ScenarioVertex, queue: float) -> ScenarioVertex:
    return vertex if vertex.kind == "producer" else replace(vertex, queue=float(queue))


def _of_scenario(field: str) -> Callable[[Scenario, Any], Scenario]:
    return lambda scenario, value: replace(scenario, **{field: value})


def _of_machines(field: str) -> Callable[[Scenario, Any], Scenario]:
    return lambda scenario, value: replace(scenario, vms=tuple(replace(vm, **{field: value}) for vm in scenario.vms))


VARIATIONS: Final[dict[str, Variation]] = {
    "fidelity": Variation(_of_scenario("fidelity"), str, known=lambda: ["cepsim", "corrected"]),
    "scheduler": Variation(_of_scenario("scheduler"), str, known=lambda: list(SCHEDULERS)),
    "allocation": Variation(_of_scenario("allocation"), str, known=lambda: list(ALLOCATIONS)),
    "tick_s": Variation(_of_scenario("tick_s"), float),
    "duration_s": Variation(_of_scenario("duration_s"), float),
    "iterations": Variation(_of_scenario("iterations"), int),
    "network_delay_s": Variation(_of_scenario("network_delay_s"), float, zero=True),
    "cloudlet_pes": Variation(_of_scenario("cloudlet_pes"), int),
    "mips": Variation(_of_machines("mips"), float),
    "pes": Variation(_of_machines("pes"), int),
    "queue": Variation(
        lambda scenario, queue: _with_queries(
            scenario, lambda query: _with_vertices(query, lambda vertex: _bound_queue(vertex, queue))
        ),
        float,
        zero=True,
    ),
    "copies": Variation(
        lambda scenario, copies: _with_queries(scenario, lambda query: replace(query, copies=copies)), int
    ),
    "rate": Variation(with_rate, float),
    "engines": Variation(with_engines, int),
}
